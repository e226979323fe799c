"""The served board over a planning root made by git commits: it follows, and leaves the reader where she is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from selenium.webdriver.common.keys import Keys

if TYPE_CHECKING:
    from tests.browser.conftest import Page, Serving

pytestmark = pytest.mark.browser


def write_task(root: Path, name: str, title: str, status: str = "open", **more: str) -> None:
    lines = [
        f"id: {name}",
        f"title: {title}",
        f"status: {status}",
        "track: core",
        *(f"{k}: {v}" for k, v in more.items()),
    ]
    text = "\n".join(["---", *lines, "---", "Body.", ""])
    file = root / "tasks" / f"{name}.md"
    file.parent.mkdir(exist_ok=True)
    temporary = file.with_name(".temporary")
    temporary.write_text(text, encoding="utf-8")
    temporary.rename(file)


def write_in_place(root: Path, name: str, title: str) -> None:
    file = root / "tasks" / f"{name}.md"
    file.write_text(f"---\nid: {name}\ntitle: {title}\nstatus: open\ntrack: core\n---\n", encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path, git: Callable[..., str]) -> Path:
    folder = tmp_path / "harbour"
    folder.mkdir()
    git(folder, "init", "-q")
    for number in range(80):
        write_task(
            folder, f"H-{number}", f"Task {number}", depends=f"[H-{number - 1}]" if number % 4 else "[]"
        )
    (folder / "plans").mkdir()
    (folder / "plans" / "quay-goal.md").write_text(
        "---\ntitle: A new quay\nstate: draft\nscope: [H-0, H-1]\n---\n"
    )
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "Begin </script><b>bold</b>")
    write_task(folder, "H-0", "Task 0", "in-progress", owner="mira")
    git(folder, "commit", "-q", "-a", "-m", "Start H-0")
    write_task(folder, "H-0", "Task 0", "done")
    return folder


@pytest.fixture
def live(page: Page, root: Path, serve: Serving) -> Page:
    page.open(serve(root))
    page.wait(lambda: page.texts("#live[data-state=on]"))
    return page


def assert_soon(page: Page, condition: Callable[[], object]) -> None:
    """Two seconds are promised; beside other tests there is more time."""
    page.wait(condition, 8)


def test_board_of_a_repository(live: Page) -> None:
    assert live.text("h1") == "harbour"
    assert live.texts("#runs .row .title") == [
        "uncommitted changes",
        "Start H-0",
        "Begin </script><b>bold</b>",
    ]
    assert "with changes not committed" in live.text("#stamp")
    assert live.texts("#goals .row .title") == ["A new quay"]
    live.type("H-0")
    live.press(Keys.ARROW_DOWN, Keys.ENTER)
    assert live.texts("#panel .history .step") == ["In progress to done", "Open to in progress"]


@pytest.mark.parametrize("save", [write_task, write_in_place])
def test_page_follows_every_save(live: Page, root: Path, save: Callable[[Path, str, str], None]) -> None:
    for title in ("Once", "Then", "Last"):
        save(root, "H-4", title)
        assert_soon(live, lambda title=title: title in live.texts("#ready a.row .title"))


@pytest.mark.timing
def test_page_follows_within_two_seconds(live: Page, root: Path) -> None:
    for title in ("Once", "Then", "Last"):
        write_task(root, "H-4", title)
        live.wait(lambda title=title: title in live.texts("#ready a.row .title"), 2)


def test_a_lost_answer_is_asked_for_again(live: Page, root: Path) -> None:
    live.run(
        "const real = window.fetch; let lost = false;"
        "window.fetch = (...words) => {"
        "  if (lost) return real(...words);"
        "  lost = window.wasLost = true;"
        "  return Promise.reject(new TypeError('lost'));"
        "};"
    )
    write_task(root, "H-4", "After all")
    assert_soon(live, lambda: "After all" in live.texts("#ready a.row .title"))
    assert live.run("return window.wasLost") is True


def test_a_late_answer_does_not_undo_a_newer_one(live: Page, root: Path) -> None:
    live.run(
        "const real = window.fetch; window.answers = 0; let first = true;"
        "window.fetch = async (...words) => {"
        "  const wait = first ? 2500 : 0; first = false;"
        "  const answer = await real(...words), data = await answer.json();"
        "  await new Promise((resolve) => setTimeout(resolve, wait));"
        "  window.answers += 1;"
        "  return { ok: answer.ok, json: async () => data };"
        "};"
    )
    write_task(root, "H-4", "Older")
    time.sleep(1.2)
    write_task(root, "H-4", "Newer")
    live.wait(lambda: live.run("return window.answers") == 2, 8)
    time.sleep(0.2)
    assert "Newer" in live.texts("#ready a.row .title")


def test_reader_keeps_her_place(live: Page, root: Path) -> None:
    live.run("location.hash = '#q=task&status=open'")
    live.wait(lambda: live.text("#all-title").startswith("Found"))
    live.find("#more").click()
    live.run("document.querySelectorAll('#all a.row')[70].focus()")
    live.press(Keys.ENTER)
    task = live.run("return new URLSearchParams(location.hash.slice(1)).get('task')")
    live.run("document.querySelectorAll('#all a.row')[70].focus()")
    place = live.run("return scrollY")
    assert place > 500
    # A real reload would lose this.
    live.run("window.sameDocument = true")
    number = int(task.removeprefix("H-"))
    write_task(root, task, "Renamed task", depends=f"[H-{number - 1}]" if number % 4 else "[]")
    assert_soon(live, lambda: live.text("#panel h2") == "Renamed task")
    assert live.run("return window.sameDocument") is True
    assert abs(live.run("return scrollY") - place) < 3
    assert live.focused == task
    assert live.state == f"#q=task&status=open&task={task}"
    assert len(live.texts("#all a.row")) == 79


def test_typing_is_not_disturbed(live: Page, root: Path) -> None:
    live.type("tas")
    write_task(root, "H-4", "Changed")
    assert_soon(live, lambda: "Changed" in live.run("return document.getElementById('ready').textContent"))
    live.press("k 7")
    assert live.find("#search").get_attribute("value") == "task 7"


def test_broken_plan_shows_errors_over_the_last_sound_page(live: Page, root: Path) -> None:
    write_task(root, "H-4", "Changed", "nonsense")
    assert_soon(live, lambda: "nonsense" in live.text("#errors"))
    assert "Task 4" in live.texts("#ready a.row .title")
    live.driver.refresh()
    assert_soon(live, lambda: "nonsense" in live.text("#errors"))
    assert live.text("h1") == "harbour"
    write_task(root, "H-4", "Mended")
    assert_soon(live, lambda: not live.texts("#errors") and "Mended" in live.texts("#ready a.row .title"))


def test_many_tabs_do_not_keep_each_other_waiting(live: Page, root: Path) -> None:
    """A browser opens six connections to one server; a page in the background holds none."""
    driver = live.driver
    first = driver.current_window_handle
    address = live.address
    others = []
    try:
        for _ in range(8):
            driver.switch_to.new_window("tab")
            others.append(driver.current_window_handle)
            driver.set_page_load_timeout(20)
            driver.get(address)
            live.wait(lambda: live.texts("#live[data-state=on]"), 8)
        write_task(root, "H-1", "Seen when somebody looks again")
        driver.switch_to.window(first)
        assert_soon(
            live, lambda: "Seen when somebody looks again" in live.run("return document.body.textContent")
        )
    finally:
        for other in others:
            driver.switch_to.window(other)
            driver.close()
        driver.switch_to.window(first)


def test_commit_and_vanished_task_are_followed(live: Page, root: Path, git: Callable[..., str]) -> None:
    live.run("location.hash = '#task=H-79'")
    live.wait(lambda: live.texts("#panel h2"))
    (root / "tasks" / "H-79.md").unlink()
    assert_soon(live, lambda: "no task with this id" in live.text("#panel"))
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Without H-79")
    assert_soon(live, lambda: "Without H-79" in live.text("#runs"))
    assert "not committed" not in live.text("#stamp")


def test_served_page_asks_only_its_server(live: Page, root: Path) -> None:
    write_task(root, "H-4", "Changed")
    assert_soon(live, lambda: "Changed" in live.texts("#ready a.row .title"))
    asked = {address for address in live.read_requests() if not address.startswith("data:")}
    assert asked == {live.address, live.address + "events", live.address + "data.json"}


def test_folder_name_that_is_no_utf8(page: Page, tmp_path: Path, serve: Serving) -> None:
    folder = tmp_path / os.fsdecode(b"<b>\xff\xe2\x80\xae")
    folder.mkdir()
    write_task(folder, "H-1", "Only one")
    page.open(serve(folder))
    assert page.text("h1") == "<b>\\u{dcff}\\u{202e}"


def test_end_of_the_server_is_shown_and_survived(page: Page, root: Path, serve: Serving) -> None:
    page.open(serve(root))
    page.wait(lambda: page.texts("#live[data-state=on]"))
    serve.end()
    page.wait(lambda: page.text("#live") == "not connected")
    assert page.text("h1") == "harbour"
    time.sleep(0.2)
    page.read_console()  # the browser itself reports the lost connection
