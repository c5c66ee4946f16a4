"""Rows about the derivatives of a step in contact: DifferentiateStep beside MuJoCo's mjd_transitionFD, centred.

MuJoCo takes two steps for each number of the state and input; its contact model is another one, so that results differ.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import standing_rows
from libraries import MODELS, Call, Library, Row, make_parser
from mujoco_model import mujoco_text
from numpy.typing import NDArray
from standing_rows import FRICTION, HUMANOIDS, SETTLED, TIME_STEP, Robot

_DIFFERENCE = 1e-6
_BOX = (0.2, 0.3, 0.1)  # sides [m]
_HAND = (0.1, 0.1, 0.05)
_POSTURE = (0.0, 0.8, 0.0, -1.2, 0.0, 1.1, 0.0)  # of the arm, beside the box


def _build_box(library: Library, *, has_arm: bool) -> Robot:
    """A box on the ground, perhaps with an arm beside it, whose hand may touch it."""
    from merganser.framework.math import RigidTransform
    from merganser.geometry import AddContactMaterial, Box, HalfSpace, ProximityProperties

    builder = library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.set_contact_model(library.plant.ContactModel.kPoint)
    material, nowhere = ProximityProperties(), RigidTransform()
    AddContactMaterial(friction=library.plant.CoulombFriction(FRICTION, FRICTION), properties=material)
    plant.RegisterCollisionGeometry(plant.world_body(), nowhere, HalfSpace(), "ground", material)
    if has_arm:
        make_parser(library, plant).AddModels(str(standing_rows.ARM))
        plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
        tip, place = plant.GetBodyByName("iiwa_link_7"), RigidTransform([0.0, 0.0, 0.12])
        plant.RegisterCollisionGeometry(tip, place, Box(*_HAND), "hand", material)
        for i in range(plant.num_actuators()):
            actuator = plant.get_joint_actuator(library.tree.JointActuatorIndex(i))
            actuator.set_controller_gains(library.tree.PdControllerGains(p=500.0, d=20.0))
    inertia = library.tree.SpatialInertia.SolidBoxWithMass(1.0, *_BOX)
    box = plant.AddRigidBody("box", plant.AddModelInstance("boxes"), inertia)
    plant.RegisterCollisionGeometry(box, nowhere, Box(*_BOX), "box", material)
    plant.Finalize()
    return Robot(builder, plant, scene_graph)


def _start_of_box(_plant: Any, *, has_arm: bool) -> NDArray[np.float64]:
    pose = [1.0, 0.0, 0.0, 0.0, 0.5 if has_arm else 0.0, 0.0, 0.5 * _BOX[2]]
    return np.array([*_POSTURE, *pose] if has_arm else pose)


def our_gradient(library: Library, build: Callable[..., Robot], start_of: Callable[..., Any]) -> Call:
    """DifferentiateStep after the robot has settled."""
    robot = build(library)
    plant = robot.plant
    simulator = library.analysis.Simulator(robot.builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositions(context, start_of(plant))
    for i in range(2, plant.num_model_instances()):
        port = plant.get_desired_state_input_port(library.tree.ModelInstanceIndex(i))
        port.FixValue(context, np.zeros(port.size()))
    simulator.AdvanceTo(SETTLED)

    def differentiate() -> None:
        plant.DifferentiateStep(context)

    return differentiate


def mujoco_gradient(library: Library, build: Callable[..., Robot], start_of: Callable[..., Any]) -> Call:
    """The same by differences in MuJoCo; the ground is a plane."""
    import mujoco

    robot = build(library)
    model = mujoco.MjModel.from_xml_string(mujoco_text(robot.plant, robot.scene_graph, FRICTION))
    data = mujoco.MjData(model)
    data.qpos[:] = _by_mujoco(robot.plant, start_of(robot.plant))
    mujoco.mj_step(model, data, round(SETTLED / TIME_STEP))
    size = 2 * model.nv + model.na
    A, B = np.zeros((size, size)), np.zeros((size, model.nu)) if model.nu else None

    def differentiate() -> None:
        mujoco.mjd_transitionFD(model, data, _DIFFERENCE, True, A, B, None, None)

    return differentiate


def _by_mujoco(plant: Any, q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions in MuJoCo's order, where p comes before the quaternion, of one free body."""
    start = next(body.floating_positions_start() for body in map(plant.get_body, plant.GetFloatingBaseBodies()))
    pose = q[start : start + 7]
    return np.concatenate([q[:start], pose[4:], pose[:4], q[start + 7 :]])


def rows(ours: Library, _theirs: Library | None) -> Iterator[Row]:
    """Each scene beside MuJoCo."""
    if importlib.util.find_spec("mujoco") is None:
        return
    scenes: dict[str, tuple[Callable[..., Robot], Callable[..., Any]]] = {
        "a box on the ground": tuple(functools.partial(f, has_arm=False) for f in (_build_box, _start_of_box)),
    }
    if MODELS.exists():
        of_arm = tuple(functools.partial(f, has_arm=True) for f in (_build_box, _start_of_box))
        scenes["an arm beside a box on the ground"] = of_arm
    humanoid = HUMANOIDS[1]
    build = functools.partial(standing_rows.build, approximation="kLagged", humanoid=humanoid)
    scenes[humanoid.name] = build, functools.partial(standing_rows.start_of, humanoid=humanoid)
    for name, scene in scenes.items():
        beside = functools.partial(mujoco_gradient, ours, *scene)
        yield Row(
            f"derivatives of a step, {name}, MuJoCo beside", functools.partial(our_gradient, ours, *scene), beside, 1
        )
