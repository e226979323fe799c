"""What starts and what does not: never a shell, never a guess (design §5.2; public reports B09, B25, B35)."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from codeboost.verdict import Verdict


@pytest.mark.parametrize("argv", [("exit", "0"), ("cd", "src"), ("source", "env.sh"), ("no-such-program",)])
def test_a_program_that_the_image_lacks_is_told_in_one_line(plain: Any, argv: Any) -> None:
    outcome = plain.run(*argv)
    assert outcome.verdict is Verdict.NOT_STARTED
    assert f"program {argv[0]} not found in the image" in outcome.reason
    assert "there is no shell" in outcome.reason
    assert outcome.exit_code is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is empty"),
        ("echo hello\n", "has no #! line"),
        ("#!\n", "names no interpreter"),
        ("#!   \t\necho x\n", "names no interpreter"),
        ("#!" + "x" * 300, "names no interpreter"),
        ("#!/no/such/interpreter\n", "/no/such/interpreter does not exist"),
        ("#!/bin/sh\r\necho x\r\n", "carriage return"),
        ("#!/workspace\n", "not a regular file"),
        ("#!data.txt\n", "data.txt is not executable"),
        (b"\x7fELF" + b"\0" * 60, "no complete program"),
        (b"\x7fELF\nexit 0\n", "no complete program"),
        ("\ufeff#!/bin/sh\nexit 0\n", "has no #! line"),
    ],
)
def test_what_the_kernel_would_not_start_is_never_handed_to_a_shell(
    lab: Any, content: Any, words: Any
) -> None:
    lab.repo.write("tool", content, executable=True).write("data.txt", "x")
    outcome = lab.run("./tool")
    assert outcome.verdict is Verdict.NOT_STARTED
    assert words in outcome.reason


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("./loop", "leads nowhere"),
        ("./dangling", "does not exist"),
        ("./" + "a" * 300, "too long a name"),
        ("./" + "a/" * 2100 + "a", "too long a path"),
        ("/bin/sh/foo", "does not exist"),
        ("./file/", "does not exist"),
        ("./script-of-loop", "leads nowhere"),
        ("./not-utf8", "not UTF-8"),
    ],
)
def test_a_name_that_cannot_be_followed_is_the_commands_fault(lab: Any, program: str, words: str) -> None:
    lab.repo.link("loop", "loop").link("dangling", "nowhere").write("file", "#!/bin/sh\n", executable=True)
    lab.repo.write("script-of-loop", "#!loop\n", executable=True)
    lab.repo.write("not-utf8", b"#!/workspace/\xff\n", executable=True)
    outcome = lab.run(program)
    assert (outcome.verdict, words in outcome.reason) == (Verdict.NOT_STARTED, True), outcome.reason


def test_a_path_entry_that_is_a_file_or_endless_is_gone_past_or_told(lab: Any) -> None:
    lab.repo.write("file", "x").link("loop", "loop")
    assert lab.run("true", env={"PATH": "/workspace/file:/usr/bin:/bin"}).verdict is Verdict.PASSED
    assert lab.run("true", env={"PATH": "/workspace/loop:/usr/bin:/bin"}).verdict is Verdict.NOT_STARTED


def test_what_lies_in_a_closed_folder_does_not_start(client: Any, lab: Any, image_id: Any) -> None:
    reference = f"codeboost/test-closed:{lab.mark[:12]}"
    text = (
        f"FROM {image_id}\n"
        "RUN mkdir -p /opt/priv /opt/open && cp /bin/true /opt/priv/tool && cp /bin/true /opt/open/tool"
        " && ln -s /opt/priv/tool /usr/local/bin/hidden && ln -s /opt/open/tool /usr/local/bin/shown"
        " && ln -s /bin/true /opt/priv/way && ln -s /opt/priv/way /usr/local/bin/detour"
        " && ln -s priv/../open/tool /opt/dots && ln -s /opt/dots /usr/local/bin/dotted"
        " && ln -s /opt/open/tool /opt/open/way && ln -s ../../../opt/open/way /usr/local/bin/roundabout"
        " && chmod 0700 /opt/priv && chmod 0710 /opt/open && chgrp 10001 /opt/open\n"
    )
    _build(client, text, reference)
    found = client.inspect_image(reference)
    inner = type(lab)(lab.executor, found["Id"], lab.store, lab.repo)
    try:
        for program in ("hidden", "/opt/priv/tool", "detour", "dotted", "/opt/priv/../open/tool"):
            outcome = inner.run(program)
            assert outcome.verdict is Verdict.NOT_STARTED
            assert "/opt/priv is closed" in outcome.reason
        assert inner.run("shown").verdict is Verdict.PASSED
        assert inner.run("roundabout").verdict is Verdict.PASSED
    finally:
        client.remove_image(f"codeboost/snapshot:{inner.snapshot().key}")
        client.remove_image(reference)


def test_a_program_whose_loader_has_no_end_is_not_a_script(lab: Any) -> None:
    # The kernel answers "unknown format", and execvp would run the rest of it in /bin/sh.
    entry = struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, 7, 7, 1)
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    lab.repo.write("tool", head + entry + b"/bin/sh\nexit 0\n", executable=True)
    assert lab.run("./tool").verdict is Verdict.NOT_STARTED


def test_a_truncated_program_is_not_a_script(lab: Any) -> None:
    # With its first page only, the kernel refuses it as "unknown format", at which execvp would take a shell.
    real = Path(shutil.which("true") or "/bin/true").resolve().read_bytes()
    broken = bytearray(real[:64]) + b"\nexit 0\n"
    lab.repo.write("tool", bytes(broken), executable=True)
    assert lab.run("./tool").verdict is Verdict.NOT_STARTED


def test_a_script_of_the_tree_runs_when_it_is_executable(lab: Any) -> None:
    lab.repo.write("run.sh", "#!/bin/sh\necho ran\n", executable=True)
    lab.repo.write("chained", "#!./run.sh\n", executable=True)
    lab.repo.link("link", "run.sh")
    assert lab.run("./run.sh").stdout.head == b"ran\n"
    assert lab.run("./chained").stdout.head == b"ran\n"
    assert lab.run("./link").verdict is Verdict.PASSED
    assert lab.run("/workspace/run.sh").verdict is Verdict.PASSED


def test_a_script_without_the_executable_bit_does_not(lab: Any) -> None:
    lab.repo.write("run.sh", "#!/bin/sh\necho ran\n")
    outcome = lab.run("./run.sh")
    assert outcome.verdict is Verdict.NOT_STARTED
    assert "not executable (mode 0644)" in outcome.reason


def test_a_link_with_dots_behind_it_is_not_followed_to_another_file(lab: Any) -> None:
    # As text sub/../tool is ./tool; the kernel goes through the link and finds an empty file in /tmp's place.
    lab.repo.write("deep/tool", "", executable=True).write("deep/inner/x", "")
    lab.repo.write("tool", "#!/bin/sh\nexit 0\n", executable=True).link("sub", "deep/inner")
    assert lab.run("./sub/../tool").verdict is Verdict.NOT_STARTED


def test_a_place_that_is_mounted_over_is_no_reason_to_look_further(lab: Any) -> None:
    # When it starts, /proc/self/exe is the engine's init itself.
    lab.repo.write("bin/x").write("none/x")
    lab.repo.link("bin/true", "/proc/self/exe").link("none/true", "/tmp/true")
    outcome = lab.run("true", env={"PATH": "/workspace/bin:/usr/bin:/bin"})
    assert outcome.verdict is Verdict.NOT_STARTED
    assert "mounted over" in outcome.reason
    assert lab.run("true", env={"PATH": "/workspace/none:/usr/bin:/bin"}).verdict is Verdict.PASSED


def test_links_are_followed_as_often_as_the_kernel_does(lab: Any) -> None:
    lab.repo.write("0", "#!/bin/sh\necho ran\n", executable=True)
    for number in range(1, 42):
        lab.repo.link(str(number), str(number - 1))
    assert lab.run("./40").stdout.head == b"ran\n"
    outcome = lab.run("./41")
    assert outcome.verdict is Verdict.NOT_STARTED
    assert "too many links" in outcome.reason


def test_a_link_whose_target_is_not_utf8_is_told(lab: Any) -> None:
    lab.repo.write(b"\xff", "#!/bin/sh\necho ran\n", executable=True)
    (lab.repo.path / "odd").symlink_to(os.fsdecode(b"\xff"))
    outcome = lab.run("./odd")
    assert outcome.verdict is Verdict.NOT_STARTED
    assert "not UTF-8" in outcome.reason


def test_a_program_whose_loader_is_named_at_its_end_runs(lab: Any) -> None:
    # As after an exchange of the loader with patchelf.
    real = bytearray(Path(shutil.which("true") or "/bin/true").resolve().read_bytes())
    (table,) = struct.unpack_from("<Q", real, 32)
    (count,) = struct.unpack_from("<H", real, 56)
    entry = next(
        place
        for place in range(table, table + 56 * count, 56)
        if struct.unpack_from("<I", real, place)[0] == 3
    )
    offset, size = (struct.unpack_from("<Q", real, entry + at)[0] for at in (8, 32))
    name = real[offset : offset + size]
    far = 200 << 10
    struct.pack_into("<Q", real, entry + 8, far)
    real += bytes(far - len(real)) + name
    lab.repo.write("tool", bytes(real), executable=True)
    assert lab.run("./tool").verdict is Verdict.PASSED
    lab.repo.write("tool", bytes(real[:-1]), executable=True).commit()
    assert lab.run("./tool").verdict is Verdict.NOT_STARTED


@pytest.mark.parametrize("program", ["/proc/self/exe", "/dev/null", "/tmp/x", "/workspace", "."])
def test_places_that_are_mounted_over_or_no_files_do_not_start(plain: Any, program: Any) -> None:
    assert plain.run(program).verdict is Verdict.NOT_STARTED


def test_a_script_in_path_order_is_found_as_execvp_finds_it(lab: Any) -> None:
    lab.repo.write("a/tool", "x").write("b/tool", "#!/bin/sh\necho b\n", executable=True)
    outcome = lab.run("tool", env={"PATH": "/workspace/none:/workspace/a:/workspace/b:/usr/bin:/bin"})
    assert outcome.stdout.head == b"b\n"


def test_the_arguments_arrive_exactly_as_given(plain: Any) -> None:
    argv = ["a b", "$HOME", "*", "", "--", "'\"\\", "\n", "\u2197"]
    outcome = plain.run("python3", "-c", "import sys; print(sys.argv[1:])", *argv)
    assert outcome.stdout.head.decode() == f"{argv}\n"


def test_the_images_own_entrypoint_volumes_and_healthcheck_have_no_say(
    client: Any, executor: Any, plain: Any, image_id: Any
) -> None:
    reference = f"codeboost/test-entry:{plain.mark[:12]}"
    text = (
        f"FROM {image_id}\n"
        'ENTRYPOINT ["/bin/sh", "-c"]\nCMD ["exit 9"]\nVOLUME /data\nHEALTHCHECK CMD exit 1\nUSER 33\n'
        "ENV FROM_IMAGE=1\nONBUILD RUN exit 1\n"
    )
    _build(client, text, reference)
    found = client.inspect_image(reference)
    lab = type(plain)(executor, found["Id"], plain.store, plain.repo)
    try:
        outcome = lab.python(
            "import os, sys; print(os.getuid(), os.environ['FROM_IMAGE'], os.path.ismount('/data'))"
        )
        assert outcome.stdout.head == b"10001 1 False\n"
    finally:
        client.remove_image(f"codeboost/snapshot:{lab.snapshot().key}")
        client.remove_image(reference)


def _build(client: Any, dockerfile: str, reference: str) -> None:
    from codeboost.sandbox.archive import END, wrap

    client.build_image([*wrap(b"Dockerfile", dockerfile.encode()), END], reference, {})
