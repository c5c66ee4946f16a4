"""RenderEngineVtk in a SceneGraph: values of pixels, changes, copies, threads."""

from __future__ import annotations

import copy
import gc
import json
import logging
import os
import pickle
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from PIL import Image as pillow
from rendered_scenes import (
    WORLD,
    RenderedScene,
    color_camera,
    depth_camera,
    images_of,
    looking_at,
    moving_scene,
    need_renderer,
    properties,
)

from merganser.framework import PickleSystem
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    EnvironmentMap,
    EquirectangularMap,
    GeometryId,
    GeometryInstance,
    InMemoryMesh,
    LightParameter,
    MakeRenderEngineGl,
    MakeRenderEngineVtk,
    MemoryFile,
    Mesh,
    PerceptionProperties,
    RenderEngineGlParams,
    RenderEngineVtkParams,
    RenderLabel,
    Rgba,
    Role,
    RoleAssign,
    Sphere,
    SsaoParameter,
)
from merganser.geometry.sensors import CameraInfo, ConvertDepth32FTo16U, ImageDepth16U

need_renderer()

Array = np.ndarray[Any, Any]
INFO = CameraInfo(65, 49, 1.0)  # with a pixel in the middle
SKY = [204, 229, 255, 255]
EMPTY = int(RenderLabel.kEmpty)
AHEAD = RigidTransform([0.0, 0.0, 2.0])


