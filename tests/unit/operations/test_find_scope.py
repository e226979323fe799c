"""What a commit changed against what the plan declared: real repositories, every kind of difference."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from codeboost.operations.find_scope import Scope, ScopeKind, find_scope
from codeboost.plan.model import ChangeKind, Check, CheckType, FileChange, Item, Plan

LINES = "".join(f"line {number}\n" for number in range(40))


def make_plan(*items: tuple[str, ...]) -> Plan:
    """Each item is a tuple of ``"edit a"``, ``"add a"``, ``"delete a"``, ``"rename a b"``."""
    made = []
    for number, words in enumerate(items, 1):
        files = []
        for word in words:
            kind, first, *rest = word.split()
            path, source = (rest[0], first) if rest else (first, None)
            files.append(FileChange(path, ChangeKind(kind), source, "Do it."))
        after = (f"P{number - 1}",) if number > 1 else ()
        made.append(Item(f"P{number}", "Do", "Why.", tuple(files), (Check(CheckType.CMD, "true"),), after))
    return Plan(1, 412, 1, "A plan.", tuple(made), ())


@pytest.fixture
def compare(site: Any) -> Any:
    """Import a plan against a base of three files, change some (None removes, ``->`` links), compare."""
    write(site.top, {"a.txt": LINES + "a\n", "b.txt": "b\n" * 30, "sub/c.txt": "c\n"})
    site.commit("More files")

    def call(plan: Plan, files: Mapping[str, str | None], **options: Any) -> Scope:
        result = site.import_plan(plan)
        assert result.stored is not None, result.diagnostics
        write(site.top, files)
        site.commit("Work")
        return find_scope(site.project, 412, **options)

    return call


def write(top: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = top / name
        if text is None or path.is_symlink():
            path.unlink()
        if text is None:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("->"):
            path.unlink(missing_ok=True)
            path.symlink_to(text[2:])
        else:
            path.write_text(text)


def tell(scope: Scope) -> set[tuple[str, str, str | None, str | None, str | None, tuple[str, ...]]]:
    return {
        (
            f.kind.value,
            f.path,
            f.renamed_from,
            f.declared and f.declared.value,
            f.actual and f.actual.value,
            f.items,
        )
        for f in scope.findings
    }


def test_all_as_declared(compare: Any) -> None:
    plan = make_plan(("edit a.txt", "add new.txt"), ("delete sub/c.txt", "rename b.txt moved/b.txt"))
    files = {
        "a.txt": "other\n",
        "new.txt": "n\n",
        "sub/c.txt": None,
        "b.txt": None,
        "moved/b.txt": "b\n" * 30,
    }
    scope = compare(plan, files)
    assert scope.findings == ()
    assert scope.planning_files == 3, "two tasks and a goal"
    assert scope.changed == 5 + 3


def test_changes_that_nobody_declared(compare: Any) -> None:
    scope = compare(
        make_plan(("edit a.txt",)), {"a.txt": "x\n", "b.txt": "x\n", "sub/c.txt": None, "new": "n\n"}
    )
    assert tell(scope) == {
        ("undeclared", "b.txt", None, None, "edit", ()),
        ("undeclared", "sub/c.txt", None, None, "delete", ()),
        ("undeclared", "new", None, None, "add", ()),
    }


def test_an_undeclared_rename_is_told_once(compare: Any) -> None:
    scope = compare(make_plan(("edit a.txt",)), {"a.txt": "x\n", "b.txt": None, "z.txt": "b\n" * 30})
    assert tell(scope) == {("undeclared", "z.txt", "b.txt", None, "rename", ())}


def test_declared_changes_that_did_not_happen(compare: Any) -> None:
    plan = make_plan(("edit a.txt", "add new.txt"), ("delete sub/c.txt", "rename b.txt moved/b.txt"))
    assert tell(compare(plan, {})) == {
        ("missing", "a.txt", None, "edit", None, ("P1",)),
        ("missing", "new.txt", None, "add", None, ("P1",)),
        ("missing", "sub/c.txt", None, "delete", None, ("P2",)),
        ("missing", "moved/b.txt", "b.txt", "rename", None, ("P2",)),
    }


@pytest.mark.parametrize(
    ("declared", "files", "expected"),
    [
        ("edit b.txt", {"b.txt": None}, ("kind", "b.txt", None, "edit", "delete")),
        ("delete b.txt", {"b.txt": "x\n"}, ("kind", "b.txt", None, "delete", "edit")),
        ("edit b.txt", {"b.txt": None, "z": "b\n" * 30}, ("kind", "b.txt", "b.txt", "edit", "rename")),
        ("delete b.txt", {"b.txt": None, "z": "b\n" * 30}, ("kind", "b.txt", "b.txt", "delete", "rename")),
        ("add z", {"b.txt": None, "z": "b\n" * 30}, ("kind", "z", "b.txt", "add", "rename")),
        ("edit b.txt", {"b.txt": "->a.txt"}, ("kind", "b.txt", None, "edit", "edit")),
        ("add z", {"z": "->/etc/passwd"}, ("kind", "z", None, "add", "add")),
        ("rename b.txt z", {"b.txt": None, "z": LINES * 9}, ("kind", "z", "b.txt", "rename", "add")),
        ("rename b.txt z", {"b.txt": None, "y": "b\n" * 30}, ("kind", "b.txt", "b.txt", "rename", "rename")),
    ],
)
def test_kinds_that_differ(
    compare: Any, declared: str, files: dict[str, str | None], expected: tuple[object, ...]
) -> None:
    scope = compare(make_plan((declared,)), files)
    assert (*expected, ("P1",)) in tell(scope)
    assert len([f for f in scope.findings if f.kind is ScopeKind.KIND]) == 1


def test_half_a_rename_is_told(compare: Any) -> None:
    assert tell(compare(make_plan(("rename b.txt z",)), {"z": "b\n" * 30})) == {
        ("missing", "b.txt", None, "rename", None, ("P1",))
    }


def test_of_two_copies_the_declared_one_is_the_rename(compare: Any) -> None:
    plan = make_plan(("rename b.txt z", "add a-copy.txt"))
    scope = compare(plan, {"b.txt": None, "z": "b\n" * 30, "a-copy.txt": "b\n" * 30})
    assert scope.findings == ()


def test_items_build_on_each_other(compare: Any) -> None:
    plan = make_plan(
        ("add new.txt", "edit a.txt"),
        ("edit new.txt", "rename a.txt x.txt", "add gone.txt"),
        ("rename new.txt final.txt", "rename x.txt y.txt", "delete gone.txt", "add a.txt"),
    )
    scope = compare(plan, {"final.txt": "n\n", "a.txt": "new content\n", "y.txt": LINES + "a\n"})
    assert scope.findings == ()


def test_a_changed_policy_is_told_even_when_declared(compare: Any, site: Any) -> None:
    text = (site.top / "codeboost.toml").read_text()
    scope = compare(make_plan(("edit codeboost.toml",)), {"codeboost.toml": text + "# x\n"})
    assert [(f.kind, f.path, f.items) for f in scope.findings] == [
        (ScopeKind.POLICY, "codeboost.toml", ("P1",))
    ]


def test_a_pinned_file_that_differs_is_told_until_it_is_approved(site: Any) -> None:
    from codeboost.command.grammar import parse_command
    from codeboost.operations.add_approval import add_approval

    write(site.top, {"run.sh": "#!/bin/sh\ntrue\n"})
    (site.top / "run.sh").chmod(0o755)
    site.commit("A program")
    item = Item(
        "P1",
        "Do",
        "Why.",
        (FileChange("run.sh", ChangeKind.EDIT, None, "Do."),),
        (Check(CheckType.CMD, "./run.sh"),),
        (),
    )
    site.adopt(Plan(1, 412, 1, "A plan.", (item,), ()))
    write(site.top, {"run.sh": "#!/bin/sh\nfalse\n"})
    site.commit("Changed")
    findings = find_scope(site.project, 412).findings
    assert [(f.kind, f.path, f.items) for f in findings] == [(ScopeKind.PINNED, "run.sh", ("P1",))]
    add_approval(site.project, parse_command("./run.sh"), rev="HEAD")
    assert find_scope(site.project, 412).findings == ()


def test_another_commit_and_hostile_names(compare: Any, site: Any) -> None:
    name = "x\x1b[31m\nok"
    scope = compare(make_plan(("edit a.txt",)), {"a.txt": "x\n", name: "x\n", "*": "star\n"})
    assert [f.path for f in scope.findings] == ["*", name]
    from codeboost.diagnostics import Severity
    from codeboost.reporting.scope import render_scope

    text = render_scope(scope, Severity.WARNING)
    assert "\x1b" not in text
    assert text.count("\n") == 2
    assert find_scope(site.project, 412, "HEAD~1").commit == site.git("rev-parse", "HEAD~1")
