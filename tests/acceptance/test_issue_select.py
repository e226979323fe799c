"""``codeboost issue`` by the command line, against a real HTTP server on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

ISSUE = {
    "number": 412,
    "title": "Charged twice\x1b[2J",
    "state": "open",
    "body": "When the answer\r\ngets lost.\n\u202egnp",
    "repository_url": "https://api.github.com/repos/example/payments",
}


@pytest.fixture
def github(checkout: Any) -> Iterator[dict[str, Any]]:
    """What the server says of issue 412; changing it changes the answer. Status 404 for everything else."""
    issue: dict[str, Any] = dict(ISSUE)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.path == "/repos/example/payments/issues/412"
            data = json.dumps(issue if known else {}).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    checkout.environment["GITHUB_API_URL"] = f"http://127.0.0.1:{server.server_port}"
    checkout.environment["GITHUB_TOKEN"] = "secret"
    yield issue
    server.shutdown()
    server.server_close()


def test_selecting_needs_no_network(checkout: Any) -> None:
    checkout.environment["GITHUB_API_URL"] = "http://127.0.0.1:1"
    done = checkout.call("issue", "show")
    assert (done.code, done.out) == (2, "")
    assert "codeboost issue select N" in done.err
    done = checkout.call("issue", "select", 412)
    assert (done.code, done.out) == (
        0,
        "example/payments#412 (not fetched; --fetch asks GitHub for its title, state and text)\n",
    )
    assert checkout.call("issue", "show").out == done.out
    assert checkout.call("issue", "show", 7).code == 2
    failed = checkout.call("issue", "select", 9, "--fetch")
    assert failed.code == 4
    assert "cannot be reached" in failed.err
    assert checkout.call("issue", "show", 9).code == 2, "what could not be fetched was not selected"


def test_what_github_says_is_kept_and_shown_harmlessly(checkout: Any, github: dict[str, Any]) -> None:
    done = checkout.call("issue", "select", 412, "--fetch")
    assert (done.code, done.out) == (0, "example/payments#412: Charged twice\\x1b[2J [open]\n")
    shown = checkout.call("issue", "show", env={"GITHUB_API_URL": "http://127.0.0.1:1"})
    assert shown.code == 0
    assert shown.out.splitlines()[2:5] == ["  | When the answer", "  | gets lost.", "  | \\u{202e}gnp"]
    data = checkout.call("issue", "show", "--json").document["data"]
    assert (data["title"], data["body"], data["state"]) == (ISSUE["title"], ISSUE["body"], "open")


def test_closed_moved_and_pull_requests_are_warnings(checkout: Any, github: dict[str, Any]) -> None:
    github |= {"state": "closed", "pull_request": {}, "repository_url": "https://x/repos/new/name"}
    github["pull_request"] = {"url": "…"}
    done = checkout.call("issue", "select", 412, "--fetch", "--json")
    assert done.code == 0
    assert [found["severity"] for found in done.document["diagnostics"]] == ["warning"] * 3
    assert "warning: issue 412 is closed\n" in done.err
    assert "it is new/name now" in done.err
    assert "closed" in checkout.call("issue", "show").err, "known without asking again"


def test_what_is_not_there_is_one_line(checkout: Any, github: dict[str, Any]) -> None:
    done = checkout.call("issue", "select", 7, "--fetch")
    assert (done.code, done.out) == (4, "")
    assert done.err.startswith("codeboost: there is no issue 7 of example/payments on 127.0.0.1:")
    assert "secret" not in done.err
    document = checkout.call("issue", "select", 7, "--fetch", "--json").document
    assert (document["ok"], document["exit_code"], document["data"]) == (False, 4, None)


def test_a_plan_import_selects_its_issue(checkout: Any) -> None:
    checkout.adopt({"id": "P1", "cmds": ["true"]})
    assert "example/payments#412" in checkout.call("issue", "show").out
