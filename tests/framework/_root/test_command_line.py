"""python -m merganser: what it prints, draws and refuses."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from merganser.cli import main
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.simulate_command import _plot_positions, _position_names

MODELS = Path(__file__).resolve().parents[3] / "examples" / "models"


def test_info_lists_bodies_joints_actuators_and_totals(capsys):
    assert main(["info", str(MODELS / "cart_pole.sdf")]) == 0
    output = capsys.readouterr().out
    for word in ("cart", "pole", "CartSlider", "prismatic", "PolePin", "revolute", "world"):
        assert word in output
    assert "2 bodies, 2 joints, 1 actuators, 2 degrees of freedom (2 positions), mass 1.5 kg" in output


def test_info_lists_what_acts_and_what_was_left_out(tmp_path, capsys, caplog):
    assert main(["info", str(MODELS / "gripper.xml")]) == 0
    output = capsys.readouterr().out
    for line in (
        "model 'gripper'",
        "gravity 0, 0, -9.81 m/s^2; 7 pairs of geometries may touch",
        "frames: grasp",
        "constraints: 1 coupler",
        "4 bodies, 4 joints, 2 actuators, 9 degrees of freedom (10 positions), mass 0.6",
        "nothing was approximated or left out",
    ):
        assert line in output
    model = tmp_path / "m.xml"
    swing = '<body name="a"><joint stiffness="3"/><geom size="1"/></body>'
    skin = "<deformable><skin/></deformable>"
    model.write_text(f'<mujoco model="m">\n\n{skin}<worldbody>{swing}</worldbody></mujoco>')
    assert main(["info", str(model)]) == 0
    output = capsys.readouterr().out
    assert "force elements: 1 RevoluteSpring" in output
    assert "approximated or left out:" in output and "line 3: <skin> in <deformable> is left out" in output
    assert not caplog.records


def test_info_lists_tendons_and_joints_that_close_loops(tmp_path, capsys):
    model = tmp_path / "m.urdf"
    joints = "".join(
        f'<joint name="{p}{c}" type="revolute"><parent link="{p}"/><child link="{c}"/></joint>' for p, c in ("ab", "bc")
    )
    links = "".join(f'<link name="{n}"/>' for n in "abc")
    loop = '<loop_joint name="l" type="fixed"><link1 link="a"/><link2 link="c"/></loop_joint>'
    tendon = (
        '<drake:tendon_constraint><drake:tendon_constraint_joint name="ab" a="1"/>'
        '<drake:tendon_constraint_upper_limit value="1"/></drake:tendon_constraint>'
    )
    model.write_text(f'<robot name="r">{links}{joints}{loop}{tendon}</robot>')
    assert main(["info", str(model)]) == 0
    output = capsys.readouterr().out
    assert "constraints: 1 tendon" in output and "joints that close loops: l" in output
    assert "frames:" not in output


def test_info_lists_tendons_of_mjcf_and_the_muscles_along_them(tmp_path, capsys):
    model = tmp_path / "m.xml"
    model.write_text(
        '<mujoco><worldbody><site name="a" pos="0 0 .1"/><body name="b"><joint name="j" axis="0 1 0"/><geom size=".1"/>'
        '<site name="s" pos=".1 0 0"/></body></worldbody><tendon><spatial name="t" range="0 .3" stiffness="3" '
        'damping=".1"><site site="a"/><site site="s"/></spatial></tendon><actuator><muscle name="m" tendon="t"/>'
        '<position name="p" joint="j" kp="4"/></actuator></mujoco>'
    )
    assert main(["info", str(model)]) == 0
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert ["t", "spatial tendon", "3", "0.1", "0", "0 to 0.3"] in rows
    assert ["m", "t (muscle)"] in [row[:2] for row in rows] and ["p", "j"] in [row[:2] for row in rows]


@pytest.mark.parametrize("model", ["cart_pole.sdf", "double_pendulum.urdf", "arm7.urdf", "free_box.sdf"])
@pytest.mark.parametrize("time_step", ["0", "0.002"])
def test_any_model_drops_or_swings(model, time_step, capsys):
    assert main(["simulate", str(MODELS / model), "--duration", "0.2", "--time-step", time_step]) == 0
    assert "0.2 s in" in capsys.readouterr().out


def test_an_accuracy_in_place_of_a_time_step(capsys):
    assert main(["simulate", str(MODELS / "free_box.sdf"), "--duration", "0.2", "--accuracy", "1e-3"]) == 0
    assert "steps at accuracy 0.001, 0.2 s in" in capsys.readouterr().out
    assert main(["simulate", str(MODELS / "free_box.sdf"), "--accuracy", "1e-3", "--time-step", "1e-3"]) == 1
    assert "leave out --time-step" in capsys.readouterr().err


def test_undamped_model_keeps_its_energy(capsys):
    before, after = energies(capsys, "double_pendulum.urdf", "--duration", "1", "--time-step", "0", "--tilt", "0.3")
    assert before == pytest.approx(after, rel=1e-4)


def energies(capsys, model, *arguments):
    """At the start and at the end [J]."""
    assert main(["simulate", str(MODELS / model), *arguments]) == 0
    words = capsys.readouterr().out.split()
    return [float(words[i - 1]) for i, word in enumerate(words) if word == "J"]


def test_a_model_starts_at_its_own_pose_or_with_hinges_within_their_limits(capsys, tmp_path):
    model = tmp_path / "hinges.xml"
    geom = '<geom size=".1" pos="0 0 -1" mass="1" contype="0" conaffinity="0"/>'
    body = '<body name="{0}"><joint name="{0}" axis="0 1 0" {1}/>' + geom + "</body>"
    bodies = body.format("free", 'ref="40"') + body.format("limited", 'range="-5 5" limited="true"')
    model.write_text(f'<mujoco><option timestep=".001"/><worldbody>{bodies}</worldbody></mujoco>')
    start, end = energies(capsys, model, "--duration", "0.1")
    assert start == pytest.approx(-2 * 9.81, rel=1e-3) and end == pytest.approx(start, rel=1e-6)  # both hang at rest
    start, _ = energies(capsys, model, "--duration", "0.1", "--tilt", "0.3")
    assert start == pytest.approx(-9.81 * (np.cos(0.3) + np.cos(np.deg2rad(5))), rel=1e-3)


def test_a_video_shows_what_moves_all_the_time(tmp_path, capsys):
    av = pytest.importorskip("av", reason="extra `video`")
    pytest.importorskip("vtkmodules", reason="extra `video`")
    video = tmp_path / "swing.mp4"
    arguments = ["simulate", str(MODELS / "double_pendulum.urdf"), "--duration", "0.2", "--tilt", "1"]
    assert main([*arguments, "--video", str(video)]) == 0
    assert f"video: {video}" in capsys.readouterr().out
    with av.open(str(video)) as file:
        frames = [frame.to_ndarray(format="rgb24").astype(int) for frame in file.decode(video=0)]
    assert len(frames) == 7 and frames[0].shape == (720, 1280, 3)  # 30 in a second
    for frame in frames:
        rows, columns = np.nonzero(np.abs(frame - frame[0, 0]).max(axis=2) > 60)
        assert 0.3 < max(np.ptp(rows) / 720, np.ptp(columns) / 1280) < 0.95  # it fills the picture
        assert rows.min() > 20 and rows.max() < 700 and columns.min() > 20 and columns.max() < 1260  # and is all seen
    assert np.abs(frames[0] - frames[-1]).max() > 60


def test_a_video_that_cannot_be_written_is_refused_before_anything_runs(tmp_path, monkeypatch, capsys):
    arguments = ["simulate", str(MODELS / "double_pendulum.urdf"), "--video"]
    monkeypatch.setitem(sys.modules, "av", None)
    for file, words in (("a.mp4", "pip install 'merganser[video]'"), ("a.txt", "Videos are .mp4, .mkv, .mov, .gif")):
        assert main([*arguments, str(tmp_path / file)]) == 1
        captured = capsys.readouterr()
        assert words in captured.err and captured.err.startswith("error: ") and captured.out == ""


def test_time_step_is_that_of_an_mjcf_file_unless_the_user_gives_one(tmp_path, capsys):
    model = tmp_path / "m.xml"
    swing = '<body><joint/><geom size="1" pos="1 0 0"/></body>'
    model.write_text(f'<mujoco><option timestep="0.004"/><worldbody>{swing}</worldbody></mujoco>')
    for given, expected in (([], "0.004"), (["--time-step", "0.01"], "0.01")):
        assert main(["simulate", str(model), "--duration", "0.02", *given]) == 0
        assert f"steps of {expected} s" in capsys.readouterr().out


def test_plot_is_saved(tmp_path, capsys):
    picture = tmp_path / "swing.png"
    arguments = [
        "simulate",
        str(MODELS / "double_pendulum.urdf"),
        "--duration",
        "0.2",
        "--plot",
        str(picture),
    ]
    assert main(arguments) == 0
    assert picture.stat().st_size > 10_000


def test_a_page_plays_the_simulation_back_from_where_it_starts(tmp_path, capsys):
    pytest.importorskip("umsgpack", reason="extra `view`")
    page = tmp_path / "swing.html"
    arguments = ["simulate", str(MODELS / "double_pendulum.urdf"), "--duration", "0.2", "--html", str(page)]
    assert main(arguments) == 0
    assert f"page: {page}" in capsys.readouterr().out
    assert "unpack(" in page.read_text(encoding="utf-8")


def test_a_plot_names_joints_and_of_many_lines_those_that_move_most():
    from matplotlib.figure import Figure

    times, moves = np.linspace(0.0, 1.0, 5), np.arange(40.0)[::-1]
    axes = Figure().subplots()
    _plot_positions(axes, times, np.outer(moves, times), [f"joint_{i}" for i in range(40)])
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [*(f"joint_{i}" for i in range(12)), "28 others, which move less"]
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(MODELS / "double_pendulum.urdf"))
    Parser(plant).AddModels(str(MODELS / "free_box.sdf"))
    plant.Finalize()
    names = _position_names(plant)
    assert {"shoulder", "elbow", "box_x"} <= set(names) and len(set(names)) == plant.num_positions()


def test_a_live_simulation_begins_when_its_page_is_open(monkeypatch, capsys):
    pytest.importorskip("umsgpack", reason="extra `view`")
    from viewer_clients import as_page, eventually

    from merganser.geometry import Meshcat

    meshcat = Meshcat(port=0)
    monkeypatch.setattr("merganser.geometry.visualizers.StartMeshcat", lambda: meshcat)
    arguments = ["simulate", str(MODELS / "cart_pole.sdf"), "--view", "--duration", "0.2"]
    results = []
    thread = threading.Thread(target=lambda: results.append(main(arguments)), daemon=True)
    thread.start()
    assert eventually(lambda: meshcat._scene.get_other("simulation bar") is not None, 60.0)
    time.sleep(0.3)
    assert thread.is_alive() and meshcat.GetSimulationTime() == 0.0

    async def visit(page):
        await page.read(lambda commands: any(command["type"] == "set_plot" for command in commands))
        await asyncio.to_thread(thread.join, 60.0)
        return {command["type"]: command for command in reversed(page.commands)}

    shown = as_page(meshcat, visit)
    assert results == [0] and meshcat.GetSimulationTime() == pytest.approx(0.2, abs=0.02)
    assert shown["set_plot"]["names"] == ["CartSlider_x", "PolePin"] and all(shown["set_plot"]["is_shown"])
    assert meshcat.HasPath("/drake/illustration") and len(meshcat.GetSliderNames()) == 1
    assert meshcat._GetPackedProperty("/drake/contact_forces", "visible")  # set, to false, and kept at the start
    assert b"contact forces" in meshcat._packed_at("/drake/contact_forces", "toggle ")  # with a box to show them
    assert main([*arguments, "--html", "out.html"]) == 1
    assert "leave out --plot, --html and --video" in capsys.readouterr().err


def test_base_can_be_fixed(tmp_path, capsys):
    assert main(["simulate", str(MODELS / "free_box.sdf"), "--fix-base"]) == 1
    assert "nothing that moves" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["info", "nowhere/robot.urdf"], "does not exist"),
        (["simulate", str(MODELS / "free_box.sdf"), "--duration", "-1"], "--duration must be positive"),
        (["simulate", str(MODELS / "free_box.sdf"), "--time-step", "-1"], "time step"),
        (["simulate", str(MODELS / "free_box.sdf"), "--tilt", "nan"], "--tilt must be finite"),
        (["simulate", str(MODELS / "free_box.sdf"), "--accuracy", "0"], "--accuracy must be positive"),
        (["fmu", "robot"], "expected PROGRAM:NAME"),
        (["fmu", "nowhere.py:diagram"], "no file 'nowhere.py'"),
        (["fmu", "merganser.examples:nothing"], "has no 'nothing'"),
        (["fmu", "merganser.compiling:TOPICS"], "not a System"),
    ],
)
def test_bad_input_is_one_line_on_standard_error(arguments, words, capsys):
    assert main(arguments) == 1
    error = capsys.readouterr().err
    assert words in error and error.startswith("error: ") and error.count("\n") == 1


_BOXES = """
from merganser.compiled_programs import simulate_arm, simulate_contact
from merganser.framework.native.compiler.parallel_compilation import _kernels
from merganser.geometry import Box

simulate_arm(0.001)
simulate_contact(Box(0.1, 0.1, 0.1))
print(sum(not code.is_from_disk for kernel in _kernels.values() for code in kernel.codes.values()))
"""


def test_what_was_compiled_beforehand_is_not_compiled_again(capsys):
    """CI compiles the other topics, too, and compares what the examples compile."""
    assert main(["compile", "blocks", "robots", "contact"]) == 0
    assert "kept in" in capsys.readouterr().out
    again = subprocess.run([sys.executable, "-c", _BOXES], capture_output=True, text=True, check=True)
    assert again.stdout == "0\n"


def test_a_topic_that_does_not_exist_is_refused_with_those_that_do(capsys):
    assert main(["compile", "robots", "rockets"]) == 1
    assert "no topic 'rockets'. Topics are: blocks, robots, gradients, contact" in capsys.readouterr().err
