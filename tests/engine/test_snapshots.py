"""The exact tree of a commit, whatever the repository says (design §5.4; public reports B15, B21, B23, B25, B27)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from codeboost.errors import CodeboostError, EngineError, GitError, InputError
from codeboost.gitrepo import GitRepo
from codeboost.sandbox.base import SnapshotSpec
from codeboost.sandbox.client import EngineClient, RefusedError
from codeboost.sandbox.owner import Label
from codeboost.sandbox.snapshot import REPOSITORY
from codeboost.verdict import Verdict

LIST = (
    "import hashlib, json, os\n"
    "found = {}\n"
    "for folder, folders, files in os.walk(b'/workspace'):\n"
    "    folders[:] = [name for name in folders if name != b'.git']\n"
    "    for name in folders + files:\n"
    "        path = os.path.join(folder, name)\n"
    "        info = os.lstat(path)\n"
    "        what = (os.readlink(path).hex() if os.path.islink(path) else 'folder' if os.path.isdir(path)\n"
    "                else hashlib.sha256(open(path, 'rb').read()).hexdigest())\n"
    "        found[path[11:].hex()] = [oct(info.st_mode), info.st_uid, info.st_gid, int(info.st_mtime), what]\n"
    "print(json.dumps(found))\n"
)


def read_inside(lab: Any) -> Any:
    outcome = lab.python(LIST)
    assert outcome.verdict is Verdict.PASSED, outcome
    found = json.loads(outcome.stdout.head + outcome.stdout.tail)
    return {bytes.fromhex(path): value for path, value in found.items()}


def test_modes_links_and_contents_are_those_of_the_commit(lab: Any) -> None:
    lab.repo.write("plain", "p\n").write("tool", "#!/bin/sh\n", executable=True).write("empty", "")
    lab.repo.write("deep/er/file", bytes(range(256)) * 8192)
    for name, target in (
        ("ok", "plain"),
        ("out", "/etc/hostname"),
        ("up", "../../x"),
        ("loop", "loop"),
        ("dangling", "no"),
    ):
        lab.repo.link(name, target)
    lab.repo.link("long", "x" * 150)
    found = read_inside(lab)
    owner = [10001, 10001, 946684800]
    assert set(found) == {
        *(b"plain", b"tool", b"empty", b"deep", b"deep/er", b"deep/er/file"),
        *(b"ok", b"out", b"up", b"loop", b"dangling", b"long"),
    }
    assert found[b"plain"][:4] == ["0o100644", *owner]
    assert found[b"tool"][:4] == ["0o100755", *owner]
    assert found[b"deep"][:4] == ["0o40755", *owner]
    assert found[b"out"] == ["0o120777", *owner, b"/etc/hostname".hex()]
    assert found[b"loop"][4] == b"loop".hex()
    assert found[b"long"][4] == (b"x" * 150).hex()
    assert lab.run("git", "status", "--porcelain").stdout.head == b""


def test_a_link_out_of_the_tree_shows_the_containers_file_not_the_hosts(lab: Any, tmp_path: Any) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of the host")
    lab.repo.link("leak", str(secret)).link("host", "/etc/hostname")
    outcome = lab.run("cat", "host", "leak")
    assert outcome.verdict is Verdict.FAILED
    assert outcome.stdout.head == b"codeboost\n"


def test_odd_names_arrive(lab: Any) -> None:
    names = [
        b"caf\xe9",
        "\u00fc\u6f22".encode(),
        b" lead",
        b"trail ",
        b"new\nline",
        b"tab\t",
        b'q"\\',
        b"-rf",
        b"a" * 120,
        b"*",
    ]
    for name in names:
        lab.repo.write(b"odd/" + name, name)
    found = read_inside(lab)
    assert {path for path in found if path.startswith(b"odd/")} == {b"odd/" + name for name in names}
    assert lab.run("git", "status", "--porcelain").stdout.head == b""


def test_names_that_a_layer_would_take_for_removals_arrive_too(lab: Any) -> None:
    lab.repo.write("a/keep", "1").write("a/.wh.keep", "2").write("a/.wh..wh..opq", "3").write(
        ".wh.folder/x", "4"
    )
    found = read_inside(lab)
    assert {b"a/keep", b"a/.wh.keep", b"a/.wh..wh..opq", b".wh.folder", b".wh.folder/x"} <= set(found)
    assert found[b"a/.wh.keep"][:3] == ["0o100644", 10001, 10001]
    assert lab.run("git", "status", "--porcelain").stdout.head == b""


def test_submodules_are_empty_folders_and_pointers_stay_pointers(lab: Any) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12345\n"
    lab.repo.write("big.bin", pointer).write(".gitattributes", "*.bin filter=lfs\n").write("x")
    lab.repo.git("add", "-A")
    lab.repo.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor/sub")
    lab.repo.git("commit", "-q", "-m", "x")
    commit = lab.repo.git("rev-parse", "HEAD")
    spec = SnapshotSpec(lab.repo.path, commit, lab.image_id, git=True)
    for _ in range(2):
        snapshot = lab.executor.take_snapshot(spec)
        assert len(snapshot.warnings) == 2
        assert "big.bin" in snapshot.warnings[0]
        assert "vendor/sub" in snapshot.warnings[1]
    lab._snapshots[commit] = snapshot
    assert snapshot.reused
    assert read_inside(lab)[b"vendor/sub"][4] == "folder"
    assert lab.run("cat", "big.bin").stdout.head == pointer.encode()
    assert lab.run("git", "status", "--porcelain").stdout.head == b""
    assert lab.run("true", workdir="vendor/sub").verdict is Verdict.PASSED


def test_attributes_filters_and_export_rules_have_no_say(lab: Any) -> None:
    attributes = (
        "*.txt text eol=crlf\n*.id ident\n*.enc working-tree-encoding=UTF-16\nsecret export-ignore\n"
        "subst export-subst\n*.f filter=evil\n"
    )
    lab.repo.write("crlf.txt", "a\r\nb\n").write("x.id", "$Id: 1 $").write("secret", "kept").write(
        "subst", "$Format:%H$"
    )
    lab.repo.write("y.f", "as it is").write("z.enc", "plain")
    lab.repo.commit()
    lab.repo.write(".gitattributes", attributes)
    lab.repo.git("add", ".gitattributes")
    lab.repo.git("commit", "-q", "-m", "attributes")
    commit = lab.repo.git("rev-parse", "HEAD")
    spec = SnapshotSpec(lab.repo.path, commit, lab.image_id, git=True)
    lab._snapshots[commit] = lab.executor.take_snapshot(spec)
    text = "import sys; print([open(name, 'rb').read() for name in sys.argv[1:]])"
    names = ["crlf.txt", "x.id", "secret", "subst", "y.f", "z.enc"]
    wanted = [b"a\r\nb\n", b"$Id: 1 $", b"kept", b"$Format:%H$", b"as it is", b"plain"]
    assert lab.run("python3", "-c", text, *names).stdout.head.decode() == f"{wanted}\n"
    assert lab.run("git", "status", "--porcelain").stdout.head == b""


def test_the_fresh_git_holds_one_commit_and_nothing_from_outside(lab: Any) -> None:
    lab.repo.write("a", "1").commit()
    lab.repo.git("remote", "add", "origin", "https://user:token@example.com/x.git")
    hook = lab.repo.path / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    lab.repo.write("a", "2")
    assert lab.run("git", "rev-list", "--count", "--all").stdout.head == b"1\n"
    assert lab.run("git", "remote").stdout.head == b""
    assert lab.run("git", "fsck", "--strict").verdict is Verdict.PASSED
    assert lab.run("git", "config", "--list", "--local").stdout.head.count(b"\n") == 7
    assert lab.run("ls", ".git/hooks").verdict is Verdict.FAILED
    assert lab.run("git", "stash", "list").verdict is Verdict.PASSED


def test_the_same_tree_is_never_built_twice_and_gives_the_same_image(
    lab: Any, make_repo: Any, client: Any
) -> None:
    token = os.urandom(8)
    lab.repo.write("a", token).write("b/c", "2")
    first = lab.snapshot()
    assert not first.reused
    spec = SnapshotSpec(lab.repo.path, lab.repo.git("rev-parse", "HEAD"), lab.image_id, git=True)
    again = lab.executor.take_snapshot(spec)
    assert (again.reused, again.image_id, again.key) == (True, first.image_id, first.key)
    # Another repository with the same tree, packed otherwise, from nothing: the same bytes.
    other = make_repo("other").write("zzz").write("a", "0")
    other.commit()
    (other.path / "zzz").unlink()
    other.write("a", token).write("b/c", "2")
    commit = other.commit()
    other.git("gc", "-q", "--aggressive")
    client.remove_image(f"{REPOSITORY}:{first.key}")
    third = lab.executor.take_snapshot(SnapshotSpec(other.path, commit, lab.image_id, git=True))
    assert (third.reused, third.image_id, third.key) == (False, first.image_id, first.key)


def test_two_at_once_build_once(lab: Any, monkeypatch: Any) -> None:
    lab.repo.write("a", os.urandom(16))
    commit = lab.repo.commit()
    loads = []
    load = EngineClient.load_image
    monkeypatch.setattr(
        EngineClient, "load_image", lambda self, pieces: (loads.append(1), load(self, pieces))
    )
    taken = []
    spec = SnapshotSpec(lab.repo.path, commit, lab.image_id, git=True)
    threads = [
        threading.Thread(target=lambda: taken.append(lab.executor.take_snapshot(spec))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    assert sorted(snapshot.reused for snapshot in taken) == [False, True, True, True]


def test_an_engine_that_takes_no_partial_image_gets_an_ordinary_build(lab: Any, monkeypatch: Any) -> None:
    lab.repo.write("plain", os.urandom(8)).write("tool", "#!/bin/sh\n", executable=True).link("ok", "plain")
    lab.repo.write(".dockerignore", "*\n").write("Dockerfile", "FROM scratch\n").write(b"caf\xe9/x", "y")
    lab.repo.write("a/.wh.b", "1")

    def refuse(_self: Any, pieces: Any) -> Any:
        raise RefusedError("open layer.tar: no such file or directory")

    monkeypatch.setattr(EngineClient, "load_image", refuse)
    found = read_inside(lab)
    assert {b".dockerignore", b"Dockerfile", b"plain", b"tool", b"ok", b"caf\xe9/x", b"a/.wh.b"} <= set(found)
    assert found[b"tool"][:4] == ["0o100755", 10001, 10001, 946684800]
    assert found[b"ok"][0] == "0o120777"
    assert lab.run("git", "status", "--porcelain").stdout.head == b""
    assert (
        lab.python("import os; open('/workspace/x', 'w'); open('/home/codeboost/x', 'w')").verdict
        is Verdict.PASSED
    )


@pytest.fixture
def based(lab: Any, client: Any) -> Any:
    """Images on top of the laboratory's own, made by a Dockerfile."""
    made = []

    def build(*lines: str) -> str:
        tag = f"codeboost-test:{os.urandom(8).hex()}"
        text = f"FROM {lab.image_id}\n" + "".join(f"{line}\n" for line in lines)
        subprocess.run(
            ["docker", "build", "-q", "--network", "none", "-t", tag, "-"],
            input=text.encode(),
            check=True,
            capture_output=True,
            env={**os.environ, "DOCKER_BUILDKIT": "0"},
        )
        made.append(tag)
        return str(client.inspect_image(tag)["Id"])

    yield build
    for image in {snapshot.image_id for snapshot in lab._snapshots.values()}:
        client.remove_image(image)
    for tag in made:
        client.remove_image(tag)


