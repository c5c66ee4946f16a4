"""Recordings: what is in them, and how large the pages are that show them."""

from __future__ import annotations

import base64
import gzip
import io
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack
from viewer_clients import commands_of

from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import Box, Mesh, Meshcat, MeshcatAnimation, SurfaceTriangle, TriangleSurfaceMesh
from merganser.geometry.perception import BaseField, Fields, PointCloud
from merganser.geometry.visualizers.animation import Drawing, Sequence

TYPES = {0x12: "u1", 0x14: "<u2", 0x16: "<u4", 0x17: "<f4"}


def plain(value: Any) -> Any:
    """Commands of the page, with extension types as arrays."""
    if isinstance(value, umsgpack.Ext):
        return np.frombuffer(value.data, dtype=TYPES[value.type])
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def shown(html: str) -> list[dict[str, Any]]:
    """The commands in a static page."""
    (text,) = re.findall(r'unpack\("([^"]*)"\)', html)
    return [plain(command) for command in commands_of(gzip.decompress(base64.b64decode(text)))]


def animation_in(html: str) -> dict[str, Any]:
    (command,) = (command for command in shown(html) if command["type"] == "set_animation")
    return command


def tracks_in(html: str) -> dict[str, dict[str, Any]]:
    """All tracks by path and property."""
    animations = animation_in(html)["animations"]
    return {each["path"] + track["name"]: track for each in animations for track in each["clip"]["tracks"]}


@pytest.fixture
def meshcat() -> Meshcat:
    return Meshcat(port=0)


# ------------------------------------------------------------------ animations


def test_settings_of_animations() -> None:
    animation = MeshcatAnimation(frames_per_second=32)
    assert animation.frames_per_second() == 32 and animation.frame(0.5) == 16
    animation.set_start_time(1)
    assert animation.start_time() == 1 and animation.frame(1.99) == 31
    with pytest.raises(RuntimeError, match=r"time 0.5 is before the start time 1"):
        animation.frame(0.5)
    for time in (np.nan, np.inf):
        with pytest.raises(RuntimeError, match="the time must be finite"):
            animation.frame(time)
    with pytest.raises(TypeError, match="frames_per_second: expected a number, got 'fast'"):
        MeshcatAnimation("fast")  # type: ignore[arg-type]
    assert animation.autoplay() and animation.clamp_when_finished() and animation.repetitions() == 1
    assert animation.loop_mode() == MeshcatAnimation.LoopMode.kLoopRepeat
    animation.set_loop_mode(animation.LoopMode.kLoopOnce)
    animation.set_repetitions(4)
    animation.set_autoplay(play=False)
    animation.set_clamp_when_finished(clamp=False)
    options = umsgpack.unpackb(animation.message().data)["options"]
    assert options == {"play": False, "loopMode": 2200, "repetitions": 4, "clampWhenFinished": False}
    with pytest.raises(TypeError, match=r"LoopMode; given 3"):
        animation.set_loop_mode(3)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="from 1 on; given 0"):
        animation.set_repetitions(0)
    for rate in (0, -1, np.inf):
        with pytest.raises(RuntimeError, match="must be positive"):
            MeshcatAnimation(rate)


@pytest.mark.parametrize("period", [1 / 30, 0.1, 1 / 60, 0.01, 1 / 64])
def test_each_period_is_a_frame_of_its_own(period: float) -> None:
    animation = MeshcatAnimation(1 / period)
    assert [animation.frame(k * period) for k in range(5000)] == list(range(5000))


def test_frames_hold_the_last_values_that_were_set_and_one_type() -> None:
    animation = MeshcatAnimation()
    animation.SetProperty(3, "a", "visible", True)
    animation.SetProperty(1, "a", "visible", False)
    animation.SetProperty(3, "a", "visible", False)
    animation.SetTransform(frame=2, path="/b", X_ParentPath=RigidTransform([1, 2, 3]))
    with pytest.raises(RuntimeError, match=r"'visible' of 'a' is of type boolean at other frames.*number at frame 4"):
        animation.SetProperty(4, "a", "visible", 1.0)
    with pytest.raises(RuntimeError, match=r"'position'.*is of type vector3"):
        animation.SetProperty(4, "/b", "position", True)
    for function, *more in ((animation.SetProperty, "x", 1.0), (animation.SetTransform, RigidTransform())):
        with pytest.raises(RuntimeError, match="numbered from 0; given -1"):
            function(-1, "a", *more)
    clips = {clip["path"]: clip["clip"] for clip in plain(umsgpack.unpackb(animation.message().data))["animations"]}
    (visible,) = clips["/drake/a"]["tracks"]
    assert visible == {"name": ".visible", "type": "boolean", "times": [1, 3], "values": [False, False]}
    assert clips["/b"]["tracks"][0]["values"].tolist() == [1, 2, 3] and clips["/b"]["fps"] == 64


