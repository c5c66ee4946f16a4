"""Rows about robots whose joints are PD-controlled: humanoids, with a box for each foot, that stand on the ground or
fall beside it, and arms side by side that nothing touches."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from humanoid import humanoid_urdf
from libraries import MODELS, Call, Library, Row, make_parser
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
    """Parameters of a humanoid, see humanoid_urdf(), and the height of its soles above the ground [m]."""

    name: str
    has_arms: bool
    has_hands: bool
    drop: float = 0.0


HUMANOIDS = (
    Humanoid("humanoid of 22 degrees of freedom on its feet", False, False),
    Humanoid("humanoid of 36 degrees of freedom on its feet", True, False),
    Humanoid("humanoid of 62 degrees of freedom on its feet", True, True),
    Humanoid("falling humanoid of 22 degrees of freedom", False, False, 1e4),
    Humanoid("falling humanoid of 62 degrees of freedom", True, True, 1e4),
)
ARM = MODELS / "iiwa_description" / "urdf" / "iiwa14_no_collision.urdf"
NUM_ARMS = 8


class Robot(NamedTuple):
    """Robots in one of the two packages: a builder, the finalized plant and its SceneGraph."""

    builder: Any
    plant: Any
    scene_graph: Any


class Scene(NamedTuple):
    """A scene of the rows: a robot in either package, an approximation, and the initial positions."""

    name: str
    build: Callable[[Library, str], Robot]
    start_of: Callable[[Any], NDArray[np.float64]]


def build(library: Library, approximation: str, humanoid: Humanoid) -> Robot:
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


def build_arms(library: Library, approximation: str) -> Robot:
    """Arms side by side."""
    builder = library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.set_discrete_contact_approximation(getattr(library.plant.DiscreteContactApproximation, approximation))
    parser = make_parser(library, plant)
    parser.SetAutoRenaming(True)
    if hasattr(plant, "SetUseExplicitVelocityProducts"):
        plant.SetUseExplicitVelocityProducts(False)
    root = library.plant.__name__.split(".")[0]
    math = importlib.import_module(f"{root}.framework.math" if root == "merganser" else f"{root}.math")
    for i in range(NUM_ARMS):
        (arm,) = parser.AddModels(str(ARM))
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base", arm), math.RigidTransform([i, 0.0, 0.0]))
        for actuator in plant.GetJointActuatorIndices(arm):
            plant.get_joint_actuator(actuator).set_controller_gains(library.tree.PdControllerGains(p=500.0, d=20.0))
    plant.Finalize()
    return Robot(builder, plant, scene_graph)


def start_of(plant: Any, humanoid: Humanoid) -> NDArray[np.float64]:
    """Positions at the start: upright, all joints at zero."""
    return np.concatenate([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, HEIGHT + humanoid.drop], np.zeros(plant.num_positions() - 7)])


def plant_steps(library: Library, scene: Scene, approximation: str) -> Call:
    """Steps of a plant of either package."""
    robot = scene.build(library, approximation)
    plant = robot.plant
    simulator = library.analysis.Simulator(robot.builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, scene.start_of(plant))
    for i in range(2, plant.num_model_instances()):
        instance = library.tree.ModelInstanceIndex(i)
        desired = np.zeros(2 * plant.num_actuated_dofs(instance))
        plant.get_desired_state_input_port(instance).FixValue(context, desired)
    simulator.AdvanceTo(SETTLED)

    def advance() -> None:
        simulator.AdvanceTo(simulator.get_context().get_time() + SPAN)

    return advance


def mujoco_steps(library: Library, scene: Scene) -> Call:
    """The same in MuJoCo; the ground is a plane."""
    import mujoco

    robot = scene.build(library, APPROXIMATIONS[0])
    model = mujoco.MjModel.from_xml_string(mujoco_text(robot.plant, robot.scene_graph, FRICTION))
    data = mujoco.MjData(model)
    q = scene.start_of(robot.plant)
    data.qpos[:] = np.concatenate([q[4:7], q[:4], q[7:]]) if robot.plant.num_positions() > model.nv else q
    mujoco.mj_step(model, data, round(SETTLED / TIME_STEP))

    def advance() -> None:
        mujoco.mj_step(model, data, round(SPAN / TIME_STEP))

    return advance


def scenes() -> Iterator[Scene]:
    for humanoid in HUMANOIDS:
        of_humanoid = functools.partial(build, humanoid=humanoid), functools.partial(start_of, humanoid=humanoid)
        yield Scene(humanoid.name, *of_humanoid)
    if ARM.exists():
        yield Scene(f"{NUM_ARMS} arms side by side", build_arms, lambda plant: np.full(plant.num_positions(), 0.3))


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Each scene by two approximations against pydrake, and against MuJoCo."""
    for scene in scenes():
        for approximation in APPROXIMATIONS:
            our_call = functools.partial(plant_steps, ours, scene, approximation)
            reference = None if theirs is None else functools.partial(plant_steps, theirs, scene, approximation)
            yield Row(f"{scene.name}, 50 steps, {approximation[1:]}", our_call, reference, 1)
        if importlib.util.find_spec("mujoco") is not None:
            beside = functools.partial(mujoco_steps, ours, scene)
            yield Row(f"{scene.name}, 50 steps, MuJoCo beside", our_call, beside, 1)
