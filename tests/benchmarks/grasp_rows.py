"""Rows about robots that hold something: an iiwa whose gripper holds a box, an Allegro hand in which a ball lies.

Joints are driven by PD controllers that keep them where they are; fingers are commanded to close further than they can.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from libraries import MODELS, Call, Library, Row, make_parser
from mujoco_model import mujoco_text
from numpy.typing import NDArray

TIME_STEP = 0.002
SETTLED = 0.5  # simulated before the clock starts [s]
SPAN = 0.1  # simulated in each call [s]
FRICTION = 1.0
APPROXIMATIONS = ("kSap", "kLagged")


class Grasp(NamedTuple):
    """A robot, and what it holds.

    Attributes:
        name: of the rows.
        robot, base: its file in the folder of models, and the frame that is welded to the world,
        rpy: turned so [rad].
        gripper, tip: file of a gripper, and the frame of the robot that its body is welded to; "" for none.
        thing: radius of a ball, or sides of a box [m],
        p_WT: where it is at the start [m].
        angles: of the robot's actuated joints at the start and ever after [rad].
        fingers: of the gripper's joints at the start [m],
        targets: and their commanded positions [m].
        gains: Kp and Kd of the robot's joints, then of the gripper's.
    """

    name: str
    robot: str
    base: str
    rpy: tuple[float, float, float]
    gripper: str
    tip: str
    thing: tuple[float, ...]
    p_WT: tuple[float, float, float]
    angles: list[float]
    fingers: list[float]
    targets: list[float]
    gains: tuple[float, float, float, float]


GRASPS = (
    Grasp(
        "iiwa, gripper and box", "iiwa_description/urdf/iiwa14_spheres_collision.urdf", "base", (0.0, 0.0, 0.0),
        "wsg_50_description/sdf/schunk_wsg_50.sdf", "iiwa_link_7", (0.06, 0.03, 0.06), (0.593, 0.0, 0.255),
        [0.0, 0.6, 0.0, -1.5, 0.0, 1.0, 0.0], [-0.0155, 0.0155], [-0.01, 0.01], (2000.0, 200.0, 1000.0, 20.0),
    ),
    Grasp(
        "Allegro hand and ball", "allegro_hand_description/urdf/allegro_hand_description_right.urdf", "hand_root",
        (0.0, -0.5 * np.pi - 0.4, 0.0), "", "", (0.035,), (-0.12, 0.0, 0.02),
        [0.0, 0.8, 0.8, 0.4] * 3 + [0.8, 0.4, 0.4, 0.4], [], [], (3.0, 0.1, 0.0, 0.0),
    ),
)  # fmt: skip


class Robot(NamedTuple):
    """A grasp in one of the two packages: a builder, the finalized plant, its SceneGraph and model instances."""

    builder: Any
    plant: Any
    scene_graph: Any
    instances: list[Any]


def build(library: Library, grasp: Grasp, approximation: str) -> Robot:
    """The grasp as a diagram of either package that is not built yet."""
    root = library.plant.__name__.split(".")[0]
    geometry = importlib.import_module(f"{root}.geometry")
    math = importlib.import_module(f"{root}.framework.math" if root == "merganser" else f"{root}.math")
    builder = library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.set_discrete_contact_approximation(getattr(library.plant.DiscreteContactApproximation, approximation))
    plant.set_contact_model(library.plant.ContactModel.kPoint)
    parser = make_parser(library, plant)
    instances = parser.AddModels(str(MODELS / grasp.robot))
    X_WR = math.RigidTransform(math.RollPitchYaw(*grasp.rpy), [0.0, 0.0, 0.0])
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName(grasp.base, instances[0]), X_WR)
    if grasp.gripper:
        instances += parser.AddModels(str(MODELS / grasp.gripper))
        X_TG = math.RigidTransform(math.RollPitchYaw(0.5 * np.pi, 0.0, 0.5 * np.pi), [0.0, 0.0, 0.09])
        plant.WeldFrames(plant.GetFrameByName(grasp.tip), plant.GetFrameByName("body", instances[1]), X_TG)
    for i in range(plant.num_actuators()):
        actuator = plant.get_joint_actuator(library.tree.JointActuatorIndex(i))
        p, d = grasp.gains[:2] if actuator.model_instance() == instances[0] else grasp.gains[2:]
        actuator.set_controller_gains(library.tree.PdControllerGains(p=p, d=d))
    inertia_of = library.tree.SpatialInertia
    if len(grasp.thing) == 1:
        shape, inertia = geometry.Sphere(*grasp.thing), inertia_of.SolidSphereWithMass(0.1, *grasp.thing)
    else:
        shape, inertia = geometry.Box(*grasp.thing), inertia_of.SolidBoxWithMass(0.1, *grasp.thing)
    material = geometry.ProximityProperties()
    friction = library.plant.CoulombFriction(FRICTION, FRICTION)
    geometry.AddContactMaterial(friction=friction, properties=material)
    body = plant.AddRigidBody("thing", plant.AddModelInstance("thing"), inertia)
    plant.RegisterCollisionGeometry(body, math.RigidTransform(), shape, "thing", material)
    plant.Finalize()
    return Robot(builder, plant, scene_graph, instances)


def start_of(grasp: Grasp) -> NDArray[np.float64]:
    """Positions at the start."""
    return np.concatenate([grasp.angles, grasp.fingers, [1.0, 0.0, 0.0, 0.0], grasp.p_WT])


def plant_steps(library: Library, grasp: Grasp, approximation: str) -> Call:
    """Steps of a plant of either package."""
    robot = build(library, grasp, approximation)
    plant = robot.plant
    simulator = library.analysis.Simulator(robot.builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, start_of(grasp))
    for instance, targets in zip(robot.instances, (grasp.angles, grasp.targets)):
        desired = np.concatenate([targets, np.zeros(len(targets))])
        plant.get_desired_state_input_port(instance).FixValue(context, desired)
    simulator.AdvanceTo(SETTLED)

    def advance() -> None:
        simulator.AdvanceTo(simulator.get_context().get_time() + SPAN)

    return advance


def mujoco_steps(library: Library, grasp: Grasp) -> Call:
    """The robot in MuJoCo."""
    import mujoco

    robot = build(library, grasp, APPROXIMATIONS[0])
    model = mujoco.MjModel.from_xml_string(mujoco_text(robot.plant, robot.scene_graph, FRICTION))
    data = mujoco.MjData(model)
    q = start_of(grasp)
    data.qpos[:] = np.concatenate([q[:-7], q[-3:], q[-7:-3]])
    data.ctrl[:] = [*grasp.angles, *grasp.targets]
    mujoco.mj_step(model, data, round(SETTLED / TIME_STEP))

    def advance() -> None:
        mujoco.mj_step(model, data, round(SPAN / TIME_STEP))

    return advance


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Each grasp by two approximations against pydrake, and against MuJoCo; none without model files."""
    for grasp in GRASPS:
        if not (MODELS / grasp.robot).exists():
            print(f"no model files at {MODELS}: the rows of {grasp.name} are left out")
            continue
        for approximation in APPROXIMATIONS:
            our_call = functools.partial(plant_steps, ours, grasp, approximation)
            reference = None if theirs is None else functools.partial(plant_steps, theirs, grasp, approximation)
            yield Row(f"{grasp.name}, 50 steps, {approximation[1:]}", our_call, reference, 1)
        if importlib.util.find_spec("mujoco") is not None:
            beside = functools.partial(mujoco_steps, ours, grasp)
            yield Row(f"{grasp.name}, 50 steps, MuJoCo beside", our_call, beside, 1)