# ------------------------------------------------------------------ recordings


def test_what_is_set_with_a_time_is_recorded_while_that_is_on(meshcat: Meshcat) -> None:
    X = [RigidTransform(RollPitchYaw(0, 0, 0.1 * i), [i, 0, 0]) for i in range(4)]
    meshcat.SetTransform("a", X[0], time_in_recording=0.0)
    assert meshcat.StartRecording(frames_per_second=10) is meshcat.get_mutable_recording()
    meshcat.SetTransform("a", X[1], 0.1)
    meshcat.SetTransform("a", X[3])
    meshcat.SetProperty("a", "visible", False, 0.1)
    meshcat.SetTransform("a", X[2], 0.2)
    meshcat.StopRecording()
    meshcat.SetTransform("a", X[3], 0.3)
    meshcat.PublishRecording()
    tracks = tracks_in(meshcat.StaticHtml())
    assert tracks["/drake/a.position"]["times"].tolist() == [1, 2]
    assert tracks["/drake/a.position"]["values"].tolist() == [1, 0, 0, 2, 0, 0]
    np.testing.assert_allclose(tracks["/drake/a.quaternion"]["values"][4:], [0, 0, np.sin(0.1), np.cos(0.1)], rtol=1e-6)
    assert tracks["/drake/a.visible"]["values"] == [False]
    with pytest.raises(RuntimeError, match="before the start time"):
        meshcat.StartRecording(10)
        meshcat.SetTransform("a", X[0], -1.0)


def test_a_frame_shows_what_is_first_of_its_time_whatever_the_rates(meshcat: Meshcat) -> None:
    def run(offset: float, rate: float) -> None:
        for k in range(9):
            time = k / 64
            meshcat.SetTransform("a", RigidTransform([offset + time, 0, 0]), time)
            meshcat.SetProperty("a", "opacity", offset + time, time)
            meshcat.SetLine("line", np.full((3, 2), offset + time), time_in_recording=time)
        meshcat.SetTransform("a", RigidTransform([offset + 1 / 4, 0, 0]), 1 / 4)
        meshcat.SetTransform("a", RigidTransform([offset + 1, 0, 0]), 1 / 4)  # at the same time: the later one counts

    for rate, period in ((32.0, 1 / 32), (16.0, 1 / 16), (64.0, 1 / 64)):
        for offset in (0.0, 10.0):  # the second run begins again at 0, and replaces the first
            meshcat.StartRecording(rate)
            run(offset, rate)
            meshcat.PublishRecording()
            tracks = tracks_in(meshcat.StaticHtml())
            expected = [offset + period * k for k in range(int(8 / 64 / period) + 1)]
            np.testing.assert_allclose(tracks["/drake/a.position"]["values"][::3], [*expected, offset + 1], rtol=1e-6)
            np.testing.assert_allclose(tracks["/drake/a.opacity"]["values"], expected, rtol=1e-6)
            assert tracks["/drake/line/<object>.sequenceFrame"]["times"].tolist() == list(range(len(expected)))


def test_a_recording_goes_on_unless_it_has_another_rate_or_is_deleted(meshcat: Meshcat) -> None:
    for start in (0.0, 1.0):
        meshcat.StartRecording(8)
        meshcat.SetProperty("a", "visible", True, start)
        meshcat.StopRecording()
    meshcat.PublishRecording()
    assert tracks_in(meshcat.StaticHtml())["/drake/a.visible"]["times"] == [0, 8]
    meshcat.StartRecording(16)
    meshcat.PublishRecording()
    assert tracks_in(meshcat.StaticHtml()) == {} and meshcat.get_mutable_recording().frames_per_second() == 16
    meshcat.SetProperty("a", "visible", True, 0.0)
    meshcat.DeleteRecording()
    meshcat.PublishRecording()
    assert tracks_in(meshcat.StaticHtml()) == {}
    with pytest.raises(TypeError, match="takes a MeshcatAnimation; given None"):
        meshcat.SetAnimation(None)  # type: ignore[arg-type]


