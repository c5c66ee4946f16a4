"""Rows about contact surfaces of pairs of shapes, asked of QueryObject, as polygons, at ten random poses each."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from libraries import Call, Library, Row

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


def rows(_ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Each pair of shapes."""
    for pair in PAIRS:
        words = " and ".join(f"{kind} {name}" for name, kind in pair)
        yield Row(
            f"contact surfaces of {words}",
            functools.partial(our_areas, pair),
            None if theirs is None else functools.partial(their_areas, pair),
            1,
        )
