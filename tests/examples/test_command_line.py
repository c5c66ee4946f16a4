"""python -m merganser: what it prints, draws and refuses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from merganser.cli import main
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.simulate_command import _plot_positions, _position_names

MODELS = Path(__file__).resolve().parents[2] / "examples" / "models"


def test_info_lists_bodies_joints_actuators_and_totals(capsys):
    assert main(["info", str(MODELS / "cart_pole.sdf")]) == 0
    output = capsys.readouterr().out
    for word in ("cart", "pole", "CartSlider", "prismatic", "PolePin", "revolute", "world"):
        assert word in output
    assert "2 bodies, 2 joints, 1 actuators, 2 degrees of freedom (2 positions), mass 1.5 kg" in output


def test_info_tells_what_acts_and_what_was_left_out(tmp_path, capsys, caplog):
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
    main(["simulate", str(MODELS / "double_pendulum.urdf"), "--duration", "1", "--time-step", "0"])
    words = capsys.readouterr().out.split()
    before, after = (float(words[i - 1]) for i, word in enumerate(words) if word == "J")
    assert before == pytest.approx(after, rel=1e-4)


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


def test_a_live_simulation_is_controlled_from_the_page(tmp_path, monkeypatch, capsys):
    pytest.importorskip("umsgpack", reason="extra `view`")
    from merganser.geometry import Meshcat

    shown = []

    def start() -> Meshcat:
        shown.append(Meshcat(port=0))
        return shown[0]

    monkeypatch.setattr("merganser.geometry.visualizers.StartMeshcat", start)
    arguments = ["simulate", str(MODELS / "cart_pole.sdf"), "--view", "--duration", "0.2"]
    assert main(arguments) == 0
    (meshcat,) = shown
    assert meshcat.HasPath("/drake/illustration") and len(meshcat.GetSliderNames()) == 1
    assert meshcat._GetPackedProperty("/drake/contact_forces", "visible")  # set, to false, and kept at the start
    assert b"contact forces" in meshcat._packed_at("/drake/contact_forces", "toggle ")  # with a box to show them
    assert main([*arguments, "--html", "out.html"]) == 1
    assert "leave out --plot and --html" in capsys.readouterr().err


def test_base_can_be_fixed(tmp_path, capsys):
    assert main(["simulate", str(MODELS / "free_box.sdf"), "--fix-base"]) == 1
    assert "nothing that moves" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["info", "nowhere/robot.urdf"], "does not exist"),
        (["simulate", str(MODELS / "free_box.sdf"), "--duration", "-1"], "--duration must be positive"),
        (["simulate", str(MODELS / "free_box.sdf"), "--time-step", "-1"], "time step"),
        (["simulate", str(MODELS / "free_box.sdf"), "--accuracy", "0"], "--accuracy must be positive"),
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
    assert main(["compile"]) == 0
    assert "kept in" in capsys.readouterr().out
    again = subprocess.run([sys.executable, "-c", _BOXES], capture_output=True, text=True, check=True)
    assert again.stdout == "0\n"


def test_a_topic_that_does_not_exist_is_refused_with_those_that_do(capsys):
    assert main(["compile", "robots", "rockets"]) == 1
    assert "no topic 'rockets'. Topics are: blocks, robots, gradients, contact" in capsys.readouterr().err
