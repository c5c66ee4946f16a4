"""Looks: textures, materials, meshes, lights."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
import pytest
from PIL import Image as pillow
from rendered_scenes import (
    INFO,
    SKY,
    RenderedScene,
    looking_at,
    middle,
    need_renderer,
    properties,
)

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    EnvironmentMap,
    EquirectangularMap,
    InMemoryMesh,
    LightParameter,
    MemoryFile,
    Mesh,
    RenderEngineVtkParams,
    Sphere,
    SsaoParameter,
)
from merganser.geometry.sensors import CameraInfo

need_renderer()

Array = np.ndarray[Any, Any]


@pytest.fixture
def picture(tmp_path: Any) -> Any:
    """Red above, blue below; left half dark."""
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:4, :, 0], pixels[4:, :, 2] = 255, 255
    pixels[:, :4] //= 2
    pillow.fromarray(pixels).save(tmp_path / "picture.png")
    return tmp_path / "picture.png"


def quarters(image: Array) -> list[list[int]]:
    """The colors around the middle: upper left, upper right, lower left, lower right."""
    y, x = image.shape[0] // 2, image.shape[1] // 2
    return [image[y + dy, x + dx, :3].tolist() for dy in (-6, 6) for dx in (-6, 6)]


WALL = """{0}v -0.5 -0.5 0
v 0.5 -0.5 0
v 0.5 0.5 0
v -0.5 0.5 0
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
{1}f 1/1/1 2/2/1 3/3/1
f 1/1/1 3/3/1 4/4/1
"""
FROM_ABOVE = looking_at([0.0, 0.0, 0.0], [0.0, 0.0, 1.3], up=(0.0, 1.0, 0.0))
PICTURE = [[127, 0, 0], [255, 0, 0], [0, 0, 127], [0, 0, 255]]


def test_texture_of_a_property_covers_each_side_of_a_box_upright(picture: Any) -> None:
    scene = RenderedScene()
    scene.add(Box(0.6, 0.6, 0.6), look=properties(1, texture=picture))
    for side in ([1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0]):
        assert quarters(scene.colors(INFO, looking_at([0, 0, 0], side))) == PICTURE


def test_mesh_looks_as_its_own_material_says_and_else_as_the_properties_do(
    tmp_path: Any, picture: Any, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "wall.mtl").write_text("newmtl paper\nKd 1 1 1\nmap_Kd picture.png\nnewmtl paint\nKd 0 1 0\n")
    files = {
        "pictured": WALL.format("mtllib wall.mtl\n", "usemtl paper\n"),
        "painted": WALL.format("mtllib wall.mtl\n", "usemtl paint\n"),
        "plain": WALL.format("", ""),
        "beside": WALL.format("", ""),
    }
    for name, text in files.items():
        (tmp_path / f"{name}.obj").write_text(text)
    (tmp_path / "beside.png").write_bytes(picture.read_bytes())

    def look(name: str, **look: Any) -> list[list[int]]:
        scene = RenderedScene()
        scene.add(Mesh(str(tmp_path / f"{name}.obj")), look=properties(1, **look))
        return quarters(scene.colors(INFO, FROM_ABOVE))

    assert look("pictured") == look("beside") == look("plain", texture=picture) == PICTURE
    assert look("plain", color=(1.0, 0.0, 0.0)) == [[255, 0, 0]] * 4
    assert not caplog.records
    assert look("painted", color=(1.0, 0.0, 0.0)) == [[0, 255, 0]] * 4
    assert "the mesh has materials of its own; ('phong', 'diffuse') is not used" in caplog.text
    caplog.clear()
    assert look("plain", color=(0.0, 0.0, 1.0), texture=tmp_path / "none.png") == [[0, 0, 255]] * 4
    assert "none.png' could not be read" in caplog.text


def test_mesh_of_two_materials_from_memory_has_both() -> None:
    text = WALL.format("mtllib both.mtl\n", "usemtl red\n")
    text = text.replace("f 1/1/1 3/3/1 4/4/1", "usemtl blue\nf 1/1/1 3/3/1 4/4/1")
    materials = MemoryFile("newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n", ".mtl", "both.mtl")
    mesh = InMemoryMesh(mesh_file=MemoryFile(text, ".obj", "wall"), supporting_files={"both.mtl": materials})
    scene = RenderedScene()
    scene.add(Mesh(mesh))
    colors = scene.colors(INFO, FROM_ABOVE)
    assert colors[34, 42, :3].tolist() == [255, 0, 0] and colors[14, 22, :3].tolist() == [0, 0, 255]
    assert middle(scene.labels(INFO, FROM_ABOVE)) == 1


def gltf(color: list[float]) -> str:
    """A square in the plane z = 0 of glTF, whose y axis points upwards, moved to z = 0.25 by its node."""
    corners = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0]], np.float32)
    normals = np.tile(np.array([0, 0, 1], np.float32), (4, 1))
    data = corners.tobytes() + normals.tobytes() + np.array([0, 1, 2, 0, 2, 3], np.uint16).tobytes()
    views = ((0, 48), (48, 48), (96, 12))
    vectors = {"componentType": 5126, "count": 4, "type": "VEC3"}
    limits = {"min": [-0.5, -0.5, 0], "max": [0.5, 0.5, 0]}
    return json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "translation": [0, 0, 0.25]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1}, "indices": 2, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": color, "metallicFactor": 0.0}}],
        "accessors": [
            {"bufferView": 0, **vectors, **limits},
            {"bufferView": 1, **vectors},
            {"bufferView": 2, "componentType": 5123, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": [{"buffer": 0, "byteOffset": start, "byteLength": size} for start, size in views],
        "buffers": [{"byteLength": len(data), "uri": f"data:;base64,{base64.b64encode(data).decode()}"}],
    })  # fmt: skip


def test_a_gltf_mesh_is_upright_and_has_its_color() -> None:
    scene = RenderedScene()
    file = MemoryFile(gltf([1.0, 0.0, 0.0, 1.0]), ".gltf", "square")
    scene.add(Mesh(InMemoryMesh(mesh_file=file)), look=properties(4))
    front = looking_at([0, 0, 0], [0.0, -1.25, 0.0])  # the square is at y = -0.25, and faces -y
    assert middle(scene.depths(INFO, front)) == pytest.approx(1.0, abs=1e-6)
    red, green, blue, _ = middle(scene.colors(INFO, front))
    assert red > 2 * green and green == blue
    behind = looking_at([0, 0, 0], [0.0, 1.0, 0.0])
    assert middle(scene.colors(INFO, behind)) == SKY  # one-sided, as its material says
    assert middle(scene.labels(INFO, behind)) == 4


LIT: dict[str, RenderEngineVtkParams] = {
    "physical": RenderEngineVtkParams(force_to_pbr=True),
    "exposed": RenderEngineVtkParams(exposure=0.5),
    "occluded": RenderEngineVtkParams(ssao=SsaoParameter(sample_count=16)),
    "occluded and shifted": RenderEngineVtkParams(ssao=SsaoParameter(sample_count=16, intensity_shift=0.1)),
    "spot": RenderEngineVtkParams(
        lights=[LightParameter(type="spot", frame="world", position=[0, 0, 3], direction=[0, 0, -1], cone_angle=5)]
    ),
    "point": RenderEngineVtkParams(lights=[LightParameter(type="point", frame="world", position=[2.0, 0.0, 2.0])]),
}


@pytest.mark.parametrize("name", LIT)
def test_parameters_change_colors_and_nothing_else(name: str) -> None:
    scenes = [RenderedScene(), RenderedScene(LIT[name])]
    for scene in scenes:
        scene.add(Box(3.0, 3.0, 0.1), RigidTransform([0, 0, -0.3]), properties(1, (0.8, 0.8, 0.8)))
        scene.add(Sphere(0.25), look=properties(2, (0.9, 0.3, 0.2)))
    plain, lit = (scene.colors(INFO, FROM_ABOVE) for scene in scenes)
    assert (np.abs(plain.astype(int) - lit).max(axis=2) > 3).mean() > 0.02
    assert (lit[:, :, 3] == 255).all() and len(np.unique(lit[:, :, 0])) > 3
    for image in ("depths", "labels"):
        np.testing.assert_array_equal(*(getattr(scene, image)(INFO, FROM_ABOVE) for scene in scenes))


def test_shadow_falls_to_where_the_light_does_not_reach() -> None:
    light = LightParameter(type="directional", frame="world", direction=[-1.0, 0.0, -1.0])
    scene = RenderedScene(RenderEngineVtkParams(cast_shadows=True, shadow_map_size=512, lights=[light]))
    scene.add(Box(4.0, 4.0, 0.2), RigidTransform([0, 0, -0.1]), properties(1, (1.0, 1.0, 1.0)))
    scene.add(Box(0.2, 0.2, 0.5), RigidTransform([0, 0, 0.25]), properties(2, (1.0, 1.0, 1.0)))
    info = CameraInfo(120, 60, 0.8)  # twice as wide as high
    colors = scene.colors(info, looking_at([0, 0, 0], [0.0, 0.0, 3.0], up=(0.0, 1.0, 0.0)))
    f = info.focal_x() / 3.0
    shadow, sunny = (colors[30, round(59.5 + f * x), :3].max() for x in (-0.3, 0.3))  # x points to the right
    assert shadow < 40 and sunny > 150
    assert colors[30, [3, -3], :3].min() > 150


def test_surroundings_are_seen_and_light_the_scene(tmp_path: Any) -> None:
    pixels = np.zeros((16, 32, 3), np.uint8)
    pixels[:, 8:24, 0], pixels[:, :8, 2], pixels[:, 24:, 2] = 255, 255, 255  # red towards +x, blue towards -x
    pillow.fromarray(pixels).save(tmp_path / "sky.png")
    surroundings = EnvironmentMap(texture=EquirectangularMap(path=str(tmp_path / "sky.png")))
    scene = RenderedScene(RenderEngineVtkParams(environment_map=surroundings))
    for x, channel in ((1.0, 0), (-1.0, 2)):
        sky = middle(scene.colors(INFO, looking_at([x, 0.3, 0], [0, 0, 0])))
        assert sky[channel] > 250 and sum(sky[:3]) == sky[channel]
    scene.add(Sphere(0.5), look=properties(1, (1.0, 1.0, 1.0)))
    for x, channel in ((1.0, 0), (-1.0, 2)):
        lit = middle(scene.colors(INFO, looking_at([0, 0, 0], [2.0 * x, 0, 0])))
        assert np.argmax(lit[:3]) == channel
    empty = EnvironmentMap(skybox=False, texture=surroundings.texture)
    hidden = RenderedScene(RenderEngineVtkParams(environment_map=empty))
    assert middle(hidden.colors(INFO)) == SKY