def middle(image: Array) -> Any:
    return image[image.shape[0] // 2, image.shape[1] // 2].tolist()


# ---------------------------------------------------------------------- pixels


def test_depths_out_of_range_are_zero_or_infinite_and_millimeters_saturate() -> None:
    scene = RenderedScene()
    faces = {8: 0.9, 16: 1.0, 24: 4.9, 32: 5.1, 40: 65.5334, 48: 65.5344, 56: 65.6}  # depths by columns
    for column, z in faces.items():
        width = 6.0 * z / INFO.focal_x()
        x = (column - INFO.center_x()) / INFO.focal_x() * z
        scene.add(Box(width, width, 0.01 * z), RigidTransform([x, 0.0, 1.005 * z]))
    row = {column: scene.depths(INFO, far=99.0, depths=(0.95, 5.0))[24, column] for column in faces}
    assert (row[8], row[32], row[56]) == (0.0, np.inf, np.inf)
    assert [row[16], row[24]] == pytest.approx([1.0, 4.9], rel=1e-6)
    far = scene.query().RenderDepthImage(depth_camera(INFO, far=99.0), WORLD, RigidTransform())
    assert [far.at(column, 24)[0] for column in faces] == pytest.approx(list(faces.values()), rel=1e-6)
    millimeters = ImageDepth16U()
    ConvertDepth32FTo16U(far, millimeters)
    assert [int(millimeters.at(c, 24)[0]) for c in (8, 40, 48, 56, 0)] == [900, 65533, 65534, 65535, 65535]


def test_each_reserved_label_means_what_it_is_for() -> None:
    scene = RenderedScene()
    scene.add(Sphere(0.5), AHEAD, properties(RenderLabel.kDoNotRender))
    assert (scene.labels(INFO) == EMPTY).all()
    assert middle(scene.depths(INFO)) == pytest.approx(1.5, rel=1e-4)
    assert middle(scene.colors(INFO)) != SKY
    scene.add(Sphere(0.3), RigidTransform([0.0, 0.0, 3.0]), properties())
    assert middle(scene.labels(INFO)) == int(RenderLabel.kDontCare)  # behind what is left out
    with pytest.raises(RuntimeError, match=r"Renderer 'r' cannot take geometry 'g.*RenderLabel.kEmpty"):
        scene.add(Sphere(0.3), AHEAD, properties(RenderLabel.kEmpty))
    with pytest.raises(RuntimeError, match="kUnspecified"):
        scene.add(Sphere(0.3), AHEAD, properties(RenderLabel.kUnspecified))
    assert scene.graph.model_inspector().NumGeometriesWithRole(Role.kPerception) == 2


@pytest.mark.parametrize("label", [0, 1, 255, 256, 32763])
def test_labels_of_all_sizes_come_back(label: int) -> None:
    scene = RenderedScene()
    scene.add(Sphere(0.5), AHEAD, properties(label))
    assert np.unique(scene.labels(INFO)).tolist() == sorted([label, EMPTY])


def test_colors_are_diffuse_where_the_light_of_the_camera_falls_straight_and_the_default_elsewhere() -> None:
    scene = RenderedScene()
    scene.add(Box(1.0, 1.0, 1.0), AHEAD, properties(1, (0.2, 0.4, 0.6)))
    assert middle(scene.colors(INFO)) == [51, 102, 153, 255]
    assert scene.colors(INFO)[0, 0].tolist() == SKY
    params = RenderEngineVtkParams(default_diffuse=[0.0, 1.0, 0.0, 1.0], default_clear_color=[1.0, 0.0, 0.0])
    other = RenderedScene(params)
    other.add(Box(1.0, 1.0, 1.0), AHEAD)
    assert middle(other.colors(INFO)) == [0, 255, 0, 255]
    assert other.colors(INFO)[0, 0].tolist() == [255, 0, 0, 255]


def test_cameras_of_different_sizes_see_the_same_scene_in_turn() -> None:
    scene = RenderedScene()
    scene.add(Sphere(0.5), AHEAD, properties(9))
    for width, height in ((64, 48), (300, 200), (16, 16), (200, 300), (64, 48)):
        info = CameraInfo(width, height, 1.0)
        for image in (scene.colors(info), scene.depths(info), scene.labels(info)):
            assert image.shape[:2] == (height, width)
        radius = np.tan(np.arcsin(0.25)) * info.focal_x()
        assert (scene.labels(info) == 9).sum() == pytest.approx(np.pi * radius**2, rel=0.06)
        assert (scene.colors(info)[0, 0] == SKY).all()


def test_images_are_not_overwritten_by_later_ones() -> None:
    scene = RenderedScene()
    scene.add(Sphere(0.5), AHEAD, moves=True)
    first = scene.query().RenderDepthImage(depth_camera(INFO), WORLD, RigidTransform())
    kept = first.data.copy()
    scene.move(scene.context, RigidTransform([0.0, 0.0, 1.0]))
    assert middle(scene.depths(INFO)) == pytest.approx(2.5, rel=1e-4)
    np.testing.assert_array_equal(first.data, kept)


# ---------------------------------------------------------------------- looks


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
    text = WALL.format("mtllib both.mtl\n", "usemtl red\n").replace("f 1/1/1 3/3/1 4/4/1", "usemtl blue\nf 1/1/1 3/3/1 4/4/1")
    materials = MemoryFile("newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n", ".mtl", "both.mtl")
    mesh = InMemoryMesh(mesh_file=MemoryFile(text, ".obj", "wall"), supporting_files={"both.mtl": materials})
    scene = RenderedScene()
    scene.add(Mesh(mesh))
    assert quarters(scene.colors(INFO, FROM_ABOVE))[1:3] != quarters(scene.colors(INFO, FROM_ABOVE))[2:4]
    colors = scene.colors(INFO, FROM_ABOVE)
    assert colors[34, 42, :3].tolist() == [255, 0, 0] and colors[14, 22, :3].tolist() == [0, 0, 255]
    assert middle(scene.labels(INFO, FROM_ABOVE)) == 1


def gltf(color: list[float]) -> str:
    """A square in the plane z = 0 of glTF, whose y axis points upwards, moved to z = 0.25 by its node."""
    corners = np.array([[-0.5, -0.5, 0], [0.5, -0.5, 0], [0.5, 0.5, 0], [-0.5, 0.5, 0]], np.float32)
    normals = np.tile(np.array([0, 0, 1], np.float32), (4, 1))
    triangles = np.array([0, 1, 2, 0, 2, 3], np.uint16)
    import base64

    data = corners.tobytes() + normals.tobytes() + triangles.tobytes()
    view = [(0, 48), (48, 48), (96, 12)]
    return json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "translation": [0, 0, 0.25]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1}, "indices": 2, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": color, "metallicFactor": 0.0}}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [-0.5, -0.5, 0], "max": [0.5, 0.5, 0]},
            {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 2, "componentType": 5123, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": [{"buffer": 0, "byteOffset": start, "byteLength": size} for start, size in view],
        "buffers": [{"byteLength": len(data), "uri": "data:application/octet-stream;base64," + base64.b64encode(data).decode()}],
    })  # fmt: skip