def refuse_load(_self: Any, pieces: Any) -> Any:
    for _ in pieces:
        pass
    raise RefusedError("open absent-0.tar: no such file or directory")


@pytest.mark.parametrize("fallback", [False, True])
def test_what_the_base_image_has_in_the_work_folder_does_not_show_through(
    lab: Any, based: Any, monkeypatch: Any, fallback: Any
) -> None:
    lab.image_id = based(
        "RUN mkdir -p /workspace/sub /workspace/deep/er && cd /workspace && touch .hidden ./-x sub/old deep/er/x"
        " && ln -s /etc gone && echo base > kept",
        "WORKDIR /workspace",
    )
    lab.repo.write("sub/new", os.urandom(8)).write("gone/x", "1").write("kept", "of the commit")
    if fallback:
        monkeypatch.setattr(EngineClient, "load_image", refuse_load)
    found = read_inside(lab)
    assert set(found) == {b"sub", b"sub/new", b"gone", b"gone/x", b"kept"}
    assert lab.run("git", "status", "--porcelain").stdout.head == b""


def test_a_link_in_place_of_the_work_folder_leads_nowhere(lab: Any, based: Any) -> None:
    lab.image_id = based("RUN mkdir /other && touch /other/old && ln -s /other /workspace")
    lab.repo.write("a", os.urandom(8))
    assert set(read_inside(lab)) == {b"a"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("VOLUME /workspace/data", "declares volumes: /workspace/data"),
        ("ONBUILD RUN echo pwned > /etc/pwned", "ONBUILD"),
        ("RUN ln -s /tmp /workspace", "no folder"),
    ],
)
def test_a_base_that_an_ordinary_build_would_keep_too_much_of(
    lab: Any, based: Any, client: Any, monkeypatch: Any, line: Any, words: Any
) -> None:
    image = based(line)
    lab.repo.write("a", os.urandom(8))
    spec = SnapshotSpec(lab.repo.path, lab.repo.commit(), image, git=True)
    with monkeypatch.context() as patch:
        patch.setattr(EngineClient, "load_image", refuse_load)
        with pytest.raises(EngineError, match=words) as caught:
            lab.executor.take_snapshot(spec)
    assert caught.value.exit_code == 4
    # An engine that loads it needs none of this.
    lab._snapshots[spec.commit] = lab.executor.take_snapshot(spec)
    lab.image_id = image
    assert set(read_inside(lab)) == {b"a"}


