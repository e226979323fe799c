"""Objects by id, from one ``git cat-file --batch``."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from typing import IO

from codeboost.errors import GitError

__all__ = ["BlobReader", "find_in_tree"]

_TREE_LINE = re.compile(rb"tree ([0-9a-f]{40}(?:[0-9a-f]{24})?)\n")


class BlobReader:
    """One ``git cat-file --batch`` process: objects by id, as many as wanted.

    Each is hashed again: git itself takes what lies in a checkout's object store for what its file name says.
    """

    def __init__(self, requests: IO[bytes], answers: IO[bytes]) -> None:
        self._requests = requests
        self._answers = answers

    def read(self, name: str) -> tuple[str, bytes] | None:
        """The type and content of an object, or None when the repository does not hold it."""
        self._send([name])
        return self._take(name)

    def find_tree(self, commit: str) -> str | None:
        """The id of a commit's tree; None when it is no commit."""
        answer = self.read(f"{commit}^{{commit}}")
        match = _TREE_LINE.match(answer[1]) if answer else None
        return match[1].decode() if match else None

    def read_many(self, names: Sequence[str]) -> Iterator[tuple[str, bytes] | None]:
        """Like ``read`` for each name, in order, without waiting for one answer before the next question.

        Names are object ids: a thousand questions fit into a pipe, so neither side ever waits for the other to read.
        """
        for start in range(0, len(names), 1000):
            asked = names[start : start + 1000]
            self._send(asked)
            for name in asked:
                yield self._take(name)

    def stream(self, name: str, chunk: int = 1 << 20) -> Iterator[bytes]:
        """The content of an object in pieces, so that a large one needs no memory of its size."""
        header = self._ask(name)
        if header is None:
            raise GitError(f"object {name} is missing from the repository")
        kind, left, oid = header
        digest = _begin_hash(kind, left, oid)
        while left:
            piece = self._answers.read(min(chunk, left))
            if not piece:
                raise GitError(f"git cat-file ended in the middle of {name}")
            left -= len(piece)
            digest.update(piece)
            yield piece
        self._answers.read(1)
        _refuse_forged(digest, oid)

    def _take(self, name: str) -> tuple[str, bytes] | None:
        header = self._read_header()
        if header is None:
            return None
        kind, size, oid = header
        content = self._answers.read(size)
        if len(content) != size:
            raise GitError(f"git cat-file ended in the middle of {name}")
        self._answers.read(1)
        digest = _begin_hash(kind, size, oid)
        digest.update(content)
        _refuse_forged(digest, oid)
        return kind, content

    def _ask(self, name: str) -> tuple[str, int, str] | None:
        self._send([name])
        return self._read_header()

    def _send(self, names: Sequence[str]) -> None:
        try:
            self._requests.write(b"".join(os.fsencode(name) + b"\n" for name in names))
            self._requests.flush()
        except OSError as error:
            raise GitError(f"git cat-file died: {error}") from error

    def _read_header(self) -> tuple[str, int, str] | None:
        words = self._answers.readline().split()
        if not words:
            raise GitError("git cat-file died")
        if words[-1] in (b"missing", b"ambiguous"):
            return None
        return words[1].decode(), int(words[2]), words[0].decode()


def _begin_hash(kind: str, size: int, oid: str) -> hashlib._Hash:
    digest = hashlib.sha256() if len(oid) == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(f"{kind} {size}\0".encode())
    return digest


def _refuse_forged(digest: hashlib._Hash, oid: str) -> None:
    if digest.hexdigest() != oid:
        raise GitError(
            f"object {oid} is not what its name says: the repository's object store is damaged",
            hint="run `git fsck`, or clone the repository anew",
        )


def find_in_tree(content: bytes, name: bytes, oid_bytes: int) -> tuple[int, str] | None:
    """The mode and id of the entry ``name`` in a tree object: ``mode SP name NUL id``, again and again."""
    start = 0
    while start < len(content):
        space = content.index(b" ", start)
        end = content.index(b"\0", space)
        if content[space + 1 : end] == name:
            return int(content[start:space], 8), content[end + 1 : end + 1 + oid_bytes].hex()
        start = end + 1 + oid_bytes
    return None
