"""A long trial: proves the depths of many poses of every pair of shapes by a search of all directions.

    python tests/support/depth_trial.py --poses 10000 --only cylinder --aspect 4 --how aligned

The depth of two convex shapes is the least over unit vectors n of h(n) = h_A(n) + h_B(-n). A support point w of A - B
bounds h from below: h(m) >= m . w, so that on a spherical triangle with corners v_i (on which any m is a sum of v_i
with weights whose sum is 1 at least)

    h >= min_i v_i . w    where that is not negative.                                        (1)

Triangles for which (1) does not exceed the depth less a tolerance are cut in four, until none is left, which is the
proof, or until some h(n) is less, which refutes the depth. The search shares nothing with the engine. Rounding radii
are left aside: if the cores are apart, points that are as far from each other as the normal says are proof enough.
Run this after a change of the search for minima; the suite runs some poses of each pair.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray
from proximity_shapes import KINDS, random_poses, random_shape

from merganser.framework.native import register_all
from merganser.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, MeshcatCone, Shape, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine

Array = NDArray[Any]

TOLERANCE = 1e-9  # [m]
MAX_TRIANGLES = 30_000_000  # of one pose
_SEGMENT, _BOX, _CYLINDER, _ELLIPSOID, _CONE, _HULL = range(6)


class Core(NamedTuple):
    """A shape less its rounding: kind, measures, rounding radius, and vertices of a hull, shape [n, 3]."""

    kind: int
    x: float
    y: float
    z: float
    radius: float
    vertices: Array


def core_of(shape: Shape) -> Core:
    """The core of a shape."""
    none = np.zeros((1, 3))
    if isinstance(shape, Sphere):
        return Core(_SEGMENT, 0.0, 0.0, 0.0, shape.radius(), none)
    if isinstance(shape, Capsule):
        return Core(_SEGMENT, 0.0, 0.0, shape.length() / 2.0, shape.radius(), none)
    if isinstance(shape, Box):
        return Core(_BOX, *(shape.size() / 2.0), 0.0, none)
    if isinstance(shape, Cylinder):
        return Core(_CYLINDER, shape.radius(), 0.0, shape.length() / 2.0, 0.0, none)
    if isinstance(shape, Ellipsoid):
        return Core(_ELLIPSOID, shape.a(), shape.b(), shape.c(), 0.0, none)
    if isinstance(shape, MeshcatCone):
        return Core(_CONE, shape.a(), shape.b(), shape.height(), 0.0, none)
    return Core(_HULL, 0.0, 0.0, 0.0, 0.0, np.ascontiguousarray(shape.GetConvexHull().vertex_array()))


register_all()


@numba.njit(cache=True)
def _support(core: Core, n: tuple[float, float, float]) -> tuple[float, float, float]:
    """A point of the core that is farthest along n, in the frame of the core."""
    x, y, z = core.x, core.y, core.z
    top = z if n[2] > 0.0 else -z
    if core.kind == _SEGMENT:
        return 0.0, 0.0, top
    if core.kind == _BOX:
        return (x if n[0] > 0.0 else -x), (y if n[1] > 0.0 else -y), top
    if core.kind == _CYLINDER:
        across = math.hypot(n[0], n[1])
        return (x * n[0] / across, x * n[1] / across, top) if across > 0.0 else (0.0, 0.0, top)
    if core.kind == _ELLIPSOID:
        length = math.sqrt((x * n[0]) ** 2 + (y * n[1]) ** 2 + (z * n[2]) ** 2)
        return x * x * n[0] / length, y * y * n[1] / length, z * z * n[2] / length
    if core.kind == _CONE:
        across = math.hypot(x * n[0], y * n[1])
        if across + z * n[2] <= 0.0:
            return 0.0, 0.0, 0.0
        return (x * x * n[0] / across, y * y * n[1] / across, z) if across > 0.0 else (0.0, 0.0, z)
    best, greatest = 0, -math.inf
    for i in range(core.vertices.shape[0]):
        along = core.vertices[i, 0] * n[0] + core.vertices[i, 1] * n[1] + core.vertices[i, 2] * n[2]
        if along > greatest:
            best, greatest = i, along
    return core.vertices[best, 0], core.vertices[best, 1], core.vertices[best, 2]


@numba.njit(cache=True)
def _difference(a: Core, b: Core, X: Array, n: tuple[float, float, float]) -> tuple[float, float, float]:
    """A point of A - B that is farthest along n, all in A; X is X_AB."""
    m = (
        -(X[0, 0] * n[0] + X[1, 0] * n[1] + X[2, 0] * n[2]),
        -(X[0, 1] * n[0] + X[1, 1] * n[1] + X[2, 1] * n[2]),
        -(X[0, 2] * n[0] + X[1, 2] * n[1] + X[2, 2] * n[2]),
    )
    p, q = _support(a, n), _support(b, m)
    return (
        p[0] - (X[0, 0] * q[0] + X[0, 1] * q[1] + X[0, 2] * q[2] + X[0, 3]),
        p[1] - (X[1, 0] * q[0] + X[1, 1] * q[1] + X[1, 2] * q[2] + X[1, 3]),
        p[2] - (X[2, 0] * q[0] + X[2, 1] * q[1] + X[2, 2] * q[2] + X[2, 3]),
    )


@numba.njit(cache=True)
def lowest(a: Core, b: Core, X_AB: Array, depth: float, tolerance: float, stack: Array) -> tuple[float, int]:
    """Looks for a direction in which h is less than a depth.

    Args:
        a: core A.
        b: core B.
        X_AB: pose, shape [4, 4].
        depth: not negative [m].
        tolerance: by how much h must be less [m].
        stack: triangles, the first 20 those of an icosahedron; shape [n, 3, 3].

    Returns:
        The least h that was met, and how many triangles were looked at: all that there are, unless h was less than the
        depth or there were MAX_TRIANGLES.
    """
    least, limit = math.inf, depth - tolerance
    count, looked = 20, 0
    while count > 0 and looked < MAX_TRIANGLES:
        count -= 1
        looked += 1
        t = stack[count]
        x, y, z = t[0, 0] + t[1, 0] + t[2, 0], t[0, 1] + t[1, 1] + t[2, 1], t[0, 2] + t[1, 2] + t[2, 2]
        length = math.sqrt(x * x + y * y + z * z)
        n = (x / length, y / length, z / length)
        w = _difference(a, b, X_AB, n)
        least = min(least, n[0] * w[0] + n[1] * w[1] + n[2] * w[2])
        bound = math.inf
        for i in range(3):
            bound = min(bound, t[i, 0] * w[0] + t[i, 1] * w[1] + t[i, 2] * w[2])
        # If h is less somewhere, one goes on for the least, as far as there is room.
        if bound >= min(limit, least) or count + 4 > stack.shape[0]:
            continue
        ab, bc, ca = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
        for e in range(3):
            j = (e + 1) % 3
            x, y, z = t[e, 0] + t[j, 0], t[e, 1] + t[j, 1], t[e, 2] + t[j, 2]
            length = math.sqrt(x * x + y * y + z * z)
            middle = (x / length, y / length, z / length)
            if e == 0:
                ab = middle
            elif e == 1:
                bc = middle
            else:
                ca = middle
        for i in range(3):  # t itself is overwritten last
            stack[count + 1, 0, i], stack[count + 1, 1, i], stack[count + 1, 2, i] = ab[i], t[1, i], bc[i]
            stack[count + 2, 0, i], stack[count + 2, 1, i], stack[count + 2, 2, i] = ca[i], bc[i], t[2, i]
            stack[count + 3, 0, i], stack[count + 3, 1, i], stack[count + 3, 2, i] = ab[i], bc[i], ca[i]
        for i in range(3):
            stack[count, 1, i], stack[count, 2, i] = ab[i], ca[i]
        count += 4
    return least, (looked if count == 0 else MAX_TRIANGLES)


def icosahedron() -> Array:
    """The triangles of an icosahedron, turned away from all axes; shape [20, 3, 3]."""
    from scipy.spatial import ConvexHull
    from scipy.spatial.transform import Rotation

    golden = (1.0 + 5.0**0.5) / 2.0
    corners = np.array([[0.0, s, t * golden] for s in (-1.0, 1.0) for t in (-1.0, 1.0)])
    points = np.concatenate([np.roll(corners, shift, axis=1) for shift in range(3)])
    points = points / np.linalg.norm(points, axis=1)[:, None] @ Rotation.random(random_state=0).as_matrix()
    return points[ConvexHull(points).simplices]


def stretched_shape(kind: str, rng: np.random.Generator, folder: Path, aspect: float) -> Shape:
    """A shape whose measures differ by up to `aspect`."""
    a, b, c = 0.1 * aspect ** -rng.uniform(0.0, 1.0, 3)
    if kind == "convex":
        shape = random_shape(kind, rng, folder)
        assert isinstance(shape, Convex)
        return Convex(shape.GetConvexHull().vertex_array().T * (10.0 * np.array([[a], [b], [c]])), "stretched")
    return {
        "sphere": lambda: Sphere(a),
        "capsule": lambda: Capsule(a, 2.0 * b),
        "box": lambda: Box(2.0 * a, 2.0 * b, 2.0 * c),
        "cylinder": lambda: Cylinder(a, 2.0 * b),
        "ellipsoid": lambda: Ellipsoid(a, b, c),
        "cone": lambda: MeshcatCone(2.0 * a, b, c),
    }[kind]()


def trial_poses(how: str, num_pairs: int, rng: np.random.Generator) -> Array:
    """Poses X_WG of pairs: `random` ones; or `aligned`: axes along each other, some of them nearly so."""
    X_WG = random_poses(2 * num_pairs, rng, 0.06)
    if how == "aligned":
        from scipy.spatial.transform import Rotation

        cube = Rotation.create_group("O").as_matrix()
        small = 10.0 ** rng.uniform(-12.0, -1.0, (num_pairs, 1)) * rng.integers(0, 2, (num_pairs, 1))
        nearly = Rotation.from_rotvec(small * rng.normal(size=(num_pairs, 3))).as_matrix()
        X_WG[1::2, :3, :3] = X_WG[::2, :3, :3] @ cube[rng.integers(0, 24, num_pairs)] @ nearly
        p_AB_A = rng.uniform(-0.12, 0.12, (num_pairs, 3)) * rng.integers(0, 2, (num_pairs, 3))
        X_WG[1::2, :3, 3] = X_WG[::2, :3, 3] + (X_WG[::2, :3, :3] @ p_AB_A[:, :, None])[:, :, 0]
    return X_WG


class Findings(NamedTuple):
    """What a trial has found: numbers of poses, and errors [m]."""

    overlapping: int  # of the poses
    excess: float  # the most by which a depth exceeds the least h that was found
    unproven: float  # the greatest difference of a distance from h at its normal
    aside: float  # the greatest difference of the two points from the distance along the normal
    undecided: int  # poses that needed too many triangles
    unsolved: int  # poses whose status is not SOLVED, or whose result is not finite


def trial(
    kinds: tuple[str, str], num_poses: int, aspect: float, seed: int, folder: Path, how: str = "random"
) -> Findings:
    """Looks at one pair of shapes."""
    rng = np.random.default_rng([seed, *(KINDS.index(kind) for kind in kinds)])
    pool = {kind: [stretched_shape(kind, rng, folder, aspect) for _ in range(20)] for kind in sorted(set(kinds))}
    cores = {shape: core_of(shape) for shapes in pool.values() for shape in shapes}
    shapes = [pool[kind][rng.integers(20)] for kind in kinds * num_poses]
    X_WG = trial_poses(how, num_poses, rng)
    engine = ProximityEngine(ProximityArrays(shapes, range(2 * num_poses)))
    results = engine.signed_distances(X_WG, np.arange(2 * num_poses).reshape(-1, 2))
    excess, unproven, aside, num_overlapping, undecided = 0.0, 0.0, 0.0, 0, 0
    stack, triangles = np.zeros((400, 3, 3)), icosahedron()
    for i, result in enumerate(results):
        a, b = cores[shapes[2 * i]], cores[shapes[2 * i + 1]]
        X_WA, X_WB = X_WG[2 * i], X_WG[2 * i + 1]
        X_AB = np.eye(4)
        X_AB[:3, :3], X_AB[:3, 3] = X_WA[:3, :3].T @ X_WB[:3, :3], X_WA[:3, :3].T @ (X_WB[:3, 3] - X_WA[:3, 3])
        n = -X_WA[:3, :3].T @ result["nhat_BA_W"]
        depth = -result["distance"] - a.radius - b.radius  # of the cores
        unproven = max(unproven, abs(n @ np.array(_difference(a, b, X_AB, tuple(n))) - depth))
        between = result["p_WCa"] - result["p_WCb"] - result["distance"] * result["nhat_BA_W"]
        aside = max(aside, float(np.linalg.norm(between)))
        num_overlapping += bool(result["distance"] < 0.0)
        if depth > TOLERANCE:
            stack[:20] = triangles
            least, looked = lowest(a, b, X_AB, depth, TOLERANCE, stack)
            undecided += looked == MAX_TRIANGLES
            excess = max(excess, depth - least)
    unsolved = int((results["status"] != 0).sum() + (~np.isfinite(results["distance"])).sum())
    return Findings(num_overlapping, excess, unproven, aside, undecided, unsolved)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=10000)
    parser.add_argument("--only", default="", metavar="KIND", help="pairs with this kind of shape")
    parser.add_argument("--aspect", type=float, default=3.0, help="greatest ratio of the measures of a shape")
    parser.add_argument("--how", choices=("random", "aligned"), default="random")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kinds in itertools.combinations_with_replacement(KINDS, 2):
            if arguments.only and arguments.only not in kinds:
                continue
            start = time.perf_counter()
            found = trial(kinds, arguments.poses, arguments.aspect, arguments.seed, Path(folder), arguments.how)
            print(
                f"{kinds[0]:10s}{kinds[1]:10s} {found.overlapping:6d} overlap; excess {found.excess:.1e} m, unproven "
                f"{found.unproven:.1e} m, aside {found.aside:.1e} m; {found.undecided} undecided, "
                f"{found.unsolved} unsolved; {time.perf_counter() - start:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
