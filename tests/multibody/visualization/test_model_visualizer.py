"""ModelVisualizer: what of model files is shown, sliders, reloading, and what it refuses."""

from __future__ import annotations

import base64
import io
import logging
import subprocess
import sys
import threading
import time
import webbrowser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack
from viewer_clients import color_at, commands_for_a_page, eventually, matrix_at, property_at

from merganser.geometry import Meshcat
from merganser.multibody.visualization import ModelVisualizer

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "models"
ARM = EXAMPLES / "arm7.urdf"
INERTIA = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
HINGE = """
<robot name="door">
  <link name="leaf"><visual name="v"><geometry><box size="1 1 1"/></geometry></visual>
    <collision name="c"><geometry><box size="1 1 1"/></geometry></collision>{inertia}</link>
  <joint name="{joint}" type="revolute"><parent link="world"/><child link="leaf"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2"/></joint>
</robot>
"""


@pytest.fixture
def meshcat() -> Meshcat:
    return Meshcat(port=0)


def write(folder: Path, joint: str = "hinge", inertia: str = INERTIA) -> Path:
    path = folder / "door.urdf"
    path.write_text(HINGE.format(joint=joint, inertia=inertia))
    return path


def click(meshcat: Meshcat, button: str) -> None:
    meshcat._InjectWebsocketMessage(umsgpack.packb({"type": "button", "name": button}))


def running(visualizer: ModelVisualizer, meshcat: Meshcat) -> threading.Thread:
    """Run() in a thread, once it has begun."""
    thread = threading.Thread(target=visualizer.Run)
    thread.start()
    assert eventually(lambda: "Stop Running" in meshcat.GetButtonNames(), 60.0)  # a first use compiles
    return thread


def test_a_file_is_shown_with_sliders_at_a_position(meshcat: Meshcat) -> None:
    visualizer = ModelVisualizer(meshcat=meshcat)
    assert visualizer.meshcat() is meshcat
    visualizer.AddModels(ARM)
    position = np.linspace(0.1, 0.7, 7)
    visualizer.Run(position=position, loop_once=True)
    joints = [f"joint_{i}" for i in range(1, 8)]
    assert meshcat.GetSliderNames() == ["illustration α", "inertia α", *joints, "proximity α"]
    np.testing.assert_allclose([meshcat.GetSliderValue(name) for name in joints], position)
    first = matrix_at(meshcat, "illustration/arm7/link_7")
    assert abs(first[0, 3]) > 0.05 and meshcat.HasPath("inertia") and meshcat.HasPath("proximity/arm7/link_3/arm7")
    visualizer.Run(position=[0.0] * 7, loop_once=True)
    X_WL = matrix_at(meshcat, "illustration/arm7/link_7")
    np.testing.assert_allclose(X_WL[:2, 3], 0.0, atol=1e-9)
    meshcat.SetSliderValue("joint_2", 1.0)
    visualizer.Run(loop_once=True)
    assert matrix_at(meshcat, "illustration/arm7/link_7")[2, 3] < X_WL[2, 3] - 0.1
    assert meshcat.GetButtonNames() == []


def test_positions_must_be_as_many_as_joints_have(meshcat: Meshcat) -> None:
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(ARM)
    with pytest.raises(ValueError, match="the position has 2 numbers, but the models have 7 positions"):
        visualizer.Run(position=[1.0, 2.0], loop_once=True)
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(ARM)
    visualizer.Finalize(position=[])
    with pytest.raises(ValueError, match="the position has 1 numbers"):
        visualizer.Run(position=[1.0], loop_once=True)


def test_alpha_sliders_and_joints_are_followed_until_the_button_is_clicked(meshcat: Meshcat, tmp_path: Path) -> None:
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(str(write(tmp_path)))
    thread = running(visualizer, meshcat)
    meshcat.SetSliderValue("proximity α", 0.25)
    meshcat.SetSliderValue("hinge", 1.0)
    path = "illustration/door/leaf"
    assert eventually(lambda: abs(matrix_at(meshcat, path)[0, 2] - np.sin(1.0)) < 1e-6)
    assert eventually(lambda: abs(property_at(meshcat, "proximity", "modulated_opacity") - 0.25) < 0.02)
    click(meshcat, "Stop Running")
    thread.join(5.0)
    assert not thread.is_alive() and meshcat.GetButtonNames() == []


