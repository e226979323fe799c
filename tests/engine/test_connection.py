"""Which engine is spoken to, and what is said when none answers (public report B37)."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import threading
import uuid
from typing import Any

import pytest

from codeboost.errors import EngineError
from codeboost.sandbox.archive import END, wrap
from codeboost.sandbox.base import PullPolicy
from codeboost.sandbox.connection import connect
from codeboost.sandbox.engine import open_executor
from codeboost.sandbox.owner import Label


@pytest.fixture
def docker_config(tmp_path: Any, monkeypatch: Any) -> Any:
    """An empty folder of docker's own settings."""
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)

    return tmp_path


@pytest.fixture
def make_image(client: Any) -> Any:
    """Makes an image with nothing in it, for an architecture."""
    made = []

    def make(architecture: str) -> str:
        layer = bytes(1024)
        config = {
            "architecture": architecture,
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
        }
        reference = f"codeboost/test-platform:{uuid.uuid4().hex[:12]}"
        manifest = [{"Config": "config.json", "RepoTags": [reference], "Layers": ["layer.tar"]}]
        pieces = [
            *wrap(b"layer.tar", layer),
            *wrap(b"config.json", json.dumps(config).encode()),
            *wrap(b"manifest.json", json.dumps(manifest).encode()),
            END,
        ]
        client.load_image(pieces)
        made.append(reference)
        return reference

    yield make
    for reference in made:
        client.remove_image(reference)


def add_context(config: Any, name: str, host: str) -> None:
    folder = config / "contexts" / "meta" / hashlib.sha256(name.encode()).hexdigest()
    folder.mkdir(parents=True)
    meta = {"Name": name, "Metadata": {}, "Endpoints": {"docker": {"Host": host, "SkipTLSVerify": False}}}
    (folder / "meta.json").write_text(json.dumps(meta))


@pytest.mark.parametrize("address", ["unix:///nope", "tcp://127.0.0.1:1", "unix:///etc/passwd"])
def test_no_engine_is_one_line_with_the_address(monkeypatch: Any, address: Any) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    with pytest.raises(EngineError) as caught:
        open_executor("x")
    assert address in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.hint
    assert caught.value.exit_code == 4


def test_something_else_that_listens_there_is_no_engine(monkeypatch: Any, tmp_path: Any) -> None:
    place = tmp_path / "other.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(place))
    server.listen(1)

    def answer() -> None:
        # The first to come only looks whether anybody is there.
        for _ in range(2):
            peer, _ = server.accept()
            if peer.recv(4096):
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            peer.close()

    thread = threading.Thread(target=answer)
    thread.start()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{place}")
    with pytest.raises(EngineError, match="no container engine answers"):
        open_executor("x")
    thread.join()
    server.close()


def test_the_current_context_is_honoured(docker_config: Any, client: Any) -> None:
    add_context(docker_config, "here", client.address)
    add_context(docker_config, "away", "unix:///away.sock")
    (docker_config / "config.json").write_text('{"currentContext": "away"}')
    with pytest.raises(EngineError, match=r"unix:///away\.sock"):
        connect()
    (docker_config / "config.json").write_text('{"currentContext": "here"}')
    found = connect()
    assert found.address.removeprefix("http+") == client.address.removeprefix("http+")
    found.close()


def test_the_variables_win_in_docker_order(docker_config: Any, monkeypatch: Any, client: Any) -> None:
    add_context(docker_config, "away", "unix:///away.sock")
    monkeypatch.setenv("DOCKER_CONTEXT", "away")
    with pytest.raises(EngineError, match=r"unix:///away\.sock"):
        connect()
    monkeypatch.setenv("DOCKER_HOST", client.address)
    connect().close()


