"""Proximity queries in terms of ids and results, as `QueryObject` offers them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.geometry.geometry_state import GeometryState
from merganser.geometry.ids import GeometryId
from merganser.geometry.meshes.files import read_surface_mesh
from merganser.geometry.pose_layout import WorldPoses
from merganser.geometry.proximity.arrays import ProximityArrays
from merganser.geometry.proximity.engine import ProximityEngine
from merganser.geometry.proximity.layout import POINT, UNBOUNDED
from merganser.geometry.proximity.mesh_distance import MeshDistance
from merganser.geometry.proximity_layout import ProximityLayout
from merganser.geometry.query_results import PenetrationAsPointPair, SignedDistancePair, SignedDistanceToPoint
from merganser.geometry.shapes import Convex, Ellipsoid, Mesh, Sphere

__all__ = ["ProximityQueries"]

Array = NDArray[Any]

# Of overlapping pairs, those of one of these and a sphere are reported sphere first, as pydrake does.
_AFTER_SPHERES = (Ellipsoid, Convex, Mesh)
_TOUCHING = 1e-14  # [m]


@functools.lru_cache(maxsize=64)
def _mesh_distance(shape: Mesh) -> MeshDistance:
    mesh = read_surface_mesh(shape.source())
    triangles = mesh.triangle_array()
    if np.prod(shape.scale3()) < 0.0:  # mirrored: inside out
        triangles = triangles[:, ::-1]
    return MeshDistance(mesh.vertex_array() * shape.scale3(), triangles)


class ProximityQueries:
    """Queries on the proximity geometries of one GeometryState.

    Args:
        layout: the geometries.

    Attributes:
        layout: as given.
        engine: what computes.
    """

    def __init__(self, layout: ProximityLayout) -> None:
        self.layout = layout
        self.engine = ProximityEngine(ProximityArrays(layout.shapes, layout.frames, layout.filtered))

    # ------------------------------------------------------------------ pairs

    def candidates(self, poses: WorldPoses) -> list[tuple[GeometryId, GeometryId]]:
        """See `QueryObject.FindCollisionCandidates`."""
        ids = self.layout.geometry_ids
        pairs = self.engine.find_candidates(self._float_poses(poses))
        return [(ids[a], ids[b]) for a, b in pairs.tolist()]

    def has_collisions(self, state: GeometryState, poses: WorldPoses) -> bool:
        """See `QueryObject.HasCollisions`."""
        X_WG = self._float_poses(poses)
        return len(self._penetrating(state, X_WG)[1]) > 0

    def penetrations(self, state: GeometryState, poses: WorldPoses) -> list[PenetrationAsPointPair]:
        """See `QueryObject.ComputePointPairPenetration`."""
        pairs, results = self._penetrating(state, self._float_poses(poses))
        ids, shapes = self.layout.geometry_ids, self.layout.shapes
        found = []
        for (a, b), result in zip(pairs.tolist(), results):
            p_WCa, p_WCb, nhat_BA_W = result["p_WCa"].copy(), result["p_WCb"].copy(), result["nhat_BA_W"].copy()
            if isinstance(shapes[a], _AFTER_SPHERES) and isinstance(shapes[b], Sphere):
                a, b, p_WCa, p_WCb, nhat_BA_W = b, a, p_WCb, p_WCa, -nhat_BA_W
            found.append(
                PenetrationAsPointPair(
                    id_A=ids[a],
                    id_B=ids[b],
                    p_WCa=p_WCa,
                    p_WCb=p_WCb,
                    nhat_BA_W=nhat_BA_W,
                    depth=-float(result["distance"]),
                )
            )
        return sorted(found, key=lambda pair: (pair.id_A, pair.id_B))

    def signed_distances(
        self, state: GeometryState, poses: WorldPoses, max_distance: float
    ) -> list[SignedDistancePair]:
        """See `QueryObject.ComputeSignedDistancePairwiseClosestPoints`."""
        X_WG = self._float_poses(poses)
        if np.isnan(max_distance):
            raise RuntimeError("ComputeSignedDistancePairwiseClosestPoints(): max_distance is NaN.")
        if np.isinf(max_distance):
            pairs = self.engine.all_pairs()
        else:
            pairs = self.engine.find_candidates(X_WG, max(max_distance, 0.0))
        return [pair for pair in self._distances(state, X_WG, pairs) if pair.distance <= max_distance]

    def signed_distance(
        self, state: GeometryState, poses: WorldPoses, id_A: GeometryId, id_B: GeometryId
    ) -> SignedDistancePair:
        """See `QueryObject.ComputeSignedDistancePairClosestPoints`."""
        rows = [self._row(state, "ComputeSignedDistancePairClosestPoints", id) for id in (id_A, id_B)]
        pairs = np.array([sorted(rows)], np.int64)
        if rows[0] == rows[1]:
            raise RuntimeError(
                f"ComputeSignedDistancePairClosestPoints() takes two geometries; given {_name(state, id_A)} twice."
            )
        return self._distances(state, self._float_poses(poses), pairs)[0]

    def contact_manifolds(self, poses: WorldPoses, margin: float) -> tuple[list[tuple[GeometryId, GeometryId]], Array]:
        """See `QueryObject.ComputeContactManifolds`."""
        if not (np.isfinite(margin) and margin >= 0.0):
            raise RuntimeError(
                f"ComputeContactManifolds(): the margin must be finite and not negative; given {margin}."
            )
        pairs, contacts = self.engine.contact_manifolds(self._float_poses(poses), margin)
        ids = self.layout.geometry_ids
        return [(ids[a], ids[b]) for a, b in pairs.tolist()], contacts.copy()

    # ------------------------------------------------------------------ points

    def distances_to_point(self, poses: WorldPoses, p_WQ: ArrayLike, threshold: float) -> list[SignedDistanceToPoint]:
        """See `QueryObject.ComputeSignedDistanceToPoint`."""
        point = np.asarray(p_WQ, dtype=np.float64).reshape(-1)
        if point.shape != (3,) or not np.isfinite(point).all():
            raise RuntimeError(f"ComputeSignedDistanceToPoint(): p_WQ must be three finite numbers; given {p_WQ!r}.")
        X_WG = self._float_poses(poses)
        results = self.engine.distances_to_point(X_WG, point)
        found = []
        for row, (id, shape) in enumerate(zip(self.layout.geometry_ids, self.layout.shapes)):
            R_WG, p_WG = X_WG[row, :3, :3], X_WG[row, :3, 3]
            if isinstance(shape, Mesh):
                distance, gradient_G, p_GN = _mesh_distance(shape)(R_WG.T @ (point - p_WG))
                gradient = R_WG @ gradient_G
            else:
                result = results[row]
                distance, gradient = float(result["distance"]), -result["nhat_BA_W"]
                p_GN = R_WG.T @ (result["p_WCa"] - p_WG)
            if distance <= threshold:
                found.append(SignedDistanceToPoint(id_G=id, p_GN=p_GN, distance=distance, grad_W=gradient))
        return found

    # ------------------------------------------------------------------ helpers

    def _float_poses(self, poses: WorldPoses) -> Array:
        """The poses of the proximity geometries, checked."""
        X_WG = self.layout.world_poses(poses)
        if X_WG.dtype == object:
            raise RuntimeError(
                f"Proximity queries are for poses of float64; these hold {type(X_WG.flat[0]).__name__}. Evaluate them "
                "in a SceneGraph of floats."
            )
        finite = np.isfinite(X_WG).all(axis=(1, 2))
        if not finite.all():
            bad = [self.layout.geometry_ids[row] for row in np.flatnonzero(~finite)]
            raise RuntimeError(f"Proximity queries need finite poses; those of these geometries are not: {bad}.")
        return np.ascontiguousarray(X_WG)

    def _penetrating(self, state: GeometryState, X_WG: Array) -> tuple[NDArray[np.int64], Array]:
        pairs = self.engine.find_candidates(X_WG)
        results = self.engine.signed_distances(X_WG, pairs)
        self._refuse_unbounded(state, pairs, results, "Penetration")
        kinds = self.engine.arrays.geometries["kind"][pairs]
        # Spheres report that they touch; elsewhere rounding decides whether a touching pair overlaps.
        has_sphere = (kinds == POINT).any(axis=1)
        found = results["distance"] <= np.where(has_sphere, 0.0, -_TOUCHING)
        return pairs[found], results[found]

    def _distances(self, state: GeometryState, X_WG: Array, pairs: NDArray[np.int64]) -> list[SignedDistancePair]:
        results = self.engine.signed_distances(X_WG, pairs)
        self._refuse_unbounded(state, pairs, results, "Signed distance")
        ids = self.layout.geometry_ids
        R_WA, R_WB = X_WG[pairs[:, 0], :3, :3], X_WG[pairs[:, 1], :3, :3]
        p_ACa = np.einsum("nji,nj->ni", R_WA, results["p_WCa"] - X_WG[pairs[:, 0], :3, 3])
        p_BCb = np.einsum("nji,nj->ni", R_WB, results["p_WCb"] - X_WG[pairs[:, 1], :3, 3])
        return [
            SignedDistancePair(
                id_A=ids[a], id_B=ids[b], p_ACa=p_A, p_BCb=p_B, distance=float(distance), nhat_BA_W=nhat.copy()
            )
            for (a, b), p_A, p_B, distance, nhat in zip(
                pairs.tolist(), p_ACa, p_BCb, results["distance"], results["nhat_BA_W"]
            )
        ]

    def _refuse_unbounded(self, state: GeometryState, pairs: NDArray[np.int64], results: Array, query: str) -> None:
        unbounded = results["status"] == UNBOUNDED
        if unbounded.any():
            a, b = pairs[unbounded][0].tolist()
            names = " and ".join(_name(state, self.layout.geometry_ids[row]) for row in (a, b))
            raise RuntimeError(
                f"{query} queries between two half spaces have no answer: {names}. Filter the pair, or make one of "
                "them a Box."
            )

    def _row(self, state: GeometryState, query: str, id: GeometryId) -> int:
        row = self.layout.index.get(id)
        if row is None:
            name = _name(state, id)  # which says if there is no such geometry
            raise RuntimeError(
                f"{query}(): {name} does not have the proximity role. Give it ProximityProperties with AssignRole()."
            )
        return row


def _name(state: GeometryState, id: GeometryId) -> str:
    return f"geometry '{state.geometry(id).name}' ({id!r})"
