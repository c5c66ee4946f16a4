"""Rows about contact under error control: scenes at accuracies at which both packages are about as far from the truth.

What accuracies come to, and what the same scenes cost at equal error, `python tests/benchmarks/equal_error.py` prints.
"""

from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from libraries import Call, Library, Row
from numpy.typing import NDArray

Array = NDArray[np.float64]
LONGEST_STEP = 0.1  # [s]


class Names(NamedTuple):
    """The modules of a package that scenes take."""

    geometry: Any
    math: Any
    plant: Any
    tree: Any


class Scene(NamedTuple):
    """Bodies in contact.

    Attributes:
        name: of the row.
        fill: adds the bodies to a plant, before Finalize().
        start: the state at the start.
        time: simulated [s].
        accuracies: of this package and of the other one.
    """

    name: str
    fill: Callable[[Names, Any], None]
    start: Array
    time: float
    accuracies: tuple[float, float]


def _material(names: Names, stiffness: float, dissipation: float, friction: float) -> Any:
    properties = names.geometry.ProximityProperties()
    coefficients = names.plant.CoulombFriction(friction, friction)
    names.geometry.AddContactMaterial(dissipation, stiffness, coefficients, properties)
    return properties


def _add_shape(names: Names, plant: Any, body: Any, shape: Any, place: Any, material: Any, name: str) -> None:
    plant.RegisterCollisionGeometry(body, names.math.RigidTransform(place), shape, name, material)


def _balls(count: int, radius: float, material: tuple[float, float, float]) -> Callable[[Names, Any], None]:
    def fill(names: Names, plant: Any) -> None:
        properties = _material(names, *material)
        _add_shape(names, plant, plant.world_body(), names.geometry.HalfSpace(), np.zeros(3), properties, "ground")
        for k in range(count):
            body = plant.AddRigidBody(f"ball{k}", names.tree.SpatialInertia.SolidSphereWithMass(1.0, radius))
            _add_shape(names, plant, body, names.geometry.Sphere(radius), np.zeros(3), properties, f"ball{k}")

    return fill


def _with_plate(names: Names, plant: Any) -> None:
    """Eight balls between the ground and a turning plate."""
    _balls(8, 0.05, (1e5, 0.5, 0.3))(names, plant)
    body = plant.AddRigidBody("plate", names.tree.SpatialInertia.SolidBoxWithMass(2.0, 0.5, 0.5, 0.02))
    properties = _material(names, 1e5, 0.5, 0.3)
    _add_shape(names, plant, body, names.geometry.Box(1.0, 1.0, 1.0), [0.0, 0.0, 0.5], properties, "plate")


def _on_feet(places: Array, slope: float = 0.0) -> Callable[[Names, Any], None]:
    """A body with small balls for feet, on ground that may fall towards x."""

    def fill(names: Names, plant: Any) -> None:
        properties = _material(names, 1e5, 0.5, 0.8)
        X_WG = names.math.RigidTransform(names.math.RotationMatrix.MakeYRotation(slope), np.zeros(3))
        half_space = names.geometry.HalfSpace()
        plant.RegisterCollisionGeometry(plant.world_body(), X_WG, half_space, "ground", properties)
        body = plant.AddRigidBody("body", names.tree.SpatialInertia.SolidBoxWithMass(1.0, 0.15, 0.1, 0.25))
        for k, place in enumerate(places):
            _add_shape(names, plant, body, names.geometry.Sphere(0.01), place, properties, f"foot{k}")

    return fill


def _gripper(names: Names, plant: Any) -> None:
    """Two fingers on springs that hold a ball above the ground."""
    properties, tree = _material(names, 1e4, 1.0, 0.8), names.tree
    for k, side in enumerate((-1.0, 1.0)):
        finger = plant.AddRigidBody(f"finger{k}", tree.SpatialInertia.SolidBoxWithMass(0.2, 0.02, 0.1, 0.1))
        joint = tree.PrismaticJoint(f"x{k}", plant.world_frame(), finger.body_frame(), [-side, 0.0, 0.0], damping=2.0)
        plant.AddJoint(joint)
        plant.AddForceElement(tree.PrismaticSpring(plant.GetJointByName(f"x{k}"), 0.05, 400.0))
        box = names.geometry.Box(0.02, 0.1, 0.1)
        _add_shape(names, plant, finger, box, [0.07 * side, 0.0, 0.3], properties, f"finger{k}")
    ball = plant.AddRigidBody("ball", tree.SpatialInertia.SolidSphereWithMass(0.3, 0.04))
    _add_shape(names, plant, ball, names.geometry.Sphere(0.04), np.zeros(3), properties, "ball")


