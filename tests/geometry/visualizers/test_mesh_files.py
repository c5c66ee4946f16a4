"""Mesh files as the viewer draws them: parts, materials, textures, colors, and which way is up."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("trimesh", reason="extra `view`")
pytest.importorskip("PIL", reason="extra `view`")
from PIL import Image

from merganser.geometry import InMemoryMesh, MemoryFile, Mesh, Rgba
from merganser.geometry.visualizers.encoding import Asset
from merganser.geometry.visualizers.objects import shape_object

PIXELS = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [255, 255, 0]]], dtype=np.uint8)
SQUARE = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n"


def draw(mesh: Mesh) -> dict[str, Any]:
    """The drawing, with assets as arrays and text."""
    return shape_object(mesh, Rgba(0.2, 0.4, 0.6, 0.5))


def array_of(attribute: dict[str, Any]) -> np.ndarray:
    import umsgpack

    asset = attribute["array"]
    assert isinstance(asset, Asset)
    kinds = {"Float32Array": "<f4", "Uint32Array": "<u4", "Uint8Array": "u1"}
    data = umsgpack.unpackb(asset.data)["data"].data
    return np.frombuffer(data, dtype=kinds[attribute["type"]]).reshape(-1, attribute["itemSize"])


def parts(content: dict[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any], np.ndarray]]:
    """Of each mesh in the group: attributes, material, matrix."""
    geometries = {each["uuid"]: each["data"]["attributes"] for each in content["geometries"]}
    materials = {each["uuid"]: each for each in content["materials"]}
    return [
        (geometries[c["geometry"]], materials[c["material"]], np.array(c["matrix"]).reshape(4, 4).T)
        for c in content["object"]["children"]
    ]


def picture_of(content: dict[str, Any], material: dict[str, Any], name: str = "map") -> np.ndarray:
    import umsgpack

    (texture,) = (each for each in content["textures"] if each["uuid"] == material[name])
    (image,) = (each for each in content["images"] if each["uuid"] == texture["image"])
    text = umsgpack.unpackb(image["url"].data)["data"]
    assert text.startswith("data:image/png;base64,")
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(text.partition(",")[2]))).convert("RGB"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Image.fromarray(PIXELS).save(tmp_path / "skin.png")
    (tmp_path / "skin.mtl").write_text("newmtl skin\nKd 1 1 1\nmap_Kd skin.png\nnewmtl glass\nKd 1 0.5 0\nd 0.25\n")
    return tmp_path


def test_parts_of_an_obj_file_have_their_materials_and_textures(folder: Path) -> None:
    (folder / "two.obj").write_text(
        f"mtllib skin.mtl\n{SQUARE}usemtl skin\nf 1/1 2/2 3/3\nusemtl glass\nf 1/1 3/3 4/4\n"
    )
    content = draw(Mesh(folder / "two.obj", scale=2))
    by_color = {material["color"]: (attributes, material, matrix) for attributes, material, matrix in parts(content)}
    attributes, material, matrix = by_color[0xFFFFFF]
    np.testing.assert_array_equal(picture_of(content, material), PIXELS)
    np.testing.assert_allclose(matrix, np.diag([2, 2, 2, 1]))
    # Texture coordinates stay with their vertices.
    np.testing.assert_allclose(array_of(attributes["uv"]), array_of(attributes["position"])[:, :2])
    _, glass, _ = by_color[0xFF8000]
    assert "map" not in glass and glass["opacity"] == 0.25 and glass["transparent"]


@pytest.mark.parametrize("text", [SQUARE + "f 1 2 3\n", "mtllib missing.mtl\n" + SQUARE + "usemtl x\nf 1/1 2/2 3/3\n"])
def test_parts_without_a_material_have_the_color_that_is_given(folder: Path, text: str) -> None:
    (folder / "plain.obj").write_text(text)
    ((_, material, _),) = parts(draw(Mesh(folder / "plain.obj")))
    assert material["color"] == 0x336699 and material["opacity"] == 0.5 and "map" not in material


def test_a_texture_that_is_missing_leaves_the_color_of_its_material(folder: Path) -> None:
    (folder / "bad.mtl").write_text("newmtl bad\nKd 0 1 0\nmap_Kd nowhere.png\n")
    (folder / "bad.obj").write_text(f"mtllib bad.mtl\n{SQUARE}usemtl bad\nf 1/1 2/2 3/3\n")
    ((_, material, _),) = parts(draw(Mesh(folder / "bad.obj")))
    assert material["color"] == 0x00FF00 and "map" not in material


def test_edges_are_sharp_where_a_file_has_no_normals(folder: Path) -> None:
    (folder / "sharp.obj").write_text(SQUARE + "f 1 2 3\n")
    (folder / "smooth.obj").write_text(SQUARE + "vn 0 0.6 0.8\nf 1//1 2//1 3//1\n")
    ((sharp, sharp_material, _),) = parts(draw(Mesh(folder / "sharp.obj")))
    ((smooth, smooth_material, _),) = parts(draw(Mesh(folder / "smooth.obj")))
    assert sharp_material["flatShading"] and "normal" not in sharp
    assert "flatShading" not in smooth_material
    np.testing.assert_allclose(array_of(smooth["normal"]), [[0, 0.6, 0.8]] * 3, rtol=1e-6)


def test_vertices_may_have_colors(folder: Path) -> None:
    (folder / "colors.obj").write_text("v 0 0 0 1 0 0\nv 1 0 0 0 1 0\nv 1 1 0 0 0 1\nf 1 2 3\n")
    ((attributes, material, _),) = parts(draw(Mesh(folder / "colors.obj")))
    assert material["vertexColors"] and array_of(attributes["color"]).tolist() == (255 * np.eye(3)).tolist()


def write_gltf(folder: Path, **material: Any) -> Path:
    positions = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0]], dtype="<f4")
    uv = np.array([[0, 1], [1, 1], [0, 0]], dtype="<f4")  # glTF counts from the top
    data = positions.tobytes() + uv.tobytes() + np.arange(3, dtype="<u4").tobytes()
    (folder / "data.bin").write_bytes(data)
    content = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "translation": [0, 0, 5]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "materials": [material], "images": [{"uri": "skin.png"}], "textures": [{"source": 0}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 2, 0]},
            {"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2"},
            {"bufferView": 2, "componentType": 5125, "count": 3, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 24},
            {"buffer": 0, "byteOffset": 60, "byteLength": 12},
        ],
        "buffers": [{"uri": "data.bin", "byteLength": 72}],
    }  # fmt: skip
    (folder / "model.gltf").write_text(json.dumps(content))
    return folder / "model.gltf"


def test_a_gltf_is_upright_with_its_material(folder: Path) -> None:
    path = write_gltf(
        folder,
        doubleSided=True,
        emissiveFactor=[0, 1, 0],
        pbrMetallicRoughness={
            "baseColorFactor": [0.2158605, 1, 0, 1], "metallicFactor": 0.25, "roughnessFactor": 0.75,
            "baseColorTexture": {"index": 0},
        },
    )  # fmt: skip
    content = draw(Mesh(path, scale3=[1, 1, 10]))
    ((attributes, material, matrix),) = parts(content)
    corners = np.c_[array_of(attributes["position"]), np.ones(3)] @ matrix.T
    # y is upwards in glTF, z towards the viewer, which is -y here; then comes the scale.
    np.testing.assert_allclose(corners[:, :3], [[0, -5, 0], [1, -5, 0], [0, -5, 20]], atol=1e-6)
    assert material["type"] == "MeshStandardMaterial" and material["side"] == 2
    assert (material["metalness"], material["roughness"]) == (0.25, 0.75)
    assert material["color"] == 0x80FF00 and material["emissive"] == 0x00FF00  # light 0.2159 is 128 of 255 on a screen
    np.testing.assert_array_equal(picture_of(content, material), PIXELS)
    np.testing.assert_allclose(array_of(attributes["uv"]), [[0, 0], [1, 0], [0, 1]])


def test_transparent_gltf_and_gltf_of_one_side(folder: Path) -> None:
    base = {"baseColorFactor": [1, 1, 1, 0.5]}
    ((_, blend, _),) = parts(draw(Mesh(write_gltf(folder, alphaMode="BLEND", pbrMetallicRoughness=base))))
    assert blend["transparent"] and blend["opacity"] == pytest.approx(0.5, abs=0.01) and blend["side"] == 0
    ((_, opaque, _),) = parts(draw(Mesh(write_gltf(folder, pbrMetallicRoughness=base))))
    assert not opaque["transparent"] and opaque["opacity"] == 1


def test_files_in_memory_find_what_belongs_to_them(folder: Path) -> None:
    text = f"mtllib skin.mtl\n{SQUARE}usemtl skin\nf 1/1 2/2 3/3\n"
    source = InMemoryMesh(
        mesh_file=MemoryFile(text, ".obj", "memory.obj"),
        supporting_files={name: MemoryFile.Make(folder / name) for name in ("skin.mtl", "skin.png")},
    )
    content = draw(Mesh(source))
    ((_, material, _),) = parts(content)
    np.testing.assert_array_equal(picture_of(content, material), PIXELS)


def test_stl_files_are_drawn_with_sharp_edges(folder: Path) -> None:
    facet = "facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0\nendloop\nendfacet\n"
    (folder / "part.stl").write_text(f"solid part\n{facet}endsolid part\n")
    ((attributes, material, _),) = parts(draw(Mesh(folder / "part.stl")))
    assert material["flatShading"] and material["color"] == 0x336699 and len(array_of(attributes["position"])) == 3