def test_gltf_mesh_stands_upright_and_has_its_color() -> None:
    scene = RenderedScene()
    scene.add(Mesh(InMemoryMesh(mesh_file=MemoryFile(gltf([1.0, 0.0, 0.0, 1.0]), ".gltf", "square"))), look=properties(4))
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
        sky = middle(scene.colors(INFO, looking_at([x, 0, 0], [0, 0, 0])))
        assert sky[channel] > 200 and sum(sky[:3]) < 1.3 * sky[channel]
    scene.add(Sphere(0.5), look=properties(1, (1.0, 1.0, 1.0)))
    for x, channel in ((1.0, 0), (-1.0, 2)):
        lit = middle(scene.colors(INFO, looking_at([0, 0, 0], [2.0 * x, 0, 0])))
        assert np.argmax(lit[:3]) == channel
    empty = EnvironmentMap(skybox=False, texture=surroundings.texture)
    hidden = RenderedScene(RenderEngineVtkParams(environment_map=empty))
    assert middle(hidden.colors(INFO)) == SKY


# ---------------------------------------------------------------------- changes


def test_changes_in_a_context_are_seen_there_alone() -> None:
    scene = RenderedScene()
    ball = scene.add(Sphere(0.5), AHEAD, properties(1, (1.0, 0.0, 0.0)))
    graph, contexts = scene.graph, [scene.new_context() for _ in range(6)]

    def seen(context: Any) -> tuple[Any, ...]:
        return tuple(middle(f(INFO, context=context)) for f in (scene.labels, scene.depths, scene.colors))

    usual = seen(contexts[0])
    graph.ChangeShape(contexts[1], scene.source, ball, Box(1.0, 1.0, 1.0), RigidTransform([0.0, 0.0, 3.0]))
    graph.RemoveGeometry(contexts[2], scene.source, ball)
    instance = GeometryInstance(RigidTransform([0.0, 0.0, 1.0]), Sphere(0.1), "new")
    instance.set_perception_properties(properties(5))
    graph.RegisterGeometry(contexts[3], scene.source, WORLD, instance)
    graph.AssignRole(contexts[4], scene.source, ball, properties(8, (0.0, 0.0, 1.0)), RoleAssign.kReplace)
    assert graph.RemoveRole(contexts[5], scene.source, ball, Role.kPerception) == 1
    for _ in range(2):  # in turn, as the contexts share what VTK has
        assert seen(contexts[0]) == usual
        assert seen(contexts[1])[:2] == (1, pytest.approx(2.5))
        assert seen(contexts[2]) == seen(contexts[5]) == (EMPTY, np.inf, SKY)
        assert seen(contexts[3])[:2] == (5, pytest.approx(0.9, rel=1e-4))
        assert seen(contexts[4])[0] == 8 and seen(contexts[4])[2] == [0, 0, 255, 255]
    assert seen(scene.new_context()) == usual


def test_shape_that_a_renderer_refuses_leaves_the_old_one(tmp_path: Any) -> None:
    scene = RenderedScene()
    ball = scene.add(Sphere(0.5), AHEAD, properties(1))
    (tmp_path / "bad.obj").write_text("v 0 0 0\n")
    with pytest.raises(RuntimeError, match=r"Renderer 'r' cannot take geometry 'g.*bad\.obj' has no faces"):
        scene.graph.ChangeShape(scene.source, ball, Mesh(str(tmp_path / "bad.obj")))
    with pytest.raises(RuntimeError, match=r"none\.obj' does not exist"):
        scene.add(Mesh(str(tmp_path / "none.obj")))
    with pytest.raises(TypeError, match=r"Renderer 'r' cannot take.*must be a RenderLabel; given 3"):
        wrong = PerceptionProperties()
        wrong.AddProperty("label", "id", 3)
        scene.add(Sphere(0.1), AHEAD, wrong)
    assert middle(scene.labels(INFO)) == 1
    assert isinstance(scene.graph.model_inspector().GetShape(ball), Sphere)


