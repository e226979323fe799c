"""Text that would like to be more than text, in every field that reaches the page."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.browser.conftest import Page

pytestmark = pytest.mark.browser

ATTACKS = {
    "script-end": "</script><svg onload=document.title=1><img src=x onerror=document.title=1>",
    "comment": "<!--<script>document.title=1",
    "replacement": "$& $1 $` $' /*DATA*/null /*LIVE*/",
    "quotes": '"\'><a href="javascript:document.title=1">x</a> &lt;b&gt; &amp;',
    "lines": "one\u2028two\u2029three\nfour\r\tfive",
    "bidi": "\u202egnp.exe\u2066 \u200b\u00ad\ufeff",
    "control": "nul\x00 escape\x1b[31m bell\x07",
    "prototype": "__proto__",
    "constructor": "constructor",
    "reference": "@0",
    "percent": "%E0%A4%A &task=x#y",
    "surrogate": "folder \udcff\ud800",
    "space": "   ",
}
SHOWN = {
    "lines": "one\\u{2028}two\\u{2029}three\\nfour\\r\\tfive",
    "bidi": "\\u{202e}gnp.exe\\u{2066} \\u{200b}\\xad\\u{feff}",
    "control": "nul\\x00 escape\\x1b[31m bell\\x07",
    "surrogate": "folder \\u{dcff}\\u{d800}",
}


def fill(text: str) -> dict[str, Any]:
    """Board data with ``text`` wherever text can stand."""
    task = {
        "id": text,
        "title": text,
        "status": "decision",
        "track": text,
        "depends": ["missing " + text],
        "owner": text,
        "refs": [text, "javascript:document.title=1"],
        "file": text,
        "ready": False,
        "openDeps": ["missing " + text],
        "waitingOn": ["B-1"],
        "unlocks": 0,
        "stream": text,
        "goal": [text],
        "history": [{"run": 0, "from": None, "to": "decision"}],
        "lastRun": 0,
    }
    other = task | {
        "id": "B-1",
        "status": "open",
        "ready": True,
        "depends": [text],
        "refs": text,
        "goal": [],
        "waitingOn": [],
        "history": [],
    }
    goal = {
        "name": text,
        "file": text,
        "title": text,
        "state": "running",
        "stream": text,
        "budget": text,
        "thread": text,
        "scope": [text, "B-1"],
        "done": 0,
        "total": 2,
        "ready": ["B-1"],
        "waiting": [text],
    }
    run = {
        "commit": text,
        "date": text,
        "subject": text,
        "counts": {"open": 1, "decision": 1, text: 1},
        "total": 2,
        "initial": False,
        "changes": [{"id": text, "from": None, "to": "decision"}, {"id": text, "from": text, "to": text}],
    }
    return {
        "project": text,
        "commit": f"{text} · {text}",
        "dirty": True,
        "generatedAt": text,
        "tasks": [task, other],
        "goals": [goal],
        "runs": [run, run],
        "warnings": [text],
    }


def assert_calm(page: Page) -> None:
    """Nothing ran, and no element is there that the page's own code does not make."""
    assert page.run("return document.title") != "1"
    assert (
        page.run(
            "return document.querySelectorAll('img, iframe, object, embed, [onload], [onerror], [style*=url]').length"
        )
        == 0
    )
    assert page.run(
        "return [...document.querySelectorAll('a')].every(a => !/^javascript/i.test(a.href.baseVal ?? a.href))"
    )
    assert page.run("return document.scripts.length") == 2


@pytest.mark.parametrize("kind", ATTACKS)
def test_hostile_text_is_shown_and_does_nothing(page: Page, kind: str) -> None:
    text = ATTACKS[kind]
    shown = SHOWN.get(kind, text)
    page.show(fill(text))
    assert_calm(page)
    assert page.text("#project") == (shown or "Board")
    assert shown in page.text("#needs .title")
    assert shown in page.text("#goals .title")
    assert shown in page.text("#runs .title")
    # The task opens by its id, whatever that is, and survives a reload of its address.
    page.find("#needs a.row").click()
    for _ in range(2):
        assert shown in page.text("#panel h2")
        assert shown in page.text("#panel dl")
        assert page.text("#panel .missing").startswith(f"missing {shown}"[:50])
        assert page.texts("#panel .node.focus") != []
        assert_calm(page)
        page.driver.refresh()
    page.run("document.querySelector('#panel .close').click()")
    page.find("#goals a.row").click()
    assert shown in page.text("#goal h2")
    assert len(page.texts("#all a.row")) == 2
    page.run("location.hash = '#run=0'")
    page.wait(lambda: page.texts("#panel .pager"))
    assert shown in page.text("#panel h2")
    assert_calm(page)


@pytest.mark.parametrize("facet", ["track", "owner", "goal"])
@pytest.mark.parametrize("kind", ["script-end", "bidi", "prototype", "reference", "percent", "surrogate"])
def test_hostile_values_can_be_filtered_by(page: Page, kind: str, facet: str) -> None:
    data = fill(ATTACKS[kind])
    calm = data["tasks"][0] | {"id": "C-1", "track": "calm", "owner": "calm", "stream": "calm", "goal": []}
    page.show(data | {"tasks": [*data["tasks"], calm]})
    select = f"#pick-{facet}"
    label = SHOWN.get(kind, ATTACKS[kind])
    page.run(
        """const select = document.querySelector(arguments[0]);
           select.value = [...select.options].find(option => option.text.startsWith(arguments[1])).value;
           select.dispatchEvent(new Event("change"));""",
        select,
        label[:50],
    )
    for _ in range(2):
        assert len(page.texts("#all a.row")) == 2
        page.driver.refresh()


def test_million_characters_everywhere(page: Page) -> None:
    start = time.monotonic()
    page.show(fill("long " * 200_000))
    page.find("#needs a.row").click()
    assert page.text("#panel h2").startswith("long long")
    assert page.run("return document.documentElement.scrollWidth <= innerWidth") is True
    page.find("#panel h2 + button").click()
    assert len(page.text("#panel h2")) == 1_000_000
    assert time.monotonic() - start < 20
    page.driver.refresh()
    assert page.text("#panel h2").startswith("long long")
    page.run("document.querySelector('#panel .close').click()")
    page.find("#goals a.row").click()
    assert len(page.texts("#all a.row")) == 2


def test_unbroken_line_does_not_widen_the_page(page: Page) -> None:
    for width in (360, 1280):
        page.size(width)
        page.show(fill("W" * 5000))
        assert page.run("return document.documentElement.scrollWidth <= innerWidth") is True
        page.find("#needs a.row").click()
        assert (
            page.run("const p = document.getElementById('panel'); return p.scrollWidth <= p.clientWidth")
            is True
        )
