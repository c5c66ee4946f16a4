"""Rows about contact: a tenth of a second of scenes at rest and in motion, against pydrake and MuJoCo.

Contact forces are not compared here, as faces touch in several points and pydrake takes one; tests/reference/ has
those of spheres.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import gradient_rows
import grasp_rows
import numpy as np
import soft_rows
import standing_rows
from libraries import Call, Library, Row
from numpy.typing import NDArray

TIME_STEP = 0.002
SETTLED = 0.1  # simulated before the clock starts [s]
ACCURACY = 1e-3  # under error control
SPAN = 0.1  # simulated in each call [s]


class Scene(NamedTuple):
    """Equal free bodies on the ground, in a bin of four walls if they are spheres.

    Attributes:
        name: of the row.
        is_sphere: spheres, or else boxes.
        size: radius or side [m].
        places: p_WB at the start [m], shape [num_bodies, 3].
    """

    name: str
    is_sphere: bool
    size: float
    places: NDArray[np.float64]


def scenes() -> list[Scene]:
    rng = np.random.default_rng(1)
    tower = np.array([[0.0, 0.0, 0.05 + 0.1 * i] for i in range(10)])
    grid = np.array([[i, j, k] for k in range(3) for j in range(3) for i in range(3)], float)
    many = np.array([[i, j, k] for k in range(4) for j in range(5) for i in range(5)], float)
    clutter = 0.11 * grid + [-0.11, -0.11, 0.06] + rng.uniform(-0.02, 0.02, (27, 3)) * [1.0, 1.0, 0.0]
    spheres = 0.085 * many + [-0.17, -0.17, 0.05] + rng.uniform(-0.003, 0.003, (100, 3))
    return [
        Scene("stack of 10 boxes", False, 0.1, tower),
        Scene("clutter of 27 boxes", False, 0.1, clutter),
        Scene("10 spheres in a bin", True, 0.04, spheres[:10]),
        Scene("30 spheres in a bin", True, 0.04, spheres[:30]),
        Scene("100 spheres in a bin", True, 0.04, spheres),
    ]


def walls() -> list[tuple[list[float], list[float]]]:
    """Middles and sizes of the walls of the bin."""
    return [([s * 0.275, 0.0, 0.5], [0.1, 0.65, 1.0]) for s in (-1, 1)] + [
        ([0.0, s * 0.275, 0.5], [0.45, 0.1, 1.0]) for s in (-1, 1)
    ]


def plant_steps(library: Library, scene: Scene, approximation: str, accuracy: float | None = None) -> Call:
    """Steps of a plant of either package; with an accuracy of a continuous one under error control."""
    root = library.plant.__name__.split(".")[0]
    geometry = importlib.import_module(f"{root}.geometry")
    math = importlib.import_module(f"{root}.framework.math" if root == "merganser" else f"{root}.math")
    builder = library.framework.DiagramBuilder()
    plant, _ = library.plant.AddMultibodyPlantSceneGraph(builder, TIME_STEP if accuracy is None else 0.0)
    if accuracy is None:
        plant.set_discrete_contact_approximation(getattr(library.plant.DiscreteContactApproximation, approximation))
    plant.set_contact_model(library.plant.ContactModel.kPoint)
    material = geometry.ProximityProperties()
    geometry.AddContactMaterial(friction=library.plant.CoulombFriction(0.5, 0.5), properties=material)
    mass_of = library.tree.SpatialInertia

    def add(body: Any, p_BG: list[float], shape: Any, name: str) -> None:
        plant.RegisterCollisionGeometry(body, math.RigidTransform(p_BG), shape, name, material)

    add(plant.world_body(), [0.0, 0.0, -0.5], geometry.Box(4.0, 4.0, 1.0), "ground")
    for i, (middle, size) in enumerate(walls() if scene.is_sphere else []):
        add(plant.world_body(), middle, geometry.Box(*size), f"wall{i}")
    for i in range(len(scene.places)):
        if scene.is_sphere:
            shape, inertia = geometry.Sphere(scene.size), mass_of.SolidSphereWithMass(1.0, scene.size)
        else:
            shape, inertia = geometry.Box(*[scene.size] * 3), mass_of.SolidBoxWithMass(1.0, *[scene.size] * 3)
        add(plant.AddRigidBody(f"body{i}", inertia), [0.0, 0.0, 0.0], shape, f"body{i}")
    plant.Finalize()
    simulator = library.analysis.Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    q = np.concatenate([[1.0, 0.0, 0.0, 0.0, *place] for place in scene.places])
    plant.SetPositions(context, q)
    if accuracy is not None:
        config = library.analysis.SimulatorConfig()
        config.integration_scheme, config.accuracy, config.max_step_size = "cenic", accuracy, 0.1
        library.analysis.ApplySimulatorConfig(config, simulator)
        simulator.Initialize()
    simulator.AdvanceTo(SETTLED)

    def advance() -> None:
        simulator.AdvanceTo(simulator.get_context().get_time() + SPAN)

    return advance


def mujoco_steps(scene: Scene) -> Call:
    """These bodies in MuJoCo with its own contact model, and Newton's method."""
    import mujoco

    kind, half = ("sphere", f"{scene.size}") if scene.is_sphere else ("box", " ".join([f"{0.5 * scene.size}"] * 3))
    lines = ['<geom type="plane" size="2 2 1"/>']
    for middle, size in walls() if scene.is_sphere else []:
        extent = " ".join(str(0.5 * s) for s in size)
        lines.append(f'<geom type="box" pos="{" ".join(map(str, middle))}" size="{extent}"/>')
    for place in scene.places:
        lines.append(
            f'<body pos="{" ".join(map(str, place))}"><freejoint/><geom type="{kind}" size="{half}" mass="1" '
            'friction="0.5 0 0"/></body>'
        )
    world = "".join(lines)
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{TIME_STEP}"/><worldbody>{world}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, round(SETTLED / TIME_STEP))

    def advance() -> None:
        mujoco.mj_step(model, data, round(SPAN / TIME_STEP))

    return advance


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Each scene by two approximations against pydrake, and against MuJoCo."""
    for scene in scenes():
        for approximation in ("kSap", "kLagged"):
            name = f"{scene.name}, 50 steps, {approximation[1:]}"
            our_call = functools.partial(plant_steps, ours, scene, approximation)
            reference = None if theirs is None else functools.partial(plant_steps, theirs, scene, approximation)
            yield Row(name, our_call, reference, 1)
        controlled = functools.partial(plant_steps, approximation="kLagged", accuracy=ACCURACY, scene=scene)
        beside = None if theirs is None else functools.partial(controlled, theirs)
        yield Row(f"{scene.name}, 0.1 s at accuracy {ACCURACY:g}", functools.partial(controlled, ours), beside, 1)
        try:
            import mujoco  # noqa: F401
        except ImportError:
            continue
        beside = functools.partial(mujoco_steps, scene)
        yield Row(f"{scene.name}, 50 steps, MuJoCo beside", our_call, beside, 1)
    yield from grasp_rows.rows(ours, theirs)
    yield from soft_rows.rows(ours, theirs)
    yield from standing_rows.rows(ours, theirs)
    yield from gradient_rows.rows(ours, theirs)
