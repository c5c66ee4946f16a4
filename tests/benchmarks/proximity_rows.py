"""Rows about distances of pairs of shapes: compiled code over many poses, against as many calls of pydrake.

Two geometries are the whole scene of pydrake, which is asked about the same poses again and again, so that its time is
that of the narrow phase and of a call from Python, with all its data in the processor's cache. Compiled code goes over
the poses several times in a call, so that its data are in the cache too, and the call from Python, 20 to 50 us, does
not count. pydrake's distances of curved shapes are at times exact to 1e-3 m only.
"""

from __future__ import annotations

import functools
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from libraries import Call, Library, Row
from numpy.typing import NDArray

Array = NDArray[Any]

NUM_POSES = 200
NUM_ROUNDS = 10
SIZES: dict[str, tuple[float, ...]] = {
    "Sphere": (0.1,),
    "Capsule": (0.05, 0.2),
    "Box": (0.2, 0.15, 0.3),
    "Cylinder": (0.1, 0.2),
    "Ellipsoid": (0.1, 0.12, 0.09),
    "Convex": (),
    "HalfSpace": (),
}
TOUCHING = 0.002  # depth or distance of all poses, as in pydrake's own tables [m]


@functools.cache
def hull_file() -> Path:
    """Twelve random corners."""
    from scipy.spatial import ConvexHull

    vertices = np.random.default_rng(0).uniform(-0.1, 0.1, (12, 3))
    lines = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in vertices]
    for triangle, plane in zip(ConvexHull(vertices).simplices, ConvexHull(vertices).equations):
        i, j, k = triangle
        if np.cross(vertices[j] - vertices[i], vertices[k] - vertices[i]) @ plane[:3] < 0.0:
            j, k = k, j
        lines.append(f"f {i + 1} {j + 1} {k + 1}")
    path = Path(tempfile.mkdtemp()) / "hull.obj"
    path.write_text("\n".join(lines) + "\n")
    return path


def make_shape(geometry: Any, name: str) -> Any:
    """A shape of either package, some 0.2 m large."""
    return geometry.Convex(str(hull_file())) if name == "Convex" else getattr(geometry, name)(*SIZES[name])


@functools.cache
def poses(names: tuple[str, str], distance: float) -> Array:
    """Random poses at which the pair has this distance; shape [2 NUM_POSES, 4, 4]."""
    from scipy.spatial.transform import Rotation

    from merganser import geometry
    from merganser.geometry.proximity import ProximityArrays, ProximityEngine

    rng = np.random.default_rng(1)
    X_WG = np.tile(np.eye(4), (2 * NUM_POSES, 1, 1))
    X_WG[:, :3, :3] = Rotation.random(2 * NUM_POSES, random_state=1).as_matrix()
    directions = rng.normal(size=(NUM_POSES, 3))
    X_WG[1::2, :3, 3] = 0.3 * directions / np.linalg.norm(directions, axis=1)[:, None]
    shapes = [make_shape(geometry, name) for name in names] * NUM_POSES
    engine = ProximityEngine(ProximityArrays(shapes, range(len(shapes))))
    pairs = np.arange(2 * NUM_POSES).reshape(-1, 2)
    for _ in range(30):  # along the normal; it turns where shapes are curved
        results = engine.signed_distances(X_WG, pairs)
        X_WG[1::2, :3, 3] += ((results["distance"] - distance)[:, None]) * results["nhat_BA_W"]
    return X_WG


def our_distances(names: tuple[str, str], distance: float) -> Call:
    """All poses in one compiled loop; returns the first distance."""
    from merganser import geometry
    from merganser.geometry.proximity import ProximityArrays, ProximityEngine

    X_WG = poses(names, distance)
    shapes = [make_shape(geometry, name) for name in names] * NUM_POSES
    engine = ProximityEngine(ProximityArrays(shapes, range(len(shapes))))
    pairs = np.tile(np.arange(2 * NUM_POSES).reshape(-1, 2), (NUM_ROUNDS, 1))
    return lambda: engine.signed_distances(X_WG, pairs)["distance"][0]


def their_distance(names: tuple[str, str], distance: float) -> Call:
    """pydrake's call at the first of the poses."""
    from pydrake import geometry, math

    graph, values, ids = geometry.SceneGraph(), geometry.FramePoseVector(), []
    source = graph.RegisterSource("source")
    for i, (name, X) in enumerate(zip(names, poses(names, distance))):
        frame = graph.RegisterFrame(source, geometry.GeometryFrame(f"frame{i}"))
        instance = geometry.GeometryInstance(math.RigidTransform(), make_shape(geometry, name), f"geometry{i}")
        instance.set_proximity_properties(geometry.ProximityProperties())
        ids.append(graph.RegisterGeometry(source, frame, instance))
        values.set_value(frame, math.RigidTransform(math.RotationMatrix(X[:3, :3]), X[:3, 3]))
    context = graph.CreateDefaultContext()
    graph.get_source_pose_port(source).FixValue(context, values)
    query = graph.get_query_output_port().Eval(context)
    if "HalfSpace" in names and "Sphere" not in names:  # pydrake's distances do not know this pair, its depths do
        ask = lambda: -query.ComputePointPairPenetration()[0].depth  # noqa: E731
    else:
        ask = lambda: query.ComputeSignedDistancePairClosestPoints(*ids).distance  # noqa: E731

    def distance_at_first_pose(_alive: Any = (graph, context)) -> float:
        for _ in range(NUM_POSES * NUM_ROUNDS - 1):
            ask()
        return ask()

    return distance_at_first_pose


def rows(_ours: Library, theirs: Library | None) -> Iterator[Row]:
    """Each pair of shapes, overlapping and apart; pydrake has no distance of half spaces, save from spheres."""
    for names in itertools.combinations_with_replacement(SIZES, 2):
        if names == ("HalfSpace", "HalfSpace"):
            continue
        for word, distance in (("overlapping", -TOUCHING), ("apart", TOUCHING)):
            if "HalfSpace" in names and "Sphere" not in names and distance > 0.0:
                continue
            yield Row(
                f"distance of {names[0]} and {names[1]}, {word}",
                functools.partial(our_distances, names, distance),
                None if theirs is None else functools.partial(their_distance, names, distance),
                1,
                2e-3,
                NUM_POSES * NUM_ROUNDS,
            )
