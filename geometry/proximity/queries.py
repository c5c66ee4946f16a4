"""Proximity queries in terms of ids and results, as `QueryObject` offers them."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.autodiff.blocks import make_block, pack, values_and_gradient
from merganser.framework.autodiff.scalar import AutoDiffXd
from merganser.geometry.geometry_state import GeometryState
from merganser.geometry.ids import GeometryId
from merganser.geometry.meshes.files import read_surface_mesh
from merganser.geometry.pose_layout import WorldPoses
from merganser.geometry.proximity.arrays import ProximityArrays
from merganser.geometry.proximity.derivatives import PairDifferential, PoseDifferential
from merganser.geometry.proximity.engine import ProximityEngine
from merganser.geometry.proximity.layout import POINT, UNBOUNDED, geometry_dtype
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
        X_WG, dX_WG = self._poses(poses)
        pairs, results = self._penetrating(state, X_WG)
        ids, shapes = self.layout.geometry_ids, self.layout.shapes
        found = []
        for (a, b), result in zip(pairs.tolist(), results):
            p_WCa, p_WCb, nhat_BA_W = result["p_WCa"].copy(), result["p_WCb"].copy(), result["nhat_BA_W"].copy()
            depth = -float(result["distance"])
            if dX_WG is not None:
                A, B = (PoseDifferential.of(X_WG[row], dX_WG[row]) for row in (a, b))
                d = self._differentiate(state, "ComputePointPairPenetration", (a, b), result, A, B)
                p_WCa, p_WCb = _with_derivatives(p_WCa, d.p_WCa), _with_derivatives(p_WCb, d.p_WCb)
                nhat_BA_W, depth = _with_derivatives(nhat_BA_W, d.nhat_BA_W), _with_derivatives(depth, -d.distance)
            if isinstance(shapes[a], _AFTER_SPHERES) and isinstance(shapes[b], Sphere):
                a, b, p_WCa, p_WCb, nhat_BA_W = b, a, p_WCb, p_WCa, -nhat_BA_W
            found.append(
                PenetrationAsPointPair(
                    id_A=ids[a],
                    id_B=ids[b],
                    p_WCa=p_WCa,
                    p_WCb=p_WCb,
                    nhat_BA_W=nhat_BA_W,
                    depth=depth,
                )
            )
        return sorted(found, key=lambda pair: (pair.id_A, pair.id_B))

    def signed_distances(
        self, state: GeometryState, poses: WorldPoses, max_distance: float
    ) -> list[SignedDistancePair]:
        """See `QueryObject.ComputeSignedDistancePairwiseClosestPoints`."""
        X_WG, dX_WG = self._poses(poses)
        if np.isnan(max_distance):
            raise RuntimeError("ComputeSignedDistancePairwiseClosestPoints(): max_distance is NaN.")
        if np.isinf(max_distance):
            pairs = self.engine.all_pairs()
        else:
            pairs = self.engine.find_candidates(X_WG, max(max_distance, 0.0))
        query = "ComputeSignedDistancePairwiseClosestPoints"
        return self._distances(state, query, X_WG, dX_WG, pairs, max_distance)

    def signed_distance(
        self, state: GeometryState, poses: WorldPoses, id_A: GeometryId, id_B: GeometryId
    ) -> SignedDistancePair:
        """See `QueryObject.ComputeSignedDistancePairClosestPoints`."""
        query = "ComputeSignedDistancePairClosestPoints"
        rows = [self._row(state, query, id) for id in (id_A, id_B)]
        pairs = np.array([sorted(rows)], np.int64)
        if rows[0] == rows[1]:
            raise RuntimeError(f"{query}() takes two geometries; given {_name(state, id_A)} twice.")
        return self._distances(state, query, *self._poses(poses), pairs)[0]

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
        given = np.asarray(p_WQ).reshape(-1)
        X_WG, dX_WG = self._poses(poses)
        point, d_point = given, None
        if given.dtype == object and any(isinstance(x, AutoDiffXd) for x in given):
            point, d_point = _split(given)
        elif given.dtype == object:
            point = np.asarray(p_WQ, dtype=np.float64).reshape(-1)
        if point.shape != (3,) or not np.isfinite(point.astype(np.float64)).all():
            raise RuntimeError(f"ComputeSignedDistanceToPoint(): p_WQ must be three finite numbers; given {p_WQ!r}.")
        if dX_WG is None and d_point is not None:
            dX_WG = np.zeros((*X_WG.shape, d_point.shape[-1]))
        if dX_WG is not None:
            return self._differentiated_distances_to_point(X_WG, dX_WG, point, d_point, threshold)
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

    def _differentiated_distances_to_point(
        self, X_WG: Array, dX_WG: Array, point: Array, d_point: Array | None, threshold: float
    ) -> list[SignedDistanceToPoint]:
        """The same with derivatives; a Mesh is left out, as in pydrake."""
        num_derivatives = dX_WG.shape[-1] if d_point is None or not d_point.shape[-1] else d_point.shape[-1]
        if dX_WG.shape[-1] == 0:
            dX_WG = np.zeros((*X_WG.shape, num_derivatives))
        if d_point is None or d_point.shape[-1] == 0:
            d_point = np.zeros((3, num_derivatives))
        if dX_WG.shape[-1] != d_point.shape[-1]:
            raise ValueError(
                f"ComputeSignedDistanceToPoint(): the poses have {dX_WG.shape[-1]} derivatives, p_WQ has "
                f"{d_point.shape[-1]}. Give both the same number."
            )
        results = self.engine.distances_to_point(X_WG, point)
        X_WQ = np.eye(4)
        X_WQ[:3, 3] = point
        Q = PoseDifferential(X_WQ, d_point, np.zeros_like(d_point))
        found = []
        for row, (id, shape) in enumerate(zip(self.layout.geometry_ids, self.layout.shapes)):
            result = results[row]
            if isinstance(shape, Mesh) or not result["distance"] <= threshold:
                continue
            G = PoseDifferential.of(X_WG[row], dX_WG[row])
            pair = np.zeros(2, geometry_dtype)
            pair[0], pair[1]["kind"] = self.engine.arrays.geometries[row], POINT
            d = self.engine.differentiate(pair, (0, 1), result, G, Q)
            if d is None:
                name = f"geometry {id!r}, a {type(shape).__name__}, and the point"
                raise _no_derivatives("ComputeSignedDistanceToPoint", name, float(result["distance"]))
            p_GN, d_p_GN = _in_frame(G, result["p_WCa"], d.p_WCa)
            found.append(
                SignedDistanceToPoint(
                    id_G=id,
                    p_GN=_with_derivatives(p_GN, d_p_GN),
                    distance=_with_derivatives(float(result["distance"]), d.distance),
                    grad_W=_with_derivatives(-result["nhat_BA_W"], -d.nhat_BA_W),
                )
            )
        return found

    # ------------------------------------------------------------------ helpers

    def _float_poses(self, poses: WorldPoses) -> Array:
        """The poses of the proximity geometries without derivatives, checked."""
        return self._poses(poses)[0]

    def _poses(self, poses: WorldPoses) -> tuple[Array, Array | None]:
        """The poses, shape [n, 4, 4], checked, and if they are of AutoDiffXd their derivatives, shape [n, 4, 4, k]."""
        X_WG = self.layout.world_poses(poses)
        dX_WG = None
        if X_WG.dtype == object:
            other = next((x for x in X_WG.flat if not isinstance(x, (AutoDiffXd, float, int))), None)
            if other is not None:
                raise RuntimeError(
                    f"Proximity queries are for poses of float64 and AutoDiffXd; these hold {type(other).__name__}. "
                    "Evaluate them in a SceneGraph of floats."
                )
            X_WG, dX_WG = _split(X_WG)
        finite = np.isfinite(X_WG).all(axis=(1, 2))
        if not finite.all():
            bad = [self.layout.geometry_ids[row] for row in np.flatnonzero(~finite)]
            raise RuntimeError(f"Proximity queries need finite poses; those of these geometries are not: {bad}.")
        return np.ascontiguousarray(X_WG), dX_WG

    def _differentiate(
        self,
        state: GeometryState,
        query: str,
        pair: tuple[int, int],
        result: Any,
        A: PoseDifferential,
        B: PoseDifferential,
    ) -> PairDifferential:
        """Derivatives of the result of a pair.

        Raises:
            RuntimeError: there are none.
        """
        d = self.engine.differentiate(self.engine.arrays.geometries, pair, result, A, B)
        if d is None:
            ids, shapes = self.layout.geometry_ids, self.layout.shapes
            names = " and ".join(f"{_name(state, ids[row])}, a {type(shapes[row]).__name__}," for row in pair)
            raise _no_derivatives(query, names, float(result["distance"]))
        return d

    def _penetrating(self, state: GeometryState, X_WG: Array) -> tuple[NDArray[np.int64], Array]:
        pairs = self.engine.find_candidates(X_WG)
        results = self.engine.signed_distances(X_WG, pairs)
        self._refuse_unbounded(state, pairs, results, "Penetration")
        kinds = self.engine.arrays.geometries["kind"][pairs]
        # Spheres report that they touch; elsewhere rounding decides whether a touching pair overlaps.
        has_sphere = (kinds == POINT).any(axis=1)
        found = results["distance"] <= np.where(has_sphere, 0.0, -_TOUCHING)
        return pairs[found], results[found]

    def _distances(
        self,
        state: GeometryState,
        query: str,
        X_WG: Array,
        dX_WG: Array | None,
        pairs: NDArray[np.int64],
        max_distance: float = np.inf,
    ) -> list[SignedDistancePair]:
        results = self.engine.signed_distances(X_WG, pairs)
        self._refuse_unbounded(state, pairs, results, "Signed distance")
        is_near = results["distance"] <= max_distance
        pairs, results = pairs[is_near], results[is_near]
        if dX_WG is not None:
            return self._differentiated_distances(state, query, X_WG, dX_WG, pairs, results)
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

    def _differentiated_distances(
        self, state: GeometryState, query: str, X_WG: Array, dX_WG: Array, pairs: NDArray[np.int64], results: Array
    ) -> list[SignedDistancePair]:
        ids = self.layout.geometry_ids
        found = []
        for (a, b), result in zip(pairs.tolist(), results):
            A, B = (PoseDifferential.of(X_WG[row], dX_WG[row]) for row in (a, b))
            d = self._differentiate(state, query, (a, b), result, A, B)
            found.append(
                SignedDistancePair(
                    id_A=ids[a],
                    id_B=ids[b],
                    p_ACa=_with_derivatives(*_in_frame(A, result["p_WCa"], d.p_WCa)),
                    p_BCb=_with_derivatives(*_in_frame(B, result["p_WCb"], d.p_WCb)),
                    distance=_with_derivatives(float(result["distance"]), d.distance),
                    nhat_BA_W=_with_derivatives(result["nhat_BA_W"], d.nhat_BA_W),
                )
            )
        return found

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


def _split(scalars: Array) -> tuple[Array, Array]:
    """Values of an array of AutoDiffXd, and their derivatives along a further axis."""
    values, gradient = values_and_gradient(scalars.ravel().tolist())
    if gradient is None:
        gradient = np.zeros((scalars.size, 0))
    return np.asarray(values).reshape(scalars.shape), np.asarray(gradient).reshape(*scalars.shape, -1)


def _with_derivatives(value: Any, derivatives: Array) -> Any:
    """A number or a vector, shape [3], of AutoDiffXd."""
    scalars = make_block(np.atleast_1d(np.array(value, dtype=np.float64)), np.atleast_2d(derivatives).copy())
    return scalars[0] if np.ndim(value) == 0 else pack(scalars, (len(scalars),))


def _in_frame(G: PoseDifferential, p_WP: Array, dp_WP: Array) -> tuple[Array, Array]:
    """A point in the frame of a geometry, and its derivatives."""
    R_GW = G.X[:3, :3].T
    return R_GW @ (p_WP - G.X[:3, 3]), R_GW @ (dp_WP - G.move(p_WP))


def _no_derivatives(query: str, names: str, distance: float | None = None) -> RuntimeError:
    at = "" if distance is None else f" at a distance of {distance:.6g} m"
    return RuntimeError(
        f"{query}(): there are no derivatives for {names}{at}: their normal jumps there, as between two points in one "
        "place, or it has no single direction. Ask a SceneGraph of floats, or move them."
    )


def _name(state: GeometryState, id: GeometryId) -> str:
    return f"geometry '{state.geometry(id).name}' ({id!r})"