def test_what_is_recorded_need_not_be_shown_at_once(meshcat: Meshcat) -> None:
    meshcat.SetTransform("a", RigidTransform([1, 0, 0]))
    meshcat.StartRecording(set_visualizations_while_recording=False)
    meshcat.SetTransform("a", RigidTransform([2, 0, 0]), 0.0)
    meshcat.SetProperty("a", "visible", False, 0.0)
    assert umsgpack.unpackb(meshcat._GetPackedTransform("a"))["matrix"][12] == 1
    assert meshcat._GetPackedProperty("a", "visible") == b""


def test_a_page_without_a_server_has_no_controls_and_asks_for_nothing(meshcat: Meshcat) -> None:
    meshcat.AddButton("push")
    meshcat.AddSlider("gain", 0, 1, 0.1, 0.5)
    meshcat.SetSliderValue("gain", 0.3)
    meshcat.SetRealtimeRate(1.0)
    meshcat.SetObject("box", Box(1, 2, 3))
    html = meshcat.StaticHtml()
    kinds = {command["type"] for command in shown(html)}
    assert kinds == {"set_object", "set_property"}
    assert "<script src" not in html and 'http-equiv="refresh"' not in html and "<link" not in html
    assert meshcat.StaticHtml() == html  # nothing random in it


def test_sliders_are_recorded_where_they_are_at_each_frame(meshcat: Meshcat) -> None:
    meshcat.AddSlider("gain", 0, 1, 0.1, 0.5)
    meshcat.AddSlider("gone", -1, 2, 0.5, 2.0)
    meshcat.StartRecording(10)
    for frame, gain in enumerate((0.5, 0.8, 0.2)):
        meshcat.SetSliderValue("gain", gain)
        meshcat.SetTransform("body", RigidTransform([gain, 0, 0]), frame / 10)
        if frame == 1:
            meshcat.DeleteSlider("gone")
    meshcat.PublishRecording()
    html = meshcat.StaticHtml()
    animation, tracks = animation_in(html), tracks_in(html)
    assert animation["sliders"] == [
        {"name": "gain", "min": 0, "max": 1, "step": 0.1}, {"name": "gone", "min": -1, "max": 2, "step": 0.5},
    ]  # fmt: skip
    np.testing.assert_allclose(tracks["/.slider0"]["values"], [0.5, 0.8, 0.2], rtol=1e-6)
    assert tracks["/.slider0"]["times"].tolist() == [0, 1, 2] and tracks["/.slider0"]["interpolation"] == 2300
    assert tracks["/.slider1"]["values"].tolist() == [2.0, 2.0] and tracks["/.slider1"]["times"].tolist() == [0, 1]
    meshcat.DeleteRecording()
    meshcat.PublishRecording()
    assert animation_in(meshcat.StaticHtml())["sliders"] == []


# ------------------------------------------------------------------ sizes


def noisy_poses(num_frames: int, num_bodies: int) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(0)
    X = np.tile(np.eye(4), (num_frames, num_bodies, 1, 1))
    X[..., :3, :3] = Rotation.random(num_frames * num_bodies, random_state=1).as_matrix().reshape(X.shape[:2] + (3, 3))
    X[..., :3, 3] = np.cumsum(rng.normal(size=(num_frames, num_bodies, 3)), axis=0) * 0.01
    return X


def test_ten_seconds_of_fifty_bodies_take_less_than_ten_megabytes(meshcat: Meshcat) -> None:
    for i in range(50):
        meshcat.SetObject(f"body{i}", Box(0.1, 0.1, 0.1))
    block = meshcat.add_pose_block([f"body{i}" for i in range(50)])
    meshcat.StartRecording()
    poses = noisy_poses(640, 50)
    for frame, X in enumerate(poses):
        meshcat.set_poses(block, X, frame / 64)
    meshcat.PublishRecording()
    html = meshcat.StaticHtml()
    assert len(html) < 4e6
    position = tracks_in(html)["/drake/body7.position"]
    assert position["times"].tolist() == list(range(640))
    np.testing.assert_allclose(position["values"].reshape(-1, 3), poses[:, 7, :3, 3], rtol=1e-5, atol=1e-6)