def _pushed_box(names: Names, plant: Any) -> None:
    """A box on flat ground."""
    properties = _material(names, 1e5, 0.5, 0.4)
    _add_shape(names, plant, plant.world_body(), names.geometry.HalfSpace(), np.zeros(3), properties, "ground")
    body = plant.AddRigidBody("box", names.tree.SpatialInertia.SolidBoxWithMass(1.0, 0.2, 0.2, 0.1))
    _add_shape(names, plant, body, names.geometry.Box(0.2, 0.2, 0.1), np.zeros(3), properties, "box")


def _hammer(names: Names, plant: Any) -> None:
    """A ball on flat ground, and a pendulum that will strike it."""
    _balls(1, 0.05, (1e5, 0.2, 0.5))(names, plant)
    tree, properties = names.tree, _material(names, 1e5, 0.2, 0.5)
    bob = plant.AddRigidBody("bob", tree.SpatialInertia.SolidSphereWithMass(1.0, 0.04))
    X_WT, X_BT = (names.math.RigidTransform([0.0, 0.0, z]) for z in (0.55, 0.5))
    top = plant.AddFrame(tree.FixedOffsetFrame("top", plant.world_frame(), X_WT))
    end = plant.AddFrame(tree.FixedOffsetFrame("end", bob.body_frame(), X_BT))
    joint = tree.RevoluteJoint("pivot", top, end, [0.0, 1.0, 0.0], damping=0.0)
    plant.AddJoint(joint)
    _add_shape(names, plant, bob, names.geometry.Sphere(0.04), np.zeros(3), properties, "bob")


def _state(places: Any, velocities: Any = None, angle: float = 0.0) -> Array:
    """Of free bodies at these places, turned about x, with velocities [w; v]."""
    turned = [math.cos(0.5 * angle), math.sin(0.5 * angle), 0.0, 0.0]
    v = np.zeros((len(places), 6)) if velocities is None else np.array(velocities)
    return np.concatenate([*([*turned, *place] for place in places), v.ravel()])


def _struck() -> Array:
    """The ball beside the lowest point of a pendulum that is lifted."""
    free = _state([[0.091, 0.0, 0.05 - 5e-5]])
    return np.concatenate([[1.0], free[:7], [0.0], free[7:]])


