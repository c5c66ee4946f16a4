"""JointSliders: names, limits and values of sliders, what they put out, and Run()."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack
from viewer_clients import commands_for_a_page, eventually, matrix_at

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.primitives import LogVectorOutput
from merganser.geometry import Box, Meshcat, MeshcatVisualizer
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import PlanarJoint, PrismaticJoint, RevoluteJoint, SpatialInertia
from merganser.multibody.visualization import JointSliders, JointSliders_


@pytest.fixture
def meshcat() -> Meshcat:
    return Meshcat(port=0)


def arm(builder: DiagramBuilder) -> tuple[MultibodyPlant, Any]:
    """A hinge with limits, and on it a slide with one limit and a default."""
    plant, graph = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    inertia = SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1)
    upper, lower = (plant.AddRigidBody(name, inertia) for name in ("upper", "lower"))
    axis = [0, 1, 0]
    plant.AddJoint(RevoluteJoint("hinge", plant.world_frame(), upper.body_frame(), axis, -1.0, 2.0))
    slide = plant.AddJoint(PrismaticJoint("slide", upper.body_frame(), lower.body_frame(), [0, 0, 1], -np.inf, 0.5))
    slide.set_default_translation(0.2)
    plant.RegisterVisualGeometry(upper, slide.frame_on_parent().GetFixedPoseInBodyFrame(), Box(1, 1, 1), "v", [1] * 4)
    plant.Finalize()
    return plant, graph


def range_of(meshcat: Meshcat, name: str) -> list[float]:
    """Value, least and greatest value of a slider."""
    return [meshcat.GetSliderValue(name), meshcat.SetSliderValue(name, -1e9), meshcat.SetSliderValue(name, 1e9)]


def test_sliders_begin_at_defaults_and_keep_joint_limits(meshcat: Meshcat) -> None:
    plant, _ = arm(DiagramBuilder())
    sliders = JointSliders(meshcat, plant)
    port = sliders.get_output_port()
    assert port.get_name() == "positions" and sliders.num_input_ports() == 0
    context = sliders.CreateDefaultContext()
    np.testing.assert_allclose(port.Eval(context), [0.0, 0.2])
    assert range_of(meshcat, "hinge") == [0.0, -1.0, 2.0] and range_of(meshcat, "slide") == [0.2, -10.0, 0.5]
    np.testing.assert_allclose(port.Eval(context), [2.0, 0.5])  # at once


def test_limits_steps_and_values_are_for_all_or_for_each(meshcat: Meshcat) -> None:
    plant, _ = arm(DiagramBuilder())
    sliders = JointSliders(meshcat, plant, [0.5, -3.0], -5, [1.5, 7.0], [0.25, 0.5])
    assert range_of(meshcat, "hinge") == [0.5, -1.0, 1.5] and range_of(meshcat, "slide") == [-3.0, -5.0, 0.5]
    assert meshcat.SetSliderValue("hinge", 0.6) == 0.5
    sliders.Delete()
    JointSliders(meshcat, plant, lower_limit=3.0)  # beyond the limit of a joint, at which the slider stays
    assert range_of(meshcat, "hinge") == [2.0, 2.0, 2.0]


def test_names_distinguish_positions_and_models_where_needed(meshcat: Meshcat) -> None:
    for is_ambiguous in (False, True):
        plant = MultibodyPlant(0.0)
        inertia = SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1)
        for model in ("one", "two"):
            instance = plant.AddModelInstance(model)
            bodies = [plant.AddRigidBody(f"body{i}", instance, inertia) for i in range(2)]
            frames = [plant.world_frame(), *(body.body_frame() for body in bodies)]
            name = "flat" if is_ambiguous else f"flat_{model}"
            plant.AddJoint(PlanarJoint(name, frames[0], frames[1], damping=[0, 0, 0]))
            plant.AddJoint(RevoluteJoint(f"pin_{model}", frames[1], frames[2], [0, 0, 1]))
        plant.Finalize()
        sliders = JointSliders(meshcat, plant)
        suffixes = ("/one", "/two") if is_ambiguous else ("", "")
        flat = ["flat", "flat"] if is_ambiguous else ["flat_one", "flat_two"]
        expected = [f"{name}_{of}{end}" for name, end in zip(flat, suffixes) for of in ("qz", "x", "y")]
        expected += [f"pin_one{suffixes[0]}", f"pin_two{suffixes[1]}"]
        assert meshcat.GetSliderNames() == sorted(expected)
        sliders.Delete()


def test_positions_that_are_set_move_sliders_and_outlast_them(meshcat: Meshcat) -> None:
    plant, _ = arm(DiagramBuilder())
    sliders = JointSliders(meshcat, plant)
    sliders.SetPositions([1.0, 0.7])
    assert [meshcat.GetSliderValue(name) for name in ("hinge", "slide")] == [1.0, 0.5]
    sliders.Delete()
    sliders.Delete()
    context = sliders.CreateDefaultContext()
    assert meshcat.GetSliderNames() == [] and sliders.get_output_port().Eval(context).tolist() == [1.0, 0.7]
    with pytest.raises(RuntimeError, match="q must have 2 elements"):
        sliders.SetPositions([1.0])
    with pytest.raises(RuntimeError, match="q must be finite"):
        sliders.SetPositions([1.0, np.nan])
    assert sliders.get_output_port().Eval(context).tolist() == [1.0, 0.7]


def test_what_does_not_fit_is_refused_and_leaves_no_sliders(meshcat: Meshcat) -> None:
    plant, _ = arm(DiagramBuilder())
    for text, arguments in (
        ("initial_value must have 2 elements", {"initial_value": [1.0]}),
        ("lower_limit must have 2 elements", {"lower_limit": [1.0, 2.0, 3.0]}),
        ("step must be a number; given nan", {"step": np.nan}),
        ("lower_limit must be a number", {"lower_limit": np.nan}),
        ("step positive", {"step": [0.1, -0.1]}),
        (r"lower limit of position 1 \(.*slide_x\), 5.0, is above its upper limit, 4.0", {
            "lower_limit": [0, 5], "upper_limit": [5, 4]}),
        ("increment_keycodes must be as many as the plant has positions, 2, or none", {"increment_keycodes": ["KeyA"]}),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            JointSliders(meshcat, plant, **arguments)
        assert meshcat.GetSliderNames() == []
    with pytest.raises(TypeError, match=r"JointSliders: initial_value must be numbers; given .*up"):
        JointSliders(meshcat, plant, initial_value=["up", "down"])
    with pytest.raises(RuntimeError, match="Finalize"):
        JointSliders(meshcat, MultibodyPlant(0.0))
    with pytest.raises(TypeError, match="takes a Meshcat and a MultibodyPlant"):
        JointSliders(plant, meshcat)  # type: ignore[arg-type]


def test_a_simulation_sees_sliders_as_they_are_at_each_time(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = arm(builder)
    sliders = builder.AddSystem(JointSliders(meshcat, plant))
    log = LogVectorOutput(sliders.get_output_port(), builder, publish_period=0.1)
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(0.25)
    meshcat.SetSliderValue("hinge", 1.25)
    simulator.AdvanceTo(0.45)
    samples = log.FindLog(simulator.get_context())
    np.testing.assert_allclose(samples.data()[0], [0, 0, 0, 1.25, 1.25])


def test_run_moves_the_plant_until_the_button_is_clicked(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, graph = arm(builder)
    MeshcatVisualizer.AddToBuilder(builder, graph, meshcat)
    sliders = builder.AddSystem(JointSliders(meshcat, plant))
    diagram = builder.Build()
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(sliders.Run(diagram, timeout=20.0)))
    thread.start()
    assert eventually(lambda: meshcat.GetButtonNames() == ["Stop JointSliders"])
    path = "visualizer/upper"
    assert eventually(lambda: bool(meshcat._GetPackedTransform(path)))
    for angle in (0.5, 1.5):
        meshcat.SetSliderValue("hinge", angle)
        assert eventually(lambda: abs(matrix_at(meshcat, path)[0, 2] - np.sin(angle)) < 1e-6)  # noqa: B023
    meshcat._InjectWebsocketMessage(umsgpack.packb({"type": "button", "name": "Stop JointSliders"}))
    thread.join(5.0)
    np.testing.assert_allclose(results[0], [1.5, 0.2])
    assert meshcat.GetButtonNames() == []
    np.testing.assert_allclose(sliders.Run(diagram, timeout=0.0), [1.5, 0.2])
    with pytest.raises(ValueError, match="context"):
        JointSliders_[float](Meshcat(port=0), plant).Run(diagram, timeout=0.0)


def test_quaternions_on_their_way_may_be_zero(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.01)
    plant.AddRigidBody("free", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
    plant.Finalize()
    sliders = builder.AddSystem(JointSliders(meshcat, plant))
    diagram = builder.Build()
    meshcat.SetSliderValue("free_x", 2.0)
    meshcat.SetSliderValue("free_qw", 0.0)
    assert sliders.Run(diagram, timeout=0.0).tolist() == [1, 0, 0, 0, 0, 0, 0]  # as it was
    meshcat.SetSliderValue("free_qx", 0.5)
    assert sliders.Run(diagram, timeout=0.0).tolist() == [0, 0.5, 0, 0, 2, 0, 0]


def test_sliders_are_there_in_diagrams_of_derivatives(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = arm(builder)
    builder.AddNamedSystem("sliders", JointSliders(meshcat, plant))
    diagram = builder.Build().ToAutoDiffXd()
    sliders = diagram.GetSubsystemByName("sliders")
    values = sliders.get_output_port().Eval(sliders.GetMyContextFromRoot(diagram.CreateDefaultContext()))
    assert isinstance(sliders, JointSliders_[AutoDiffXd]) and values[1].value() == pytest.approx(0.2)


def test_a_free_body_turns_by_roll_pitch_and_yaw_where_that_is_wanted(meshcat: Meshcat) -> None:
    plant = MultibodyPlant(0.0)
    inertia = SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1)
    plant.AddJoint(
        RevoluteJoint("hinge", plant.world_frame(), plant.AddRigidBody("arm", inertia).body_frame(), [0, 1, 0])
    )
    for name in ("one", "two"):
        plant.AddRigidBody(name, inertia)
    plant.Finalize()
    sliders = JointSliders(meshcat, plant, turns_by_rpy=True)
    suffixes = ("roll", "pitch", "yaw", "x", "y", "z")
    assert meshcat.GetSliderNames() == sorted(
        ["hinge", *(f"{body}_{suffix}" for body in ("one", "two") for suffix in suffixes)]
    )
    assert range_of(meshcat, "two_yaw")[1:] == pytest.approx([-np.pi, np.pi], abs=0.01)
    assert range_of(meshcat, "two_pitch")[1:] == pytest.approx([-np.pi / 2, np.pi / 2], abs=0.01)
    context = plant.CreateDefaultContext()
    X_WB = RigidTransform(RollPitchYaw(0.3, -0.7, 2.5), [0.1, 0.2, 0.3])
    plant.SetFreeBodyPose(context, plant.GetBodyByName("one"), X_WB)
    sliders.SetPositions(plant.GetPositions(context))
    assert [meshcat.GetSliderValue(f"one_{suffix}") for suffix in suffixes] == pytest.approx(
        [0.3, -0.7, 2.5, 0.1, 0.2, 0.3]
    )
    q = sliders.positions()
    assert len(q) == plant.num_positions() and np.linalg.norm(q[1:5]) == pytest.approx(1.0)
    plant.SetPositions(context, q)
    found = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("one"))
    assert found.IsNearlyEqualTo(X_WB, 1e-12)
    np.testing.assert_array_equal(sliders.get_output_port().Eval(sliders.CreateDefaultContext()), q)
    sliders.Delete()
    assert meshcat.GetSliderNames() == []
    np.testing.assert_allclose(sliders.positions(), plant.GetPositions(context), atol=1e-12)


def test_sliders_of_floating_bases_are_folded_away(meshcat: Meshcat) -> None:
    plant, _ = arm(DiagramBuilder())
    other = MultibodyPlant(0.0)
    other.AddRigidBody("box", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
    other.Finalize()
    JointSliders(meshcat, plant)
    JointSliders(meshcat, other)
    shown = [each for each in commands_for_a_page(meshcat) if each["type"] == "set_control"]
    controls = {each["name"]: (each["group"], each["is_folded"]) for each in shown}
    assert controls["hinge"] == controls["slide"] == ("Joints", False)
    assert controls["box_qw"] == controls["box_x"] == ("Pose of box", True)
