"""What the board shows of the sample, and how it is moved through."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

if TYPE_CHECKING:
    from tests.browser.conftest import Page

pytestmark = pytest.mark.browser


def choose(page: Page, select: str, label: str) -> None:
    for option in page.find(f"#pick-{select}").find_elements(By.TAG_NAME, "option"):
        if option.text == label:
            option.click()
            return
    raise AssertionError(label)


def ids(page: Page, part: str) -> list[str]:
    return page.texts(f"{part} a.row .id")


def test_questions_are_answered_in_order(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    assert [re.sub(r"\d+$", "", text) for text in page.texts("main h2")] == [
        "Needs a person",
        "Ready to start",
        "Goals",
        "Lately",
        "Everything",
    ]
    assert page.texts("#needs h3")[0].startswith("Decision")
    assert ids(page, "#needs") == [
        "RELS-06", "SYNC-08", "MAIL-04", "PRIV-02", "SYNC-03", "APPS-02", "FIND-03", "EDIT-05",
    ]  # fmt: skip
    ready = sorted(
        (task for task in sample["tasks"] if task["ready"]),
        key=lambda task: (-task["unlocks"], -len(task["waitingOn"])),
    )
    assert ids(page, "#ready") == [task["id"] for task in ready][:9]
    assert page.texts("#goals > .rows .title") == [
        goal["title"] for goal in sample["goals"] if goal["state"] != "done"
    ]
    assert page.texts("#runs .row .title")[0] == "uncommitted changes"
    assert "24 Done" in page.text("#totals")
    assert page.text("h1") == "fieldnotes"
    assert "with changes not committed" in page.text("#stamp")


def test_everything_stands_in_the_order_of_lists(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    order = ["blocked", "decision", "in-progress", "review", "open", "done", "dropped"]
    tasks = sorted(sample["tasks"], key=lambda task: (order.index(task["status"]), -len(task["waitingOn"])))
    assert ids(page, "#all") == [task["id"] for task in tasks][:60]
    page.find("#more").click()
    assert ids(page, "#all") == [task["id"] for task in tasks]
    assert page.focused == tasks[60]["id"]


def test_warnings_are_there_without_shouting(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    assert page.text("#warnings summary") == "2 warnings"
    assert page.texts("#warnings li") == []
    page.find("#warnings summary").click()
    assert page.texts("#warnings li") == sample["warnings"]


def test_board_without_anything_says_so(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample | {"tasks": [], "goals": [], "runs": [], "warnings": [], "commit": ""})
    assert page.texts(".empty") == [
        "Nothing waits for a person.",
        "No open task is free of dependencies.",
        "No goal is under way.",
        "No commit has changed a task yet.",
        "There are no tasks yet.",
    ]


def test_task_opens_to_all_that_is_known(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    page.find("#needs a.row[href*='SYNC-08']").click()
    assert page.state == "#task=SYNC-08"
    panel = page.text("#panel")
    for text in (
        "Decision",
        "sync",
        "S1",
        "Offline sync, honest about conflicts",
        "docs/merging.md",
        "tasks/SYNC-08.md",
    ):
        assert text in panel
    assert page.texts("#panel section:has(#waits-title) .id") == ["SYNC-03"]
    assert page.texts("#panel section:has(#waited-title) .id") == ["SYNC-11"]
    assert page.texts("#panel .history .step") == ["In progress to decision", "Open to in progress"]
    assert page.texts("#panel .picture .node.focus .node-id") == ["SYNC-08"]
    assert page.find("#panel dd a[rel]").get_attribute("href") == "https://example.org/notes/412"
    page.find("#panel .history a").click()
    assert page.state.startswith("#run=")
    assert "SYNC-08" in page.text("#panel")


def test_unknown_task_and_run_are_named(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample, "#task=NOPE-1")
    assert "There is no task with this id" in page.text("#panel")
    for name in ("9999", "__proto__", "length", "-1", "1.5"):
        page.show(sample, f"#run={name}")
        assert "No such run" in page.text("#panel")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sync-08", ["SYNC-08"]),
        ("typo word", ["FIND-02"]),
        ("mira", ["MAIL-04", "FILE-02"]),
        ("décide monthly", ["RELS-06"]),
        ("no such thing", []),
        ("@sync", []),
    ],
)
def test_search_finds(page: Page, sample: dict[str, Any], query: str, expected: list[str]) -> None:
    page.show(sample)
    page.type(query)
    assert ids(page, "#all") == expected
    assert page.texts("#overview") == []
    assert page.find("#search").get_attribute("value") == query
    page.driver.refresh()
    assert page.find("#search").get_attribute("value") == query
    assert ids(page, "#all") == expected
    assert page.text("#announce") == f"{len(expected)} task{'' if len(expected) == 1 else 's'} found"


def test_id_that_is_meant_comes_first(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    page.type("rels-02")
    assert ids(page, "#all")[0] == "RELS-02"


def test_filters_combine_and_live_in_the_address(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    choose(page, "track", "sync")
    choose(page, "status", "Open")
    choose(page, "owner", "S1")
    page.type("how long")
    assert ids(page, "#all") == ["SYNC-12"]
    state = page.state
    assert state == "#q=how+long&status=open&track=sync&owner=S1"
    page.show(sample, state)
    assert ids(page, "#all") == ["SYNC-12"]
    assert page.find("#search").get_attribute("value") == "how long"
    page.find("#clear").click()
    assert page.state == ""
    assert len(ids(page, "#all")) == 60


def test_totals_filter_by_status(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    page.find("#totals a[href='#status=blocked']").click()
    assert ids(page, "#all") == ["MAIL-04", "PRIV-02"]
    page.find("#totals a[aria-current]").click()
    assert page.state == ""
    page.find("#totals a[href='#status=ready']").click()
    assert len(ids(page, "#all")) == sum(task["ready"] for task in sample["tasks"])


def test_goal_shows_its_standing_its_picture_and_its_tasks(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    page.find("#goals a[href*='version-2']").click()
    goal = next(goal for goal in sample["goals"] if goal["name"] == "version-2")
    assert page.text("#goal h2") == goal["title"]
    assert "0 of 9 done" in page.text("#goal .goal-bar")
    assert sorted(ids(page, "#all")) == sorted(goal["scope"])
    assert sorted(page.texts("#goal .node .node-id")) == sorted([*goal["scope"], "SYNC-07"])
    # What is waited for, and belongs to no task of the goal, is dashed.
    assert page.texts("#goal .node.outside .node-id") == ["SYNC-07"]
    page.driver.back()
    assert page.state == ""
    assert page.texts("#needs h2") != []


def test_picture_has_every_edge_from_left_to_right(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample, "#goal=offline-sync")
    places: dict[str, float] = page.run(
        """return Object.fromEntries([...document.querySelectorAll("#goal .node")].map(
             node => [node.querySelector(".node-id").textContent, node.getBoundingClientRect().x]))"""
    )
    edges = 0
    for task in sample["tasks"]:
        for other in task["depends"]:
            if task["id"] in places and other in places:
                edges += 1
                assert places[other] < places[task["id"]]
    assert edges == page.run("return document.querySelectorAll('#goal .edge').length")
    assert (
        page.run(
            """const boxes = [...document.querySelectorAll("#goal .node rect")].map(e => e.getBoundingClientRect());
           return boxes.some((a, i) => boxes.some((b, j) => i < j && a.x < b.right && b.x < a.right && a.y < b.bottom && b.y < a.bottom))"""
        )
        is False
    )


def test_cycle_and_long_chain_are_drawn(page: Page, sample: dict[str, Any]) -> None:
    base = sample["tasks"][0]
    chain = [
        base
        | {
            "id": f"C-{n}",
            "depends": [f"C-{n - 1}"] if n else [f"C-{99}"],
            "waitingOn": [f"C-{(n + 1) % 100}"],
            "goal": ["g"],
        }
        for n in range(100)
    ]
    goal = sample["goals"][0] | {"name": "g", "scope": [task["id"] for task in chain]}
    page.show(sample | {"tasks": chain, "goals": [goal], "runs": []}, "#goal=g&task=C-50")
    assert len(page.texts("#goal .node .node-id")) == 100
    assert len(page.texts("#panel .node .node-id")) == 5


def test_trend_is_a_slider_over_the_runs(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    slider = page.find(".trend-slider")
    assert slider.get_attribute("max") == str(len(sample["runs"]) - 1)
    slider.send_keys(Keys.HOME)
    assert "Lay out the first tasks" in str(slider.get_attribute("aria-valuetext"))
    slider.send_keys(Keys.ARROW_RIGHT)
    assert "Start SYNC-01, EDIT-01, ACCT-01" in page.text(".trend-reading")
    slider.send_keys(Keys.ENTER)
    assert page.state == "#run=1"
    assert page.texts("#panel .row .id") == ["SYNC-01", "EDIT-01", "ACCT-01"]
    heights: dict[str, float] = page.run(
        """return Object.fromEntries([...document.querySelectorAll(".trend-chart path")].map(
             path => [path.getAttribute("class"), path.getBBox().height]))"""
    )
    assert set(heights) >= {
        "s-done",
        "s-open",
        "s-review",
        "s-in-progress",
        "s-blocked",
        "s-decision",
        "s-dropped",
    }


def test_all_runs_and_their_neighbours(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    page.find("#runs .more a").click()
    assert len(page.texts("#panel .row.run")) == len(sample["runs"])
    page.find("#panel .row.run").click()
    assert "Not committed yet" in page.text("#panel .eyebrow")
    page.find("#panel .pager a").click()
    assert page.state == f"#run={len(sample['runs']) - 2}"


# Keyboard


def test_keyboard_alone_is_enough(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    page.press(Keys.ARROW_DOWN)
    assert page.focused == "RELS-06"
    page.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert page.focused == "MAIL-04"
    page.press(Keys.ARROW_UP, Keys.ENTER)
    assert page.state == "#task=SYNC-08"
    assert page.focused == "panel"
    page.press(Keys.ARROW_DOWN)
    assert page.focused == "SYNC-03"
    page.press(Keys.ESCAPE)
    assert page.texts("#panel") == []
    assert page.focused == "SYNC-08"
    page.press("/")
    assert page.focused == "search"
    page.press("phone", Keys.ARROW_DOWN)
    assert page.focused == ids(page, "#all")[0]
    page.press(Keys.ARROW_UP)
    assert page.focused == "search"
    page.press(Keys.ESCAPE)
    assert page.state == ""
    assert page.find("#search").get_attribute("value") == ""


def test_arrows_reach_beyond_the_first_page(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample, "#q=e")
    page.run("[...document.querySelectorAll('#all a.row')].at(-1).focus()")
    page.press(Keys.ARROW_DOWN)
    assert page.focused == ids(page, "#all")[60]


def test_slash_is_a_letter_in_the_search(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    page.type("a/b")
    assert page.find("#search").get_attribute("value") == "a/b"


# Appearance


def luminance(page: Page) -> float:
    red, green, blue = (
        int(part)
        for part in re.findall(r"\d+", page.run("return getComputedStyle(document.body).backgroundColor"))[:3]
    )
    return (red + green + blue) / 3


def test_theme_follows_the_system_and_can_be_chosen(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    assert luminance(page) > 200
    page.prefer("dark")
    assert luminance(page) < 60
    theme = page.find("#theme")
    assert theme.text == "Theme: auto"
    theme.click()
    assert luminance(page) > 200
    page.driver.refresh()
    assert page.find("#theme").text == "Theme: light"
    assert luminance(page) > 200
    page.find("#theme").click()
    page.prefer("light")
    assert luminance(page) < 60
    page.find("#theme").click()
    assert page.find("#theme").text == "Theme: auto"


@pytest.mark.parametrize(
    "state", ["", "#goal=offline-sync", "#task=SYNC-08", "#run=12", "#q=a&status=open&track=sync"]
)
@pytest.mark.parametrize("width", [360, 768, 1280, 2200])
def test_nothing_spills_over_sideways(page: Page, sample: dict[str, Any], width: int, state: str) -> None:
    page.size(width)
    page.show(sample, state)
    assert page.run("return document.documentElement.scrollWidth <= innerWidth") is True
    assert page.run(
        "const p = document.getElementById('panel'); return p.hidden || p.scrollWidth <= p.clientWidth"
    )


def test_phone_gives_the_whole_screen_to_a_task(page: Page, sample: dict[str, Any]) -> None:
    page.size(390, 844)
    page.show(sample, "#task=SYNC-08")
    assert page.run("return document.getElementById('panel').getBoundingClientRect().width") == 390
    assert page.run("return document.getElementById('page').inert") is True
    page.find("#panel .close").click()
    assert page.run("return document.getElementById('page').inert") is False


def test_fonts_are_the_own_ones_and_nothing_jumps(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample)
    page.wait(lambda: page.run("return document.fonts.status === 'loaded'"))
    assert page.run("return document.fonts.check('600 16px \"Board Sans\"')") is True
    assert page.run("return [...document.fonts].some(font => font.status === 'loaded')") is True
    shift = page.run(
        """return new Promise(done => { new PerformanceObserver(list => done(list.getEntries().reduce((sum, e) => sum + e.value, 0)))
             .observe({ type: "layout-shift", buffered: true }); setTimeout(() => done(0), 500); })"""
    )
    assert shift < 0.01


def test_page_asks_for_nothing(page: Page, sample: dict[str, Any]) -> None:
    page.show(sample, "#goal=offline-sync&task=SYNC-08")
    page.press(Keys.ESCAPE)
    page.type("a")
    asked = [address for address in page.read_requests() if not address.startswith("data:")]
    assert [address.partition("#")[0] for address in asked] == [page.address]
