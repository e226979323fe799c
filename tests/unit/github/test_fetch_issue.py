"""Reading one issue, against a real HTTP server on loopback: every way to fail is one line, no token goes astray."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import codeboost.github
from codeboost.errors import NetworkError, UsageError
from codeboost.github import GitHubIssue, fetch_issue

HERE = ("github.com", "example", "payments", 412)
PATH = "/repos/example/payments/issues/412"


def make_document(**fields: Any) -> dict[str, Any]:
    return {
        "number": 412,
        "title": "Charged twice",
        "state": "open",
        "body": None,
        "repository_url": "https://api.github.com/repos/example/payments",
    } | fields


def fail(*, status: int | None = None) -> NetworkError:
    with pytest.raises(NetworkError) as caught:
        fetch_issue(*HERE)
    message = str(caught.value)
    assert "\n" not in message
    assert "secret" not in message + (caught.value.hint or "")
    if status is not None:
        assert f"({status})" in message
    return caught.value


def test_an_issue_is_read(github: Any) -> None:
    github.answer()
    assert fetch_issue(*HERE) == GitHubIssue(
        412, "Charged twice", "open", "When the answer gets lost.", "example/payments", is_pull_request=False
    )
    assert github.asked == [(PATH, "Bearer secret-1")]


def test_a_body_may_be_missing_and_a_pull_request_is_told(github: Any) -> None:
    github.answer(make_document(pull_request={"url": "…"}, state="closed"))
    issue = fetch_issue(*HERE)
    assert (issue.body, issue.state, issue.is_pull_request) == ("", "closed", True)


def test_halves_of_characters_can_be_stored(github: Any) -> None:
    github.answer(make_document(title="a\ud800b", body="\udfff"))
    issue = fetch_issue(*HERE)
    (issue.title + issue.body).encode()


def test_the_second_token_is_used_when_the_first_is_empty(
    github: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    github.answer()
    monkeypatch.setenv("GITHUB_TOKEN", " ")
    monkeypatch.setenv("GH_TOKEN", "secret-2")
    fetch_issue(*HERE)
    assert github.asked[0][1] == "Bearer secret-2"


@pytest.fixture
def gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a ``gh`` of ours first in PATH, and take the tokens out of the environment."""
    for name in ("GITHUB_TOKEN", "GH_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def make(script: str) -> None:
        program = tmp_path / "gh"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return make


def test_gh_is_asked_for_a_token_of_this_host(github: Any, gh: Callable[[str], None]) -> None:
    github.answer()
    gh('[ "$*" = "auth token --hostname github.com" ] && echo secret-3')
    fetch_issue(*HERE)
    assert github.asked[0][1] == "Bearer secret-3"


@pytest.mark.parametrize("script", ["exit 1", "echo secret; exit 4", "true"])
def test_without_a_token_it_asks_without_one(github: Any, gh: Callable[[str], None], script: str) -> None:
    github.answer()
    gh(script)
    fetch_issue(*HERE)
    assert github.asked[0][1] is None


@pytest.mark.parametrize("token", ["a\r\nX-Evil: 1", "a b", "pä"])
def test_a_token_that_is_none_is_refused_and_not_shown(
    github: Any, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", token)
    with pytest.raises(UsageError) as caught:
        fetch_issue(*HERE)
    assert token not in str(caught.value)
    assert not github.asked


@pytest.mark.parametrize(
    "url",
    [
        "ftp://127.0.0.1",
        "127.0.0.1:80",
        "http://",
        "https://user:pw@host",
        "https://host/?q",
        "https://[::1",
        "https://host:99999",
        "http://api.example.com",
        "https://ho st",
    ],
)
def test_an_address_that_cannot_be_used_is_refused(
    github: Any, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("GITHUB_API_URL", url)
    with pytest.raises(UsageError, match="GITHUB_API_URL"):
        fetch_issue(*HERE)


def test_the_address_may_have_a_path(github: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    github.answer(path="/api/v3" + PATH)
    monkeypatch.setenv("GITHUB_API_URL", github.url + "/api/v3/")
    assert fetch_issue(*HERE).number == 412


def test_tokens_of_the_environment_are_not_for_any_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_API_URL", raising=False)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setenv("PATH", "/nonexistent")
    find = codeboost.github._find_server
    assert codeboost.github._find_token(find("github.com")) == "secret"
    assert codeboost.github._find_token(find("git.example.org")) is None
    assert find("git.example.org").api == "https://git.example.org/api/v3"


# What the server may say


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 500, 502, 503])
def test_each_refusal_is_one_line(github: Any, status: int) -> None:
    github.answer(b"<html>\nno\n", status=status)
    fail(status=status)


def test_not_found_tells_what_a_token_would_change(github: Any, gh: Callable[[str], None]) -> None:
    gh("exit 1")
    error = fail(status=404)
    assert "issue 412 of example/payments" in str(error)
    assert "GITHUB_TOKEN" in (error.hint or "")


def test_a_rate_limit_says_when_it_ends(github: Any) -> None:
    github.answer({}, status=403, X_RateLimit_Remaining="0", X_RateLimit_Reset="1700000000")
    assert "after 22:13:20 UTC" in str(fail(status=403))
    github.answer({}, status=429, Retry_After="17")
    assert "in 17 s" in str(fail(status=429))
    github.answer({}, status=429, Retry_After="\u00b2", X_RateLimit_Reset="9" * 30)
    assert "later" in str(fail(status=429))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no JSON",
        b"[]",
        b"null",
        b"[" * 100_000,
        b"\xff",
        {},
        make_document(number="412"),
        make_document(number=True),
        make_document(title=None),
        make_document(state="merged"),
        make_document(body=7),
        make_document(repository_url=None),
    ],
)
def test_an_answer_that_is_no_issue_is_told(github: Any, body: Any) -> None:
    github.answer(body)
    assert "is no issue" in str(fail())