def test_files_are_read_again_and_sliders_stay(meshcat: Meshcat, tmp_path: Path, caplog: Any) -> None:
    caplog.set_level(logging.INFO, logger="merganser.multibody")
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(write(tmp_path))
    visualizer.AddModels(write(tmp_path))  # a second one is renamed
    thread = running(visualizer, meshcat)
    try:
        assert set(meshcat.GetSliderNames()) >= {"hinge/door", "hinge/door_1"}
        meshcat.SetSliderValue("hinge/door_1", 0.5)
        (tmp_path / "door.urdf").write_text("<robot")
        click(meshcat, "Reload Model Files")
        assert eventually(lambda: meshcat.HasPath("/PARSE_ERROR/cone"))
        assert not meshcat.HasPath("illustration/door") and "door.urdf:1" in caplog.text
        write(tmp_path, joint="pin")
        click(meshcat, "Reload Model Files")
        assert eventually(lambda: "pin/door" in meshcat.GetSliderNames() and "Stop Running" in meshcat.GetButtonNames())
        assert not meshcat.HasPath("/PARSE_ERROR")
        meshcat.SetSliderValue("pin/door", 0.75)
        leaf = "illustration/door/leaf"
        assert eventually(lambda: abs(matrix_at(meshcat, leaf)[0, 2] - np.sin(0.75)) < 1e-6)
        write(tmp_path, joint="pin", inertia=INERTIA.replace('mass value="1"', 'mass value="2"'))
        click(meshcat, "Reload Model Files")
        assert eventually(lambda: caplog.text.count("have been read again") == 2)
        assert eventually(lambda: "Stop Running" in meshcat.GetButtonNames())
        assert meshcat.GetSliderValue("pin/door") == 0.75
        assert eventually(lambda: abs(matrix_at(meshcat, leaf)[0, 2] - np.sin(0.75)) < 1e-6)
    finally:
        click(meshcat, "Stop Running")
        thread.join(5.0)


def test_models_that_were_added_in_other_ways_cannot_be_read_again(meshcat: Meshcat, tmp_path: Path) -> None:
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.parser().AddModelsFromString(write(tmp_path).read_text(), "urdf")
    visualizer.package_map().Add("here", str(tmp_path))
    visualizer.AddModels(url="package://here/door.urdf")
    visualizer.Finalize()
    assert meshcat.GetButtonNames() == [] and "hinge/door_1" in meshcat.GetSliderNames()


def test_after_finalize_nothing_can_be_added(meshcat: Meshcat) -> None:
    visualizer = ModelVisualizer(meshcat=meshcat)
    with pytest.raises(ValueError, match="either filename= or url="):
        visualizer.AddModels()
    with pytest.raises(RuntimeError, match=r"nothing\.urdf"):
        visualizer.AddModels("nothing.urdf")
    visualizer.Finalize()
    for call in (visualizer.Finalize, visualizer.parser, visualizer.package_map, lambda: visualizer.AddModels(ARM)):
        with pytest.raises(ValueError, match=r"Finalize\(\) has already been called"):
            call()
    with pytest.raises(RuntimeError, match="squishy"):
        ModelVisualizer(compliance_type="squishy")


def test_frames_are_shown_as_triads(meshcat: Meshcat, tmp_path: Path) -> None:
    visualizer = ModelVisualizer(
        meshcat=meshcat, visualize_frames=True, triad_length=0.2, triad_radius=0.01, triad_opacity=0.5
    )
    visualizer.AddModels(write(tmp_path))
    visualizer.Finalize()
    leaf = "illustration/door/leaf"
    names = [f"{leaf}/_frames/leaf(2)/{axis}-axis" for axis in "xyz"]
    assert [color_at(meshcat, name) for name in names] == [(0xFF0000, 0.5), (0x00FF00, 0.5), (0x0000FF, 0.5)]


