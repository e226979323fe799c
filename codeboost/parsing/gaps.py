"""What libyaml needs and YAML 1.2 does not, spaces and ?: fed to it, and taken out of every place that it names."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any

from yaml.error import Mark

from codeboost.parsing.layout import Prepared

__all__ = ["ask_key", "close_gaps", "feed", "open_gap", "shift_events"]


def open_gap(prepared: Prepared, offset: int) -> Prepared | None:
    """``prepared`` so that the colon at ``offset``, right after a plain text in a flow collection, means what it is.

    Before a comma or what closes the collection it ends a key that has no value (``{a:}``), before a question mark it is
    text (``[a:?b]``). None where a value opens right behind it: after such a key there has to be a space.
    """
    text = prepared.text
    following = text[offset + 1 : offset + 2]
    if text[offset : offset + 1] != ":" or following in ("", "[", "{"):
        return None
    if following == "?":
        stand_in = prepared.find_stand_in(":")
        return prepared._replace(
            text=f"{text[:offset]}{stand_in}{text[offset + 1 :]}",
            restore=prepared.restore | {ord(stand_in): ":"},
        )
    if offset + 1 in prepared.gaps:
        return None
    return prepared._replace(gaps=tuple(sorted((*prepared.gaps, offset + 1))))


def ask_key(prepared: Prepared, colon: int, key: int | None) -> Prepared | None:
    """``prepared`` with a ``?`` before the key at offset ``key`` of a flow mapping, whose colon libyaml did not expect.

    In a flow mapping of 1.2 a key may have several lines, any length, and a comment before its colon; to libyaml only
    after a ``?``.
    """
    if key is None or key in prepared.asked or prepared.text[colon : colon + 1] != ":":
        return None
    gaps = tuple(sorted((*prepared.gaps, key, key)))
    return prepared._replace(gaps=gaps, asked=prepared.asked | {key})


def feed(prepared: Prepared) -> str:
    """The text as libyaml gets it."""
    if not prepared.asked:
        # A root scalar has as many gaps as lines.
        text, places = prepared.text, prepared.gaps
        return " ".join(text[start:end] for start, end in zip((0, *places), (*places, None), strict=True))
    pieces, start = [], -1
    for gap in prepared.gaps:
        is_question = gap in prepared.asked and gap != start
        pieces.append(prepared.text[max(start, 0) : gap] + ("?" if is_question else " "))
        start = gap
    return "".join((*pieces, prepared.text[max(start, 0) :]))


def close_gaps(prepared: Prepared, index: int) -> int:
    """Where in the text the character ``index`` of what was fed stands; a space that was fed, what follows it."""
    return index - bisect_left(_list_fed(prepared), index)


def _list_fed(prepared: Prepared) -> list[int]:
    return [gap + number for number, gap in enumerate(prepared.gaps)]


def shift_events(get_event: Callable[[], Any], prepared: Prepared) -> Callable[[], Any]:
    """The same events at their places in the text."""
    fed = _list_fed(prepared)

    def find(mark: Any) -> Mark:
        before = bisect_left(fed, mark.index)
        in_line = before - bisect_left(fed, mark.index - mark.column)
        return Mark("", mark.index - before, mark.line, mark.column - in_line, None, 0)

    def get() -> Any:
        event = get_event()
        if event is not None:
            event.start_mark, event.end_mark = find(event.start_mark), find(event.end_mark)
        return event

    return get
