"""Rows about many worlds: copies of one scene, each from a state of its own, beside MuJoCo's batch (`mujoco.rollout`).

Both take the same steps in as many threads. The time is that of a world for one step, processor time with `--cpu`.
Arms, which have no shapes that may touch, and what stays at rest take steps side by side in lanes.
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from libraries import ROOT, Call, Library, Row
from mujoco_model import mujoco_text
from numpy.typing import NDArray

TIME_STEP = 0.002
NUM_WORLDS, NUM_STEPS, NUM_THREADS = 512, 50, 2
FRICTION = 0.8
GAINS = (100.0, 3.0)  # Kp [N m/rad] and Kd [N m s/rad] of all joints
STANCE = (0.0, 0.8, -1.6)  # angles of a leg [rad]
HEIGHT = 0.02 + 0.4 * np.cos(0.8)  # of the trunk, with the feet on the ground [m]
MODELS = ROOT / "examples" / "models"
QUADRUPED, ARM = "quadruped", "arm7"


class Scene(NamedTuple):
    """The scene that is copied.

    Attributes:
        name: of the row.
        robot: name of its model file; empty for boxes.
        num_boxes: on the ground, beside each other.
        height: over where it touches the ground [m].
        approximation: of contact.
        is_explicit: whether velocity products are explicit, as MuJoCo's are.
        speed: of the random velocities [m/s, rad/s]: what lies or stands hops by 0.2, and stays by 0.001.
        is_stack: whether boxes are on top of each other.
    """

    name: str
    robot: str
    num_boxes: int
    height: float
    approximation: str
    is_explicit: bool
    speed: float
    is_stack: bool = False


SCENES = (
    Scene("4 boxes on the ground, Lagged", "", 4, 0.0, "kLagged", False, 0.2),
    Scene("4 boxes on the ground, SAP", "", 4, 0.0, "kSap", False, 0.2),
    Scene("quadruped on the ground, Lagged", QUADRUPED, 0, 0.0, "kLagged", False, 0.2),
    Scene("quadruped on the ground, SAP", QUADRUPED, 0, 0.0, "kSap", False, 0.2),
    Scene("quadruped on the ground, SAP, explicit products", QUADRUPED, 0, 0.0, "kSap", True, 0.2),
    Scene("4 boxes at rest, Lagged", "", 4, 0.0, "kLagged", False, 0.001),
    Scene("4 boxes at rest, SAP", "", 4, 0.0, "kSap", False, 0.001),
    Scene("stack of five boxes, Lagged", "", 5, 0.0, "kLagged", False, 0.0001, True),
    Scene("stack of five boxes, SAP", "", 5, 0.0, "kSap", False, 0.0001, True),
    Scene("quadruped that stands, Lagged", QUADRUPED, 0, 0.0, "kLagged", False, 0.001),
    Scene("quadruped that stands, SAP", QUADRUPED, 0, 0.0, "kSap", False, 0.001),
    Scene("quadruped that stands, SAP, explicit products", QUADRUPED, 0, 0.0, "kSap", True, 0.001),
    Scene("quadruped in the air", QUADRUPED, 0, 5.0, "kLagged", False, 0.2),
    Scene("quadruped in the air, explicit products", QUADRUPED, 0, 5.0, "kLagged", True, 0.2),
    Scene("arm with controllers", ARM, 0, 0.0, "kLagged", False, 0.2),
    Scene("arm with controllers, explicit products", ARM, 0, 0.0, "kLagged", True, 0.2),
)


class Model(NamedTuple):
    """A finalized scene, and where its worlds start."""

    diagram: Any
    plant: Any
    scene_graph: Any
    starts: NDArray[np.float64]  # [q; v] of each world, shape [num_q + num_v, NUM_WORLDS]
    desired: NDArray[np.float64]  # positions of the actuators, shape [num_u]


def build(library: Library, scene: Scene) -> Model:
    """The diagram, and random velocities."""
    from merganser import geometry
    from merganser.framework.math import RigidTransform

    builder = library.framework.DiagramBuilder()
    plant, scene_graph = library.plant.AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.set_discrete_contact_approximation(getattr(library.plant.DiscreteContactApproximation, scene.approximation))
    plant.set_contact_model(library.plant.ContactModel.kPoint)
    plant.SetUseSampledOutputPorts(False)
    plant.SetUseExplicitVelocityProducts(scene.is_explicit)
    material = geometry.ProximityProperties()
    geometry.AddContactMaterial(friction=library.plant.CoulombFriction(FRICTION, FRICTION), properties=material)
    nowhere = RigidTransform()
    if scene.robot != ARM:
        plant.RegisterCollisionGeometry(plant.world_body(), nowhere, geometry.HalfSpace(), "ground", material)
    q: list[float] = []
    for n in range(scene.num_boxes):
        body = plant.AddRigidBody(f"box{n}", library.tree.SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
        plant.RegisterCollisionGeometry(body, nowhere, geometry.Box(0.1, 0.1, 0.1), f"box{n}", material)
        place = (0.0, 0.0, 0.05 + 0.1 * n - 1e-5 * (n + 1)) if scene.is_stack else (0.2 * n, 0.0, 0.05 + scene.height)
        q += [1.0, 0.0, 0.0, 0.0, *place]
    if scene.robot:
        text = (MODELS / f"{scene.robot}.urdf").read_text()
        if scene.robot == ARM:  # without contact
            text = re.sub("<collision.*?</collision>", "", text, flags=re.DOTALL)
        library.parsing.Parser(plant).AddModelsFromString(text, "urdf")
        for n in range(plant.num_actuators()):
            actuator = plant.get_joint_actuator(library.tree.JointActuatorIndex(n))
            actuator.set_controller_gains(library.tree.PdControllerGains(p=GAINS[0], d=GAINS[1]))
        is_arm = scene.robot == ARM
        q = 7 * [0.5] if is_arm else [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, HEIGHT + scene.height, *4 * STANCE]
    plant.Finalize()
    starts = np.tile(np.concatenate([q, np.zeros(plant.num_velocities())])[:, None], (1, NUM_WORLDS))
    starts[len(q) :] = scene.speed * np.random.default_rng(1).normal(size=(plant.num_velocities(), NUM_WORLDS))
    desired = np.array(4 * STANCE if scene.robot == QUADRUPED else q if scene.robot else [])
    return Model(builder.Build(), plant, scene_graph, starts, desired)


def our_steps(library: Library, scene: Scene) -> Call:
    """From all starts, by a batch."""
    diagram, plant, _, starts, desired = build(library, scene)
    context = diagram.CreateDefaultContext()
    if desired.size:
        port = plant.get_desired_state_input_port(plant.GetModelInstanceByName(scene.robot))
        port.FixValue(plant.GetMyContextFromRoot(context), np.concatenate([desired, np.zeros_like(desired)]))
    batch = library.analysis.BatchSimulator(diagram, context, parallelize=NUM_THREADS)

    def advance() -> None:
        batch.simulate(starts, NUM_STEPS * TIME_STEP)

    return advance


def mujoco_steps(library: Library, scene: Scene) -> Call:
    """The same from the same starts, by MuJoCo's own contact model."""
    import mujoco
    from mujoco.rollout import Rollout

    _, plant, scene_graph, starts, desired = build(library, scene)
    model = mujoco.MjModel.from_xml_string(mujoco_text(plant, scene_graph, FRICTION))
    data = [mujoco.MjData(model) for _ in range(NUM_THREADS)]
    nq, nv = plant.num_positions(), plant.num_velocities()
    floating = scene.num_boxes + int(scene.robot == QUADRUPED)
    full = np.zeros((NUM_WORLDS, mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)))
    q, v = starts[:nq].T.copy(), starts[nq:].T.copy()
    for n in range(floating):  # quaternions come last there, and rotational velocities
        q[:, 7 * n : 7 * n + 7] = np.roll(q[:, 7 * n : 7 * n + 7], 3, axis=1)
        v[:, 6 * n : 6 * n + 6] = np.roll(v[:, 6 * n : 6 * n + 6], 3, axis=1)
    full[:, 1 : 1 + nq], full[:, 1 + nq : 1 + nq + nv] = q, v
    control = np.tile(desired, (NUM_WORLDS, NUM_STEPS, 1)) if desired.size else None
    rollout = Rollout(nthread=NUM_THREADS)

    def advance() -> None:
        rollout.rollout(model, data, full, control, nstep=NUM_STEPS)

    return advance


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Each scene beside MuJoCo."""
    if importlib.util.find_spec("mujoco") is None:
        return
    for scene in SCENES:
        name = f"{NUM_WORLDS} worlds: {scene.name}"
        call, beside = functools.partial(our_steps, ours, scene), functools.partial(mujoco_steps, ours, scene)
        yield Row(name, call, beside, 1)
