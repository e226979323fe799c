"""What starting up may load: heavy libraries only where they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("docker", "jsonschema", "lark", "regress", "requests", "rich", "sqlite3", "yaml", "platformdirs")


def _loaded(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\nprint(*sorted(sys.modules), file=sys.stderr)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.split())


def test_importing_codeboost_loads_nothing_of_it() -> None:
    loaded = _loaded("import codeboost")
    assert {name for name in loaded if name.startswith("codeboost.")} == set()
    assert loaded.isdisjoint({*HEAVY, "typer"})


def test_the_version_needs_no_command_line() -> None:
    loaded = _loaded("import codeboost.__main__ as m\nsys.argv = ['codeboost', '--version']\nm.main()")
    assert "codeboost.cli.streams" in loaded
    assert loaded.isdisjoint({*HEAVY, "typer"})


def test_the_command_line_loads_nothing_heavy() -> None:
    loaded = _loaded("import codeboost.cli.app")
    assert "typer" in loaded
    assert loaded.isdisjoint(HEAVY)


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import codeboost; codeboost.parse_command('a b')", {"lark"}),
        ("import codeboost; codeboost.parse_source(b'{}', 'json')", set()),
        ("import codeboost; codeboost.parse_source(b'a: 1', 'yaml')", {"yaml"}),
        ("import codeboost; codeboost.is_approved(('a',), [('a',)])", set()),
    ],
)
def test_each_part_of_the_api_loads_only_what_it_needs(code: str, allowed: set[str]) -> None:
    assert _loaded(code) & set(HEAVY) <= allowed