def test_a_context_that_is_not_there_is_named(docker_config: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("DOCKER_CONTEXT", "no-such")
    with pytest.raises(EngineError, match="'no-such' does not exist"):
        connect()


def test_damaged_docker_settings_are_told(docker_config: Any, monkeypatch: Any) -> None:
    add_context(docker_config, "bad", "x")
    next(docker_config.glob("contexts/meta/*/meta.json")).write_text("{")
    monkeypatch.setenv("DOCKER_CONTEXT", "bad")
    with pytest.raises(EngineError, match="settings cannot be read"):
        connect()


def test_the_record_of_this_engine(executor: Any) -> None:
    record = executor.describe()
    assert record.seccomp
    assert record.cgroup_version in ("1", "2")
    assert "runc" in record.runtimes
    assert record.disk in ("hard", "watched")
    assert any("disk" in text for text in record.limitations)


def test_an_image_that_is_not_here_and_may_not_be_pulled(executor: Any) -> None:
    with pytest.raises(EngineError, match="codeboost/no-such:1 is not here"):
        executor.find_image("codeboost/no-such:1", PullPolicy.NEVER, lambda _: None)


def test_an_image_that_cannot_be_pulled_says_why_in_one_line(executor: Any) -> None:
    said = []
    with pytest.raises(EngineError) as caught:
        executor.find_image("127.0.0.1:1/no-such:1", PullPolicy.MISSING, said.append)
    assert "127.0.0.1:1/no-such:1" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert said == ["pulling 127.0.0.1:1/no-such:1 for linux/amd64"] or "for linux/" in said[0]


def test_a_tag_is_warned_about_and_an_id_is_not(executor: Any, image_id: Any) -> None:
    by_tag = executor.find_image("codeboost/example:1", PullPolicy.MISSING, lambda _: None)
    by_id = executor.find_image(image_id, PullPolicy.NEVER, lambda _: None)
    assert by_tag.id == by_id.id == image_id
    assert len(by_tag.warnings) == 1
    assert by_id.warnings == ()
    assert by_tag.platform.startswith("linux/")


def test_an_image_for_another_platform_is_refused(executor: Any, client: Any, make_image: Any) -> None:
    # It may be here already, by its tag or by its id; what an emulator does is not what the record would say.
    version = client.read_version()
    other = "s390x" if version["Arch"] != "s390x" else "amd64"
    reference = make_image(other)
    for asked in (reference, client.inspect_image(reference)["Id"]):
        for pull in (PullPolicy.NEVER, PullPolicy.MISSING):
            with pytest.raises(EngineError) as caught:
                executor.find_image(asked, pull, lambda _: None)
            assert f"is for linux/{other}, and this engine runs linux/{version['Arch']}" in str(caught.value)
            assert caught.value.exit_code == 4
    fitting = executor.find_image(make_image(version["Arch"]), PullPolicy.NEVER, lambda _: None)
    assert fitting.platform == f"linux/{version['Arch']}"


def test_the_container_that_asks_for_quotas_can_be_swept(
    client: Any, image_id: Any, store: Any, monkeypatch: Any
) -> None:
    # As on an engine whose files lie on xfs: only trying shows whether quotas are switched on.
    info = client.read_info() | {"Driver": "overlay2", "DriverStatus": [["Backing Filesystem", "xfs"]]}
    monkeypatch.setattr(type(client), "read_info", lambda _: info)
    create, seen = type(client).create, []

    def look(self: Any, name: str, config: Any) -> str:
        assert config["HostConfig"] == {"StorageOpt": {"size": "1073741824"}}
        made = create(self, name, config | {"HostConfig": {}})
        seen.extend(client.list_containers(f"{Label.STORE}={store}", f"{Label.ATTEMPT}=quota"))
        return made

    monkeypatch.setattr(type(client), "create", look)
    executor = open_executor(store)
    executor.find_image(image_id, PullPolicy.NEVER, lambda _: None)
    assert executor.describe().disk == "watched"
    executor.close()
    assert len(seen) == 1
    assert seen[0]["Labels"][Label.PID] == str(os.getpid())
    assert client.list_containers(f"{Label.STORE}={store}", f"{Label.ATTEMPT}=quota") == []


@pytest.mark.parametrize(
    "reference", ["", "UPPER CASE", "a b", "-x", "x:y:z", "../../info", "a\x00b", "x?y=1"]
)
def test_odd_references_are_errors_and_not_other_calls(executor: Any, reference: Any) -> None:
    with pytest.raises(EngineError):
        executor.find_image(reference, PullPolicy.NEVER, lambda _: None)
