"""Tar headers by hand, read back by Python's own ``tarfile``."""

from __future__ import annotations

import io
import tarfile

from hypothesis import given
from hypothesis import strategies as st

from codeboost.sandbox.archive import END, MTIME, Kind, gather, make_header, measure, pad

names = st.binary(min_size=1, max_size=300).filter(lambda name: b"\0" not in name and b"/" not in name)


@given(name=names, content=st.binary(max_size=2000), mode=st.sampled_from([0o644, 0o755]))
def test_files_of_any_name(name: bytes, content: bytes, mode: int) -> None:
    data = (
        make_header(name, Kind.FILE, mode=mode, owner=10001, size=len(content))
        + content
        + bytes(pad(len(content)))
    )
    assert len(data) == measure(name, Kind.FILE, size=len(content))
    with tarfile.open(fileobj=io.BytesIO(data + END), encoding="utf-8", errors="surrogateescape") as archive:
        member = archive.next()
        assert member is not None
        assert member.name.encode("utf-8", "surrogateescape") == name
        assert (member.mode, member.uid, member.gid, member.mtime) == (mode, 10001, 10001, MTIME)
        file = archive.extractfile(member)
        assert file is not None
        assert file.read() == content
        assert archive.next() is None


@given(name=names, target=names)
def test_links_with_any_target(name: bytes, target: bytes) -> None:
    data = make_header(name, Kind.SYMLINK, mode=0o777, target=target)
    assert len(data) == measure(name, Kind.SYMLINK, target=len(target))
    with tarfile.open(fileobj=io.BytesIO(data + END), encoding="utf-8", errors="surrogateescape") as archive:
        member = archive.next()
        assert member is not None
        assert member.issym()
        assert member.linkname.encode("utf-8", "surrogateescape") == target


def test_sizes_beyond_eight_gibibytes() -> None:
    size = 9 << 30
    assert measure(b"x", Kind.FILE, size=size) == 512 + size
    assert (
        tarfile.TarInfo.frombuf(make_header(b"x", Kind.FILE, mode=0o644, size=size), "utf-8", "strict").size
        == size
    )


@given(st.lists(st.binary(max_size=20), max_size=30), st.integers(1, 30))
def test_gathering_changes_no_byte(pieces: list[bytes], size: int) -> None:
    gathered = list(gather(pieces, size))
    assert b"".join(gathered) == b"".join(pieces)
    assert all(len(piece) >= size for piece in gathered[:-1])
