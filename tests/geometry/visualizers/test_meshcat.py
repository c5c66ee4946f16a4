"""Functions of Meshcat: effects and errors."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack
from viewer_clients import commands_for_a_page

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    Meshcat,
    MeshcatCone,
    MeshcatParams,
    Rgba,
    Shape,
    Sphere,
    SurfaceTriangle,
    TriangleSurfaceMesh,
)
from merganser.geometry.perception import BaseField, Fields, PointCloud
from merganser.geometry.visualizers.controls import RealtimeRate


@pytest.fixture(scope="module")
def meshcat() -> Meshcat:
    return Meshcat(port=0)


@pytest.fixture(autouse=True)
def _clean(meshcat: Meshcat) -> None:
    meshcat.Delete()
    meshcat.DeleteAddedControls()


def object_at(meshcat: Meshcat, path: str) -> dict[str, Any]:
    return umsgpack.unpackb(meshcat._GetPackedObject(path))["object"]


def array_of(attribute: dict[str, Any]) -> np.ndarray:
    kinds = {"Float32Array": "<f4", "Uint32Array": "<u4", "Uint8Array": "u1"}
    return np.frombuffer(attribute["array"].data, dtype=kinds[attribute["type"]]).reshape(-1, attribute["itemSize"])


def vertices_of(content: dict[str, Any]) -> np.ndarray:
    return array_of(content["geometries"][0]["data"]["attributes"]["position"])


def bounds(content: dict[str, Any]) -> np.ndarray:
    """The box around an object of three.js, in the frame of its path, shape [2, 3]."""
    geometry, matrix = content["geometries"][0], np.array(content["object"]["matrix"]).reshape(4, 4).T
    kind, get = geometry["type"], geometry.get
    half = {
        "SphereGeometry": lambda: [get("radius")] * 3,
        "BoxGeometry": lambda: [get("width") / 2, get("height") / 2, get("depth") / 2],
        "CylinderGeometry": lambda: [max(get("radiusTop"), get("radiusBottom")), get("height") / 2] * 2,
        "PlaneGeometry": lambda: [get("width") / 2, get("height") / 2, 0],
        "LatheGeometry": lambda: [max(p["x"] for p in get("points")), max(p["y"] for p in get("points"))] * 2,
    }
    if kind == "BufferGeometry":
        corners = vertices_of(content).astype(float)
    else:
        corners = np.array(list(itertools.product((-1, 1), repeat=3))) * half[kind]()[:3]
    placed = corners @ matrix[:3, :3].T + matrix[:3, 3]
    return np.array([placed.min(axis=0), placed.max(axis=0)])


# ------------------------------------------------------------------ shapes


@pytest.mark.parametrize(
    ("shape", "low", "high"),
    [
        (Sphere(0.5), [-0.5] * 3, [0.5] * 3),
        (Box(1, 2, 3), [-0.5, -1, -1.5], [0.5, 1, 1.5]),
        (Cylinder(0.5, 3), [-0.5, -0.5, -1.5], [0.5, 0.5, 1.5]),
        (Capsule(0.5, 3), [-0.5, -0.5, -2], [0.5, 0.5, 2]),
        (Ellipsoid(1, 2, 3), [-1, -2, -3], [1, 2, 3]),
        (MeshcatCone(2, 0.5, 0.25), [-0.5, -0.25, 0], [0.5, 0.25, 2]),
        (Convex(np.array([[0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 3.0]]), "corner"), [0, 0, 0], [1, 2, 3]),
        (HalfSpace(), [-25, -25, 0], [25, 25, 0]),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Shape) else "",
)
def test_shapes_are_as_large_as_they_are_and_along_z(meshcat: Meshcat, shape: Shape, low: Any, high: Any) -> None:
    meshcat.SetObject("shape", shape, Rgba(1, 0.5, 0, 0.25))
    content = object_at(meshcat, "shape")
    np.testing.assert_allclose(bounds(content), [low, high], atol=1e-6)
    (material,) = content["materials"]
    assert material["color"] == 0xFF7F00 and material["opacity"] == 0.25 and material["transparent"]


def test_a_cone_has_its_tip_at_the_origin(meshcat: Meshcat) -> None:
    meshcat.SetObject("cone", MeshcatCone(2, 0.5, 0.25))
    content = object_at(meshcat, "cone")
    matrix = np.array(content["object"]["matrix"]).reshape(4, 4).T
    assert content["geometries"][0]["radiusBottom"] == 0  # at -y of three.js' cylinder
    np.testing.assert_allclose(matrix @ [0, -1, 0, 1], [0, 0, 0, 1], atol=1e-12)


def test_a_mirrored_mesh_and_a_volume_are_drawn(meshcat: Meshcat, tmp_path: Path) -> None:
    (tmp_path / "volume.vtk").write_text(
        "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n0 0 0 1 0 0 0 1 0 0 0 1\n"
        "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n"
    )
    meshcat.SetObject("volume", Mesh(tmp_path / "volume.vtk", scale3=[-2, 1, 1]))
    content = object_at(meshcat, "volume")
    assert len(array_of(content["geometries"][0]["data"]["index"])) == 4
    np.testing.assert_allclose(bounds(content), [[-2, 0, 0], [0, 1, 1]])


def test_mesh_files_that_cannot_be_read_are_left_out_with_a_warning(
    meshcat: Meshcat, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "bad.obj").write_text("nothing\n")
    for name in ("bad.obj", "missing.obj", "missing.foo"):
        meshcat.SetObject("mesh", Mesh(tmp_path / name))
        assert name in caplog.records[-1].message and "'mesh'" in caplog.records[-1].message
    assert not meshcat.HasPath("mesh")
    with pytest.raises(RuntimeError, match=r"bad\.obj"):
        meshcat.SetObject("convex", Convex(tmp_path / "bad.obj"))


# ------------------------------------------------------------------ lines, triangles, points


def test_a_picture_covers_the_faces_of_a_shape_and_one_that_is_missing_is_named(
    meshcat: Meshcat, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "red.jpg").write_bytes(b"\xff\xd8 and so on")
    meshcat.SetObject("box", Box(1, 2, 3), Rgba(1, 0, 0), diffuse_map=str(tmp_path / "red.jpg"))
    content = object_at(meshcat, "box")
    assert content["materials"][0]["map"] == content["textures"][0]["uuid"]
    meshcat.SetObject("box", Box(1, 2, 3), diffuse_map=str(tmp_path / "blue.jpg"))
    assert "textures" not in object_at(meshcat, "box")
    assert "cannot draw the texture of 'box'" in caplog.text and "blue.jpg" in caplog.text


def test_lines_and_segments_are_drawn_through_their_vertices(meshcat: Meshcat) -> None:
    start, end = np.arange(6.0).reshape(3, 2), -np.arange(6.0).reshape(3, 2)
    meshcat.SetLine("line", start, line_width=3, rgba=Rgba(0, 0, 1))
    meshcat.SetLineSegments("segments", start=start, end=end)
    line, segments = object_at(meshcat, "line"), object_at(meshcat, "segments")
    assert line["object"]["type"] == "Line" and line["materials"][0]["linewidth"] == 3
    assert segments["object"]["type"] == "LineSegments"
    np.testing.assert_array_equal(vertices_of(line), start.T)
    np.testing.assert_array_equal(vertices_of(segments), [start[:, 0], end[:, 0], start[:, 1], end[:, 1]])


def test_triangles_are_drawn_in_one_color_or_in_those_of_their_vertices(meshcat: Meshcat) -> None:
    vertices, faces = np.random.default_rng(0).normal(size=(3, 4)), np.array([[0, 1], [1, 2], [2, 3]])
    meshcat.SetTriangleMesh("one", vertices, faces, Rgba(0, 1, 0), wireframe=True, wireframe_line_width=2)
    meshcat.SetTriangleColorMesh(
        "many", vertices, faces, colors=np.array([[0, 1, 0.5, 2]] * 3), side=Meshcat.SideOfFaceToRender.kBackSide
    )
    meshcat.SetObject("mesh", TriangleSurfaceMesh([SurfaceTriangle(*face) for face in faces.T], vertices.T))
    one, many = object_at(meshcat, "one"), object_at(meshcat, "many")
    for content in (one, many, object_at(meshcat, "mesh")):
        np.testing.assert_allclose(vertices_of(content), vertices.T, rtol=1e-6)
        np.testing.assert_array_equal(array_of(content["geometries"][0]["data"]["index"]), faces.T)
    assert one["materials"][0]["wireframe"] and one["materials"][0]["color"] == 0x00FF00
    assert many["materials"][0]["vertexColors"] and many["materials"][0]["side"] == 1
    colors = array_of(many["geometries"][0]["data"]["attributes"]["color"])
    assert colors[:, 0].tolist() == [0, 255, 128, 255]


def test_surfaces_have_holes_where_numbers_are_missing(meshcat: Meshcat) -> None:
    X, Y = np.meshgrid(np.arange(4.0), np.arange(3.0))
    Z = X + 10 * Y
    meshcat.PlotSurface("surface", X, Y, Z)
    content = object_at(meshcat, "surface")
    triangles = array_of(content["geometries"][0]["data"]["index"])
    corners = vertices_of(content)[triangles]
    (a, b), (c, d) = ((corners[:, i] - corners[:, 0])[:, :2].T for i in (1, 2))
    area = np.abs(a * d - b * c) / 2
    assert len(triangles) == 12 and area.sum() == pytest.approx(6)
    np.testing.assert_array_equal(vertices_of(content)[:, 2], Z.ravel())
    Z[0, 0] = np.nan
    meshcat.PlotSurface("surface", X, Y, Z)
    assert len(array_of(object_at(meshcat, "surface")["geometries"][0]["data"]["index"])) == 11


def test_points_without_a_position_are_left_out_of_clouds(meshcat: Meshcat) -> None:
    cloud = PointCloud(3, Fields(BaseField.kXYZs | BaseField.kRGBs))
    cloud.mutable_xyzs()[:, 1:] = [[1, 4], [2, 5], [3, 6]]
    cloud.mutable_rgbs()[:, 2] = [7, 8, 9]
    meshcat.SetObject("cloud", cloud=cloud, point_size=0.25)
    content = object_at(meshcat, "cloud")
    assert vertices_of(content).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert array_of(content["geometries"][0]["data"]["attributes"]["color"]).tolist() == [[0, 0, 0], [7, 8, 9]]
    assert content["materials"][0]["size"] == 0.25 and content["materials"][0]["vertexColors"]
    plain = PointCloud(1)
    plain.mutable_xyzs()[:] = 0
    meshcat.SetObject("cloud", plain, 0.5, Rgba(1, 0, 0))
    assert object_at(meshcat, "cloud")["materials"][0]["color"] == 0xFF0000
    with pytest.raises(RuntimeError, match="kXYZs"):
        meshcat.SetObject("cloud", PointCloud(2, Fields(BaseField.kRGBs)))


ZEROS = np.zeros((3, 3))
WRONG: list[tuple[type[Exception], str, Callable[[Meshcat], Any]]] = [
    (TypeError, "takes a Shape, a PointCloud or a TriangleSurfaceMesh; given 3", lambda m: m.SetObject("x", 3)),
    (TypeError, "This takes one of shape, cloud, mesh", lambda m: m.SetObject("x")),
    (TypeError, "must be an Rgba", lambda m: m.SetObject("x", Sphere(1), (1, 1, 1, 1))),
    (TypeError, "A path in Meshcat is a string", lambda m: m.SetObject(3, Sphere(1))),
    (TypeError, r"vertices must be .* \(3, n\); given shape \(2, 4\)", lambda m: m.SetLine("x", np.zeros((2, 4)))),
    (TypeError, "vertices must be an array", lambda m: m.SetLine("x", "abc")),
    (RuntimeError, "column 1 is .*nan", lambda m: m.SetLine("x", [[0, 0], [0, np.nan], [0, 0]])),
    (RuntimeError, "given 3 starts and 2 ends", lambda m: m.SetLineSegments("x", ZEROS, ZEROS[:, :2])),
    (RuntimeError, r"face 0 .*\[0, 1, 5\], and there are 3", lambda m: m.SetTriangleMesh("x", ZEROS, [[0], [1], [5]])),
    (RuntimeError, "face 0", lambda m: m.SetTriangleMesh("x", ZEROS, [[0], [1], [-1]])),
    (RuntimeError, "face 0", lambda m: m.SetTriangleMesh("x", ZEROS, [[0], [1], [0.5]])),
    (TypeError, r"faces must be an array of shape \(3, m\)", lambda m: m.SetTriangleMesh("x", ZEROS, [[0, 1]])),
    (RuntimeError, "given 2 colors and 3", lambda m: m.SetTriangleColorMesh("x", ZEROS, [[0], [1], [2]], ZEROS[:, :2])),
    (RuntimeError, r"X \(3, 3\), Y \(3, 3\), Z \(3,\)", lambda m: m.PlotSurface("x", ZEROS, ZEROS, ZEROS[0])),
    (TypeError, r"a matrix of shape \(4, 4\)", lambda m: m.SetTransform("x", np.eye(3))),
    (TypeError, r"a matrix of shape \(4, 4\)", lambda m: m.SetTransform("x", np.eye(4), 1.0)),
    (RuntimeError, "not finite", lambda m: m.SetTransform("x", np.full((4, 4), np.nan))),
    (TypeError, "a bool, a float or a list of floats; given 'red'", lambda m: m.SetProperty("x", "color", "red")),
    (TypeError, "a bool, a float or a list of floats; given None", lambda m: m.SetProperty("x", "color", None)),
    (TypeError, "a bool, a float or a list of floats", lambda m: m.SetProperty("x", "color", [[1.0]])),
    (TypeError, "name of a property", lambda m: m.SetProperty("x", 3, True)),
    (TypeError, "PerspectiveCamera or", lambda m: m.SetCamera(3)),
    (TypeError, "target_in_world must be three finite numbers", lambda m: m.SetCameraTarget([0, 0])),
    (TypeError, "camera_in_world must be three finite", lambda m: m.SetCameraPose([0, 0, np.inf], [0, 0, 0])),
    (RuntimeError, "cannot read '/no/where.png'", lambda m: m.SetEnvironmentMap("/no/where.png")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "words", "call"), WRONG)
def test_wrong_arguments_are_refused_and_change_nothing(meshcat: Meshcat, kind: Any, words: str, call: Any) -> None:
    version = meshcat._scene._version
    with pytest.raises(kind, match=words):
        call(meshcat)
    assert meshcat._scene._version == version


# ------------------------------------------------------------------ paths, transforms, properties


def test_paths(meshcat: Meshcat) -> None:
    meshcat.SetTransform("a/b/c", RigidTransform())
    assert all(map(meshcat.HasPath, ("a", "a/b", "a/", "/drake/a/b", "//drake//a", "/", "")))
    assert not any(map(meshcat.HasPath, ("/a", "b", "a/b/c/<object>", "/Background", "/Grid")))
    meshcat.Delete("a/b")
    assert meshcat.HasPath("a") and not meshcat.HasPath("a/b/c")
    meshcat.Delete("nothing")
    meshcat.Delete()
    assert not meshcat.HasPath("a") and not meshcat.HasPath("/drake") and not meshcat.HasPath("")


def test_transforms_are_sent_by_columns(meshcat: Meshcat) -> None:
    X = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [1, 2, 3])
    meshcat.SetTransform("a", X_ParentPath=X)
    command = umsgpack.unpackb(meshcat._GetPackedTransform("a"))
    np.testing.assert_array_equal(np.array(command["matrix"]).reshape(4, 4).T, X.GetAsMatrix4())
    meshcat.SetTransform("a", matrix=np.diag([1, 2, 3, 1]))
    assert umsgpack.unpackb(meshcat._GetPackedTransform("a"))["matrix"][5] == 2
    assert meshcat._GetPackedTransform("b") == b"" == meshcat._GetPackedObject("b")


def test_properties_keep_their_type(meshcat: Meshcat) -> None:
    for value in (True, np.bool_(False), 1, 1.5, np.float64(2), [1, 2], (1.0, 2.0), np.array([1.0, 2.0])):
        meshcat.SetProperty("a", "p", value)
        packed = umsgpack.unpackb(meshcat._GetPackedProperty("a", "p"))["value"]
        assert type(packed) is (bool if isinstance(value, (bool, np.bool_)) else list if np.ndim(value) else float)
        np.testing.assert_array_equal(packed, value)
    assert meshcat._GetPackedProperty("a", "q") == b""


def test_the_background_has_two_names() -> None:
    meshcat = Meshcat(MeshcatParams(port=0, show_stats_plot=False, initial_properties=[
        MeshcatParams.PropertyTuple(path="/Background/<object>", property="top_color", value=[1.0, 0.0, 0.0]),
        MeshcatParams.PropertyTuple(path="/Grid", property="visible", value=False),
    ]))  # fmt: skip
    commands = commands_for_a_page(meshcat)
    properties = [(c["path"], c["property"], c["value"]) for c in commands if c["type"] == "set_property"]
    assert [each for each in properties if each[1] == "top_color"][-1] == ("/Background", "top_color", [1, 0, 0])
    assert ("/Grid", "visible", False) in properties
    assert {"type": "show_realtime_rate", "show": False} in commands


def test_cameras_keep_their_place_and_look_at_the_given_target() -> None:
    meshcat = Meshcat(port=0)

    def sent(name: str) -> list[Any]:
        commands = commands_for_a_page(meshcat)
        return [c["value"] for c in commands if c["type"] == name or c.get("property") == name]

    assert sent("position") == [[0, 1, 3]]  # in the coordinates of the client: x, z, -y
    meshcat.SetCameraPose([1, 2, 3], [0, 0, 1])
    assert sent("position")[-1] == [1, 3, -2] and sent("set_target") == [[0, 1, 0]]
    meshcat.SetCamera(Meshcat.PerspectiveCamera(fov=30))
    commands = commands_for_a_page(meshcat)
    kinds = [c.get("property", c["type"]) for c in commands]
    assert kinds[-3:] == ["set_object", "position", "set_target"]  # a new camera would be at its origin otherwise
    meshcat.Set2dRenderMode(xmin=-2, xmax=3, ymin=-1, ymax=4)
    (camera,) = (c["object"]["object"] for c in commands_for_a_page(meshcat) if c["type"] == "set_object")
    assert camera.pop("uuid") and camera == {
        "type": "OrthographicCamera", "left": -2, "right": 3, "bottom": -1, "top": 4, "near": -1000, "far": 1000,
        "zoom": 1,
    }  # fmt: skip
    for path in ("/Background", "/Grid", "/Axes"):
        assert umsgpack.unpackb(meshcat._GetPackedProperty(path, "visible"))["value"] is False
    meshcat.SetCameraTarget([7, 7, 7])  # does nothing without perspective
    assert sent("set_target") == [[0, 0, 0]] and sent("position")[-1] == [0, 0, 1]
    meshcat.ResetRenderMode()
    (camera,) = (c["object"]["object"] for c in commands_for_a_page(meshcat) if c["type"] == "set_object")
    assert camera["type"] == "PerspectiveCamera" and sent("position")[-1] == [0, 1, 3]
    assert umsgpack.unpackb(meshcat._GetPackedProperty("/Grid", "visible"))["value"] is True


def test_surroundings_are_sent_as_a_picture(tmp_path: Path) -> None:
    meshcat = Meshcat(port=0)
    (tmp_path / "sky.jpg").write_bytes(b"picture")
    meshcat.SetEnvironmentMap(tmp_path / "sky.jpg")
    (command,) = (c for c in commands_for_a_page(meshcat) if c["type"] == "set_environment_map")
    assert command["picture"] == "data:image/jpeg;base64,cGljdHVyZQ=="
    meshcat.SetEnvironmentMap("")
    assert [c["picture"] for c in commands_for_a_page(meshcat) if c["type"] == "set_environment_map"] == [""]


# ------------------------------------------------------------------ buttons and sliders


def test_buttons(meshcat: Meshcat) -> None:
    meshcat.AddButton("go")
    meshcat.AddButton(name="stop", keycode="Escape")
    for _ in range(3):
        meshcat._InjectWebsocketMessage(message=umsgpack.packb({"type": "button", "name": "go"}))
    assert meshcat.GetButtonClicks("go") == 3 and meshcat.GetButtonNames() == ["go", "stop"]
    meshcat.AddButton("go", "KeyG")
    assert meshcat.GetButtonClicks("go") == 0
    for keycode in ("KeyH", ""):
        with pytest.raises(RuntimeError, match=f"its keycode `KeyG` is not `{keycode}`"):
            meshcat.AddButton("go", keycode)
    with pytest.raises(RuntimeError, match=r"any button named x. The registered button names are \(go, stop\)"):
        meshcat.GetButtonClicks("x")
    assert meshcat.DeleteButton("go") and not meshcat.DeleteButton("go", strict=False)
    with pytest.raises(RuntimeError, match="any button named go"):
        meshcat.DeleteButton("go")
    with pytest.raises(TypeError, match="name must be a string"):
        meshcat.AddButton(3)  # type: ignore[arg-type]


def test_sliders(meshcat: Meshcat) -> None:
    assert meshcat.AddSlider("gain", min=0, max=1, step=0.1, value=0.55) == pytest.approx(0.6)
    assert meshcat.AddSlider("x", -1, 1, 0.3, 5, "KeyA", "KeyD") == pytest.approx(0.9)  # multiples of the step
    assert [meshcat.SetSliderValue("x", value) for value in (-5.0, -0.2)] == pytest.approx([-0.9, -0.3])
    assert meshcat.AddSlider("limit", -0.1, 1.96, 0.1, 5) == 1.96 == meshcat.SetSliderValue("limit", 2.0)  # not beyond
    meshcat.DeleteSlider("limit")
    assert meshcat.SetSliderValue("gain", 0.77) == pytest.approx(0.8) == meshcat.GetSliderValue("gain")
    assert meshcat.SetSliderValue("gain", -np.inf) == 0
    assert meshcat.GetSliderNames() == ["gain", "x"]
    for call in (lambda: meshcat.AddSlider("gain", 0, 1, 0.1, 0), lambda: meshcat.AddButton("gain")):
        with pytest.raises(RuntimeError, match="already has a slider named gain"):
            call()
    meshcat.AddButton("b")
    with pytest.raises(RuntimeError, match="already has a button named b"):
        meshcat.AddSlider("b", 0, 1, 0.1, 0)
    for wrong in ((1, 0, 0.1), (0, 1, 0), (0, 1, -1), (0, np.inf, 1), (np.nan, 1, 1)):
        with pytest.raises(RuntimeError, match=r"AddSlider\('y'\): min must not be above max"):
            meshcat.AddSlider("y", *wrong, 0.5)
    with pytest.raises(RuntimeError, match="must be a number"):
        meshcat.SetSliderValue("gain", np.nan)
    for function, *more in ((meshcat.GetSliderValue,), (meshcat.SetSliderValue, 1), (meshcat.DeleteSlider,)):
        with pytest.raises(RuntimeError, match=r"any slider named z. The registered slider names are \(gain, x\)"):
            function("z", *more)
    assert meshcat.DeleteSlider("x") and not meshcat.DeleteSlider("x", strict=False)
    meshcat.DeleteAddedControls()
    assert meshcat.GetSliderNames() == meshcat.GetButtonNames() == []
    assert not [c for c in commands_for_a_page(meshcat) if "control" in c["type"]]


def test_sliders_stay_in_their_group_and_boxes_where_what_they_show_is(meshcat: Meshcat) -> None:
    def sent(kind: str) -> list[dict[str, Any]]:
        return [command for command in commands_for_a_page(meshcat) if command["type"] == kind]

    meshcat.AddSlider("gain", 0, 1, 0.1, 0.5)
    meshcat.put_in_group("gain", "Gains", is_folded=True, toggles="shapes")
    (gain,) = sent("set_control")
    assert (gain["group"], gain["is_folded"], gain["toggles"], gain["value"]) == ("Gains", True, "/drake/shapes", 0.5)
    meshcat.add_toggle("shapes", "shapes")
    meshcat.add_toggle("axes", "shapes", part="axes", is_shown=False)
    assert [(c["label"], c["path"], c["part"], c["is_shown"]) for c in sent("set_toggle")] == [
        ("shapes", "/drake/shapes", "", None), ("axes", "/drake/shapes", "axes", False),
    ]  # fmt: skip
    meshcat.Delete("shapes")
    meshcat.DeleteAddedControls()
    assert sent("set_toggle") == sent("set_control") == []
    meshcat.AddSlider("gain", 0, 1, 0.1, 0.5)  # another one
    assert "group" not in sent("set_control")[0]
    with pytest.raises(RuntimeError, match="does not have any control named other"):
        meshcat.put_in_group("other", "Gains")


def test_pages_get_a_slider_with_its_current_value(meshcat: Meshcat) -> None:
    meshcat.AddSlider('odd "name"\n', 0, 1, 0.1, 0.5)
    meshcat.SetSliderValue('odd "name"\n', 0.2)
    commands = [c for c in commands_for_a_page(meshcat) if "control" in c["type"]]
    assert [(c["type"], c["value"]) for c in commands] == [("set_control", 0.5), ("set_control_value", 0.2)]
    assert commands[0]["name"] == 'odd "name"\n' and "callback" not in commands[0]  # no code is sent


# ------------------------------------------------------------------ all else


def test_names_of_the_viewers_are_those_of_the_geometry_too() -> None:
    import merganser.geometry as geometry
    from merganser.geometry import visualizers

    assert set(visualizers.__all__) <= set(geometry.__all__)
    assert all(getattr(geometry, name) is getattr(visualizers, name) for name in visualizers.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = geometry.Nothing  # type: ignore[attr-defined]


def test_copies_of_a_meshcat_are_the_same_one(meshcat: Meshcat) -> None:
    assert copy.copy(meshcat) is meshcat is copy.deepcopy(meshcat)


def test_the_rate_is_measured_over_periods_of_the_clock() -> None:
    now = [100.0]
    rate = RealtimeRate(period=0.25, clock=lambda: now[0])
    seen = []
    for sim_time, clock in ((0, 100), (1, 100.1), (1, 100.2), (2, 100.5), (2.1, 100.6), (1, 100.7), (1.5, 101.7)):
        now[0] = clock
        seen.append(rate.update(sim_time))
    assert seen == [None, None, None, pytest.approx(4), None, 0.0, pytest.approx(0.5)]
    with pytest.raises(RuntimeError, match="realtime_rate_period must be positive; given 0"):
        Meshcat(MeshcatParams(port=0, realtime_rate_period=0))


def test_the_rate_is_sent_to_pages(meshcat: Meshcat) -> None:
    meshcat.SetRealtimeRate(0.5)
    assert meshcat.GetRealtimeRate() == 0.5
    assert {"type": "realtime_rate", "rate": 0.5} in commands_for_a_page(meshcat)
    meshcat.SetSimulationTime(3.0)
    assert meshcat.GetSimulationTime() == 3.0
    meshcat.SetSimulationTime(1.0)
    assert meshcat.GetRealtimeRate() == 0.0


def test_notebooks_show_the_page_in_a_frame() -> None:
    meshcat = Meshcat(MeshcatParams(port=0, web_url_pattern="https://lab.example/?a=1&p={port}"))
    shown = meshcat._repr_html_()
    assert f'<iframe src="https://lab.example/?a=1&amp;p={meshcat.port()}"' in shown
