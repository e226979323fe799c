"""A real browser on the real page. ``scripts/browser`` installs what these tests need."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from codeboost.planr.page import render_page

ROOT = Path(__file__).parents[2]
CACHE = Path(
    os.environ.get("CODEBOOST_CACHE")
    or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "codeboost"
)
AXE = CACHE / "axe-core-4.14.1" / "axe.min.js"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)
START = (
    "import sys; from pathlib import Path; from codeboost.planr.server import serve; "
    "sys.exit(serve(Path(sys.argv[1]), 0))"
)


def need(thing: object, name: str) -> None:
    """Without it the test is skipped on a person's machine, and fails in CI."""
    if thing:
        return
    message = f"{name} is missing: run scripts/browser"
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)


class Page:
    """The board in a browser, and the few things that tests ask of it."""

    def __init__(self, driver: webdriver.Chrome, folder: Path) -> None:
        self.driver = driver
        self.folder = folder
        self.address = ""

    def show(self, data: Mapping[str, object], state: str = "") -> Page:
        file = self.folder / "board.html"
        file.write_text(render_page(data), encoding="utf-8")
        return self.open(file.as_uri(), state)

    def open(self, address: str, state: str = "") -> Page:
        self.driver.get("about:blank")
        self.read_console()
        self.driver.get_log("performance")  # what came before is not this page's
        self.address = address
        self.driver.get(address + state)
        return self

    def size(self, width: int, height: int = 900) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
        )

    def prefer(self, scheme: str) -> None:
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        )

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)  # type: ignore[no-untyped-call]

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return self.run(  # type: ignore[no-any-return]
            "return [...document.querySelectorAll(arguments[0])].filter(e => e.checkVisibility()).map(e => e.textContent)",
            selector,
        )

    def text(self, selector: str) -> str:
        return " ".join(self.texts(selector))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def type(self, text: str) -> None:
        self.press("/")
        self.press(text)

    @property
    def state(self) -> str:
        return str(self.run("return decodeURIComponent(location.hash)"))

    @property
    def focused(self) -> str:
        """The id, or the row's own text, of what has the focus."""
        return str(
            self.run(
                "const e = document.activeElement; return e.id || e.querySelector('.id')?.textContent || e.className"
            )
        )

    def wait(self, condition: Callable[[], object], seconds: float = 5.0) -> None:
        WebDriverWait(self.driver, seconds, poll_frequency=0.05).until(lambda _: condition())

    def read_console(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def read_requests(self) -> list[str]:
        """Every address that the browser asked for since the page was opened."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    binary, service = shutil.which("chromium"), shutil.which("chromedriver")
    need(binary and service, "chromium or its driver")
    options = webdriver.ChromeOptions()
    options.binary_location = str(binary)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(service)))
    yield started
    started.quit()


class Serving:
    """Boards served by processes of their own: call it with a planning root for the address."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[str]] = []

    def __call__(self, root: Path) -> str:
        process = subprocess.Popen(
            [sys.executable, "-c", START, str(root)],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        self.processes.append(process)
        assert process.stdout
        return process.stdout.readline().split(" at ")[1].split()[0]

    def end(self) -> None:
        for process in self.processes:
            process.terminate()
            process.communicate(timeout=10)
        self.processes.clear()


@pytest.fixture
def serve() -> Iterator[Serving]:
    serving = Serving()
    yield serving
    serving.end()


@pytest.fixture
def page(driver: webdriver.Chrome, tmp_path: Path, serve: Serving) -> Iterator[Page]:
    """A page of desktop size with the light theme. No test may leave an error in its console.

    Servers outlive it: one that ends first leaves a lost connection in the console.
    """
    made = Page(driver, tmp_path)
    made.size(1280)
    made.prefer("light")
    yield made
    errors = made.read_console()
    driver.get("about:blank")
    assert errors == []


@pytest.fixture(scope="session")
def sample() -> dict[str, Any]:
    data: dict[str, Any] = json.loads((ROOT / "fixtures" / "board-data.json").read_text(encoding="utf-8"))
    return data


@pytest.fixture(scope="session")
def axe() -> str:
    need(AXE.is_file(), "axe-core")
    return AXE.read_text(encoding="utf-8")
