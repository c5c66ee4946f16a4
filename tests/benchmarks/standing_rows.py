"""Rows about humanoids that stand on the ground: each foot is a box, all joints are PD-controlled."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from humanoid import humanoid_urdf
from libraries import Call, Library, Row
from mujoco_model import mujoco_text
from numpy.typing import NDArray

TIME_STEP = 0.002
SETTLED = 0.1  # simulated before the clock starts [s]
SPAN = 0.1  # simulated in each call [s]
FRICTION = 0.8
APPROXIMATIONS = ("kSap", "kLagged")
GAINS = (1500.0, 60.0)  # Kp [N m/rad] and Kd [N m s/rad] of all joints
FOOT = (0.22, 0.1, 0.04)  # sides [m]
P_FOOT = (0.03, 0.0, -0.06)  # its middle in the last link of a leg [m]
HEIGHT = 1.04  # of the pelvis, with the soles on the ground [m]


class Humanoid(NamedTuple):
    """What a humanoid has, see humanoid_urdf()."""

    name: str
    has_arms: bool
    has_hands: bool


HUMANOIDS = (
    Humanoid("humanoid of 22 degrees of freedom on its feet", False, False),
    Humanoid("humanoid of 36 degrees of freedom on its feet", True, False),
    Humanoid("humanoid of 62 degrees of freedom on its feet", True, True),
)


class Robot(NamedTuple):
    """A humanoid in one of the two packages: a builder, the finalized plant and its SceneGraph."""

    builder: Any
    plant: Any
    scene_graph: Any


def build(library: Library, humanoid: Humanoid, approximation: str) -> Robot:
    """A humanoid on the ground as a diagram of either package that is not built yet."""
    root = library.plant.__name__.split(".")[0]
    geometry = importlib.import_module(f"{root}.geometry")
    math = importlib.import_module(f"{root}.framework.math" if root == "merganser" else f"{root}.math")
    builder = library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.set_discrete_contact_approximation(getattr(library.plant.DiscreteContactApproximation, approximation))
    plant.set_contact_model(library.plant.ContactModel.kPoint)
    text = humanoid_urdf(has_arms=humanoid.has_arms, has_hands=humanoid.has_hands)
    library.parsing.Parser(plant).AddModelsFromString(text, "urdf")
    material = geometry.ProximityProperties()
    friction = library.plant.CoulombFriction(FRICTION, FRICTION)
    geometry.AddContactMaterial(friction=friction, properties=material)
    nowhere, X_LF = math.RigidTransform(), math.RigidTransform(P_FOOT)
    plant.RegisterCollisionGeometry(plant.world_body(), nowhere, geometry.HalfSpace(), "ground", material)
    for side in ("left", "right"):
        link = plant.GetBodyByName(f"{side}_ankle_roll")
        plant.RegisterCollisionGeometry(link, X_LF, geometry.Box(*FOOT), f"{side}_foot", material)
    for i in range(plant.num_actuators()):
        actuator = plant.get_joint_actuator(library.tree.JointActuatorIndex(i))
        actuator.set_controller_gains(library.tree.PdControllerGains(p=GAINS[0], d=GAINS[1]))
    plant.Finalize()
    return Robot(builder, plant, scene_graph)


def start_of(plant: Any) -> NDArray[np.float64]:
    """Positions at the start: upright, all joints at zero."""
    return np.concatenate([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, HEIGHT], np.zeros(plant.num_positions() - 7)])


def plant_steps(library: Library, humanoid: Humanoid, approximation: str) -> Call:
    """Steps of a plant of either package."""
    robot = build(library, humanoid, approximation)
    plant = robot.plant
    simulator = library.analysis.Simulator(robot.builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, start_of(plant))
    instance = plant.get_joint_actuator(library.tree.JointActuatorIndex(0)).model_instance()
    desired = np.zeros(2 * plant.num_actuators())
    plant.get_desired_state_input_port(instance).FixValue(context, desired)
    simulator.AdvanceTo(SETTLED)

    def advance() -> None:
        simulator.AdvanceTo(simulator.get_context().get_time() + SPAN)

    return advance


def mujoco_steps(library: Library, humanoid: Humanoid) -> Call:
    """The humanoid in MuJoCo, on a plane."""
    import mujoco

    robot = build(library, humanoid, APPROXIMATIONS[0])
    model = mujoco.MjModel.from_xml_string(mujoco_text(robot.plant, robot.scene_graph, FRICTION))
    data = mujoco.MjData(model)
    q = start_of(robot.plant)
    data.qpos[:] = np.concatenate([q[4:7], q[:4], q[7:]])
    mujoco.mj_step(model, data, round(SETTLED / TIME_STEP))

    def advance() -> None:
        mujoco.mj_step(model, data, round(SPAN / TIME_STEP))

    return advance


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Each humanoid by two approximations against pydrake, and against MuJoCo."""
    for humanoid in HUMANOIDS:
        for approximation in APPROXIMATIONS:
            our_call = functools.partial(plant_steps, ours, humanoid, approximation)
            reference = None if theirs is None else functools.partial(plant_steps, theirs, humanoid, approximation)
            yield Row(f"{humanoid.name}, 50 steps, {approximation[1:]}", our_call, reference, 1)
        if importlib.util.find_spec("mujoco") is not None:
            beside = functools.partial(mujoco_steps, ours, humanoid)
            yield Row(f"{humanoid.name}, 50 steps, MuJoCo beside", our_call, beside, 1)
