"""Reads one issue over GitHub's REST API. Nothing is ever written there.

The answer is hostile text: whoever shows it escapes it. Each way to fail is one line. The token goes to the server that
it is for and to no other: a redirect to another host is not followed.
"""

from __future__ import annotations

import ipaddress
import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, quote, urljoin, urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from codeboost import __version__
from codeboost.errors import NetworkError, UsageError
from codeboost.visible import cut

__all__ = ["GitHubIssue", "fetch_issue"]

# For one wait on the network, and for everything together: name resolution has no time-out of its own.
PATIENCE_S = 10.0
DEADLINE_S = 30.0
# An issue's text has at most 65,536 characters; escaped, and with all that comes beside it, it stays far below.
_MOST_BYTES = 4 << 20
_MOST_REDIRECTS = 3
_TOKEN_NAMES = ("GITHUB_TOKEN", "GH_TOKEN")


@dataclass(frozen=True, slots=True)
class GitHubIssue:
    """What GitHub says of an issue. ``repository`` is ``owner/name`` as it is called now."""

    number: int
    title: str
    state: str
    """``open`` or ``closed``."""
    body: str
    repository: str
    is_pull_request: bool


class _Server(NamedTuple):
    api: str
    host: str
    tokens_allowed: bool
    """Whether the tokens of the environment are meant for this server."""


class _Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


def fetch_issue(host: str, owner: str, name: str, number: int) -> GitHubIssue:
    """Ask GitHub for one issue.

    ``GITHUB_API_URL`` names another server. The token is ``GITHUB_TOKEN``, else ``GH_TOKEN``, else what ``gh auth
    token`` prints; without one only public repositories can be read. NetworkError for everything that can go wrong on
    the way, UsageError for settings that cannot be used.
    """
    server = _find_server(host)
    token = _find_token(server)
    where = f"issue {number} of {owner}/{name}"
    url = f"{server.api}/repos/{quote(owner, safe='')}/{quote(name, safe='')}/issues/{number}"
    answer = _ask_in_time(url, token)
    if answer.status != 200:
        raise _explain(answer, where, server, has_token=token is not None)
    issue = _read_issue(answer.body, where)
    if issue.number != number:
        raise NetworkError(
            f"{where} was transferred: it is issue {issue.number} of {cut(issue.repository)} now"
        )
    return issue


# Whom to ask, and as whom


def _find_server(host: str) -> _Server:
    named = os.environ.get("GITHUB_API_URL")
    if named:
        return _Server(_check_url(named).geturl().rstrip("/"), host, tokens_allowed=True)
    if host == "github.com" or host.endswith(".ghe.com"):
        return _Server(f"https://api.{host}", host, tokens_allowed=True)
    # The tokens of the environment are for GitHub itself, not for whatever a remote's address names.
    return _Server(f"https://{host}/api/v3", host, tokens_allowed=False)


