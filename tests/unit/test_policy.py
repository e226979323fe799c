"""codeboost.toml: what it may say, where it is read from, and that nothing half-understood is ever used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codeboost.errors import InputError
from codeboost.gitrepo import GitRepo
from codeboost.limits import Limits
from codeboost.policy import PolicyEntry, SetupPolicy, read_policy
from codeboost.policy.document import parse_policy

WHOLE = """\
[sandbox]
image = "python:3.12-slim"     # a digest is better
workdir = "packages/core"
timeout = "1h30m"
memory = "512MiB"
cpus = 1.5
pids = 100
disk = "1GiB"
git = false
env = { PYTHONHASHSEED = "0" }
runtime = "runsc"
[setup]
inputs = ["requirements.txt", "requirements.txt"]
run = ["pip install -r requirements.txt"]
network = true
timeout = "5m"
[allow]
commands = ["python3 -m pytest -q", "python3  -m pytest '-q'", "make 'a b'"]
timeouts = { "python3 -m pytest -q" = "20m" }
"""


def test_everything_it_can_say() -> None:
    policy = parse_policy(WHOLE.encode())
    assert policy.present
    assert policy.digest == hashlib.sha256(WHOLE.encode()).hexdigest()
    sandbox = policy.sandbox
    assert (sandbox.image, sandbox.workdir, sandbox.git, sandbox.runtime) == (
        "python:3.12-slim",
        "packages/core",
        False,
        "runsc",
    )
    assert sandbox.limits == Limits(5400.0, 512 << 20, 1.5, 100, 1 << 30)
    assert sandbox.env == {"PYTHONHASHSEED": "0"}
    assert policy.setup == SetupPolicy(
        ("requirements.txt",), (("pip", "install", "-r", "requirements.txt"),), network=True, timeout_s=300.0
    )
    # One command spelled twice is one command.
    assert policy.allow == (
        PolicyEntry(("python3", "-m", "pytest", "-q"), 1200.0),
        PolicyEntry(("make", "a b"), None),
    )


def test_an_empty_file_is_present_and_says_nothing() -> None:
    policy = parse_policy(b"")
    assert policy.present
    assert policy.sandbox.limits == Limits()
    assert policy.sandbox.image is None
    assert policy.setup is None
    assert policy.allow == ()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[sandbox]\nimgae = 'x'", 2, "unknown key imgae in [sandbox]"),
        ("[sandbx]\n", 1, "unknown key sandbx in the top"),
        ("sandbox = 1", 1, "has to be a table"),
        ("[[allow]]\n", 1, "has to be a table"),
        ("[sandbox]\nimage = 1", 2, "it has to be the name of an image"),
        ("[sandbox]\nimage = ''", 2, "the name of an image"),
        ("[sandbox]\nimage = '--privileged'", 2, "the name of an image"),
        ("[sandbox]\nimage = 'a b'", 2, "the name of an image"),
        ("[sandbox]\nworkdir = '../x'", 2, "below the repository root"),
        ("[sandbox]\nworkdir = '/etc'", 2, "below the repository root"),
        ("[sandbox]\nworkdir = 'a/'", 2, "below the repository root"),
        ("[sandbox]\nworkdir = './a'", 2, "below the repository root"),
        ("[sandbox]\nworkdir = '.git/x'", 2, "lies in .git"),
        ("[sandbox]\nworkdir = 'a\\b'", 2, "backslash"),
        ("[sandbox]\ntimeout = 10", 2, "a duration like"),
        ("[sandbox]\ntimeout = '10'", 2, "no duration"),
        ("[sandbox]\ntimeout = '0s'", 2, "between 1s and 24h"),
        ("[sandbox]\ntimeout = '25h'", 2, "between 1s and 24h"),
        ("[sandbox]\nmemory = '2GB'", 2, "no size"),
        ("[sandbox]\nmemory = '1MiB'", 2, "out of range"),
        ("[sandbox]\nmemory = '2TiB'", 2, "out of range"),
        ("[sandbox]\ndisk = '1B'", 2, "out of range"),
        ("[sandbox]\ncpus = true", 2, "a boolean; it has to be a number"),
        ("[sandbox]\ncpus = 0", 2, "out of range"),
        ("[sandbox]\ncpus = nan", 2, "out of range"),
        ("[sandbox]\ncpus = inf", 2, "out of range"),
        ("[sandbox]\ncpus = '2'", 2, "has to be a number"),
        ("[sandbox]\ncpus = 99999999999999999999", 2, "has to be a number"),
        ("[sandbox]\npids = 1.0", 2, "a whole number"),
        ("[sandbox]\npids = true", 2, "a whole number"),
        ("[sandbox]\npids = 0", 2, "out of range"),
        ("[sandbox]\npids = 10000000", 2, "out of range"),
        ("[sandbox]\ngit = 'yes'", 2, "true or false"),
        ("[sandbox]\nenv = []", 2, "a table of strings"),
        ("[sandbox]\nenv = { PATH = '/x' }", 2, "PATH is set by the sandbox"),
        ("[sandbox.env]\nHOME = '/x'", 1, "HOME is set by the sandbox"),
        ("[sandbox]\nenv.LC_ALL = 'x'", 2, "LC_ALL is set by the sandbox"),
        ("[sandbox]\nenv = { 'A=B' = 'x' }", 2, "no name of a variable"),
        ("[sandbox]\nenv = { '' = 'x' }", 2, "no name of a variable"),
        ("[sandbox]\nenv = { A = 1 }", 2, "a string without null characters"),
        ('[sandbox]\nenv = { A = "a\\u0000b" }', 2, "a string without null characters"),
        ("[sandbox]\nruntime = '../x'", 2, "the name of a runtime"),
        ("[setup]\n", 1, "[setup] needs `run`"),
        ("[setup]\nrun = 'make'", 2, "a list of commands"),
        ("[setup]\nrun = [1]", 2, "each a string"),
        ("[setup]\nrun = ['a | b']", 2, "the operator | makes a pipeline"),
        ("# \u2028\x85\n[setup]\r\nrun = ['a | b']", 3, "the operator | makes a pipeline"),
        ("[setup]\nrun = ['a']\ninputs = ['../x']", 3, "below the repository root"),
        ("[setup]\nrun = ['a']\nnetwork = 1", 3, "true or false"),
        ("[allow]\ncommands = ['']", 2, "the command is empty"),
        ("[allow]\ncommands = ['npm test; rm']", 2, "the operator ;"),
        ("[allow]\ncommands = 'npm test'", 2, "a list of commands"),
        ("[allow]\ntimeouts = { 'npm test' = '1m' }", 2, "not listed in `commands`"),
        ("[allow]\ncommands = ['a b']\ntimeouts = { 'a b' = '1m', 'a  b' = '2m' }", 3, "two timeouts"),
        ("[allow]\ncommands = ['a']\ntimeouts = { 'a' = 60 }", 3, "a duration like"),
        ("[sandbox]\ngit = true\ngit = yes", 3, "not TOML"),
        ("a = [", None, "not TOML"),
        ("x = 1979-05-27", 1, "unknown key x"),
        ("[sandbox]\nimage = 1979-05-27", 2, "a date or time"),
        ("\ufeff[sandbox]", 1, "byte order mark"),
    ],
)
def test_a_fault_is_named_with_its_line(text: str, line: int | None, words: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_policy(text.encode(), "codeboost.toml at 0123456789ab")
    assert words in str(caught.value)
    assert str(caught.value).startswith("codeboost.toml at 0123456789ab")
    assert caught.value.diagnostics[0].line == line


@pytest.mark.parametrize(
    "data", [b"\xff\xfe", b"[sandbox]\nimage = '\xc3'\n", b"a = " + b"[" * 5000, b"a = " + b"9" * 5000]
)
def test_bytes_that_are_no_toml_give_one_clear_error(data: bytes) -> None:
    with pytest.raises(InputError, match=r"codeboost\.toml"):
        parse_policy(data)


def test_every_fault_is_told_in_one_go_and_in_order() -> None:
    with pytest.raises(InputError) as caught:
        parse_policy(b"[sandbox]\ncpus = 0\nmemory = 1\nfoo = 1\n[allow]\ncommands = ['a|b']\n")
    assert [diagnostic.line for diagnostic in caught.value.diagnostics] == [2, 3, 4, 6]


def test_hostile_text_in_a_fault_is_escaped() -> None:
    with pytest.raises(InputError) as caught:
        parse_policy("[sandbox]\nimage = '\u202eevil'\n'\\u001b[2J\u200b' = 1\n".encode())
    assert "\u202e" not in str(caught.value)
    assert "\u200b" not in str(caught.value)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
def test_no_bytes_end_in_anything_but_a_policy_or_an_input_error(data: bytes) -> None:
    try:
        policy = parse_policy(data)
    except InputError:
        return
    assert policy.digest == hashlib.sha256(data).hexdigest()


# Where it is read from


@pytest.fixture
def repo(tmp_path: Path, git: Callable[..., str]) -> GitRepo:
    git(tmp_path, "init", "-q")
    (tmp_path / "codeboost.toml").write_text("[sandbox]\npids = 100\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "base")
    return GitRepo.open(tmp_path)


def test_only_the_named_commit_counts(repo: GitRepo, git: Callable[..., str]) -> None:
    base = repo.resolve_commit("HEAD")
    file = repo.top / "codeboost.toml"
    file.write_text("[sandbox]\npids = 200\n")
    git(repo.top, "commit", "-qam", "an agent loosens its cage")
    tip = repo.resolve_commit("HEAD")
    file.write_text("this is not TOML [")
    assert read_policy(repo, base).sandbox.limits.pids == 100
    assert read_policy(repo, tip).sandbox.limits.pids == 200


def test_a_replaced_object_changes_nothing(repo: GitRepo, git: Callable[..., str]) -> None:
    base = repo.resolve_commit("HEAD")
    old = git(repo.top, "rev-parse", "HEAD:codeboost.toml").strip()
    (repo.top / "other").write_text("[sandbox]\npids = 9999\n")
    new = git(repo.top, "hash-object", "-w", "other").strip()
    git(repo.top, "replace", old, new)
    assert read_policy(repo, base).sandbox.limits.pids == 100


def test_without_one_the_defaults_hold(repo: GitRepo, git: Callable[..., str]) -> None:
    git(repo.top, "rm", "-q", "codeboost.toml")
    git(repo.top, "commit", "-qm", "gone")
    policy = read_policy(repo, repo.resolve_commit("HEAD"))
    assert not policy.present
    assert policy.digest == hashlib.sha256(b"").hexdigest()
    assert policy.allow == ()


def test_one_deeper_in_the_tree_is_not_it(repo: GitRepo, git: Callable[..., str]) -> None:
    (repo.top / "sub").mkdir()
    git(repo.top, "mv", "codeboost.toml", "sub/codeboost.toml")
    git(repo.top, "commit", "-qm", "moved")
    assert not read_policy(repo, repo.resolve_commit("HEAD")).present


def test_a_link_or_a_folder_in_its_place_stops_everything(repo: GitRepo, git: Callable[..., str]) -> None:
    git(repo.top, "mv", "codeboost.toml", "real.toml")
    (repo.top / "codeboost.toml").symlink_to("real.toml")
    git(repo.top, "add", ".")
    git(repo.top, "commit", "-qm", "link")
    with pytest.raises(InputError, match="a symbolic link, and has to be a regular file"):
        read_policy(repo, repo.resolve_commit("HEAD"))
    git(repo.top, "rm", "-q", "codeboost.toml")
    (repo.top / "codeboost.toml").mkdir()
    (repo.top / "codeboost.toml" / "x").write_text("")
    git(repo.top, "add", ".")
    git(repo.top, "commit", "-qm", "folder")
    with pytest.raises(InputError, match="a folder, and has to be a regular file"):
        read_policy(repo, repo.resolve_commit("HEAD"))


def test_a_huge_one_is_not_read(repo: GitRepo, git: Callable[..., str]) -> None:
    (repo.top / "codeboost.toml").write_text("#" * ((1 << 20) + 1))
    git(repo.top, "commit", "-qam", "huge")
    with pytest.raises(InputError, match="at most 1048576 are read"):
        read_policy(repo, repo.resolve_commit("HEAD"))
