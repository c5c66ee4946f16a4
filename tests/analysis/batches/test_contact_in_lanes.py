"""Worlds in contact that go side by side have the bits that each has alone, whatever the others do."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from joint_mechanisms import library

from merganser.analysis import ApplySimulatorConfig, BatchSimulator, Simulator, SimulatorConfig
from merganser.framework import Context, DiagramBuilder
from merganser.geometry import Box, Capsule, Convex, HalfSpace, Sphere
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction, DiscreteContactApproximation
from merganser.multibody.tree import JointActuatorIndex, PdControllerGains, SpatialInertia

pytest_plugins = ["compile_policy", "steps_side_by_side"]
pytestmark = pytest.mark.usefixtures("compile_at_once", "compiled_loop")

STEP, END, NUM = 0.002, 0.04, 11  # no multiple of a number of lanes
CONTINUOUS = SimulatorConfig(integration_scheme="runge_kutta3", max_step_size=2e-4, use_error_control=False)
OURS = library("ours")
SIDE = 0.1  # of what is stacked [m]
STANCE = (0.0, 0.8, -1.6)  # angles of a leg [rad]
QUADRUPED = Path(__file__).parents[3] / "examples" / "models" / "quadruped.urdf"
WEDGE = 0.5 * SIDE * np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0 - x)]).T


class Scene(NamedTuple):
    """A diagram with a plant, and a state in which what it has lies or stands on the ground."""

    diagram: Any
    plant: Any
    rest: Any


@functools.cache
def scene(name: str, approximation: str) -> Scene:
    """Two stacks of boxes, shapes that roll, or a robot on four feet; "none" is for continuous time."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0 if approximation == "none" else STEP)
    if plant.is_discrete():
        plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, approximation))
        plant.SetUseSampledOutputPorts(False)
    friction, nowhere = CoulombFriction(0.6, 0.6), OURS.RigidTransform()
    plant.RegisterCollisionGeometry(plant.world_body(), nowhere, HalfSpace(), "ground", friction)
    others = [Sphere(0.5 * SIDE), Capsule(0.5 * SIDE, SIDE), Box(SIDE, SIDE, SIDE), Convex(WEDGE, "wedge")]
    shapes = {"stacks": 4 * [Box(SIDE, SIDE, SIDE)], "shapes": others}.get(name, [])
    for n, shape in enumerate(shapes):
        body = plant.AddRigidBody(f"body{n}", SpatialInertia.SolidBoxWithMass(1.0, SIDE, SIDE, SIDE))
        plant.RegisterCollisionGeometry(body, nowhere, shape, f"shape{n}", friction)
    if name == "quadruped":
        Parser(plant).AddModels(str(QUADRUPED))
        for n in range(plant.num_actuators()):
            motor = plant.get_joint_actuator(JointActuatorIndex(n))
            motor.set_controller_gains(PdControllerGains(p=100.0, d=3.0))
    plant.Finalize()
    diagram = builder.Build()
    q = [number for n in range(len(shapes)) for number in (1.0, 0.0, 0.0, 0.0, *place_of(name, n))]
    if name == "quadruped":
        q = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.02 + 0.4 * np.cos(0.8), *4 * STANCE]
    context = diagram.CreateDefaultContext()
    begin(plant, context, np.concatenate([q, np.zeros(plant.num_velocities())]))
    Simulator(diagram, context).AdvanceTo(0.5)
    return Scene(diagram, plant, plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(context)))


