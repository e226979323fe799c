"""Whether everybody can use the board: an automated check by axe-core, and what it cannot see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common.keys import Keys

if TYPE_CHECKING:
    from tests.browser.conftest import Page

pytestmark = pytest.mark.browser

VIEWS = {
    "overview": "",
    "search": "#q=note&status=open",
    "nothing-found": "#q=nothing-like-this",
    "goal": "#goal=offline-sync",
    "task": "#task=SYNC-08",
    "run": "#run=12",
    "runs": "#run=all",
}
CHECK = """
const done = arguments[arguments.length - 1];
// Not skip-link: it takes every link below the fold for one. The real one has a test of its own.
axe.run(document, { rules: { "skip-link": { enabled: false } }, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
  .then(found => done(found.violations.flatMap(rule => rule.nodes.map(
    node => `${rule.id}: ${node.html.slice(0, 160)} (${(node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ""})`))));
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing(page: Page, sample: dict[str, Any], axe: str, view: str, scheme: str) -> None:
    page.prefer(scheme)
    page.show(sample, VIEWS[view])
    page.run("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    # Past the panel's arrival: half-transparent text has no contrast of its own yet.
    page.wait(lambda: page.run("return document.getAnimations().every(one => one.playState === 'finished')"))
    page.run(axe)
    assert page.driver.execute_async_script(CHECK) == []  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("view", ["overview", "task"])
def test_axe_finds_nothing_on_a_phone(page: Page, sample: dict[str, Any], axe: str, view: str) -> None:
    page.size(390, 844)
    page.show(sample, VIEWS[view])
    page.wait(lambda: page.run("return document.getAnimations().every(one => one.playState === 'finished')"))
    page.run(axe)
    assert page.driver.execute_async_script(CHECK) == []  # type: ignore[no-untyped-call]


def test_status_is_told_in_words_and_shapes(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    shapes = page.run(
        """return Object.fromEntries([...document.querySelectorAll("#all .glyph")].map(
             glyph => [glyph.getAttribute("aria-label"), glyph.innerHTML]))"""
    )
    page.find("#more").click()
    shapes |= page.run(
        """return Object.fromEntries([...document.querySelectorAll("#all .glyph")].map(
             glyph => [glyph.getAttribute("aria-label"), glyph.innerHTML]))"""
    )
    assert set(shapes) == {"Decision", "Blocked", "Review", "In progress", "Open", "Done", "Dropped"}
    assert len(set(shapes.values())) == 7


def test_parts_have_roles_and_names(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample, "#goal=offline-sync&task=SYNC-08")
    found = page.run(
        """const named = e => (document.getElementById(e.getAttribute("aria-labelledby"))?.textContent
                               ?? e.getAttribute("aria-label") ?? "");
           return [...document.querySelectorAll("[role], nav, section")].filter(e => e.checkVisibility())
             .filter(e => !["status", "alert"].includes(e.role)).map(e => [e.tagName, named(e)])"""
    )
    nameless = [tag for tag, name in found if not name.strip()]
    # Sections inside the panel are headed, not named: they are no landmarks.
    assert set(nameless) <= {"SECTION"}
    assert page.run("return document.getElementById('panel').getAttribute('role')") == "dialog"
    assert page.run("return document.querySelector('h1, main') && document.documentElement.lang") == "en"


def test_first_tab_stop_skips_to_the_tasks(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample, "#status=open")
    page.press(Keys.TAB)
    assert page.focused == "skip"
    assert page.run("return document.activeElement.getBoundingClientRect().top >= 0") is True
    page.press(Keys.ENTER)
    assert page.focused == "main"
    assert page.state == "#status=open"


def test_motion_stops_for_those_who_ask(page: Page, sample: dict[str, Any]) -> None:
    page.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]}
    )
    page.show(sample, "#task=SYNC-08")
    assert page.run("return getComputedStyle(document.getElementById('panel')).animationName") == "none"
