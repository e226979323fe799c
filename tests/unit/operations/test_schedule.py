"""The bookkeeping of a run, for every shape of plan."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from codeboost.operations.schedule import Command, Schedule
from codeboost.plan.model import Item
from codeboost.verdict import Verdict


def _item(item_id: str, *after: str) -> Item:
    return Item(item_id, "T", "I", (), (), tuple(after))


def _commands(item_id: str, count: int) -> list[Command]:
    return [Command(item_id, n, f"{item_id} {n}", (item_id, str(n))) for n in range(1, count + 1)]


def test_commands_of_independent_items_are_handed_out_in_plan_order() -> None:
    schedule = Schedule([_item("P1"), _item("P2")], {"P1": _commands("P1", 2), "P2": _commands("P2", 2)})
    assert [(c.item, c.position) for c in schedule.take_ready(3)] == [("P1", 1), ("P1", 2), ("P2", 1)]
    assert [(c.item, c.position) for c in schedule.take_ready(3)] == [("P2", 2)]
    assert schedule.take_ready(3) == []


def test_a_dependant_starts_when_every_command_of_its_dependency_has_passed() -> None:
    schedule = Schedule(
        [_item("P1"), _item("P2", "P1")], {"P1": _commands("P1", 2), "P2": _commands("P2", 1)}
    )
    first, second = schedule.take_ready(9)
    schedule.record(first, Verdict.PASSED)
    assert schedule.take_ready(9) == []
    schedule.record(second, Verdict.PASSED)
    assert [c.item for c in schedule.take_ready(9)] == ["P2"]


def test_a_failure_keeps_dependants_waiting_and_says_for_what() -> None:
    items = [_item("P1"), _item("P2", "P1"), _item("P3", "P2")]
    schedule = Schedule(items, {item.id: _commands(item.id, 1) for item in items})
    schedule.record(schedule.take_ready(1)[0], Verdict.FAILED)
    assert schedule.take_ready(9) == []
    assert schedule.find_blockers("P2") == ("P1",)
    assert schedule.find_blockers("P3") == ("P2",)
    assert [c.item for c in schedule.list_unstarted()] == ["P2", "P3"]


def test_an_item_without_commands_passes_with_its_dependencies() -> None:
    items = [_item("P1"), _item("P2", "P1"), _item("P3", "P2")]
    schedule = Schedule(items, {"P1": _commands("P1", 1), "P2": [], "P3": _commands("P3", 1)})
    [first] = schedule.take_ready(9)
    assert not schedule.has_passed("P2")
    schedule.record(first, Verdict.PASSED)
    assert schedule.has_passed("P2")
    assert [c.item for c in schedule.take_ready(9)] == ["P3"]


def test_an_item_outside_the_run_counts_only_with_a_pass_on_record() -> None:
    items = [_item("P1"), _item("P2", "P1")]
    assert Schedule(items, {"P2": _commands("P2", 1)}).take_ready(9) == []
    assert len(Schedule(items, {"P2": _commands("P2", 1)}, settled=["P1"]).take_ready(9)) == 1


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sets(st.integers(0, 29))), min_size=1, max_size=30),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
    st.sets(st.integers(0, 60)),
)
def test_any_order_of_results_leads_to_the_same_answer(
    shape: list[tuple[int, set[int]]], jobs: int, chance: object, failing: set[int]
) -> None:
    """Two runs over the same plan, the second finishing in random order: same commands, same verdicts."""
    items = [
        _item(f"P{n + 1}", *(f"P{d + 1}" for d in sorted(needed) if d < n))
        for n, (_, needed) in enumerate(shape)
    ]
    commands = {item.id: _commands(item.id, count) for item, (count, _) in zip(items, shape, strict=True)}
    flat = [command for item in items for command in commands[item.id]]
    verdict = {command: Verdict.FAILED if n in failing else Verdict.PASSED for n, command in enumerate(flat)}

    def play(pick: object) -> tuple[set[Command], list[Command]]:
        schedule = Schedule(items, commands)
        running: list[Command] = []
        ran: set[Command] = set()
        while True:
            started = schedule.take_ready(jobs - len(running))
            for command in started:
                assert all(schedule.has_passed(needed) for needed in schedule._items[command.item].depends_on)
            running += started
            if not running:
                return ran, schedule.list_unstarted()
            command = running.pop(pick(len(running)))  # type: ignore[operator]
            assert command not in ran
            ran.add(command)
            schedule.record(command, verdict[command])

    in_order = play(lambda _: 0)
    at_random = play(chance.randrange)  # type: ignore[attr-defined]
    assert in_order == at_random
    ran, waiting = in_order
    assert ran | set(waiting) == set(flat)
    assert not ran & set(waiting)
