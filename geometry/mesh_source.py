"""Where the triangles of a Mesh or Convex come from."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["MeshSource"]


class MeshSource:
    """A mesh file on disk.

    The file is not opened: a shape may be described before its file is read.

    Args:
        path: file name; a relative one is made absolute now, so that changing the working folder later
            changes nothing.

    Raises:
        RuntimeError: `path` is empty.
    """

    __slots__ = ("_path",)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not os.fspath(path):
            raise RuntimeError("A MeshSource needs the name of a mesh file; given an empty one.")
        self._path = Path(path).absolute()

    def is_path(self) -> bool:
        """Whether the mesh is a file on disk, which it always is."""
        return True

    def path(self) -> Path:
        """The absolute path of the file."""
        return self._path

    def description(self) -> str:
        """The path, for messages."""
        return str(self._path)

    def extension(self) -> str:
        """The file's extension in lower case, with its dot: '.obj'."""
        return self._path.suffix.lower()

    def __eq__(self, other: object) -> bool:
        return self._path == other._path if isinstance(other, MeshSource) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._path)

    def __repr__(self) -> str:
        return f"MeshSource(path={str(self._path)!r})"
