"""What a mesh file that comes from somewhere else may not do: name files outside of its own, or fill the memory."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

__all__ = ["SUPPORTING_ENDINGS", "check_archive", "check_picture", "supporting_path"]

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