def test_the_ordinary_build_leaves_no_name_behind_and_tells_the_same(
    lab: Any, client: Any, monkeypatch: Any
) -> None:
    # Other tests make snapshots meanwhile, so what counts is the names that this one gave.
    given = set()
    build, tag = EngineClient.build_image, EngineClient.tag_image

    def build_noted(self: EngineClient, context: Any, reference: str, labels: Any) -> None:
        given.add(reference)
        build(self, context, reference, labels)

    def tag_noted(self: EngineClient, image: str, repository: str, name: str) -> None:
        given.add(f"{repository}:{name}")
        tag(self, image, repository, name)

    monkeypatch.setattr(EngineClient, "build_image", build_noted)
    monkeypatch.setattr(EngineClient, "tag_image", tag_noted)
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{os.urandom(32).hex()}\nsize 12345\n"
    lab.repo.write("big.bin", pointer).write("a", "1")
    monkeypatch.setattr(EngineClient, "load_image", refuse_load)
    snapshot = lab.snapshot()
    assert f"{REPOSITORY}:{snapshot.key}" in given
    assert {name for name in given if client.inspect_image(name)} == {f"{REPOSITORY}:{snapshot.key}"}
    spec = SnapshotSpec(lab.repo.path, lab.repo.git("rev-parse", "HEAD"), lab.image_id, git=True)
    again = lab.executor.take_snapshot(spec)
    assert snapshot.warnings == again.warnings
    assert [text.count("big.bin") for text in again.warnings] == [1]
    labels = client.inspect_image(snapshot.image_id)["Config"]["Labels"]
    assert int(labels[Label.BYTES]) > 4096


