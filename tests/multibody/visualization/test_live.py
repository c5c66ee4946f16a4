"""SimulationControls, DragSpring and ActuatorSliders: what a user does in the page, and what the simulation does."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack
from viewer_clients import commands_for_a_page, eventually

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, Value
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import ConstantValueSource
from merganser.geometry import Box, Meshcat
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import PdControllerGains, RevoluteJoint, SpatialInertia
from merganser.multibody.visualization import (
    ActuatorSliders,
    AddDefaultVisualization,
    DragSpring,
    SimulationControls,
)

MASS, W = 2.5, 10.0  # [kg, rad/s]
BOX = "/drake/illustration/box"


@pytest.fixture
def meshcat() -> Meshcat:
    return Meshcat(port=0)


def send(meshcat: Meshcat, **message: Any) -> None:
    meshcat._InjectWebsocketMessage(umsgpack.packb(message))


def box_plant(builder: DiagramBuilder, time_step: float = 0.001, gravity: float = 0.0) -> MultibodyPlant:
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=time_step)
    box = plant.AddRigidBody("box", SpatialInertia.SolidBoxWithMass(MASS, 0.2, 0.3, 0.4))
    plant.RegisterVisualGeometry(box, RigidTransform(), Box(0.2, 0.3, 0.4), "v", [1.0, 0.0, 0.0, 1.0])
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, -gravity])
    plant.Finalize()
    return plant


def position(simulator: Simulator, plant: MultibodyPlant) -> np.ndarray:
    context = plant.GetMyContextFromRoot(simulator.get_context())
    return plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("box")).translation()


# ------------------------------------------------------------------ the control bar


@contextmanager
def running(meshcat: Meshcat, simulator: Simulator, **settings: Any) -> Iterator[SimulationControls]:
    """A simulation that goes on beside what is tested, and is stopped by its button."""
    controls = SimulationControls(meshcat, simulator, **settings)
    thread = threading.Thread(target=controls.AdvanceTo, args=(math.inf,))
    thread.start()
    try:
        yield controls
    finally:
        send(meshcat, type="simulation", action="stop")
        thread.join(30.0)
        assert not thread.is_alive()


def test_users_pause_step_and_reset_a_simulation(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant = box_plant(builder, time_step=0.002, gravity=9.81)
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, plant.GetBodyByName("box"), RigidTransform([0.0, 0.0, 3.0]))
    time = simulator.get_context().get_time
    with running(meshcat, simulator, is_paused=True):
        assert time() == 0.0
        send(meshcat, type="simulation", action="step")
        assert eventually(lambda: time() == 0.002)  # the step of the plant
        send(meshcat, type="simulation", action="continue")
        assert eventually(lambda: time() > 0.1, 60.0)
        send(meshcat, type="simulation", action="pause")
        send(meshcat, type="simulation", action="reset")
        assert eventually(lambda: time() == 0.0)
        assert position(simulator, plant).tolist() == [0.0, 0.0, 3.0]
        send(meshcat, type="simulation", action="step")
        assert eventually(lambda: time() == 0.002)
    commands = {command["type"]: command for command in commands_for_a_page(meshcat)}
    assert commands["set_simulation_time"]["time"] == 0.002


def test_the_speed_is_the_one_chosen_and_lost_time_is_not_caught_up(monkeypatch: Any, meshcat: Meshcat) -> None:
    from merganser.multibody.visualization import page_controls

    builder = DiagramBuilder()
    box_plant(builder, time_step=0.01)
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    now = [0.0]
    monkeypatch.setattr(page_controls, "running_time", lambda: now[0])
    looks: list[tuple[float, float]] = []  # clock and simulated time

    def sleep(duration: float) -> None:
        now[0] += duration
        looks.append((now[0], simulator.get_context().get_time()))
        if len(looks) == 20:
            send(meshcat, type="simulation_rate", rate=0.25)
        if len(looks) == 40:
            now[0] += 5.0  # as a laptop that is closed

    monkeypatch.setattr(page_controls.time, "sleep", sleep)
    SimulationControls(meshcat, simulator, rate=2.0).AdvanceTo(1.5)
    clock, simulated = np.array(looks).T
    rates = np.diff(simulated) / np.diff(clock)
    assert np.allclose(rates[:18], 2.0)
    assert np.allclose(rates[21:38], 0.25)
    assert np.allclose(rates[42:], 0.25)
    assert simulator.get_context().get_time() == 1.5


def test_an_advance_ends_at_its_time_and_a_bar_that_is_deleted_is_gone(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    box_plant(builder)
    simulator = Simulator(builder.Build())
    controls = SimulationControls(meshcat, simulator, rate=0.0)
    status = controls.AdvanceTo(0.3)
    assert status is not None and status.succeeded() and simulator.get_context().get_time() == 0.3
    with pytest.raises(ValueError, match="lies before the time"):
        controls.AdvanceTo(0.2)
    controls.Delete()
    commands = {command["type"]: command for command in commands_for_a_page(meshcat)}
    assert not commands["set_simulation"]["is_shown"] and "set_simulation_time" not in commands


@pytest.mark.parametrize("settings", [{"rate": -1.0}, {"rate": math.inf}, {"step": 0.0}, {"step": math.nan}])
def test_settings_out_of_range_are_refused(meshcat: Meshcat, settings: dict[str, float]) -> None:
    builder = DiagramBuilder()
    box_plant(builder)
    with pytest.raises(ValueError, match="SimulationControls"):
        SimulationControls(meshcat, Simulator(builder.Build()), **settings)


# ------------------------------------------------------------------ dragging


def test_what_is_dragged_comes_to_the_mouse_critically_damped(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant = box_plant(builder, time_step=0.0002)
    DragSpring.AddToBuilder(builder, plant, meshcat)
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(0.1)
    assert np.all(position(simulator, plant) == 0.0)  # nothing is dragged
    target = np.array([0.4, -0.2, 0.1])
    send(meshcat, type="drag", path=BOX, point=[0, 0, 0], target=target.tolist())
    for t in (0.05, 0.1, 0.2, 0.5):
        simulator.AdvanceTo(0.1 + t)
        expected = target * (1.0 - (1.0 + W * t) * math.exp(-W * t))
        assert position(simulator, plant) == pytest.approx(expected, rel=0.02, abs=1e-4)
    send(meshcat, type="drag", path="")
    simulator.AdvanceTo(1.0)
    before = position(simulator, plant)
    simulator.AdvanceTo(1.1)
    velocity = (position(simulator, plant) - before) / 0.1
    simulator.AdvanceTo(1.2)
    assert position(simulator, plant) == pytest.approx(before + 0.2 * velocity)  # it is free again


def test_the_spring_pulls_at_the_grasped_point_by_the_effective_mass(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant = box_plant(builder, gravity=9.81)
    spring = DragSpring.AddToBuilder(builder, plant, meshcat)
    diagram = builder.Build()
    simulator = Simulator(diagram)
    point = np.array([0.1, 0.15, 0.2])
    send(meshcat, type="drag", path=BOX, point=point.tolist(), target=[0, 0, 1])
    forces = spring.get_output_port().Eval(spring.GetMyContextFromRoot(simulator.get_context()))
    inertia = MASS / 12 * np.array([0.3**2 + 0.4**2, 0.2**2 + 0.4**2, 0.2**2 + 0.3**2])
    mobility = 3 / MASS + np.sum((point @ point - point**2) / inertia)  # |p x e_i|^2 is p^2 - p_i^2
    mass = 3.0 / mobility
    stretch = np.array([0.0, 0.0, 1.0]) - point
    assert len(forces) == 1 and forces[0].F_Bq_W.translational() == pytest.approx(mass * W**2 * stretch)
    assert forces[0].p_BoBq_B.tolist() == point.tolist() and np.all(forces[0].F_Bq_W.rotational() == 0.0)


def test_bodies_that_cannot_move_and_paths_that_are_none_are_not_dragged(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
    inertia = SpatialInertia.SolidBoxWithMass(MASS, 0.2, 0.3, 0.4)
    for name in ("box", "other"):
        plant.AddRigidBody(name, inertia)
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("box"))
    plant.Finalize()
    spring = DragSpring.AddToBuilder(builder, plant, meshcat)
    context = spring.GetMyContextFromRoot(builder.Build().CreateDefaultContext())
    send(meshcat, type="drag", path="/drake/nothing", point=[0, 0, 0], target=[0, 0, 1])
    assert spring.get_output_port().Eval(context) == []
    send(meshcat, type="drag", path=BOX, point=[0, 0, 0], target=[0, 0, 1])
    assert np.all(spring.get_output_port().Eval(context)[0].F_Bq_W.translational() == 0.0)


def test_a_port_that_is_connected_is_named_with_the_remedy(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant = box_plant(builder)
    source = builder.AddSystem(ConstantValueSource(Value([])))
    builder.Connect(source.get_output_port(), plant.get_applied_spatial_force_input_port())
    with pytest.raises(RuntimeError, match=r"applied_spatial_force.*ExternallyAppliedSpatialForceMultiplexer"):
        DragSpring.AddToBuilder(builder, plant, meshcat)


def test_viewers_of_a_plant_describe_its_bodies(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    box_plant(builder)
    AddDefaultVisualization(builder, meshcat)
    diagram = builder.Build()
    diagram.ForcedPublish(diagram.CreateDefaultContext())
    assert meshcat.HasPath(BOX)
    cards = {command["path"]: command for command in commands_for_a_page(meshcat) if command["type"] == "set_card"}
    rows = [["mass", "2.5 kg"], ["model", "DefaultModelInstance"]]
    assert cards[BOX]["title"] == "box" and cards[BOX]["rows"] == rows


def test_pages_know_what_is_fixed_to_the_world(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
    shelf, box = (plant.AddRigidBody(name, SpatialInertia.SolidBoxWithMass(1.0, 1, 1, 1)) for name in ("shelf", "box"))
    plant.WeldFrames(plant.world_frame(), shelf.body_frame())
    for body, name in ((plant.world_body(), "wall"), (shelf, "board"), (box, "side")):
        plant.RegisterVisualGeometry(body, RigidTransform(), Box(1, 1, 1), name, [1.0, 0.0, 0.0, 1.0])
    plant.Finalize()
    AddDefaultVisualization(builder, meshcat)
    diagram = builder.Build()
    diagram.ForcedPublish(diagram.CreateDefaultContext())
    commands = commands_for_a_page(meshcat)
    cards = {each["path"].split("/")[-1]: each["is_fixed"] for each in commands if each["type"] == "set_card"}
    assert cards == {"shelf": True, "box": False}
    fixed = {c["path"] for c in commands if c["type"] == "set_property" and c["property"] == "is_fixed" and c["value"]}
    assert fixed == {"/drake/illustration/wall"}


# ------------------------------------------------------------------ sliders of actuators


def test_sliders_set_efforts_within_limits_and_positions_of_actuators_with_gains(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
    inertia = SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1)
    for model, has_gains in (("free", False), ("driven", True)):
        instance = plant.AddModelInstance(model)
        body = plant.AddRigidBody(f"{model}_body", instance, inertia)
        joint = RevoluteJoint(f"{model}_hinge", plant.world_frame(), body.body_frame(), [0, 1, 0], -1.0, 2.0)
        joint = plant.AddJoint(joint)
        joint.set_default_angle(0.5)
        actuator = plant.AddJointActuator("motor", joint, 4.0)
        if has_gains:
            actuator.set_controller_gains(PdControllerGains(p=100.0, d=10.0))
    plant.mutable_gravity_field().set_gravity_vector([0.0, 0.0, 0.0])
    plant.Finalize()
    ActuatorSliders.AddToBuilder(builder, plant, meshcat)
    controls = {c["name"]: c for c in commands_for_a_page(meshcat) if c["type"] == "set_control"}
    assert {n: [c["min"], c["max"], c["value"], c["group"]] for n, c in controls.items()} == {
        "motor/free": [-4.0, 4.0, 0.0, "Torques [N m]"],
        "motor/driven": [-1.0, 2.0, 0.5, "Wanted positions [rad, m]"],
    }
    simulator = Simulator(builder.Build())
    context = plant.GetMyContextFromRoot(simulator.get_context())
    simulator.AdvanceTo(0.1)
    assert plant.GetPositions(context) == pytest.approx([0.5, 0.5])  # at rest
    meshcat.SetSliderValue("motor/free", -3.0)
    meshcat.SetSliderValue("motor/driven", 0.8)
    simulator.AdvanceTo(0.102)
    assert plant.get_net_actuation_output_port().Eval(context)[0] == pytest.approx(-3.0)
    simulator.AdvanceTo(1.5)
    assert plant.GetPositions(context)[1] == pytest.approx(0.8, abs=0.01)


def test_sliders_of_muscles_and_servos_along_tendons_have_their_ranges(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.001)
    Parser(plant).AddModelsFromString(
        '<mujoco><worldbody><site name="a" pos="0 0 .1"/><body name="b"><joint name="j" axis="0 1 0"/><geom size=".1"/>'
        '<site name="s" pos=".1 0 0"/></body></worldbody><tendon><spatial name="t"><site site="a"/><site site="s"/>'
        '</spatial></tendon><actuator><muscle name="m" tendon="t"/><position name="p" tendon="t" kp="4" '
        'ctrlrange=".05 .15"/></actuator></mujoco>',
        "xml",
    )
    plant.Finalize()
    ActuatorSliders.AddToBuilder(builder, plant, meshcat)
    controls = {c["name"].split("/")[0]: c for c in commands_for_a_page(meshcat) if c["type"] == "set_control"}
    assert {n: [c["min"], c["max"], c["value"]] for n, c in controls.items()} == {
        "m": [0.0, 1.0, 0.0], "p": [0.05, 0.15, 0.05],
    }  # fmt: skip
    simulator = Simulator(builder.Build())
    context = plant.GetMyContextFromRoot(simulator.get_context())
    for name in controls:
        meshcat.SetSliderValue(controls[name]["name"], controls[name]["max"])
    simulator.AdvanceTo(0.1)
    assert plant.get_activations_output_port().Eval(context)[0] > 0.9  # after ten time constants