def test_models_without_dynamics_are_shown_without_contacts(meshcat: Meshcat, tmp_path: Path, caplog: Any) -> None:
    path = write(tmp_path, inertia="")
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(path)
    visualizer.Run(loop_once=True)
    assert "Contacts are not shown. The mass matrix" in caplog.text and meshcat.HasPath("illustration/door/leaf")
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.parser().AddModels(str(path))
    with pytest.raises(RuntimeError, match="mass matrix"):
        visualizer.Finalize()


def test_geometries_may_be_compliant_by_default(meshcat: Meshcat, tmp_path: Path) -> None:
    for kind, name in (("undefined", "BoxGeometry"), ("compliant", "BufferGeometry"), ("rigid", "BufferGeometry")):
        visualizer = ModelVisualizer(meshcat=meshcat, compliance_type=kind)
        visualizer.AddModels(write(tmp_path))
        visualizer.Finalize()
        packed = meshcat._GetPackedObject("proximity/door/leaf/door/c")
        assert umsgpack.unpackb(packed)["object"]["geometries"][0]["type"] == name


def test_files_of_gltf_are_shown_as_they_are(meshcat: Meshcat, tmp_path: Path) -> None:
    trimesh = pytest.importorskip("trimesh", reason="extra `view`")
    trimesh.creation.box([1, 1, 1]).export(tmp_path / "crate.gltf")
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(tmp_path / "crate.gltf")
    visualizer.Finalize()
    assert meshcat._GetPackedObject("illustration/crate/body/crate/visual") and not meshcat.HasPath("proximity/crate")
    with pytest.raises(RuntimeError, match=r"no file 'nothing\.gltf'"):
        ModelVisualizer(meshcat=meshcat).AddModels("nothing.gltf")


def test_a_window_is_opened_once_and_lights_may_be_off(meshcat: Meshcat, tmp_path: Path, monkeypatch: Any) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url, **_: opened.append(url))
    visualizer = ModelVisualizer(meshcat=meshcat, browser_new=True, no_lights=True, pyplot=True)
    visualizer.AddModels(write(tmp_path))
    for _ in range(2):
        visualizer.Run(loop_once=True)
    assert opened == [meshcat.web_url()] and property_at(meshcat, "/Lights", "visible") is False
    with pytest.raises(RuntimeError, match=r"sky\.png"):
        ModelVisualizer(meshcat=meshcat, environment_map="sky.png").Finalize()


@pytest.mark.parametrize(
    ("position", "error", "text"),
    [
        ([0.1] * 6 + [np.nan], ValueError, "the position must be finite; given .*nan"),
        (["here"] * 7, TypeError, "the position must be numbers; given .*here"),
        ([None] * 7, ValueError, "the position must be finite"),
    ],
)
def test_positions_that_are_none_are_refused_and_change_nothing(
    meshcat: Meshcat, position: Any, error: Any, text: str
) -> None:
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(ARM)
    visualizer.Run(position=[0.5] * 7, loop_once=True)
    with pytest.raises(error, match=f"ModelVisualizer: {text}"):
        visualizer.Run(position=position, loop_once=True)
    assert {meshcat.GetSliderValue(f"joint_{i}") for i in range(1, 8)} == {0.5} and meshcat.GetButtonNames() == []


def test_arguments_of_other_types_are_named(meshcat: Meshcat) -> None:
    visualizer = ModelVisualizer(meshcat=meshcat)
    calls: list[tuple[Any, str]] = [
        (ModelVisualizer, "meshcat"), (ModelVisualizer, "environment_map"), (visualizer.AddModels, "filename"),
        (visualizer.AddModels, "url"),
    ]  # fmt: skip
    for call, name in calls:
        with pytest.raises(TypeError, match=rf"ModelVisualizer: {name} must be .*; given 3\."):
            call(**{name: 3})


def picture_of(meshcat: Meshcat) -> np.ndarray | None:
    """The picture in the corner of a page opened now, shape [height, width, 3]; None without one."""
    from PIL import Image

    (picture,) = [c["picture"] for c in commands_for_a_page(meshcat) if c["type"] == "show_preview"] or [""]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(picture.partition(",")[2])))) if picture else None


def put_camera(meshcat: Meshcat, p_WC: list[float], is_perspective: bool = True) -> None:
    """Reports the camera pose of a page, which looks along Wy."""
    x, y, z = p_WC
    pose = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, x, z, -y, 1]  # in the coordinates of three.js, by columns
    message = {"type": "camera_pose", "camera_pose": pose, "is_perspective": is_perspective}
    meshcat._InjectWebsocketMessage(umsgpack.packb(message))