def place_of(name: str, n: int) -> tuple[float, float, float]:
    """Where a body begins [m]."""
    return (0.3 * (n // 2), 0.0, SIDE * (0.5 + n % 2)) if name == "stacks" else (0.3 * n, 0.0, 0.5 * SIDE)


def begin(plant: Any, root: Context, state: Any) -> None:
    """A state, and for controllers that the legs stay as they are."""
    context = plant.GetMyContextFromRoot(root)
    plant.SetPositionsAndVelocities(context, state)
    if plant.num_actuators():
        port = plant.get_desired_state_input_port(plant.GetModelInstanceByName("quadruped"))
        port.FixValue(context, np.concatenate([4 * STANCE, np.zeros(12)]))


def states_near(given: Scene, speed: float, seed: int) -> Any:
    """As many states with random velocities, shape [num_q + num_v, NUM]."""
    states, num_v = np.tile(given.rest[:, None], (1, NUM)), given.plant.num_velocities()
    states[-num_v:] += speed * np.random.default_rng(seed).normal(size=(num_v, NUM))
    return states


def assert_as_alone(given: Scene, states: Any, end: float = END) -> list[int]:
    """Compares worlds of a batch with Simulators, bit by bit; returns how many contacts each has at the end."""
    diagram, plant, _ = given
    config = SimulatorConfig() if plant.is_discrete() else CONTINUOUS
    batch, touches = BatchSimulator(diagram, config=config), []
    worlds = batch.make_worlds(NUM, lambda context, n: begin(plant, context, states[:, n]))
    batch.advance(worlds, 0.5 * end)  # worlds go on from where they are
    batch.advance(worlds, end)
    for n in range(NUM):
        context = diagram.CreateDefaultContext()
        begin(plant, context, states[:, n])
        simulator = Simulator(diagram, context)
        ApplySimulatorConfig(config, simulator)
        simulator.AdvanceTo(0.5 * end)
        simulator.AdvanceTo(end)
        mine, alone = (plant.GetMyContextFromRoot(each) for each in (worlds.make_context(n), context))
        np.testing.assert_array_equal(plant.GetPositionsAndVelocities(mine), plant.GetPositionsAndVelocities(alone))
        touches.append(plant.get_contact_results_output_port().Eval(alone).num_point_pair_contacts())
    return touches


@pytest.mark.parametrize("approximation", ["kSap", "kSimilar", "kLagged"])
@pytest.mark.parametrize("name", ["stacks", "shapes", "quadruped"])
def test_worlds_whose_contacts_last_go_side_by_side(name: str, approximation: str, ahead: list[Any]) -> None:
    given = scene(name, approximation)
    touches = assert_as_alone(given, states_near(given, 1e-4, 0))
    assert min(touches) > 0
    assert min(steps.min() for steps in ahead) > 5


@pytest.mark.parametrize("name", ["stacks", "shapes"])
def test_worlds_in_continuous_time_go_side_by_side_in_contact(name: str, ahead: list[Any]) -> None:
    given = scene(name, "none")
    touches = assert_as_alone(given, states_near(given, 1e-6, 0))
    assert min(touches) > 0
    assert np.concatenate(ahead).mean() > 10


@pytest.mark.parametrize("speed", [0.01, 1.0])
@pytest.mark.parametrize("name", ["stacks", "shapes"])
def test_worlds_that_part_in_continuous_time_are_those_of_simulators(name: str, speed: float) -> None:
    given = scene(name, "none")
    assert_as_alone(given, states_near(given, speed, 1), 0.1)


@pytest.mark.parametrize("speed", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("name", ["stacks", "shapes", "quadruped"])
def test_worlds_that_slide_lift_and_fall_are_those_of_simulators(name: str, speed: float) -> None:
    """Contacts begin and end in some of the worlds, at other times in others."""
    given = scene(name, "kLagged" if speed == 0.1 else "kSap")
    touches = assert_as_alone(given, states_near(given, speed, 1), 0.1)
    assert len(set(touches)) > 1 or speed < 1.0


def test_a_world_that_is_not_finite_leaves_the_bits_of_those_it_touches_beside(ahead: list[Any]) -> None:
    given = scene("stacks", "kSap")
    states, failures, batch = states_near(given, 1e-4, 0), {}, BatchSimulator(given.diagram)
    right = batch.simulate(states, END).states

    def begin_one(context: Context, n: int) -> None:
        begin(given.plant, context, states[:, n])
        if n == 2:
            given.plant.GetMyContextFromRoot(context).SetDiscreteState(np.full(len(states), np.nan))

    worlds = batch.make_worlds(NUM, begin_one)
    batch.advance(worlds, END, failures=failures)
    others = np.delete(np.arange(NUM), 2)
    assert list(failures) == [2]
    assert ahead[0].min() > 5
    np.testing.assert_array_equal(worlds.states[:, others], right[:, others])
