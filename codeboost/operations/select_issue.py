"""``codeboost issue``: which issue is worked on, and what it says. Only ``--fetch`` needs a network."""

from __future__ import annotations

from dataclasses import dataclass

from codeboost.errors import UsageError
from codeboost.github import fetch_issue
from codeboost.operations.project import Project
from codeboost.store.issues import IssueRecord, find_issue, find_last_issue, record_issue, take_issue
from codeboost.visible import cut

__all__ = ["IssueView", "select_issue", "show_issue"]


@dataclass(frozen=True, slots=True)
class IssueView:
    """An issue as the store knows it, and what a person should know beside it: one sentence each."""

    repository: str
    issue: IssueRecord
    warnings: tuple[str, ...] = ()


def select_issue(project: Project, number: int, *, fetch: bool = False) -> IssueView:
    """Select an issue. With ``fetch`` GitHub is asked first, and nothing is selected when that fails.

    NetworkError, one line each, for everything that can go wrong on the way.
    """
    if fetch:
        return _fetch(project, number)
    return _view(project, take_issue(project.store, project.repository.id, number))


def show_issue(project: Project, number: int | None = None, *, fetch: bool = False) -> IssueView:
    """An issue that was selected: ``number``, else the last one. UsageError when there is none."""
    if number is None:
        record = find_last_issue(project.store, project.repository.id)
    else:
        record = find_issue(project.store, project.repository.id, number)
    if record is None:
        raise UsageError(
            f"no issue {number or ''}".rstrip() + f" of {project.repository.slug} was selected yet",
            hint=f"select one with `codeboost issue select {number or 'N'}`",
        )
    return _fetch(project, record.number) if fetch else _view(project, record)


def _fetch(project: Project, number: int) -> IssueView:
    repository = project.repository
    found = fetch_issue(repository.host, repository.owner, repository.name, number)
    take_issue(project.store, repository.id, number)
    record = record_issue(
        project.store, repository.id, number, title=found.title, state=found.state, body=found.body
    )
    assert record is not None  # noqa: S101 - it was selected just now
    warnings = []
    if found.repository.lower() != repository.slug.lower():
        warnings.append(
            f"{repository.slug} has moved: it is {cut(found.repository)} now"
            " (point origin there, and confirm it with `codeboost init`)"
        )
    if found.is_pull_request:
        warnings.append(f"{number} is a pull request, not an issue")
    return _view(project, record, *warnings)


def _view(project: Project, record: IssueRecord, *warnings: str) -> IssueView:
    closed = (f"issue {record.number} is closed",) if record.state == "closed" else ()
    return IssueView(project.repository.slug, record, (*warnings, *closed))