def scenes() -> list[Scene]:
    rng, still = np.random.default_rng(3), np.zeros(6)
    grid = [[0.11 * i - 0.11, 0.11 * j - 0.11, 0.06 + 0.11 * k] for k in range(3) for j in range(3) for i in range(3)]
    pile = np.array(grid[:20]) + rng.uniform(-0.02, 0.02, (20, 3)) * [1.0, 1.0, 0.0]
    row = [[0.1001 * k, 0.0, 0.05 - 5e-6] for k in range(5)]
    ring = [[0.15 * math.cos(a), 0.15 * math.sin(a), 0.0499] for a in np.arange(8) * math.pi / 4]
    block = np.array([[x, y, -0.14] for x in (-0.05, 0.05) for y in (-0.05, 0.05)])
    spokes = [0.2 * np.array([math.sin(a), 0.0, math.cos(a)]) for a in np.arange(8) * math.pi / 4]
    wheel = np.array([spoke + [0.0, y, 0.0] for spoke in spokes for y in (-0.05, 0.05)])
    ball = 0.1, (1e5, 0.1, 0.5)
    falls, gripped = _state([[0.0, 0.0, 0.4]]), _state([[0.0, 0.0, 0.3]])
    rolling = [0.0, 0.0, 0.0, 2.0, 0.3, 0.0]
    return [
        Scene("bouncing ball", _balls(1, *ball), falls, 0.8, (3e-4, 3e-6)),
        Scene("ball that slides, then rolls", _balls(1, *ball),
              _state([[0.0, 0.0, 0.0999]], [rolling]), 0.8, (1e-4, 3e-5)),
        Scene("rocking block", _on_feet(block), _state([[0.0, 0.0, 0.155]], angle=0.15), 0.6, (1e-5, 1e-7)),
        Scene("Newton's cradle", _balls(5, 0.05, (1e6, 0.0, 0.0)),
              _state(row, [[0.0, 0.0, 0.0, 1.0, 0.0, 0.0], *[still] * 4]), 0.3, (1e-5, 1e-7)),
        Scene("gripper", _gripper, np.concatenate([[0.0, 0.0], gripped[:7], np.zeros(8)]), 0.5, (1e-4, 1e-5)),
        Scene("clutter of 20 balls", _balls(20, 0.05, (1e4, 0.5, 0.5)), _state(pile), 0.3, (1e-3, 1e-4)),
        Scene("ball bearing", _with_plate,
              _state([*ring, [0.0, 0.0, 0.0998]], [*[still] * 8, [0.0, 0.0, 3.0, 0.2, 0.0, 0.0]]), 0.4, (1e-5, 3e-5)),
        Scene("wheel of spokes that walks down", _on_feet(wheel, 0.15),
              _state([[0.0, 0.0, 0.2]], [[0.0, 3.0, 0.0, 0.6, 0.0, 0.0]]), 1.0, (1e-4, 3e-6)),
        Scene("box that slides to rest", _pushed_box,
              _state([[0.0, 0.0, 0.05 - 2.5e-5]], [[0.0, 0.0, 0.0, 1.5, 0.4, 0.0]]), 0.6, (3e-4, 1e-5)),
        Scene("pendulum that strikes a ball", _hammer, _struck(), 0.8, (3e-6, 1e-6)),
    ]  # fmt: skip


def make_simulation(library: Library, scene: Scene, accuracy: float, time_step: float = 0.0) -> tuple[Any, Any]:
    """The simulator of a scene and its plant: at an accuracy, or in discrete steps if these are not 0 s long."""
    root = library.plant.__name__.split(".")[0]
    rotations = importlib.import_module(f"{root}.framework.math" if root == "merganser" else f"{root}.math")
    names = Names(importlib.import_module(f"{root}.geometry"), rotations, library.plant, library.tree)
    builder = library.framework.DiagramBuilder()
    plant, _ = library.plant.AddMultibodyPlantSceneGraph(builder, time_step)
    plant.set_contact_model(library.plant.ContactModel.kPoint)
    if time_step != 0.0:
        plant.set_discrete_contact_approximation(library.plant.DiscreteContactApproximation.kLagged)
    scene.fill(names, plant)
    plant.Finalize()
    simulator, config = library.analysis.Simulator(builder.Build()), library.analysis.SimulatorConfig()
    if time_step == 0.0:
        config.integration_scheme, config.accuracy, config.max_step_size = "cenic", accuracy, LONGEST_STEP
        config.use_error_control = True
    library.analysis.ApplySimulatorConfig(config, simulator)
    return simulator, plant


def go_to_start(scene: Scene, simulator: Any, plant: Any) -> None:
    """Puts a simulation where the scene starts."""
    simulator.get_mutable_context().SetTime(0.0)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositionsAndVelocities(context, scene.start)
    simulator.Initialize()


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Each scene against pydrake."""
    for scene in scenes():
        beside = None
        if theirs is not None:
            beside = functools.partial(_call, theirs, scene, scene.accuracies[1])
        name = f"{scene.name}, {scene.time:g} s at accuracies {scene.accuracies[0]:g}, {scene.accuracies[1]:g}"
        yield Row(name, functools.partial(_call, ours, scene, scene.accuracies[0]), beside, 1)


def _call(library: Library, scene: Scene, accuracy: float) -> Call:
    """A simulator of the scene from its start."""
    simulator, plant = make_simulation(library, scene, accuracy)

    def run() -> None:
        go_to_start(scene, simulator, plant)
        simulator.AdvanceTo(scene.time)

    return run