def test_renderers_show_the_geometries_that_accept_them_whichever_came_first() -> None:
    scene = RenderedScene()
    for label, names in ((1, ()), (2, "s"), (3, {"r"}), (4, ["r", "s"])):
        look = properties(label)
        if names:
            look.AddProperty("renderer", "accepting", names)
        scene.add(Sphere(0.1), RigidTransform([0.25 * label - 0.6, 0.0, 2.0]), look)
    before = copy.copy(scene.graph.model_inspector().geometry_version())
    scene.graph.AddRenderer("s", MakeRenderEngineGl())
    assert not before.IsSameAs(scene.graph.model_inspector().geometry_version(), Role.kPerception)
    assert set(np.unique(scene.labels(INFO))) == {1, 3, 4, EMPTY}
    scene._context = None
    assert set(np.unique(scene.labels(INFO, renderer="s"))) == {1, 2, 4, EMPTY}
    graph, context = scene.graph, scene.context
    assert graph.RendererCount() == graph.RendererCount(context) == 2
    graph.RemoveRenderer(context, "s")
    assert graph.RendererCount(context) == 1 and graph.HasRenderer("s") and not graph.HasRenderer(context, "s")
    with pytest.raises(RuntimeError, match=r"no renderer named 's' in this SceneGraph; its renderers: 'r'\. Add one"):
        scene.labels(INFO, renderer="s")
    graph.AddRenderer(context, "t", MakeRenderEngineVtk(RenderEngineVtkParams()))
    assert set(np.unique(scene.labels(INFO, renderer="t"))) == {1, EMPTY}
    assert not graph.HasRenderer("t")
    with pytest.raises(RuntimeError, match="a renderer named 'r' already"):
        graph.AddRenderer("r", MakeRenderEngineVtk(RenderEngineVtkParams()))
    with pytest.raises(RuntimeError, match="no renderer named 'x'"):
        graph.RemoveRenderer("x")


def test_renderer_that_cannot_take_what_is_there_is_not_added() -> None:
    scene = RenderedScene()
    scene.graph.RemoveRenderer("r")
    scene.add(Sphere(0.1), AHEAD, properties(RenderLabel.kUnspecified))
    with pytest.raises(RuntimeError, match="Renderer 'r' cannot take"):
        scene.graph.AddRenderer("r", MakeRenderEngineVtk(RenderEngineVtkParams()))
    assert scene.graph.RendererCount() == 0


# ---------------------------------------------------------------------- copies, lifetimes, threads, processes


def test_copies_of_contexts_graphs_and_queries_see_what_the_originals_see() -> None:
    scene = moving_scene()
    context = scene.new_context(RigidTransform([0.2, 0.0, 0.0]))
    expected = images_of(scene, context)
    clone = context.Clone()
    scene.move(context, RigidTransform([-0.4, 0.0, 0.0]))
    moved = images_of(scene, context)
    assert not np.array_equal(expected[2], moved[2])
    for ours, theirs in zip(images_of(scene, clone), expected):
        np.testing.assert_array_equal(ours, theirs)
    snapshot = copy.copy(scene.query(clone))
    scene.move(clone, RigidTransform())
    frozen = snapshot.RenderLabelImage(color_camera(INFO), WORLD, RigidTransform()).data[:, :, 0]
    np.testing.assert_array_equal(frozen, expected[2])
    graph, its_context = pickle.loads(PickleSystem(scene.graph, context))
    query = graph.get_query_output_port().Eval(its_context)
    again = query.RenderColorImage(color_camera(INFO), WORLD, RigidTransform()).data
    np.testing.assert_array_equal(again, moved[0])
    twin = copy.deepcopy(scene.graph)
    assert twin.GetRendererTypeName("r") == scene.graph.GetRendererTypeName("r") != ""


