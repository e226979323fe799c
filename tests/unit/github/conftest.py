"""A GitHub on loopback: a real HTTP server that answers from a script and remembers what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


def make_document(number: int = 412, **fields: Any) -> dict[str, Any]:
    return {
        "number": number,
        "title": "Charged twice",
        "state": "open",
        "body": "When the answer gets lost.",
        "repository_url": "https://api.github.com/repos/example/payments",
    } | fields


@dataclass
class GitHub:
    """``answers``: path to (status, headers, body); a body that is no bytes is sent as JSON."""

    server: ThreadingHTTPServer
    answers: dict[str, tuple[int, dict[str, str], Any]] = field(default_factory=dict)
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    delay_s: float = 0.0
    drip_s: float = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def answer(
        self,
        body: Any = None,
        *,
        status: int = 200,
        path: str = "/repos/example/payments/issues/412",
        **headers: str,
    ) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers[path] = (status, named, make_document() if body is None else body)


def _serve() -> GitHub:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            github.asked.append((self.path, self.headers.get("Authorization")))
            time.sleep(github.delay_s)
            status, headers, body = github.answers.get(self.path, (404, {}, {"message": "Not Found"}))
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            try:
                for at in range(0, len(data), 8) if github.drip_s else [0]:
                    self.wfile.write(data[at : at + 8] if github.drip_s else data)
                    time.sleep(github.drip_s)
            except OSError:
                pass  # the client has hung up: what some tests are about

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    github = GitHub(server)
    return github


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    """The server that ``GITHUB_API_URL`` names, with a token for it."""
    served = _serve()
    monkeypatch.setenv("GITHUB_API_URL", served.url)
    monkeypatch.setenv("GITHUB_TOKEN", "secret-1")
    monkeypatch.delenv("GH_TOKEN", raising=False)
    yield served
    served.server.shutdown()
    served.server.server_close()


@pytest.fixture
def other_server() -> Iterator[GitHub]:
    """A second server, for redirects."""
    served = _serve()
    yield served
    served.server.shutdown()
    served.server.server_close()