def test_the_page_has_a_picture_of_what_a_camera_sees_from_its_place(
    meshcat: Meshcat, tmp_path: Path, caplog: Any, monkeypatch: Any
) -> None:
    pytest.importorskip("vtkmodules", reason="extra `render`")
    visualizer = ModelVisualizer(meshcat=meshcat, show_rgbd_sensor=True)
    visualizer.AddModels(write(tmp_path))
    visualizer.Run(loop_once=True)
    assert f"Open {meshcat.web_url()}/?tracked_camera=on to see" in caplog.text and picture_of(meshcat) is None
    put_camera(meshcat, [0.0, -2.5, 0.0])
    visualizer.Run(loop_once=True)
    image = picture_of(meshcat)
    assert image is not None and image.shape == (480, 640, 3)
    # The box is 1 m wide, its face 2 m away, and f = 240 / tan(75°/2) = 312.8: edges are 78.2 pixels from the center.
    is_box = np.abs(image.astype(int) - image[0, 0]).max(axis=2) > 40
    rows, columns = np.nonzero(is_box)
    edges = [rows.min(), rows.max() + 1, columns.min(), columns.max() + 1]
    np.testing.assert_allclose(edges, [161.8, 318.2, 241.8, 398.2], atol=1.5)
    meshcat.SetSliderValue("hinge", 0.6)
    visualizer.Run(loop_once=True)
    turned = picture_of(meshcat)
    assert turned is not None and np.abs(turned.astype(int) - image).max() > 40
    drawn: list[Any] = []
    monkeypatch.setattr(meshcat, "show_preview", drawn.append)
    thread = running(visualizer, meshcat)
    try:
        assert eventually(lambda: len(drawn) == 1)
        put_camera(meshcat, [0.0, -2.5, 0.0], is_perspective=False)
        time.sleep(0.1)
        put_camera(meshcat, [0.0, -2.5, 0.0])
        time.sleep(0.1)
        assert len(drawn) == 1  # nothing has moved, or no page reports it
        put_camera(meshcat, [0.0, -2.5, 0.5])
        assert eventually(lambda: len(drawn) == 2)
    finally:
        click(meshcat, "Stop Running")
        thread.join(5.0)


def test_an_interrupt_ends_it_and_removes_buttons(meshcat: Meshcat, tmp_path: Path, monkeypatch: Any) -> None:
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(write(tmp_path))

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("merganser.multibody.visualization.model_visualizer.time.sleep", interrupt)
    visualizer.Run()
    assert meshcat.GetButtonNames() == []


def test_the_command_line_shows_models(tmp_path: Path) -> None:
    def view(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "merganser", "view", *arguments, "--loop_once"]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    done = view(str(ARM), "--visualize_frames", "-q", *("0.1" for _ in range(7)))
    assert done.returncode == 0 and "listening for connections at http" in done.stderr, done.stderr
    done = view("nothing.urdf")
    assert done.returncode == 1 and done.stderr.startswith("error: nothing.urdf: the model file does not exist")


def test_the_sky_of_a_file_is_behind_the_model(tmp_path: Path) -> None:
    model = tmp_path / "m.xml"
    sky = '<texture type="skybox" builtin="gradient" rgb1=".4 .6 .8" rgb2="0 0 .2" width="8" height="8"/>'
    model.write_text(f'<mujoco><asset>{sky}</asset><worldbody><geom size="1"/></worldbody></mujoco>')
    meshcat = Meshcat(port=0)
    visualizer = ModelVisualizer(meshcat=meshcat)
    visualizer.AddModels(model)
    visualizer.Finalize()
    found = {
        name: umsgpack.unpackb(meshcat._GetPackedProperty("/Background", name))["value"]
        for name in ("top_color", "bottom_color", "sky")
    }
    assert found["top_color"] == pytest.approx([0.4, 0.6, 0.8])
    assert found["bottom_color"] == pytest.approx([0.2, 0.3, 0.5])  # at the horizon
    assert found["sky"] is True
