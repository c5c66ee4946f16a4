"""Proximity queries in terms of ids and results, as `QueryObject` offers them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.autodiff.blocks import make_block, pack, values_and_gradient
from merganser.framework.autodiff.scalar import AutoDiffXd
from merganser.framework.native import Given, bind
from merganser.geometry.meshes.files import read_surface_mesh
from merganser.geometry.proximity.derivatives import PairDifferential, PoseDifferential
from merganser.geometry.proximity.engine import ProximityEngine
from merganser.geometry.proximity.layout import HALF_SPACE, POINT, geometry_dtype
from merganser.geometry.proximity.mesh_distance import MeshDistance
from merganser.geometry.proximity.pose_kernels import select_poses
from merganser.geometry.registration.ids import GeometryId
from merganser.geometry.registration.query_results import (
    PenetrationAsPointPair,
    SignedDistancePair,
    SignedDistanceToPoint,
)
from merganser.geometry.scene.geometry_state import GeometryState
from merganser.geometry.scene.pose_layout import WorldPoses
from merganser.geometry.scene.proximity_layout import ProximityLayout
from merganser.geometry.shapes import Convex, Ellipsoid, Mesh, Sphere

if TYPE_CHECKING:
    from merganser.geometry.hydroelastic.queries import HydroelasticQueries

Array = NDArray[Any]
GetState = Callable[[], GeometryState]  # for messages
Result = TypeVar("Result", PenetrationAsPointPair, SignedDistancePair)

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
        self.engine = ProximityEngine(layout.arrays)
        self._kinds: list[int] = layout.arrays.geometries["kind"].tolist()
        self._pair: NDArray[np.int64] = np.zeros((1, 2), np.int64)
        self._X_WG = np.tile(np.eye(4), (len(layout.rows), 1, 1))
        self._select_poses = bind(select_poses, layout.rows, Given(self._X_WG), self._X_WG)
        self._may_swap = any(isinstance(shape, Sphere) for shape in layout.shapes) and any(
            isinstance(shape, _AFTER_SPHERES) for shape in layout.shapes
        )

    # ------------------------------------------------------------------ pairs

    def candidates(self, poses: WorldPoses) -> list[tuple[GeometryId, GeometryId]]:
        """See `QueryObject.FindCollisionCandidates`."""
        ids = self.layout.geometry_ids
        pairs = self.engine.find_candidates(self._float_poses(poses))
        return [(ids[a], ids[b]) for a, b in pairs.tolist()]

    def has_collisions(self, get_state: GetState, poses: WorldPoses) -> bool:
        """See `QueryObject.HasCollisions`."""
        return len(self._penetrating(get_state, self._float_poses(poses))) > 0

    def penetrations(self, get_state: GetState, poses: WorldPoses) -> list[PenetrationAsPointPair]:
        """See `QueryObject.ComputePointPairPenetration`."""
        X_WG, dX_WG = self.poses(poses)
        results = self._penetrating(get_state, X_WG)
        return self.point_pairs(get_state, "ComputePointPairPenetration", X_WG, dX_WG, results)

    def point_pairs(
        self, get_state: GetState, query: str, X_WG: Array, dX_WG: Array | None, results: Array
    ) -> list[PenetrationAsPointPair]:
        """The results of `overlaps` as users see them, with derivatives if poses have such."""
        found = _results(PenetrationAsPointPair, self.layout, results)
        if dX_WG is not None:
            for pair, result in zip(found, results):
                d, _, _ = self._differentiate(get_state, query, X_WG, dX_WG, result)
                pair.p_WCa, pair.p_WCb = with_derivatives(pair.p_WCa, d.p_WCa), with_derivatives(pair.p_WCb, d.p_WCb)
                pair.nhat_BA_W = with_derivatives(pair.nhat_BA_W, d.nhat_BA_W)
                pair.depth = with_derivatives(pair.depth, -d.distance)
        return self._swapped(found, results)

    def _swapped(self, found: list[PenetrationAsPointPair], results: Array) -> list[PenetrationAsPointPair]:
        """Exchanges A and B where pydrake does."""
        if self._may_swap:
            shapes = self.layout.shapes
            for pair, a, b in zip(found, results["row_a"].tolist(), results["row_b"].tolist()):
                if isinstance(shapes[a], _AFTER_SPHERES) and isinstance(shapes[b], Sphere):
                    pair._swap()
            found.sort(key=lambda pair: (pair.id_A, pair.id_B))
        return found

    def signed_distances(self, get_state: GetState, poses: WorldPoses, max_distance: float) -> list[SignedDistancePair]:
        """See `QueryObject.ComputeSignedDistancePairwiseClosestPoints`."""
        X_WG, dX_WG = self.poses(poses)
        if math.isnan(max_distance):
            raise RuntimeError("ComputeSignedDistancePairwiseClosestPoints(): max_distance is NaN.")
        if math.isinf(max_distance):
            pairs = self.engine.all_pairs()
        else:
            pairs = self.engine.find_candidates(X_WG, max(max_distance, 0.0))
        if self.engine.arrays.unbounded_pair is not None:
            raise self._unbounded(get_state, self.engine.arrays.unbounded_pair, "Signed distance")
        query = "ComputeSignedDistancePairwiseClosestPoints"
        return self._pairs(get_state, query, X_WG, dX_WG, self.engine.signed_distances(X_WG, pairs, max_distance))

    def signed_distance(
        self, get_state: GetState, poses: WorldPoses, id_A: GeometryId, id_B: GeometryId
    ) -> SignedDistancePair:
        """See `QueryObject.ComputeSignedDistancePairClosestPoints`."""
        query = "ComputeSignedDistancePairClosestPoints"
        a, b = self._row(get_state, query, id_A), self._row(get_state, query, id_B)
        if a == b:
            raise RuntimeError(f"{query}() takes two geometries; given {_name(get_state(), id_A)} twice.")
        self._pair[0] = (a, b) if a < b else (b, a)
        if min(self._kinds[a], self._kinds[b]) >= HALF_SPACE:
            raise self._unbounded(get_state, self._pair[0].tolist(), "Signed distance")
        X_WG, dX_WG = self.poses(poses)
        return self._pairs(get_state, query, X_WG, dX_WG, self.engine.signed_distances(X_WG, self._pair))[0]

    def contact_manifolds(self, poses: WorldPoses, margin: float) -> tuple[list[tuple[GeometryId, GeometryId]], Array]:
        """See `QueryObject.ComputeContactManifolds`."""
        if not (np.isfinite(margin) and margin >= 0.0):
            raise RuntimeError(
                f"ComputeContactManifolds(): the margin must be finite and not negative; given {margin}."
            )
        pairs, contacts = self.engine.contact_manifolds(self._float_poses(poses), margin)
        ids = self.layout.geometry_ids
        return [(ids[a], ids[b]) for a, b in pairs.tolist()], contacts.copy()

    @functools.cached_property
    def hydroelastic(self) -> HydroelasticQueries:
        """Contact surfaces of the same geometries.

        Raises:
            RuntimeError: a geometry has hydroelastic properties that are not fit for it.
        """
        from merganser.geometry.hydroelastic.queries import HydroelasticQueries  # knows this module

        return HydroelasticQueries(self)

    # ------------------------------------------------------------------ points

    def distances_to_point(self, poses: WorldPoses, p_WQ: ArrayLike, threshold: float) -> list[SignedDistanceToPoint]:
        """See `QueryObject.ComputeSignedDistanceToPoint`."""
        given = np.asarray(p_WQ).reshape(-1)
        X_WG, dX_WG = self.poses(poses)
        point, d_point = given, None
        if given.dtype == object and any(isinstance(x, AutoDiffXd) for x in given):
            point, d_point = _split(given)
        elif given.dtype == object:
            point = np.asarray(p_WQ, dtype=np.float64).reshape(-1)
        if point.shape != (3,) or not all(map(math.isfinite, point.tolist())):
            raise RuntimeError(f"ComputeSignedDistanceToPoint(): p_WQ must be three finite numbers; given {p_WQ!r}.")
        if math.isnan(threshold):
            raise RuntimeError("ComputeSignedDistanceToPoint(): the threshold is NaN.")
        if dX_WG is None and d_point is not None:
            dX_WG = np.zeros((*X_WG.shape, d_point.shape[-1]))
        if dX_WG is not None:
            return self._differentiated_distances_to_point(X_WG, dX_WG, point, d_point, threshold)
        results = self.engine.distances_to_point(X_WG, point, threshold)
        if not len(results):
            return []
        numbers = _numbers(results)
        found = []
        ids, shapes = self.layout.geometry_ids, self.layout.shapes
        for k, (row, distance) in enumerate(zip(results["row_a"].tolist(), numbers[:, 0].tolist())):
            id, shape = ids[row], shapes[row]
            # Of a mesh that of its hull, which is no farther away than a closed surface seen from outside.
            if not isinstance(shape, Mesh):
                found.append(SignedDistanceToPoint._of(id, distance, numbers, k))
                continue
            R_WG, p_WG = X_WG[row, :3, :3], X_WG[row, :3, 3]
            distance, gradient_G, p_GN = _mesh_distance(shape)(R_WG.T @ (point - p_WG))
            if distance <= threshold:
                gradient = R_WG @ gradient_G
                found.append(SignedDistanceToPoint(id_G=id, p_GN=p_GN, distance=distance, grad_W=gradient))
        return found

    def _differentiated_distances_to_point(
        self, X_WG: Array, dX_WG: Array, point: Array, d_point: Array | None, threshold: float
    ) -> list[SignedDistanceToPoint]:
        """Distances to a point within the threshold, with derivatives; a Mesh is left out, as in pydrake."""
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
        results = self.engine.distances_to_point(X_WG, point, threshold)
        X_WQ = np.eye(4)
        X_WQ[:3, 3] = point
        Q = PoseDifferential(X_WQ, d_point, np.zeros_like(d_point))
        found = []
        for result in results:
            row = int(result["row_a"])
            id, shape = self.layout.geometry_ids[row], self.layout.shapes[row]
            if isinstance(shape, Mesh):
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
                    p_GN=with_derivatives(p_GN, d_p_GN),
                    distance=with_derivatives(float(result["distance"]), d.distance),
                    grad_W=with_derivatives(-result["nhat_BA_W"], -d.nhat_BA_W),
                )
            )
        return found

    # ------------------------------------------------------------------ helpers

    def _float_poses(self, poses: WorldPoses) -> Array:
        """The poses of the proximity geometries without derivatives, checked."""
        return self.poses(poses)[0]

    def poses(self, poses: WorldPoses) -> tuple[Array, Array | None]:
        """The poses, shape [n, 4, 4], checked, and if they are of AutoDiffXd their derivatives, shape [n, 4, 4, k]."""
        if poses.X_WG.dtype == np.float64:
            if self._select_poses(poses.X_WG):
                return self._X_WG, None
            raise self._not_finite(self._X_WG)
        X_WG = self.layout.world_poses(poses)
        other = next((x for x in X_WG.flat if not isinstance(x, (AutoDiffXd, float, int))), None)
        if other is not None:
            raise RuntimeError(
                f"Proximity queries are for poses of float64 and AutoDiffXd; these hold {type(other).__name__}. "
                "Evaluate them in a SceneGraph of floats."
            )
        values, derivatives = _split(X_WG)
        if not np.isfinite(values).all():
            raise self._not_finite(values)
        return np.ascontiguousarray(values), derivatives

    def _not_finite(self, X_WG: Array) -> RuntimeError:
        finite = np.isfinite(X_WG).all(axis=(1, 2))
        bad = [self.layout.geometry_ids[row] for row in np.flatnonzero(~finite)]
        return RuntimeError(f"Proximity queries need finite poses; those of these geometries are not: {bad}.")

    def _differentiate(
        self, get_state: GetState, query: str, X_WG: Array, dX_WG: Array, result: Any
    ) -> tuple[PairDifferential, PoseDifferential, PoseDifferential]:
        """Derivatives of the result of a pair, and of the poses of its geometries.

        Raises:
            RuntimeError: no source gives poses.
        """
        pair = int(result["row_a"]), int(result["row_b"])
        A, B = (PoseDifferential.of(X_WG[row], dX_WG[row]) for row in pair)
        d = self.engine.differentiate(self.engine.arrays.geometries, pair, result, A, B)
        if d is None:
            ids, shapes = self.layout.geometry_ids, self.layout.shapes
            names = " and ".join(f"{_name(get_state(), ids[row])}, a {type(shapes[row]).__name__}," for row in pair)
            raise _no_derivatives(query, names, float(result["distance"]))
        return d, A, B

    def _penetrating(self, get_state: GetState, X_WG: Array) -> Array:
        return self.overlaps(get_state, X_WG, self.engine.find_candidates(X_WG))

    def overlaps(self, get_state: GetState, X_WG: Array, pairs: NDArray[np.int64]) -> Array:
        """Returns the records of those of some pairs of rows that overlap.

        Raises:
            RuntimeError: two half spaces may meet.
        """
        if self.engine.arrays.unbounded_pair is not None:
            raise self._unbounded(get_state, self.engine.arrays.unbounded_pair, "Penetration")
        # Spheres report that they touch; elsewhere rounding decides whether a touching pair overlaps.
        return self.engine.signed_distances(X_WG, pairs, 0.0, _TOUCHING)

    def _pairs(
        self, get_state: GetState, query: str, X_WG: Array, dX_WG: Array | None, results: Array
    ) -> list[SignedDistancePair]:
        found = _results(SignedDistancePair, self.layout, results)
        if dX_WG is not None:
            for pair, result in zip(found, results):
                d, A, B = self._differentiate(get_state, query, X_WG, dX_WG, result)
                pair.p_ACa = with_derivatives(*_in_frame(A, result["p_WCa"], d.p_WCa))
                pair.p_BCb = with_derivatives(*_in_frame(B, result["p_WCb"], d.p_WCb))
                pair.distance = with_derivatives(pair.distance, d.distance)
                pair.nhat_BA_W = with_derivatives(pair.nhat_BA_W, d.nhat_BA_W)
        return found

    def _unbounded(self, get_state: GetState, pair: Sequence[int], query: str) -> RuntimeError:
        names = " and ".join(_name(get_state(), self.layout.geometry_ids[row]) for row in pair)
        return RuntimeError(
            f"{query} queries between two half spaces or height fields have no answer: {names}. Filter the pair, or "
            "make one of them a Box."
        )

    def _row(self, get_state: GetState, query: str, id: GeometryId) -> int:
        row = self.layout.index.get(id)
        if row is None:
            name = _name(get_state(), id)  # which says if there is no such geometry
            raise RuntimeError(
                f"{query}(): {name} does not have the proximity role. Give it ProximityProperties with AssignRole()."
            )
        return row


def _numbers(results: Array) -> Array:
    """Records of distance_dtype as numbers, copied, for reading only, shape [num_results, ..]."""
    return np.frombuffer(results.tobytes()).reshape(len(results), -1)


def _results(kind: type[Result], layout: ProximityLayout, results: Array) -> list[Result]:
    """Records of distance_dtype as results for users, which keep a copy."""
    if not len(results):
        return []
    rows = results["row_a"].tolist(), results["row_b"].tolist(), results["distance"].tolist()
    return list(map(kind._of, repeat(layout.geometry_ids), *rows, repeat(_numbers(results)), count()))


def _split(scalars: Array) -> tuple[Array, Array]:
    """Values of an array of AutoDiffXd, and their derivatives along a further axis."""
    values, gradient = values_and_gradient(scalars.ravel().tolist())
    if gradient is None:
        gradient = np.zeros((scalars.size, 0))
    return np.asarray(values).reshape(scalars.shape), np.asarray(gradient).reshape(*scalars.shape, -1)


def with_derivatives(value: Any, derivatives: Array) -> Any:
    """A number or an array of AutoDiffXd; derivatives of each have one more axis."""
    values = np.array(value, dtype=np.float64)
    scalars = make_block(values.ravel(), np.asarray(derivatives).reshape(values.size, -1).copy())
    return scalars[0] if values.ndim == 0 else pack(scalars, values.shape)


def _in_frame(G: PoseDifferential, p_WP: Array, dp_WP: Array) -> tuple[Array, Array]:
    """A point in the frame of a geometry, and its derivatives."""
    R_GW = G.X[:3, :3].T
    return R_GW @ (p_WP - G.X[:3, 3]), R_GW @ (dp_WP - G.move(p_WP))


def _no_derivatives(query: str, names: str, distance: float | None = None) -> RuntimeError:
    at = "" if distance is None else f" at a distance of {distance:.6g} m"
    return RuntimeError(
        f"{query}(): there are no derivatives for {names}{at}: one is a HeightField or TerrainMesh, which have none, "
        "or their normal jumps there, as between two points in one place, or it has no single direction. Ask a "
        "SceneGraph of floats, or move them."
    )


def _name(state: GeometryState, id: GeometryId) -> str:
    return f"geometry '{state.geometry(id).name}' ({id!r})"
