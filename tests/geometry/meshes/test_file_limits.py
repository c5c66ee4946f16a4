"""Mesh files from somewhere else open no files outside of their own folder or package, and do not fill the memory."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.geometry import InMemoryMesh, MemoryFile, Mesh, MeshSource
from merganser.geometry.meshes import mesh_source as file_limits
from merganser.geometry.meshes import read_parts, read_surface_mesh
from merganser.geometry.rendering.mesh_parts import mesh_parts

pytest.importorskip("trimesh", reason="trimesh is not installed (extra `viz`)")
pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
UV = np.array([[0, 0], [1, 0], [0, 1]], np.float32)
BUFFER = TRIANGLE.tobytes() + UV.tobytes() + np.arange(3, dtype=np.uint32).tobytes()


def gltf(buffer: str, picture: str | None = None) -> str:
    """A triangle, perhaps with a picture on it."""
    views = [(0, 36), (36, 24), (60, 12)]
    primitive: dict[str, Any] = {"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2}
    looks: dict[str, Any] = {}
    if picture is not None:
        primitive["material"] = 0
        looks = {
            "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
            "textures": [{"source": 0}],
            "images": [{"uri": picture}],
        }
    return json.dumps(
        {
            "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [primitive]}], "buffers": [{"uri": buffer, "byteLength": len(BUFFER)}],
            "bufferViews": [{"buffer": 0, "byteOffset": start, "byteLength": size} for start, size in views],
            "accessors": [
                {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0] * 3, "max": [1] * 3},
                {"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2"},
                {"bufferView": 2, "componentType": 5125, "count": 3, "type": "SCALAR"},
            ],
            **looks,
        }
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of meshes, in a folder in which there is a buffer, too."""
    (tmp_path / "package" / "meshes").mkdir(parents=True)
    for place in (".", "package", "package/meshes"):
        (tmp_path / place / "triangle.bin").write_bytes(BUFFER)
    return tmp_path / "package" / "meshes"


def triangle_of(folder: Path, buffer: str) -> int:
    (folder / "t.gltf").write_text(gltf(buffer))
    return read_surface_mesh(MeshSource(folder / "t.gltf")).num_triangles()


def test_buffers_are_opened_below_the_folder_of_a_mesh(folder):
    (folder / "deep").mkdir()
    (folder / "deep" / "triangle.bin").write_bytes(BUFFER)
    for buffer in ("triangle.bin", "./triangle.bin", "deep/triangle.bin", "../meshes/triangle.bin"):
        assert triangle_of(folder, buffer) == 1


@pytest.mark.parametrize("depth", [1, 2])
def test_buffers_outside_of_the_folder_are_not_opened(folder, depth):
    with pytest.raises(RuntimeError, match="outside of the folder of the mesh"):
        triangle_of(folder, "../" * depth + "triangle.bin")
    with pytest.raises(RuntimeError, match="outside of the folder of the mesh"):
        triangle_of(folder, str(folder.parents[depth - 1] / "triangle.bin"))


@pytest.mark.parametrize("mark", ["package.xml", "model.config"])
def test_files_of_its_package_are_open_to_a_mesh(folder, mark):
    (folder.parent / mark).write_text("")
    assert triangle_of(folder, "../triangle.bin") == 1
    with pytest.raises(RuntimeError, match="outside of the folder of the mesh"):
        triangle_of(folder, "../../triangle.bin")


def test_a_link_to_a_file_of_another_kind_is_not_followed(folder):
    (folder.parent / "secret.txt").write_bytes(BUFFER)
    (folder / "link.bin").symlink_to(folder.parent / "secret.txt")
    with pytest.raises(RuntimeError, match="which is not opened"):
        triangle_of(folder, "link.bin")


def test_all_who_read_a_mesh_keep_to_its_folder(folder):
    (folder / "t.gltf").write_text(gltf("../triangle.bin"))
    for read in (read_surface_mesh, read_parts, lambda source: mesh_parts(Mesh(source.path()))):
        with pytest.raises(RuntimeError, match="outside of the folder of the mesh"):
            read(MeshSource(folder / "t.gltf"))


def test_a_mesh_in_memory_opens_no_files_but_those_it_is_given(folder, monkeypatch):
    monkeypatch.chdir(folder)
    mesh = InMemoryMesh(mesh_file=MemoryFile(gltf("triangle.bin"), ".gltf", "t"))
    with pytest.raises(RuntimeError, match="no supporting file"):
        read_surface_mesh(MeshSource(mesh))
    mesh.supporting_files = {"triangle.bin": folder / "triangle.bin"}
    assert read_surface_mesh(MeshSource(mesh)).num_triangles() == 1


def test_archives_that_grow_too_large_are_refused_before_they_are_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for i in range(3):
            archive.writestr(f"t{i}.stl", bytes(100 * 2**20))
    assert (tmp_path / "t.zip").stat().st_size < 2**20
    with pytest.raises(RuntimeError, match=r"t\.zip' has \d+ bytes, but 314572800 if it is unpacked"):
        read_surface_mesh(MeshSource(tmp_path / "t.zip"))
    (tmp_path / "t.bz2").write_bytes(b"BZh")
    with pytest.raises(RuntimeError, match="no format that is read"):
        read_surface_mesh(MeshSource(tmp_path / "t.bz2"))


def png_of_size(width: int, height: int) -> bytes:
    """A file that says that it has so many pixels, and has none."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_pictures_that_are_too_large_are_refused_before_their_pixels_are_made(folder):
    (folder / "large.png").write_bytes(png_of_size(10_000, 10_000))
    (folder / "t.gltf").write_text(gltf("triangle.bin", "large.png"))
    assert read_surface_mesh(MeshSource(folder / "t.gltf")).num_triangles() == 1  # which needs no picture
    with pytest.raises(RuntimeError, match="10000 x 10000 pixels"):
        mesh_parts(Mesh(folder / "t.gltf"))


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp"])
def test_pictures_go_to_the_viewer_as_they_are_in_their_files(folder, kind, monkeypatch):
    mesh_files = pytest.importorskip("merganser.geometry.visualizers.objects")
    pytest.importorskip("umsgpack", reason="the viewer's packages are not installed (extra `view`)")
    buffer = io.BytesIO()
    pillow.fromarray(np.arange(192, dtype=np.uint8).reshape(8, 8, 3)).save(buffer, kind)
    (folder / f"p.{kind}").write_bytes(buffer.getvalue())
    (folder / "t.gltf").write_text(gltf("triangle.bin", f"p.{kind}"))
    shown: list[str] = []
    of = mesh_files.Asset.of
    monkeypatch.setattr(mesh_files.Asset, "of", lambda contents: shown.append(contents) or of(contents))
    mesh_files.mesh_file_object(MeshSource(folder / "t.gltf"), {}, np.eye(4))
    (address,) = [contents for contents in shown if isinstance(contents, str)]
    assert address == f"data:image/{kind};base64,{base64.b64encode(buffer.getvalue()).decode()}"


def test_the_limit_of_pictures_is_that_of_large_textures():
    picture = type("Picture", (), {"size": (8192, 8192)})()
    assert file_limits.check_picture(picture) is picture


def test_a_mesh_behind_a_path_with_dots_names_files_of_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "meshes"
    folder.mkdir()
    (folder / "skin.png").write_bytes(b"")
    mesh = tmp_path / "other" / ".." / "meshes" / "m.gltf"
    assert file_limits.supporting_path(mesh, "skin.png") == folder / "skin.png"
