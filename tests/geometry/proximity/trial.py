"""A long trial: distances of many random poses of every pair of shapes against a search of directions.

    python tests/geometry/proximity/trial.py --poses 10000 --only cylinder --aspect 4

An excess above 0 is a depth that is not the least. Whoever changes the search for minima runs this; the suite looks at
some poses of each pair only (test_narrow_phase.py). The search takes tens of ms a pose.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "support"))
from proximity_shapes import KINDS, gap, least_gap, random_poses, random_shape

from merganser.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, MeshcatCone, Shape, Sphere
from merganser.geometry.proximity import ProximityArrays, ProximityEngine


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


def trial(kinds: tuple[str, str], num_poses: int, aspect: float, seed: int, folder: Path) -> dict[str, Any]:
    """Looks at one pair of shapes.

    Returns:
        poses that overlap, the greatest excess of a depth over what the search found [m], the greatest difference
        between the distance and what its normal proves [m], and how many were not solved or not finite.
    """
    rng = np.random.default_rng([seed, *(KINDS.index(kind) for kind in kinds)])
    pool = {kind: [stretched_shape(kind, rng, folder, aspect) for _ in range(20)] for kind in sorted(set(kinds))}
    shapes = [pool[kind][rng.integers(20)] for kind in kinds * num_poses]
    X_WG = random_poses(2 * num_poses, rng, 0.06)
    engine = ProximityEngine(ProximityArrays(shapes, range(2 * num_poses)))
    results = engine.signed_distances(X_WG, np.arange(2 * num_poses).reshape(-1, 2))
    excess, unproven, num_overlapping = 0.0, 0.0, 0
    for i, result in enumerate(results):
        pair, X = shapes[2 * i : 2 * i + 2], X_WG[2 * i : 2 * i + 2]
        proven = gap(pair, X, -result["nhat_BA_W"][None])[0]
        unproven = max(unproven, abs(proven + result["distance"]))
        if result["distance"] < 0.0:
            num_overlapping += 1
            excess = max(excess, -result["distance"] - least_gap(pair, X, 2))
    bad = int((results["status"] != 0).sum() + (~np.isfinite(results["distance"])).sum())
    return {"overlapping": num_overlapping, "excess": excess, "unproven": unproven, "unsolved": bad}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--poses", type=int, default=10000)
    parser.add_argument("--only", default="", metavar="KIND", help="pairs with this kind of shape")
    parser.add_argument("--aspect", type=float, default=3.0, help="greatest ratio of the measures of a shape")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kinds in itertools.combinations_with_replacement(KINDS, 2):
            if arguments.only and arguments.only not in kinds:
                continue
            found = trial(kinds, arguments.poses, arguments.aspect, arguments.seed, Path(folder))
            print(
                f"{kinds[0]:10s}{kinds[1]:10s} {found['overlapping']:6d} overlap; depth exceeds the least by "
                f"{found['excess']:.1e} m, distance and normal differ by {found['unproven']:.1e} m; "
                f"{found['unsolved']} unsolved",
                flush=True,
            )


if __name__ == "__main__":
    main()
