"""Where the triangles of a Mesh or Convex come from: a file on disk, or in memory.

Files that are kept in memory.

What a mesh file that comes from somewhere else may not do: name files outside of its own, or fill the memory.
"""

from __future__ import annotations

import copy
import hashlib
import io
import os
import time
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merganser.framework.common.records import settings


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


# Endings of files that mesh files may refer to; others are not opened.
SUPPORTING_ENDINGS = (
    ".mtl", ".bin", ".png", ".jpg", ".jpeg", ".ktx", ".ktx2", ".webp", ".tga", ".bmp", ".tif", ".tiff", ".gif"
)  # fmt: skip
_OF_PACKAGES = ("package.xml", "model.config")  # which the folder of a package, or of a model of SDFormat, has
_MOST_UNPACKED = 2**28  # [bytes]: triangles in text take about 100, so this is a mesh of two million and more
_MOST_PIXELS = 2**26  # 8192 x 8192, which take 256 MiB


def supporting_path(mesh: Path, name: str) -> Path:
    """The file that a mesh file names.

    Args:
        mesh: the absolute path of the mesh file.
        name: as written in it, relative to its folder.

    Raises:
        RuntimeError: the ending is not that of a material, picture or buffer, also where a link leads; or the file is
            neither below the folder of the mesh nor below that of its package.
    """
    mesh = Path(os.path.normpath(mesh))
    path = Path(os.path.normpath(mesh.parent / name.replace("\\", "/")))
    for place in (path, path.resolve()):
        if place.suffix.lower() not in SUPPORTING_ENDINGS:
            raise RuntimeError(
                f"The mesh file '{mesh}' needs '{name}', which is not opened: files that meshes refer to end in "
                f"{', '.join(SUPPORTING_ENDINGS)}."
            )
    package = next((p for p in mesh.parents if any((p / name).is_file() for name in _OF_PACKAGES)), mesh.parent)
    if not (path.is_relative_to(mesh.parent) or path.is_relative_to(package)):
        raise RuntimeError(
            f"The mesh file '{mesh}' needs '{name}', which is not opened: it is outside of the folder of the mesh, and "
            f"of its package ('{package}', which a package.xml marks). Move it there."
        )
    return path


def check_archive(contents: bytes, description: str) -> None:
    """Refuses a mesh file that is an archive of more than can be read.

    Raises:
        RuntimeError: unpacked, it would take more than 256 MiB.
    """
    import zipfile  # which few need

    if not zipfile.is_zipfile(io.BytesIO(contents)):
        return
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > _MOST_UNPACKED:
        raise RuntimeError(
            f"The mesh file '{description}' has {len(contents)} bytes, but {size} if it is unpacked; at most "
            f"{_MOST_UNPACKED} may be there. Convert it to .obj or .gltf."
        )


def check_picture(picture: Any) -> Any:
    """Returns a picture of Pillow, whose pixels are not read yet.

    Raises:
        RuntimeError: it has more than 2^26 pixels.
    """
    width, height = picture.size
    if width * height > _MOST_PIXELS:
        raise RuntimeError(
            f"A picture has {width} x {height} pixels; at most {_MOST_PIXELS} (8192 x 8192) may be there. Shrink it."
        )
    return picture


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

        None for what is in memory or not there, for formats whose geometry is in other files too, and for a file
        that was written so recently that the clock of its disk may give the next one the same time.
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
            RuntimeError: it is missing or empty.
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
            RuntimeError: no file has that name, it cannot be read, or it is one that meshes may not refer to, see
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