def test_an_endless_answer_is_cut_off(github: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codeboost.github, "_MOST_BYTES", 1 << 20)
    github.answer(make_document(body="x" * (2 << 20)))
    assert "more than 1 MiB" in str(fail())


# Redirects


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_moved_repository_is_followed_on_the_same_server(github: Any, status: int) -> None:
    github.answer({}, status=status, Location="/repositories/1/issues/412")
    github.answer(
        make_document(repository_url="https://api.github.com/repos/new/name"),
        path="/repositories/1/issues/412",
    )
    assert fetch_issue(*HERE).repository == "new/name"
    assert [token for _, token in github.asked] == ["Bearer secret-1"] * 2


def test_a_transferred_issue_is_another_one(github: Any) -> None:
    github.answer({}, status=301, Location="/repositories/2/issues/7")
    github.answer(
        make_document(number=7, repository_url="https://api.github.com/repos/new/name"),
        path="/repositories/2/issues/7",
    )
    assert "issue 7 of new/name" in str(fail())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_another_host_is_never_asked(github: Any, other_server: Any, status: int) -> None:
    other_server.answer()
    github.answer({}, status=status, Location=f"{other_server.url}{PATH}")
    assert "redirects to 127.0.0.1:" in str(fail())
    assert not other_server.asked


@pytest.mark.parametrize(
    "location",
    ["", "ftp://x/", "//other.example/x", "https://[::1", "file:///etc/passwd", "/a b"],
)
def test_an_odd_redirect_is_not_followed(github: Any, location: str) -> None:
    github.answer({}, status=301, Location=location)
    assert "redirects to" in str(fail())
    assert len(github.asked) == 1


def test_a_circle_of_redirects_ends(github: Any) -> None:
    github.answer({}, status=301, Location=PATH)
    assert "again and again" in str(fail())
    assert len(github.asked) == 4


# The way there


def test_nobody_listens(github: Any) -> None:
    github.server.server_close()
    assert "cannot be reached" in str(fail())


def test_a_name_that_does_not_resolve(github: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_API_URL", "https://nowhere.invalid")
    monkeypatch.setattr(codeboost.github, "DEADLINE_S", 5.0)
    assert "nowhere.invalid" in str(fail())


def test_no_answer_in_time(github: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codeboost.github, "PATIENCE_S", 0.1)
    github.answer()
    github.delay_s = 0.5
    assert "did not answer within 0.1 s" in str(fail())


def test_an_answer_that_drips_is_not_waited_for(github: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codeboost.github, "DEADLINE_S", 0.3)
    github.answer()
    github.drip_s = 0.05
    began = time.monotonic()
    assert "did not answer" in str(fail())
    assert time.monotonic() - began < 2


def test_what_is_not_http_is_told(github: Any) -> None:
    github.answer()
    github.answers[PATH] = (
        200,
        {"Content-Length": "nonsense\r\nTransfer-Encoding: chunked"},
        b"zz\r\nnot a chunk",
    )
    fail()