def test_scene_outlives_the_context_and_the_graph_that_its_query_came_from() -> None:
    scene = moving_scene()
    snapshot = copy.copy(scene.query())
    expected = scene.depths(INFO).copy()
    del scene
    gc.collect()
    image = snapshot.RenderDepthImage(depth_camera(INFO), WORLD, RigidTransform())
    np.testing.assert_array_equal(image.data[:, :, 0], expected)


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_two_hundred_engines_leave_nothing_behind() -> None:
    info = CameraInfo(32, 24, 1.0)

    def one() -> None:
        scene = moving_scene()
        images_of(scene, info=info)

    for _ in range(30):
        one()
    gc.collect()
    before = resident_mb()
    for _ in range(200):
        one()
    gc.collect()
    assert resident_mb() - before < 40.0
    from merganser.geometry.rendering.vtk_engine import canvas

    (only,) = canvas._canvases.values()
    assert only._window.GetRenderers().GetNumberOfItems() < 20  # those of scenes of other tests, perhaps


def test_threads_draw_one_after_the_other_and_see_their_own_scenes() -> None:
    scene = moving_scene()
    places = {x: CameraInfo(64 + int(80 * x), 48, 1.0) for x in (0.0, 0.2, 0.4, 0.6)}
    expected = {x: images_of(scene, scene.new_context(RigidTransform([x, 0, 0])), info) for x, info in places.items()}
    problems: list[Any] = []

    def work(x: float) -> None:
        try:
            for _ in range(8):
                found = images_of(scene, scene.new_context(RigidTransform([x, 0, 0])), places[x])
                problems.extend(kind for kind in range(3) if not np.array_equal(found[kind], expected[x][kind]))
                other = moving_scene()  # is made, draws and is deleted in this thread
                images_of(other)
                del other
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(x,)) for x in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


