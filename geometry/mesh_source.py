"""Where the triangles of a Mesh or Convex come from: a file on disk, or in memory."""

from __future__ import annotations

import copy
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merganser.framework.common.records import settings
from merganser.geometry.file_limits import supporting_path
from merganser.geometry.memory_file import MemoryFile

__all__ = ["InMemoryMesh", "MeshSource"]

_CLOCK_OF_FILES = 2.0  # the coarsest tick of file systems [s]


@settings
@dataclass(kw_only=True)
class InMemoryMesh:
    """A mesh file in memory.

    Attributes:
        mesh_file: the file itself.
        supporting_files: files that it refers to, on disk or in memory, by the names that it uses.
    """

    mesh_file: MemoryFile = field(default_factory=MemoryFile)
    supporting_files: dict[str, Path | MemoryFile] = field(default_factory=dict)


class MeshSource:
    """A mesh file on disk, or one in memory.

    A file on disk is not opened: a shape may be described before its file is read.

    Args:
        path: file name; a relative one is made absolute now, so that changing the working folder later changes
            nothing. Or an InMemoryMesh, of which a copy is kept, or another MeshSource.
        mesh: an InMemoryMesh, by name.
        other: another MeshSource, by name.

    Raises:
        TypeError: something else is given.
        RuntimeError: `path` is empty.
    """

    __slots__ = ("_source",)
    _source: Path | InMemoryMesh

    def __init__(
        self,
        path: str | os.PathLike[str] | InMemoryMesh | MeshSource | None = None,
        *,
        mesh: InMemoryMesh | None = None,
        other: MeshSource | None = None,
    ) -> None:
        given: Any = next((value for value in (path, mesh, other) if value is not None), None)
        if isinstance(given, MeshSource):
            self._source = given._source
        elif isinstance(given, InMemoryMesh):
            self._source = copy.deepcopy(given)
        elif not isinstance(given, (str, os.PathLike)):
            raise TypeError(f"A MeshSource takes a file name, an InMemoryMesh or a MeshSource; given {given!r}.")
        elif not os.fspath(given):
            raise RuntimeError("A MeshSource needs the name of a mesh file; given an empty one.")
        else:
            self._source = Path(given).absolute()

    def is_path(self) -> bool:
        """Whether the mesh is a file on disk."""
        return isinstance(self._source, Path)

    def is_in_memory(self) -> bool:
        """Whether the mesh is in memory."""
        return isinstance(self._source, InMemoryMesh)

    def path(self) -> Path:
        """The absolute path of the file on disk.

        Raises:
            RuntimeError: the mesh is in memory.
        """
        if not isinstance(self._source, Path):
            raise RuntimeError(f"MeshSource.path(): mesh '{self.description()}' is in memory. Use in_memory().")
        return self._source

    def in_memory(self) -> InMemoryMesh:
        """The mesh in memory, for reading only.

        Raises:
            RuntimeError: the mesh is a file on disk.
        """
        if not isinstance(self._source, InMemoryMesh):
            raise RuntimeError(f"MeshSource.in_memory(): the mesh is the file '{self._source}'. Use path().")
        return self._source

    def description(self) -> str:
        """The path, or the hint of the file in memory, for messages."""
        source = self._source
        return str(source) if isinstance(source, Path) else source.mesh_file.filename_hint()

    def extension(self) -> str:
        """The file's extension in lower case, with its dot: '.obj'."""
        source = self._source
        return source.suffix.lower() if isinstance(source, Path) else source.mesh_file.extension()

    def stamp(self) -> tuple[int, int] | None:
        """What changes when a file on disk does: its time and size.

        None for what is in memory or not there, for formats whose geometry stands in other files too, and for a file
        that was written so recently that the clock of its disk may not tell it from the next.
        """
        if not isinstance(self._source, Path) or self.extension() == ".gltf":
            return None
        try:
            status = self._source.stat()
        except OSError:
            return None
        return None if time.time() - status.st_mtime < _CLOCK_OF_FILES else (status.st_mtime_ns, status.st_size)

    def read(self) -> bytes:
        """Returns what is in the file.

        Raises:
            RuntimeError: it does not exist, cannot be read, or is empty.
        """
        self.require_contents()
        if isinstance(self._source, InMemoryMesh):
            return self._source.mesh_file.contents()
        try:
            return self._source.read_bytes()
        except OSError as error:
            raise RuntimeError(f"The mesh file '{self._source}' could not be read: {error.strerror}.") from error

    def require_contents(self) -> None:
        """Does nothing if there is such a file with something in it.

        Raises:
            RuntimeError: there is none, or it is empty.
        """
        if isinstance(self._source, InMemoryMesh):
            is_empty = not self._source.mesh_file.contents()
        elif not self._source.is_file():
            raise RuntimeError(f"The mesh file '{self._source}' does not exist.")
        else:
            is_empty = self._source.stat().st_size == 0
        if is_empty:
            raise RuntimeError(f"The mesh file '{self.description()}' is empty.")

    def supporting_file(self, name: str) -> bytes:
        """Returns what is in a file that the mesh file refers to.

        Raises:
            RuntimeError: there is none of that name, it cannot be read, or it is one that meshes may not refer to, see
                `supporting_path`.
        """
        if isinstance(self._source, Path):
            found: Path | MemoryFile | None = supporting_path(self._source, name)
        else:
            found = self._source.supporting_files.get(name)
        if isinstance(found, MemoryFile):
            return found.contents()
        if found is None:
            raise RuntimeError(f"The mesh '{self.description()}' needs '{name}', which is no supporting file of it.")
        try:
            return found.read_bytes()
        except OSError as error:
            raise RuntimeError(
                f"The mesh file '{self.description()}' needs '{name}', which could not be read: {error.strerror}."
            ) from error

    def __copy__(self) -> MeshSource:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> MeshSource:
        return self

    def __eq__(self, other: object) -> bool:
        return self._source == other._source if isinstance(other, MeshSource) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._source if isinstance(self._source, Path) else self._source.mesh_file)

    def __repr__(self) -> str:
        source = self._source
        return f"MeshSource(path={str(source)!r})" if isinstance(source, Path) else f"MeshSource(mesh={source!r})"