def _check_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or parts.username or parts.query or parts.fragment or not url.isascii() or " " in url:
        raise UsageError(f"GITHUB_API_URL is '{cut(url)}': write it like https://github.example.com/api/v3")
    if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
        raise UsageError("GITHUB_API_URL has to be https: over http anybody on the way could read the token")
    return parts


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _find_token(server: _Server) -> str | None:
    if server.tokens_allowed:
        for name in _TOKEN_NAMES:
            if os.environ.get(name, "").strip():
                return _check_token(os.environ[name].strip(), name)
    try:
        done = subprocess.run(
            ["gh", "auth", "token", "--hostname", server.host],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    token = done.stdout.decode("utf-8", "replace").strip()
    return _check_token(token, "what `gh auth token` printed") if done.returncode == 0 and token else None


def _check_token(token: str, source: str) -> str:
    # It becomes a header: a line break in it would begin another one. Its value is never shown.
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError(f"{source} is no token: it holds characters that no token has")
    return token


# The request


def _ask_in_time(url: str, token: str | None) -> _Answer:
    """The answer to ``url``, or NetworkError after ``DEADLINE_S`` whatever the other side does."""
    results: list[_Answer | NetworkError] = []

    def work() -> None:
        try:
            results.append(_ask(url, token))
        except NetworkError as error:
            results.append(error)

    # A daemon: one that hangs in name resolution does not keep the process.
    thread = threading.Thread(target=work, name="github", daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    if not results:
        raise NetworkError(f"{_name_server(url)} did not answer within {DEADLINE_S:g} s", hint=_TRY_AGAIN)
    if isinstance(results[0], NetworkError):
        raise results[0]
    return results[0]


def _ask(url: str, token: str | None) -> _Answer:
    headers = {
        "Accept": "application/vnd.github+json",
        "X-GitHub-Api-Version": "2022-11-28",
        "User-Agent": f"codeboost/{__version__}",
    }
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    opener = _make_opener(url)
    for _ in range(_MOST_REDIRECTS + 1):
        answer = _get(opener, Request(url, headers=headers))  # noqa: S310 - http(s) only, see _check_url
        if answer.status not in (301, 302, 307, 308):
            return answer
        target = _join(url, answer.headers.get("location", ""))
        if target is None or _origin(target) != _origin(url):
            shown = _name_server(target) if target else "nowhere"
            raise NetworkError(f"{_name_server(url)} redirects to {shown}; that was not followed")
        url = target
    raise NetworkError(f"{_name_server(url)} redirects again and again")


def _get(opener: OpenerDirector, request: Request) -> _Answer:
    server = _name_server(request.full_url)
    try:
        try:
            response = opener.open(request, timeout=PATIENCE_S)
        except HTTPError as error:
            response = error
        with closing(response):
            body = _read_body(response, server)
            headers = {key.lower(): value for key, value in response.headers.items()}
            return _Answer(response.status, headers, body)
    except TimeoutError as error:
        raise NetworkError(f"{server} did not answer within {PATIENCE_S:g} s", hint=_TRY_AGAIN) from error
    except (OSError, HTTPException, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, TimeoutError):
            raise NetworkError(f"{server} did not answer within {PATIENCE_S:g} s", hint=_TRY_AGAIN) from error
        said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        raise NetworkError(f"{server} cannot be reached: {cut(said, 200)}", hint=_TRY_AGAIN) from error


def _read_body(response: Any, server: str) -> bytes:
    until = time.monotonic() + DEADLINE_S
    parts: list[bytes] = []
    size = 0
    while piece := response.read1(1 << 16):
        parts.append(piece)
        size += len(piece)
        if size > _MOST_BYTES:
            raise NetworkError(f"{server} answered with more than {_MOST_BYTES >> 20} MiB")
        if time.monotonic() > until:
            raise TimeoutError
    return b"".join(parts)


def _make_opener(url: str) -> OpenerDirector:
    """What opens an address, with no handler for redirects: the standard one would carry the token anywhere."""
    opener = OpenerDirector()
    parts = urlsplit(url)
    opener.add_handler(ProxyHandler({} if _is_loopback(parts.hostname or "") else None))
    opener.add_handler(HTTPSHandler() if parts.scheme == "https" else HTTPHandler())
    opener.add_handler(HTTPErrorProcessor())
    opener.add_handler(HTTPDefaultErrorHandler())
    return opener


def _join(url: str, location: str) -> str | None:
    try:
        target = urljoin(url, location) if location else ""
        parts = urlsplit(target)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return None
    return target if usable and target.isascii() and target.isprintable() and " " not in target else None


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port


def _name_server(url: str) -> str:
    return cut(urlsplit(url).netloc.rpartition("@")[2], 100)


# The answer

_TRY_AGAIN = "everything but --fetch works without network"


def _explain(answer: _Answer, where: str, server: _Server, *, has_token: bool) -> NetworkError:
    status, headers = answer.status, answer.headers
    name = _name_server(server.api)
    log_in = None if has_token else "set GITHUB_TOKEN, or log in with `gh auth login`"
    if status == 429 or (status == 403 and _is_limited(headers)):
        return NetworkError(
            f"{name} limits the rate of requests ({status}): {_say_when(headers)}", hint=log_in
        )
    reasons = {
        401: (f"{name} refused the token", "look at GITHUB_TOKEN, GH_TOKEN, or `gh auth status`"),
        403: (f"{name} does not let this token read {where}", log_in),
        404: (
            f"there is no {where} on {name}, or it may not be seen",
            log_in or "a private repository needs a token that may read its issues",
        ),
        410: (f"{where} was deleted, or the repository has no issues", None),
    }
    broken = (f"{name} is in trouble", "try again later")
    odd = (f"{name} gave an answer that was not expected", None)
    said, hint = reasons.get(status, broken if status >= 500 else odd)
    return NetworkError(f"{said} ({status})", hint=hint)


def _is_limited(headers: Mapping[str, str]) -> bool:
    return headers.get("x-ratelimit-remaining") == "0" or "retry-after" in headers


def _say_when(headers: Mapping[str, str]) -> str:
    if headers.get("retry-after", "").isdecimal():
        return f"try again in {int(headers['retry-after'][:6])} s"
    reset = headers.get("x-ratelimit-reset", "")
    if reset.isdecimal() and len(reset) <= 11:
        return f"try again after {time.strftime('%H:%M:%S UTC', time.gmtime(int(reset)))}"
    return "try again later"


def _read_issue(body: bytes, where: str) -> GitHubIssue:
    try:
        document = json.loads(body)
        issue = GitHubIssue(
            number=document["number"],
            title=document["title"],
            state=document["state"],
            body=document["body"] or "",
            repository="/".join(document["repository_url"].rsplit("/", 2)[-2:]),
            is_pull_request=bool(document.get("pull_request")),
        )
        texts = (issue.title, issue.body, issue.repository)
        usable = all(isinstance(text, str) for text in texts) and issue.state in ("open", "closed")
        if not usable or type(issue.number) is not int:
            raise TypeError
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NetworkError(f"what came for {where} is no issue") from error
    # JSON can spell halves of characters, which no file and no database takes.
    title, text = (half.encode("utf-8", "replace").decode() for half in (issue.title, issue.body))
    return replace(issue, title=title, body=text)