def test_bodies_that_rest_take_one_frame(meshcat: Meshcat) -> None:
    block = meshcat.add_pose_block(["rests", "moves"])
    meshcat.StartRecording()
    for frame in range(100):
        X = np.tile(np.eye(4), (2, 1, 1))
        X[1, 0, 3] = frame
        meshcat.set_poses(block, X, frame / 64)
    meshcat.PublishRecording()
    tracks = tracks_in(meshcat.StaticHtml())
    assert len(tracks["/drake/rests.position"]["times"]) == 1 and len(tracks["/drake/moves.position"]["times"]) == 100


def patch_at(frame: int, topology_changes: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A patch of some 300 triangles that moves and bends, with a color for each vertex."""
    columns = 14 + (frame % 3 if topology_changes else 0)
    x, y = np.meshgrid(np.linspace(-0.1, 0.1, columns), np.linspace(-0.1, 0.1, 12))
    x, y = x + 0.5 * np.sin(frame / 64), y + 0.2 * np.cos(frame / 40)
    z = 0.02 * np.sin(20 * x + frame / 10) * np.cos(15 * y)
    at = np.arange(x.size).reshape(x.shape)
    quads = [each.ravel() for each in (at[:-1, :-1], at[:-1, 1:], at[1:, :-1], at[1:, 1:])]
    faces = np.hstack([np.stack(quads[:3]), np.stack([quads[2], quads[1], quads[3]])])
    colors = np.stack([0.5 + 0.5 * np.sin(30 * x), 0.5 + 20 * z, 0.5 + 0.5 * np.cos(frame / 20 + y)])
    return np.stack([x, y, z]).reshape(3, -1), faces, np.clip(colors.reshape(3, -1), 0, 1)


def decoded(sequence: dict[str, Any]) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Vertices, triangles and colors of each drawing, as page.js takes them apart."""
    found, vertex, index, steps, corners = [], 0, 0, np.zeros(0, np.uint16), np.zeros(0, np.uint32)
    for vertex_count, index_count in zip(sequence["vertexCounts"], sequence["indexCounts"]):
        numbers = sequence["steps"][3 * vertex : 3 * (vertex + vertex_count)]
        steps = numbers + steps if len(steps) == len(numbers) else numbers
        if index_count:
            corners = sequence["indices"][index : index + index_count]
            index += index_count
        positions = np.array(sequence["low"]) + steps.reshape(-1, 3) * np.array(sequence["step"])
        found.append((positions, corners.reshape(-1, 3), sequence["colors"][3 * vertex : 3 * (vertex + vertex_count)]))
        vertex += vertex_count
    return found


@pytest.mark.parametrize("topology_changes", [False, True])
def test_ten_seconds_of_a_moving_patch_add_less_than_ten_megabytes(meshcat: Meshcat, topology_changes: bool) -> None:
    empty = len(meshcat.StaticHtml())
    meshcat.StartRecording()
    patches = [patch_at(frame, topology_changes) for frame in range(640)]
    for frame, (vertices, faces, colors) in enumerate(patches):
        meshcat.SetTriangleColorMesh("patch", vertices, faces, colors, time_in_recording=frame / 64)
    meshcat.PublishRecording()
    html = meshcat.StaticHtml()
    assert len(html) - empty < (2.5e6 if topology_changes else 1.5e6)
    (sequence,) = animation_in(html)["sequences"]
    assert sequence["path"] == "/drake/patch"
    for (vertices, faces, colors), drawing in zip(patches, decoded(sequence), strict=True):
        np.testing.assert_allclose(drawing[0], vertices.T, rtol=0, atol=2e-5)  # half a step of 1.2 m / 65535
        np.testing.assert_array_equal(drawing[1], faces.T)
        np.testing.assert_allclose(drawing[2].reshape(-1, 3) / 255, colors.T, atol=0.5 / 255 + 1e-9)
    track = tracks_in(html)["/drake/patch/<object>.sequenceFrame"]
    assert track["values"].tolist() == list(range(640)) and track["interpolation"] == 2300


def test_drawings_may_come_and_go_and_have_any_kind(meshcat: Meshcat) -> None:
    meshcat.StartRecording(10, set_visualizations_while_recording=False)
    square = TriangleSurfaceMesh([SurfaceTriangle(0, 1, 2)], np.eye(3))
    for frame in (0, 3, 7):
        meshcat.SetLine("line", np.full((3, frame), float(frame)), time_in_recording=frame / 10)
        meshcat.SetLineSegments("arrows", np.zeros((3, 2)), np.full((3, 2), frame), time_in_recording=frame / 10)
        meshcat.SetTriangleMesh("mesh", frame * np.eye(3), [[0], [1], [2]], time_in_recording=frame / 10)
        meshcat.SetObject("surface", square, time_in_recording=frame / 10)
        meshcat.PlotSurface("plot", *np.meshgrid([0, 1], [0, 1]), np.full((2, 2), frame), time_in_recording=frame / 10)
        cloud = PointCloud(frame + 1, Fields(BaseField.kXYZs | BaseField.kRGBs))
        cloud.mutable_xyzs()[:, 1:] = frame
        meshcat.SetObject("cloud", cloud, time_in_recording=frame / 10)
    meshcat.PublishRecording()
    html = meshcat.StaticHtml()
    sequences = {each["path"]: decoded(each) for each in animation_in(html)["sequences"]}
    assert [len(drawing[0]) for drawing in sequences["/drake/line"]] == [0, 3, 7]
    np.testing.assert_allclose(sequences["/drake/arrows"][2][0].max(), 7)
    assert len(sequences["/drake/surface"]) == 3
    assert tracks_in(html)["/drake/line/<object>.sequenceFrame"]["times"].tolist() == [0, 3, 7]
    objects = {command["path"] for command in shown(html) if command["type"] == "set_object"}
    assert [len(drawing[0]) for drawing in sequences["/drake/cloud"]] == [0, 3, 7]
    names = ("line", "arrows", "mesh", "surface", "plot", "cloud")
    assert objects == {f"/drake/{name}" for name in names}  # what the drawings replace


def test_steps_are_exact_to_rounding_also_where_nothing_moves() -> None:
    sequence = Sequence()
    sequence.set(0, Drawing(np.full((2, 3), 0.1)))
    sequence.set(5, Drawing(np.full((2, 3), 0.1)))
    content = sequence.json()
    assert [positions.tolist() for positions, *_ in decoded(content)] == [np.full((2, 3), np.float32(0.1)).tolist()] * 2
    assert sequence.frames().tolist() == [0, 5] and sequence.numbers().tolist() == [0, 1]


# ------------------------------------------------------------------ shared assets


def write_model(folder: Path) -> Path:
    from PIL import Image

    rng = np.random.default_rng(0)
    Image.fromarray(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(folder / "skin.png")
    (folder / "model.mtl").write_text("newmtl skin\nKd 1 1 1\nmap_Kd skin.png\n")
    vertices = "".join(f"v {x:.9f} {y:.9f} {z:.9f}\nvt {x:.6f} {y:.6f}\n" for x, y, z in rng.uniform(size=(3000, 3)))
    faces = "".join(f"f {i}/{i} {i + 1}/{i + 1} {i + 2}/{i + 2}\n" for i in range(1, 2999))
    (folder / "model.obj").write_text(f"mtllib model.mtl\n{vertices}usemtl skin\n{faces}")
    return folder / "model.obj"


def test_a_file_that_is_drawn_several_times_is_stored_once(meshcat: Meshcat, tmp_path: Path) -> None:
    model = write_model(tmp_path)
    meshcat.SetObject("first", Mesh(model))
    one, one_zip = len(meshcat.StaticHtml()), len(meshcat.StaticZip())
    for i in range(9):
        meshcat.SetObject(f"copy{i}", Mesh(model, scale=1 + i))
    assert len(meshcat.StaticHtml()) < one + 2000 and len(meshcat.StaticZip()) < one_zip + 2000
    with zipfile.ZipFile(io.BytesIO(meshcat.StaticZip())) as archive:
        names = archive.namelist()
        assert {"meshcat.html", "main.min.js", "page.js", "scene.bin"} < set(names)
        assets = [name for name in names if name.startswith("assets/")]
        page = archive.read("meshcat.html").decode()
        assert len(assets) == 4 and all(name in page for name in assets)  # positions, uv, triangles, picture
        keys = {next(commands_of(archive.read(name)))["key"] for name in assets}
        referred = re.findall(r"[0-9a-f]{40}", archive.read("scene.bin").decode("latin1"))
    assert keys == set(referred) and len(referred) == 40
