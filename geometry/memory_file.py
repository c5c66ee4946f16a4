"""Files that are kept in memory."""

from __future__ import annotations

import hashlib
import os
import types
from pathlib import Path
from typing import Any

__all__ = ["MemoryFile", "Sha256"]


class Sha256:
    """A SHA-256 checksum; that of nothing by default."""

    __slots__ = ("_digest",)

    def __init__(self) -> None:
        self._digest = bytes(32)

    @staticmethod
    def Checksum(data: str | bytes) -> Sha256:
        """The checksum of some bytes."""
        checksum = Sha256()
        checksum._digest = hashlib.sha256(_as_bytes(data)).digest()
        return checksum

    @staticmethod
    def Parse(sha256: str) -> Sha256 | None:
        """The checksum that is written as 64 hexadecimal digits; None for any other text."""
        try:
            digest = bytes.fromhex(sha256)
        except ValueError:
            return None
        if len(digest) != 32 or len(sha256) != 64:
            return None
        checksum = Sha256()
        checksum._digest = digest
        return checksum

    def to_string(self) -> str:
        """The checksum as 64 hexadecimal digits."""
        return self._digest.hex()

    def __eq__(self, other: object) -> bool:
        return self._digest == other._digest if isinstance(other, Sha256) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return bool(self._digest < other._digest) if isinstance(other, Sha256) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"Sha256('{self.to_string()}')"


class MemoryFile:
    """The contents of a file; it never changes.

    Args:
        contents: what is in the file.
        extension: its extension with the dot; any case, or empty.
        filename_hint: what messages call it; one line.

    Raises:
        RuntimeError: the extension does not begin with a dot, or the hint has several lines.
    """

    __slots__ = ("_contents", "_extension", "_filename_hint")
    __fields__ = (  # for YAML
        types.SimpleNamespace(name="contents", type=bytes),
        types.SimpleNamespace(name="extension", type=str),
        types.SimpleNamespace(name="filename_hint", type=str),
    )

    def __init__(self, contents: str | bytes = b"", extension: str = "", filename_hint: str = "") -> None:
        if extension and not extension.startswith("."):
            raise RuntimeError(f"The extension of a MemoryFile must be empty or begin with a dot; given '{extension}'.")
        if "\n" in filename_hint:
            raise RuntimeError(f"The filename_hint of a MemoryFile must be one line; given {filename_hint!r}.")
        self._contents = _as_bytes(contents)
        self._extension = extension.lower()
        self._filename_hint = filename_hint

    @staticmethod
    def Make(path: str | os.PathLike[str]) -> MemoryFile:
        """Reads a file from disk; the hint is its path.

        Raises:
            RuntimeError: it cannot be read.
        """
        try:
            contents = Path(path).read_bytes()
        except OSError as error:
            raise RuntimeError(f"MemoryFile.Make() cannot read the file '{path}': {error.strerror}.") from error
        return MemoryFile(contents, Path(path).suffix, str(path))

    def contents(self) -> bytes:
        """What is in the file."""
        return self._contents

    def extension(self) -> str:
        """The extension in lower case, with its dot: '.obj'."""
        return self._extension

    def filename_hint(self) -> str:
        """What messages call the file."""
        return self._filename_hint

    def sha256(self) -> Sha256:
        """The checksum of the contents."""
        return Sha256.Checksum(self._contents)

    def __deepcopy__(self, memo: dict[int, Any]) -> MemoryFile:
        return self

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, MemoryFile) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[bytes, str, str]:
        return self._contents, self._extension, self._filename_hint

    def __repr__(self) -> str:
        shown = self._contents if len(self._contents) <= 80 else self._contents[:77] + b"..."
        return f"MemoryFile(contents={shown!r}, extension={self._extension!r}, filename_hint={self._filename_hint!r})"


def _as_bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else bytes(data)
