from __future__ import annotations

from pathlib import Path

import pytest

from codeboost.plan.model import PathKey
from codeboost.plan.paths import (
    Observation,
    choose_path_key,
    explain_path,
    find_path_key,
    is_git_name,
    list_parents,
    make_identity,
    observe_names,
)


@pytest.mark.parametrize(
    "path",
    [
        "a",
        "a/b",
        ".github/x",
        "a..b",
        "..a",
        "...",
        "a b",
        "é/ü",
        "git",
        ".gitignore",
        "x.git",
        "git~2",
        "a~1",
    ],
)
def test_canonical(path: str) -> None:
    assert explain_path(path) is None


@pytest.mark.parametrize(
    "path",
    [
        *("", "/a", "//a", "a/", "a//b", ".", "..", "./a", "a/.", "a/./b", "../a", "a/..", "a/../b"),
        *("a\\b", "\\a", "C:", "C:/a", "a:b", "a\nb", "a\tb", "\0", "a\x7f", "a\x85b", "\x9b"),
        *(
            ".git",
            ".git/config",
            "a/.git",
            "a/.GIT/x",
            ".Git",
            "git~1",
            "GIT~1/x",
            ".git.",
            ".git ",
            ".git . .",
            "git~1.",
        ),
        *(".g\u200cit", "\u200d.git", ".gi\u206ft", "\ufeff.git/x", ".GI\u202eT"),
    ],
)
def test_refused(path: str) -> None:
    reason = explain_path(path)
    assert reason
    assert reason.isprintable()


def test_git_names_are_components() -> None:
    assert is_git_name(".git")
    assert not is_git_name("a.git")


def test_parents_come_nearest_first() -> None:
    assert list(list_parents("a/b/c")) == ["a/b", "a"]
    assert list(list_parents("a")) == []


@pytest.mark.parametrize(
    ("key", "same", "other"),
    [
        ("identity", ("a", "a"), ("a", "A")),
        (PathKey.NFC, ("e\u0301", "\u00e9"), ("e", "E")),
        ("casefold", ("E\u0301", "\u00e9"), ("e", "\u00e9")),
        (str.upper, ("a", "A"), ("a", "b")),
    ],
)
def test_identity(key: PathKey, same: tuple[str, str], other: tuple[str, str]) -> None:
    identify = make_identity(key)
    assert identify is not None
    assert identify(same[0]) == identify(same[1])
    assert identify(other[0]) != identify(other[1])


def test_an_unknown_identity_is_none() -> None:
    assert make_identity(None) is None
    assert make_identity("guess") is None


class TestFindingOut:
    def test_this_filesystem_is_looked_at(self, tmp_path: Path) -> None:
        observed = observe_names(tmp_path)
        assert observed is not None
        (tmp_path / "probe").touch()
        assert observed.ignores_case == (tmp_path / "PROBE").exists()

    def test_nothing_is_left_behind(self, tmp_path: Path) -> None:
        find_path_key(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_a_folder_that_is_not_there_is_unknown(self, tmp_path: Path) -> None:
        assert observe_names(tmp_path / "none") is None
        assert find_path_key(tmp_path / "none") is None

    @pytest.mark.parametrize(
        ("observed", "ignore_case", "precompose", "key"),
        [
            (Observation(ignores_case=False, normalises=False), False, False, PathKey.EXACT),
            (Observation(ignores_case=False, normalises=True), False, False, PathKey.NFC),
            (Observation(ignores_case=True, normalises=False), False, False, PathKey.CASEFOLD),
            (Observation(ignores_case=True, normalises=True), False, False, PathKey.CASEFOLD),
            (Observation(ignores_case=False, normalises=False), True, False, PathKey.CASEFOLD),
            (Observation(ignores_case=False, normalises=False), False, True, PathKey.NFC),
            (None, True, True, None),
        ],
    )
    def test_the_coarser_rule_wins(
        self, observed: Observation | None, ignore_case: bool, precompose: bool, key: PathKey | None
    ) -> None:
        assert choose_path_key(observed, ignore_case=ignore_case, precompose=precompose) is key

    @pytest.mark.parametrize(
        ("setting", "key"),
        [
            (None, PathKey.EXACT),
            ("false", PathKey.EXACT),
            ("0", PathKey.EXACT),
            ("true", PathKey.CASEFOLD),
            ("", PathKey.CASEFOLD),
        ],
    )
    def test_git_settings_are_heard(self, tmp_path: Path, setting: str | None, key: PathKey) -> None:
        if observe_names(tmp_path) != Observation(ignores_case=False, normalises=False):
            key = find_path_key(tmp_path) or key
        assert find_path_key(tmp_path, ignore_case=setting) is key

    def test_a_place_that_cannot_be_written_is_replaced_by_one_beside_it(self, tmp_path: Path) -> None:
        folder = tmp_path / "file"
        folder.write_bytes(b"")
        assert find_path_key(folder) is find_path_key(tmp_path)
        assert list(tmp_path.iterdir()) == [folder]
