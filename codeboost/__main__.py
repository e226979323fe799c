"""``python -m codeboost`` and the ``codeboost`` command."""

from __future__ import annotations

import gc
import sys

__all__ = ["main"]


def main() -> int:
    """Run the command line of this process, and give its exit code."""
    from codeboost.cli.streams import fill_streams, outlive_readers  # noqa: PLC0415

    fill_streams()
    outlive_readers()
    # Starting makes very many objects that stay; looking through them all again and again takes a twentieth of it.
    gc.set_threshold(50_000, 20, 20)
    arguments = sys.argv[1:]
    code = _answer(arguments)
    # What is left goes with the process. Python would look through all of it for cycles first, and a short command spends
    # a fifth of its time on that.
    gc.freeze()
    return code


def _answer(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        # The one question that needs nothing else loaded.
        from codeboost import __version__  # noqa: PLC0415
        from codeboost.cli.streams import finish_answer  # noqa: PLC0415

        sys.stdout.write(f"codeboost {__version__}\n")
        return finish_answer("codeboost", 0)
    from codeboost.cli.app import build_app  # noqa: PLC0415
    from codeboost.cli.console import run_app  # noqa: PLC0415

    return run_app(build_app(arguments), "codeboost", arguments)


if __name__ == "__main__":
    sys.exit(main())
