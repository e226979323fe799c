"""The gate: two sources, one answer, and nothing of the work tree or the tested commit has a say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codeboost.command.grammar import format_command, parse_command
from codeboost.errors import CommandSyntaxError, InputError, StoreError
from codeboost.gitrepo import GitRepo
from codeboost.operations.check_approval import Decision, Gate, load_gate
from codeboost.operations.pins import PinnedTree
from codeboost.policy import read_policy
from codeboost.store.approval_log import Author
from codeboost.store.approvals import NewApproval, add_approvals, list_approvals, revoke_approvals
from codeboost.store.database import Store
from codeboost.store.plans import find_repository

ADA = Author("ada", None)


@dataclass
class Place:
    store: Store
    repository: int
    repo: GitRepo
    git: Callable[..., str]
    base: str

    def write(self, name: str, text: str) -> None:
        path = self.repo.top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def commit(self) -> str:
        self.git(self.repo.top, "add", "-A")
        self.git(self.repo.top, "commit", "-qm", "x", "--allow-empty")
        return self.repo.resolve_commit("HEAD")

    def approve(self, *argv: str, rev: str | None = None, pin: str | None = None) -> None:
        tree = PinnedTree(self.repo, rev or self.base)
        pins = (*tree.pin_program(argv, "."), *(tree.pin_path(pin) if pin else ()))
        add_approvals(self.store, self.repository, [NewApproval(argv, pins, rev, "key", "")], ADA)

    def gate(self, base: str | None = None) -> Gate:
        base = base or self.base
        return load_gate(self.store, self.repository, self.repo, read_policy(self.repo, base), base)

    def ask(self, *argv: str, commit: str | None = None) -> Decision:
        """Both ways to ask have to agree."""
        policy = read_policy(self.repo, self.base)
        narrow = load_gate(self.store, self.repository, self.repo, policy, self.base, only=argv)
        decision = self.gate().decide(argv, commit or self.base)
        assert narrow.decide(argv, commit or self.base).allowed is decision.allowed
        return decision


@pytest.fixture
def place(tmp_path: Path, git: Callable[..., str]) -> Iterator[Place]:
    top = tmp_path / "repo"
    top.mkdir()
    git(top, "init", "-q")
    with Store.open(tmp_path / "home") as store:
        repository = find_repository(store, "github.com", "o", "n").id
        place = Place(store, repository, GitRepo.open(top), git, "")
        place.write("gradlew", "#!/bin/sh\n")
        place.write("codeboost.toml", '[allow]\ncommands = ["make lint", "./gradlew check"]\n')
        place.base = place.commit()
        yield place


def test_the_store_and_the_reviewed_policy_both_let_a_command_through(place: Place) -> None:
    place.approve("npm", "test")
    assert place.ask("npm", "test").entry == "store:1"
    assert place.ask("make", "lint").entry == "policy:codeboost.toml"
    assert place.ask("./gradlew", "check").allowed
    assert set(place.gate().approved) == {("npm", "test"), ("make", "lint"), ("./gradlew", "check")}


def test_the_tested_commit_and_the_work_tree_approve_nothing(place: Place) -> None:
    place.write("codeboost.toml", '[allow]\ncommands = ["rm -rf x"]\n')
    tip = place.commit()
    place.write("codeboost.toml", '[allow]\ncommands = ["rm -rf y"]\n')
    assert not place.ask("rm", "-rf", "x", commit=tip).allowed
    assert not place.ask("rm", "-rf", "y", commit=tip).allowed
    assert place.ask("make", "lint", commit=tip).allowed


def test_what_is_revoked_does_not_run(place: Place) -> None:
    place.approve("npm", "test")
    revoke_approvals(
        place.store,
        place.repository,
        list_approvals(place.store, place.repository)[0],
        ADA,
        how="x",
        reason="",
    )
    assert not place.ask("npm", "test").allowed


def test_a_gate_is_taken_once(place: Place) -> None:
    gate = place.gate()
    head = gate.log_head
    place.approve("npm", "test")
    assert not gate.decide(("npm", "test"), place.base).allowed
    assert gate.log_head == head != place.gate().log_head


@pytest.mark.parametrize("argv", [("./gradlew", "check"), ("./gradlew", "build")])
def test_a_changed_program_waits_for_a_person(place: Place, argv: tuple[str, ...]) -> None:
    place.approve("./gradlew", "build")
    place.write("gradlew", "#!/bin/sh\ncurl evil\n")
    tip = place.commit()
    assert place.ask(*argv).allowed
    decision = place.ask(*argv, commit=tip)
    assert not decision.allowed
    assert [change.path for change in decision.changed_pins] == ["gradlew"]
    assert decision.reason.startswith("approved with other files: gradlew was ")
    place.approve(*argv, rev=tip)
    assert place.ask(*argv, commit=tip).allowed
    # What was approved at the base still holds there.
    assert place.ask(*argv).allowed
    place.write("gradlew", "#!/bin/sh\ncurl worse\n")
    assert not place.ask(*argv, commit=place.commit()).allowed


def test_absent_is_pinned_as_absent(place: Place) -> None:
    place.approve("./new")
    assert place.ask("./new").allowed
    place.write("new", "#!/bin/sh\n")
    decision = place.ask("./new", commit=place.commit())
    assert not decision.allowed
    assert "new was not there and is now" in decision.reason


def test_a_removed_program_is_a_changed_one(place: Place) -> None:
    place.approve("./gradlew", "build")
    (place.repo.top / "gradlew").unlink()
    assert not place.ask("./gradlew", "build", commit=place.commit()).allowed


def test_an_extra_pin_holds_too(place: Place) -> None:
    place.write("Makefile", "test:\n")
    place.base = place.commit()
    place.approve("make", "test", pin="Makefile")
    assert place.ask("make", "test").allowed
    place.write("Makefile", "test: evil\n")
    decision = place.ask("make", "test", commit=place.commit())
    assert [change.path for change in decision.changed_pins] == ["Makefile"]


def test_an_unpinnable_program_never_runs(place: Place) -> None:
    place.write("codeboost.toml", '[allow]\ncommands = ["/proc/self/cwd/gradlew"]\n')
    place.base = place.commit()
    decision = place.ask("/proc/self/cwd/gradlew")
    assert not decision.allowed
    assert "nobody can tell" in decision.reason


def test_a_refusal_shows_both_commands(place: Place) -> None:
    place.approve("git", "status")
    decision = place.ask("/usr/bin/git", "status")
    assert '["/usr/bin/git", "status"]' in decision.reason
    assert '["git", "status"] (store:1)' in decision.reason
    assert decision.nearest is not None
    assert decision.nearest.argv == ("git", "status")


def test_strangers_are_no_help(place: Place) -> None:
    assert place.ask("terraform", "apply", "-auto-approve").nearest is None


def test_hostile_text_in_a_refusal_is_escaped(place: Place) -> None:
    assert place.ask("x\u202e", "\u200b").reason.isprintable()


def test_a_damaged_policy_stops_everything(place: Place) -> None:
    place.approve("npm", "test")
    place.write("codeboost.toml", "[allow\n")
    with pytest.raises(InputError, match=r"codeboost\.toml at"):
        place.gate(place.commit())


def test_a_damaged_log_stops_everything(place: Place) -> None:
    place.approve("npm", "test")
    place.store.connection.execute("DROP TRIGGER approval_log_is_never_edited")
    place.store.connection.execute("UPDATE approval_log SET reason = 'x'")
    with pytest.raises(StoreError, match="approval log in the store is damaged"):
        place.gate()
    with pytest.raises(StoreError, match="approval log in the store is damaged"):
        load_gate(
            place.store,
            place.repository,
            place.repo,
            read_policy(place.repo, place.base),
            place.base,
            only=("npm", "test"),
        )


words = st.text(st.sampled_from("ab -'\";|é\u00a0"), max_size=3)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    approved=st.lists(st.lists(words, min_size=1, max_size=3), max_size=4),
    text=st.text("ab -'\";|é\u00a0", max_size=12),
)
def test_no_text_outside_the_exact_argv_of_an_entry_ever_runs(
    place: Place, approved: list[list[str]], text: str
) -> None:
    argvs = {tuple(argv) for argv in approved if argv[0]}
    revoke_approvals(
        place.store,
        place.repository,
        list_approvals(place.store, place.repository)[0],
        ADA,
        how="x",
        reason="",
    )
    add_approvals(
        place.store, place.repository, [NewApproval(argv, (), None, "key", "") for argv in argvs], ADA
    )
    gate = place.gate()
    reviewed = {("make", "lint"), ("./gradlew", "check")}
    for argv in argvs:
        assert gate.decide(argv, place.base).allowed
        assert parse_command(format_command(argv)) == argv
    try:
        asked = parse_command(text)
    except CommandSyntaxError:
        return
    assert gate.decide(asked, place.base).allowed is (asked in argvs | reviewed)
