"""Rows about hydroelastic contact: surfaces of pairs of shapes, asked of QueryObject, as polygons, at ten random poses
each; and simulations: a pile of 27 compliant bodies, four compliant bowls in each other, a gripper with a soft box."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from libraries import MODELS, Call, Library, Row, make_parser

RIGID, COMPLIANT = "rigid", "compliant"
HINT, MODULI = 0.02, (1e5, 3e5)  # [m], [Pa]
NUM_POSES = 10
SIZES: dict[str, tuple[float, ...]] = {
    "Sphere": (0.1,),
    "Box": (0.2, 0.15, 0.25),
    "Capsule": (0.06, 0.12),
    "Cylinder": (0.06, 0.2),
    "HalfSpace": (),
}
PAIRS = [
    (("Sphere", COMPLIANT), ("HalfSpace", RIGID)),
    (("Sphere", COMPLIANT), ("Box", RIGID)),
    (("Sphere", RIGID), ("Box", COMPLIANT)),
    (("Sphere", COMPLIANT), ("Sphere", COMPLIANT)),
    (("Box", COMPLIANT), ("Box", COMPLIANT)),
    (("Convex", COMPLIANT), ("Convex", RIGID)),
    (("Convex", COMPLIANT), ("Convex", COMPLIANT)),
    (("Capsule", COMPLIANT), ("Cylinder", COMPLIANT)),
]


def make_shape(geometry: Any, name: str) -> Any:
    """A shape of either package, some 0.2 m large."""
    if name == "Convex":
        return geometry.Convex(np.random.default_rng(0).normal(size=(3, 12)) * 0.07, "points")
    return getattr(geometry, name)(*SIZES[name])


def poses() -> Any:
    """Of both geometries, shape [NUM_POSES, 2, 4, 4]."""
    from scipy.spatial.transform import Rotation

    X_WG = np.tile(np.eye(4), (NUM_POSES, 2, 1, 1))
    X_WG[..., :3, :3] = Rotation.random(2 * NUM_POSES, random_state=2).as_matrix().reshape(NUM_POSES, 2, 3, 3)
    X_WG[:, 0, :3, 3] = np.random.default_rng(2).uniform(-0.07, 0.07, (NUM_POSES, 3))
    return X_WG


def contact_areas(geometry: Any, math: Any, pair: Any) -> Call:
    """Of all poses; each has a context of its own, so that the time is that of the queries."""
    graph, ids, frames = geometry.SceneGraph(), [], []
    source = graph.RegisterSource("source")
    for i, ((name, kind), modulus) in enumerate(zip(pair, MODULI)):
        frames.append(graph.RegisterFrame(source, geometry.GeometryFrame(f"frame{i}")))
        instance = geometry.GeometryInstance(math.RigidTransform(), make_shape(geometry, name), f"geometry{i}")
        properties = geometry.ProximityProperties()
        if kind == RIGID:
            geometry.AddRigidHydroelasticProperties(HINT, properties)
        else:
            geometry.AddCompliantHydroelasticProperties(HINT, modulus, properties)
        instance.set_proximity_properties(properties)
        ids.append(graph.RegisterGeometry(source, frames[-1], instance))
    contexts = []
    for X_WF in poses():
        contexts.append(graph.CreateDefaultContext())
        values = geometry.FramePoseVector()
        for frame, X in zip(frames, X_WF):
            values.set_value(frame, math.RigidTransform(math.RotationMatrix(X[:3, :3]), X[:3, 3]))
        graph.get_source_pose_port(source).FixValue(contexts[-1], values)
    queries = [graph.get_query_output_port().Eval(context) for context in contexts]
    polygons = geometry.HydroelasticContactRepresentation.kPolygon

    def areas(_alive: Any = (graph, contexts)) -> Any:
        found = [query.ComputeContactSurfaces(polygons) for query in queries]
        return np.array([sum(surface.total_area() for surface in surfaces) for surfaces in found])

    return areas


def our_areas(pair: Any) -> Call:
    from merganser import geometry
    from merganser.framework import math

    return contact_areas(geometry, math, pair)


def their_areas(pair: Any) -> Call:
    from pydrake import geometry, math

    return contact_areas(geometry, math, pair)


# ---------------------------------------------------------------------- simulations

SPAN = 0.05  # simulated in each call [s]


class Scene:
    """A plant of either package that touches on surfaces, under the names of both.

    Args:
        library: the package.
        time_step: of the plant [s].
    """

    def __init__(self, library: Library, time_step: float) -> None:
        root = library.plant.__name__.split(".")[0]
        self.geometry = importlib.import_module(f"{root}.geometry")
        self.math = importlib.import_module(f"{root}.framework.math" if root == "merganser" else f"{root}.math")
        analysis = importlib.import_module(f"{root}.analysis" if root == "merganser" else f"{root}.systems.analysis")
        self.library, self.make_simulator = library, analysis.Simulator
        self.builder = library.framework.DiagramBuilder()
        self.plant, self.scene_graph = library.plant.AddMultibodyPlantSceneGraph(self.builder, time_step)
        self.things = self.plant.AddModelInstance("things")

    def properties(self, is_compliant: bool, hint: float = 0.025) -> Any:
        """Of a material."""
        geometry, properties = self.geometry, self.geometry.ProximityProperties()
        friction = self.library.plant.CoulombFriction(0.5, 0.5)
        geometry.AddContactMaterial(dissipation=5.0, friction=friction, properties=properties)
        if is_compliant:
            geometry.AddCompliantHydroelasticProperties(hint, 1e5, properties)
        else:
            geometry.AddRigidHydroelasticProperties(hint, properties)
        return properties

    def add(self, name: str, shape: Any, density: float) -> None:
        """Adds a compliant body."""
        body = self.plant.AddRigidBody(name, self.things, self.library.tree.CalcSpatialInertia(shape, density))
        pose = self.math.RigidTransform()
        self.plant.RegisterCollisionGeometry(body, pose, shape, name, self.properties(True))

    def add_ground(self) -> None:
        """Adds a rigid half space."""
        pose, shape = self.math.RigidTransform(), self.geometry.HalfSpace()
        self.plant.RegisterCollisionGeometry(
            self.plant.world_body(), pose, shape, "ground", self.properties(False)
        )

    def settle(self, start: Any, time: float) -> Call:
        """Simulates to a time; returns what simulates on from there, and then gives the area of all patches."""
        self.plant.Finalize()
        simulator = self.make_simulator(self.builder.Build())
        context = self.plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        start(self.plant, context)
        simulator.AdvanceTo(time)
        kept, end = simulator.get_context().Clone(), round(time + SPAN, 9)  # else one step more or less than pydrake's

        def advance(_alive: Any = self) -> Any:
            root = simulator.get_mutable_context()
            root.SetTimeStateAndParametersFrom(kept)
            simulator.Initialize()
            simulator.AdvanceTo(end)
            port = self.plant.get_contact_results_output_port()
            results = port.Eval(self.plant.GetMyContextFromRoot(root))
            surfaces = [
                results.hydroelastic_contact_info(i).contact_surface()
                for i in range(results.num_hydroelastic_contacts())
            ]
            return np.array([len(surfaces), sum(surface.total_area() for surface in surfaces)])

        return advance


def pile(library: Library) -> Call:
    """27 bodies of five shapes that fall on each other."""
    scene = Scene(library, 0.002)
    geometry, math = scene.geometry, scene.math
    shapes = [
        lambda: geometry.Sphere(0.05), lambda: geometry.Box(0.08, 0.08, 0.08), lambda: geometry.Cylinder(0.04, 0.08),
        lambda: geometry.Capsule(0.035, 0.06), lambda: geometry.Ellipsoid(0.04, 0.05, 0.06),
    ]  # fmt: skip
    for i in range(27):
        scene.add(f"body{i}", shapes[i % 5](), 1000.0)
    scene.add_ground()

    def start(plant: Any, context: Any) -> None:
        for i in range(27):
            x, y, z = i // 9, i // 3 % 3, i % 3
            p_WB = [0.1 * x + 0.005 * z, 0.1 * y - 0.004 * z, 0.06 + 0.105 * z]
            X_WB = math.RigidTransform(math.RollPitchYaw(0.1 * i, 0.2 * i, 0.3 * i), p_WB)
            plant.SetFreeBodyPose(context, plant.GetBodyByName(f"body{i}"), X_WB)

    return scene.settle(start, 0.3)


def bowls(library: Library) -> Call:
    """Four compliant bowls of some 3000 tetrahedra each, one in the other, on a table."""
    scene = Scene(library, 0.002)
    parser = make_parser(library, scene.plant)
    parser.SetAutoRenaming(True)
    (table,) = parser.AddModels(str(MODELS / "dishes/table_top.urdf"))
    instances = [parser.AddModels(str(MODELS / "dishes/evo_bowl_compliant.urdf"))[0] for _ in range(4)]
    plant = scene.plant
    body = plant.get_body(plant.GetBodyIndices(table)[0])
    plant.WeldFrames(plant.world_frame(), body.body_frame())

    def start(plant: Any, context: Any) -> None:
        for i, instance in enumerate(instances):
            body = plant.get_body(plant.GetBodyIndices(instance)[0])
            plant.SetFreeBodyPose(context, body, scene.math.RigidTransform([0.003 * i, 0.002 * i, 0.05 + 0.06 * i]))

    return scene.settle(start, 0.1)


def grip(library: Library) -> Call:
    """A gripper with rigid pads that press on a compliant box, at 1 ms."""
    scene = Scene(library, 0.001)
    geometry, math, plant = scene.geometry, scene.math, scene.plant
    (gripper,) = make_parser(library, plant).AddModels(
        str(MODELS / "wsg_50_description/sdf/schunk_wsg_50_no_tip.sdf")
    )
    X_WG = math.RigidTransform(math.RollPitchYaw(-0.5 * np.pi, 0.0, 0.0), [0.0, 0.0, 0.3])
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("body", gripper), X_WG)
    for name in ("left_finger", "right_finger"):
        X_FP, pad = math.RigidTransform([0.0, 0.03, 0.0]), geometry.Box(0.02, 0.06, 0.02)
        finger = plant.GetBodyByName(name)
        plant.RegisterCollisionGeometry(finger, X_FP, pad, f"{name} pad", scene.properties(False))
    scene.add("box", geometry.Box(0.05, 0.05, 0.08), 500.0)

    def start(plant: Any, context: Any) -> None:
        plant.SetFreeBodyPose(context, plant.GetBodyByName("box"), math.RigidTransform([0.0, 0.0, 0.23]))
        plant.get_actuation_input_port().FixValue(context, np.array([20.0, -20.0]))
        for side, sign in (("left", -1.0), ("right", 1.0)):
            plant.GetJointByName(f"{side}_finger_sliding_joint").set_translation(context, sign * 0.034)

    return scene.settle(start, 0.2)


SIMULATIONS = {"27 compliant bodies in a pile": pile, "four bowls in each other": bowls, "gripper and soft box": grip}


def rows(ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Each pair of shapes, and each simulation; these begin at states of their own that have settled alike."""
    for pair in PAIRS:
        words = " and ".join(f"{kind} {name}" for name, kind in pair)
        yield Row(
            f"contact surfaces of {words}",
            functools.partial(our_areas, pair),
            None if theirs is None else functools.partial(their_areas, pair),
            1,
        )
    for name, scene in SIMULATIONS.items():
        if not MODELS.is_dir() and scene is not pile:
            continue
        yield Row(
            f"hydroelastic {name}, {SPAN} s",
            functools.partial(scene, ours),
            None if theirs is None else functools.partial(scene, theirs),
            1,
            tolerance=0.3,  # as far as they settle alike
        )