FORKED = """
import os, sys
sys.path.insert(0, {path!r})
from rendered_scenes import images_of, moving_scene
scene = moving_scene()
if {draws_before}:
    images_of(scene)
child = os.fork()
if child == 0:
    try:
        images_of(scene)
        print("drawn", flush=True)
    except RuntimeError as error:
        print(error, flush=True)
    del scene
    sys.exit(7)
print(os.waitpid(child, 0)[1] >> 8)
images_of(scene)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.parametrize("draws_before", [False, True])
def test_forked_process_draws_unless_its_parent_has_and_ends_in_any_case(draws_before: bool) -> None:
    support = os.path.dirname(sys.modules["rendered_scenes"].__file__ or "")
    program = FORKED.format(path=support, draws_before=draws_before)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    first, *_, last = run.stdout.splitlines()
    assert last == "7"
    assert first.startswith("This process was forked from one that had rendered" if draws_before else "drawn")


# ---------------------------------------------------------------------- parameters


def test_parameters_are_told_as_pydrake_tells_them() -> None:
    scene = RenderedScene(RenderEngineVtkParams(lights=[LightParameter(color=Rgba(1.0, 0.5, 0.0, 1.0))], exposure=0.5))
    scene.graph.AddRenderer("gl", MakeRenderEngineGl())
    assert scene.graph.GetRendererTypeName("r") == "drake::geometry::render_vtk::internal::RenderEngineVtk"
    assert scene.graph.GetRendererTypeName("gl") == "drake::geometry::render_gl::internal::RenderEngineGl"
    assert scene.graph.GetRendererTypeName("x") == scene.graph.GetRendererParameterYaml("x") == ""
    yaml = scene.graph.GetRendererParameterYaml("r")
    assert yaml.startswith("RenderEngineVtkParams:\n  default_clear_color: [0.8, 0.8980392156862745, 1.0]\n  lights:\n")
    assert "      rgba: [1.0, 0.5, 0.0, 1.0]\n" in yaml and "  exposure: 0.5\n" in yaml and "ssao" not in yaml
    assert scene.graph.GetRendererParameterYaml(scene.context, "gl").startswith("RenderEngineGlParams:\n")


BAD_PARAMS: dict[str, tuple[dict[str, Any], str]] = {
    "backend": ({"backend": "X11"}, "backend must be one of '', 'EGL', 'GLX', 'Cocoa'; given 'X11'"),
    "color": ({"default_clear_color": [0.0, 2.0, 0.0]}, "default_clear_color must be numbers from 0 to 1"),
    "size of color": ({"default_diffuse": [0.0, 1.0, 0.0]}, "default_diffuse must be 4 numbers"),
    "exposure": ({"exposure": 0.0}, "exposure must be positive and finite; given 0.0"),
    "light": ({"lights": [LightParameter(type="sun")]}, r"lights\[0\]\.type must be one of point, spot, directional"),
    "direction": ({"lights": [LightParameter(direction=[0, 0, 0])]}, r"lights\[0\]\.direction is zero"),
    "surroundings": (
        {"environment_map": EnvironmentMap(texture=EquirectangularMap(path="none.hdr"))},
        "the picture 'none.hdr' does not exist",
    ),
    "no surroundings": ({"environment_map": EnvironmentMap()}, "must be an EquirectangularMap; it is none"),
    "ssao": ({"ssao": SsaoParameter(radius=0.0)}, "ssao needs a positive radius"),
}


@pytest.mark.parametrize("name", BAD_PARAMS)
def test_bad_parameters_are_refused_by_name(name: str) -> None:
    values, message = BAD_PARAMS[name]
    with pytest.raises((RuntimeError, ValueError), match=message):
        MakeRenderEngineVtk(RenderEngineVtkParams(**values))


def test_gl_engine_takes_five_lights_and_has_its_own_defaults() -> None:
    with pytest.raises(RuntimeError, match="5 at most; given 6"):
        MakeRenderEngineGl(RenderEngineGlParams(lights=[LightParameter()] * 6))
    scene = RenderedScene()
    scene.add(Box(1.0, 1.0, 1.0), AHEAD)
    scene.graph.AddRenderer("gl", MakeRenderEngineGl())
    scene._context = None
    assert middle(scene.colors(INFO, renderer="gl")) == [230, 178, 51, 255]


def test_window_without_a_display_is_refused_with_a_word(caplog: pytest.LogCaptureFixture) -> None:
    from merganser.geometry import ColorRenderCamera
    from merganser.geometry.rendering.vtk_engine import preview

    preview._warned.clear()
    camera = ColorRenderCamera(color_camera(INFO).core(), show_window=True)
    scene = moving_scene()
    with caplog.at_level(logging.WARNING):
        shown = [scene.query().RenderColorImage(camera, WORLD, RigidTransform()).data for _ in range(2)]
    assert len(caplog.records) == 1 and "backend 'EGL' does not do" in caplog.text
    np.testing.assert_array_equal(shown[0], scene.colors(INFO))


def test_engine_by_itself_takes_what_a_scene_graph_would_tell_it() -> None:
    engine = MakeRenderEngineVtk(RenderEngineVtkParams())
    id = GeometryId.get_new_id()
    assert engine.RegisterVisual(id, Sphere(0.5), properties(6), AHEAD) and engine.has_geometry(id)
    with pytest.raises(RuntimeError, match="has geometry .* already"):
        engine.RegisterVisual(id, Sphere(0.5), properties(6), AHEAD)
    from merganser.geometry.sensors import ImageLabel16I

    image, clone = ImageLabel16I(65, 49), engine.Clone()
    assert engine.RemoveGeometry(id) and not engine.RemoveGeometry(id)
    clone.UpdateViewpoint(RigidTransform([0.0, 0.0, 1.0]))
    clone.RenderLabelImage(color_camera(INFO), image)
    assert middle(image.data) == [6]
    with pytest.raises(RuntimeError, match="label image has 3 x 3 pixels; its camera makes 65 x 49"):
        clone.RenderLabelImage(color_camera(INFO), ImageLabel16I(3, 3))
