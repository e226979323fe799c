"""A checkout of the example, set up for codeboost with a store of its own, and a run over a fake engine."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from codeboost.command.grammar import parse_command
from codeboost.operations.add_approval import add_approval
from codeboost.operations.approve_plan import record_approval
from codeboost.operations.import_plan import ImportResult, import_plan
from codeboost.operations.init_project import init_project
from codeboost.operations.plan_file import PlanFile
from codeboost.operations.project import Project, open_project, require_plan
from codeboost.operations.run_checks import run_checks
from codeboost.operations.run_model import RunRequest, RunResult, Tail
from codeboost.operations.schedule import Command
from codeboost.plan.canonical import encode_plan
from codeboost.plan.model import ChangeKind, Check, CheckType, FileChange, Item, Plan
from codeboost.planr.model import Goal
from codeboost.planr.workspace import Workspace
from codeboost.sandbox.fake import FakeExecutor
from codeboost.store.attempts import Attempt
from codeboost.store.database import Store

ISSUE = 412


def make_item(
    item_id: str, *commands: str, after: Sequence[str] = (), path: str | None = None, intent: str = "Because."
) -> Item:
    checks = [Check(CheckType.CMD, text) for text in commands] or [Check(CheckType.CHECK, "It is right.")]
    return Item(
        id=item_id,
        title=f"Do {item_id}",
        intent=intent,
        files=(FileChange(path or f"new-{item_id}.txt", ChangeKind.ADD, None, "Add it."),),
        acceptance=tuple(checks),
        depends_on=tuple(after),
    )


def make_plan(*items: Item) -> Plan:
    return Plan(1, ISSUE, 1, "A plan.", tuple(items), ())


@dataclass
class Recorder:
    """A listener that keeps what it was told."""

    notes: list[str] = field(default_factory=list)
    events: list[tuple[str, str, int]] = field(default_factory=list)
    on_start: Callable[[Command], None] = lambda command: None

    def note(self, text: str) -> None:
        self.notes.append(text)

    def begin(self, run_id: int, commands: Sequence[Command]) -> None:
        self.events.append(("begin", str(run_id), len(commands)))

    def start(self, command: Command) -> None:
        self.events.append(("start", command.item, command.position))
        self.on_start(command)

    def end(self, command: Command, attempt: Attempt, tail: Tail) -> None:
        self.events.append((attempt.verdict.value, command.item, command.position))

    def tick(self) -> None:
        pass


@dataclass
class Site:
    """One checkout, its store, and the few things that tests do with them."""

    top: Path
    store: Store

    @property
    def project(self) -> Project:
        return open_project(self.store, self.top)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=self.top, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str = "Work") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--no-verify", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def import_plan(self, plan: Plan, **options: Any) -> ImportResult:
        options.setdefault("confirm_reopening", lambda tasks: True)
        return import_plan(
            self.project, PlanFile("plan.json", encode_plan(plan), "json"), plan.issue, **options
        )

    def adopt(self, plan: Plan, *, allow: Sequence[str] | None = None) -> None:
        """Import and approve a plan, and all of its commands unless ``allow`` names some."""
        assert self.import_plan(plan).stored is not None
        texts = [c.text for item in plan.items for c in item.acceptance if c.type is CheckType.CMD]
        for text in texts if allow is None else allow:
            self.approve(text)
        record_approval(self.project, require_plan(self.project, plan.issue), "--yes")

    def approve(self, text: str) -> None:
        add_approval(self.project, parse_command(text), reason="test")

    def run(
        self,
        executor: FakeExecutor | None = None,
        listener: Recorder | None = None,
        cancelled: threading.Event | None = None,
        **options: Any,
    ) -> RunResult:
        return run_checks(
            self.project,
            RunRequest(ISSUE, **options),
            lambda: executor or FakeExecutor(),
            listener or Recorder(),
            cancelled or threading.Event(),
        )

    def task(self, item_id: str) -> Path:
        return self.top / ".planr/tasks" / f"GH{ISSUE}-{item_id}.md"

    def status(self, item_id: str) -> str:
        line = next(row for row in self.task(item_id).read_text().splitlines() if row.startswith("status:"))
        return line.removeprefix("status:").strip()

    def goal(self, name: str) -> Goal:
        return Workspace.load(self.top).goals[name]

    def set_status(self, item_id: str, status: str) -> None:
        path = self.task(item_id)
        path.write_text(path.read_text().replace(f"status: {self.status(item_id)}", f"status: {status}", 1))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("CODEBOOST_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.org")
    top = tmp_path / "payments"
    shutil.copytree(Path(__file__).parents[3] / "examples/payments/project", top)
    with Store.open() as store:
        site = Site(top, store)
        site.git("init", "-q", "-b", "main")
        site.git("remote", "add", "origin", "https://github.com/example/payments.git")
        init_project(store, top, image="codeboost/example:1")
        site.commit("Base")
        yield site


@pytest.fixture
def build() -> SimpleNamespace:
    """Builders of small plans, and a listener that keeps what it hears."""
    return SimpleNamespace(make_item=make_item, make_plan=make_plan, Recorder=Recorder)