def test_a_refusal_for_another_reason_is_told_and_nothing_is_built(
    lab: Any, client: Any, monkeypatch: Any
) -> None:
    lab.repo.write("a", os.urandom(8))
    load, calls = EngineClient.load_image, []

    def fail_first(self: Any, pieces: Any) -> None:
        calls.append(1)
        if len(calls) == 1:
            raise RefusedError("write /var/lib: no space left on device")
        load(self, pieces)

    monkeypatch.setattr(EngineClient, "load_image", fail_first)
    monkeypatch.setattr(EngineClient, "build_image", lambda *_: pytest.fail("built"))
    with pytest.raises(EngineError, match="no space left on device"):
        lab.snapshot()
    assert not [
        name
        for image in client._get("/images/json")
        for name in image["RepoTags"] or []
        if name.startswith("codeboost/probe")
    ]


def test_sha256_repositories(executor: Any, image_id: Any, store: Any, make_repo: Any, plain: Any) -> None:
    lab = type(plain)(executor, image_id, store, make_repo("wide", object_format="sha256").write("a/b", "1"))
    assert lab.run("git", "status", "--porcelain").stdout.head == b""
    assert len(lab.run("git", "rev-parse", "HEAD").stdout.head.strip()) == 64


def _tree_object(repo: Any, rows: list[tuple[str, bytes, str]]) -> str:
    content = b"".join(f"{mode} ".encode() + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in rows)
    return repo.git("hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=content)


def _commit_of(repo: Any, tree: str) -> str:
    return repo.git("commit-tree", tree, "-m", "x", stdin=b"")


@pytest.mark.parametrize(
    "name",
    [
        b".git",
        b".GIT",
        b".Git",
        b".git.",
        b".git ",
        b".git::$INDEX_ALLOCATION",
        b"git~1",
        b"GIT~1",
        ".g\u200cit".encode(),
        b"..",
    ],
)
def test_entries_named_like_git_or_leading_out_refuse_the_snapshot(lab: Any, name: Any) -> None:
    blob = lab.repo.git("hash-object", "-w", "--stdin", stdin=b"x")
    inner = _tree_object(lab.repo, [("100644", b"config", blob)])
    for rows in ([("40000", name, inner)], [("100644", name, blob)]):
        commit = _commit_of(lab.repo, _tree_object(lab.repo, rows))
        with pytest.raises(CodeboostError) as caught:
            lab.executor.take_snapshot(SnapshotSpec(lab.repo.path, commit, lab.image_id, git=True))
        assert caught.value.exit_code in (1, 4)


def test_two_entries_with_one_name_refuse_the_snapshot(lab: Any) -> None:
    one = lab.repo.git("hash-object", "-w", "--stdin", stdin=b"1")
    inner = _tree_object(lab.repo, [("100644", b"x", one)])
    twice = _tree_object(lab.repo, [("100644", b"a", one), ("100755", b"a", one)])
    both = _tree_object(lab.repo, [("120000", b"a", one), ("40000", b"a", inner)])
    for tree in (twice, both):
        with pytest.raises(InputError, match="two entries with one name"):
            lab.executor.take_snapshot(
                SnapshotSpec(lab.repo.path, _commit_of(lab.repo, tree), lab.image_id, git=True)
            )


def test_an_empty_folder_that_another_tool_made_is_laid_out(lab: Any) -> None:
    empty = _tree_object(lab.repo, [])
    blob = lab.repo.git("hash-object", "-w", "--stdin", stdin=b"1")
    commit = _commit_of(lab.repo, _tree_object(lab.repo, [("100644", b"a", blob), ("40000", b"void", empty)]))
    lab._snapshots[commit] = lab.executor.take_snapshot(
        SnapshotSpec(lab.repo.path, commit, lab.image_id, git=True)
    )
    lab.repo.git("update-ref", "HEAD", commit)
    assert read_inside(lab)[b"void"][4] == "folder"
    assert lab.run("git", "status", "--porcelain").stdout.head == b""


def test_contents_that_are_missing_are_named(lab: Any) -> None:
    lab.repo.write("here", "1").write("gone", "2")
    commit = lab.repo.commit()
    oid = lab.repo.git("rev-parse", "HEAD:gone")
    (lab.repo.path / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(InputError, match="gone is missing"):
        lab.executor.take_snapshot(SnapshotSpec(lab.repo.path, commit, lab.image_id, git=True))


def test_a_full_temporary_folder_is_told_by_its_name(lab: Any, tmp_path: Any) -> None:
    lab.repo.write("big", os.urandom(12 << 20))
    commit = lab.repo.commit()
    place = tmp_path / "tiny"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], check=True)
    text = (
        "import sys\n"
        "from pathlib import Path\n"
        "from codeboost.errors import CodeboostError\n"
        "from codeboost.sandbox.base import SnapshotSpec\n"
        "from codeboost.sandbox.engine import open_executor\n"
        "executor = open_executor('x')\n"
        "try:\n"
        "    executor.take_snapshot(SnapshotSpec(Path(sys.argv[1]), sys.argv[2], sys.argv[3], True))\n"
        "except CodeboostError as error:\n"
        "    print(error.exit_code, error)\n"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", text, lab.repo.path, commit, lab.image_id],
            env={**os.environ, "TMPDIR": str(place)},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        left = [path for path in place.iterdir() if path.name.startswith("codeboost-git")]
    finally:
        subprocess.run(["umount", place], check=True)
    assert done.stdout.startswith("4 ")
    assert f"no space in {place}" in done.stdout
    assert left == []


def test_the_gone_base_image_is_an_error_of_the_environment(lab: Any) -> None:
    lab.repo.write("a")
    spec = SnapshotSpec(lab.repo.path, lab.repo.commit(), "sha256:" + "0" * 64, git=True)
    with pytest.raises(EngineError, match="is gone"):
        lab.executor.take_snapshot(spec)


def test_forged_objects_are_found_out(lab: Any) -> None:
    lab.repo.write("a", "reviewed").write("folder/b", "1")
    commit = lab.repo.commit()
    other = lab.repo.git("hash-object", "-w", "--stdin", stdin=b"evilevil")
    objects = lab.repo.path / ".git" / "objects"
    place = {
        name: objects / oid[:2] / oid[2:]
        for name in ("HEAD:a", "HEAD:folder")
        if (oid := lab.repo.git("rev-parse", name))
    }
    (evil := objects / other[:2] / other[2:]).chmod(0o644)
    for target in place.values():
        kept = target.read_bytes()
        target.chmod(0o644)
        target.write_bytes(evil.read_bytes())
        with pytest.raises(CodeboostError) as caught:
            lab.executor.take_snapshot(SnapshotSpec(lab.repo.path, commit, lab.image_id, git=True))
        assert caught.value.exit_code == 4
        target.write_bytes(kept)
    found = GitRepo.open(lab.repo.path)
    place["HEAD:a"].write_bytes(evil.read_bytes())
    with pytest.raises(GitError, match="not what its name says"):
        found.read_file(commit, "a")


def test_a_snapshot_of_a_large_file_needs_little_memory(lab: Any, client: Any) -> None:
    # Neither here nor in git: what cannot be compressed is packed whole, and packed anew for `.git`.
    lab.repo.git("config", "core.compression", "0")
    lab.repo.write("big", os.urandom(100 << 20))
    commit = lab.repo.commit()
    lab.repo.git("gc", "-q")
    text = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from codeboost.sandbox.base import SnapshotSpec\n"
        "from codeboost.sandbox.engine import open_executor\n"
        "executor = open_executor('x')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "snapshot = executor.take_snapshot(SnapshotSpec(Path(sys.argv[1]), sys.argv[2], sys.argv[3], True))\n"
        "for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):\n"
        "    print(resource.getrusage(who).ru_maxrss - before)\n"
        "print(snapshot.image_id)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", text, lab.repo.path, commit, lab.image_id],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    own, git, image = done.stdout.split()
    client.remove_image(image)
    assert int(own) < 60 << 10
    assert int(git) < 60 << 10


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize(
    "line",
    [
        "RUN rm -rf /tmp",
        "RUN chmod 0700 /tmp",
        "RUN rm -rf /tmp && ln -s /var/tmp /tmp && chmod 0755 /var/tmp",
        "RUN rm -rf /tmp && touch /tmp",
    ],
)
def test_whatever_the_base_image_has_for_a_temporary_folder(
    lab: Any, based: Any, monkeypatch: Any, line: str, fallback: Any
) -> None:
    # What is mounted there takes its mode from what was there.
    lab.image_id = based(line)
    lab.repo.write("a", os.urandom(8))
    if fallback:
        monkeypatch.setattr(EngineClient, "load_image", refuse_load)
    outcome = lab.run(
        "python3", "-c", "import os, tempfile; tempfile.mkstemp(); print(oct(os.lstat('/tmp').st_mode))"
    )
    assert (outcome.verdict, outcome.stdout.head) == (Verdict.PASSED, b"0o41777\n")
