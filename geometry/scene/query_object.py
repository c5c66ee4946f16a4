"""QueryObject: geometric questions whose answers depend on where the frames are.

Where rays hit shapes.

A ray is o + t d in the shape's frame G, t >= 0, with the unit vector d. It is in a convex shape for t_in <= t <= t_out,
and hits its surface at t_in, or at t_out if it begins inside. How it hits triangles is in shapes/shape.py.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.math import RigidTransform
from merganser.geometry.registration.ids import FrameId, GeometryId, SourceId
from merganser.geometry.registration.materials import HydroelasticContactRepresentation
from merganser.geometry.registration.properties import Role
from merganser.geometry.registration.query_results import (
    PenetrationAsPointPair,
    SignedDistancePair,
    SignedDistanceToPoint,
)
from merganser.geometry.scene.geometry_state import GeometryState
from merganser.geometry.scene.inspector import SceneGraphInspector
from merganser.geometry.scene.pose_layout import WorldPoses
from merganser.geometry.scene.renderers import render
from merganser.geometry.shapes.bounding_boxes import Aabb, CalcObb, Obb
from merganser.geometry.shapes.measures import triangles_of
from merganser.geometry.shapes.shape import Shape, first_triangle

if TYPE_CHECKING:
    from merganser.geometry.hydroelastic.contact_surface import ContactSurface
    from merganser.geometry.images import ImageDepth32F, ImageLabel16I, ImageRgba8U
    from merganser.geometry.proximity.queries import ProximityQueries
    from merganser.geometry.rendering.cameras import ColorRenderCamera, DepthRenderCamera


Array = NDArray[np.float64]
_ROLES = (Role.kProximity, Role.kIllustration)


class RayCaster:
    """Casts rays at the geometries of a scene graph that can be touched or are drawn, but for those without opacity.

    Shapes whose kind has no `interval` are hit at their triangles; cones and deformable geometries are not hit.
    """

    def __init__(self) -> None:
        self._version: Any = None
        self._solids: list[tuple[GeometryId, FrameId, Shape | Array]] = []

    def distance(self, query: QueryObject, p_WR: Array, d_W: Array, ignored: Collection[FrameId] = ()) -> float:
        """The distance to the nearest hit [m], infinite if nothing is hit.

        Args:
            query: of the scene graph.
            p_WR: where the ray begins [m], shape [3].
            d_W: in which direction it goes, a unit vector of shape [3].
            ignored: frames whose geometries it passes.

        Raises:
            RuntimeError: the query object belongs to no Context; or a mesh cannot be read.
        """
        self._look_at(query.inspector())
        nearest = math.inf
        for geometry, frame, solid in self._solids:
            if frame not in ignored:
                X_GW = query.GetPoseInWorld(geometry).inverse()
                hit = distance_along_ray(solid, X_GW @ p_WR, X_GW.rotation() @ d_W)
                nearest = min(nearest, hit)
        return nearest

    def _look_at(self, inspector: SceneGraphInspector) -> None:
        """Finds the geometries, if they are not those of the last time."""
        version = inspector.geometry_version()
        if self._version is not None and all(version.IsSameAs(self._version, role) for role in _ROLES):
            return
        found = dict.fromkeys(geometry for role in _ROLES for geometry in inspector.GetAllGeometryIds(role))
        self._solids = [
            (geometry, inspector.GetFrameId(geometry), solid_of(inspector.GetShape(geometry)))
            for geometry in found
            if _is_seen(inspector, geometry)
        ]
        self._version = type(version)(version)


def _is_seen(inspector: SceneGraphInspector, geometry: GeometryId) -> bool:
    """Whether a geometry touches others, or is drawn and not transparent."""
    look = inspector.GetIllustrationProperties(geometry)
    if look is None or inspector.GetProximityProperties(geometry) is not None:
        return not inspector.IsDeformableGeometry(geometry)
    return not (look.HasProperty("phong", "diffuse") and look.GetProperty("phong", "diffuse").a() == 0.0)


def solid_of(shape: Shape) -> Shape | Array:
    """A shape, or triangles of shape [n, 3, 3]."""
    if shape.kind.interval is not None:
        return shape
    vertices, triangles = triangles_of(shape)
    return np.asarray(vertices[triangles])


def distance_along_ray(solid: Shape | Array, o: Array, d: Array) -> float:
    """t of the first point of a surface [m], infinite if the ray misses it.

    Args:
        solid: a shape, or triangles of shape [n, 3, 3].
        o, d: the ray in G, d of length 1, shape [3].
    """
    if isinstance(solid, np.ndarray):
        return first_triangle(solid, o, d)
    assert solid.kind.interval is not None
    t_in, t_out = solid.kind.interval(solid, o, d)
    if t_in > t_out or t_out < 0.0:
        return math.inf
    return t_in if t_in >= 0.0 else t_out


class PoseSource(Protocol):
    """What a QueryObject asks.

    Attributes:
        context: the Context of the SceneGraph, if that is what is asked.
    """

    context: Any

    def state(self) -> GeometryState:
        """The geometries."""

    def poses(self) -> WorldPoses:
        """Where they are."""

    def configuration(self, geometry_id: GeometryId) -> NDArray[Any]:
        """Where the vertices of a deformable geometry are."""

    def of_port(self, source_id: SourceId) -> Any:
        """What feeds the pose port of a source, if there is such a port."""


class _Snapshot:
    """Answers that stay as they are."""

    __slots__ = ("_configurations", "_poses", "_state", "context")

    def __init__(self, state: GeometryState, poses: WorldPoses, configurations: dict[GeometryId, NDArray[Any]]) -> None:
        self.context = None
        self._state, self._poses, self._configurations = state, poses, configurations

    def state(self) -> GeometryState:
        return self._state

    def poses(self) -> WorldPoses:
        return self._poses

    def configuration(self, geometry_id: GeometryId) -> NDArray[Any]:
        return self._configurations[geometry_id].copy()

    def of_port(self, source_id: SourceId) -> Any:
        return None


class QueryObject:
    """Answers for one Context of a SceneGraph, as that Context is when asked; see
    `SceneGraph.get_query_output_port`.

    `QueryObject()` belongs to no Context and answers nothing: it serves as model value of a port. A copy of
    another one keeps the answers of the moment.
    """

    __slots__ = ("_queries", "_source")

    def __init__(self) -> None:
        self._source: Any = None
        self._queries: ProximityQueries | None = None

    def bind(self, source: PoseSource) -> None:
        """Makes this answer from what a source gives; called by the SceneGraph."""
        self._source = source

    def is_bound_to(self, context: Any) -> bool:
        """Whether this answers for a Context of the SceneGraph."""
        return self._source is not None and self._source.context is context

    def inspector(self) -> SceneGraphInspector:
        """Returns the inspector of the sources, frames and geometries in the Context.

        Raises:
            RuntimeError: this QueryObject belongs to no Context.
        """
        if self._source is None:
            raise _not_bound("inspector")
        return SceneGraphInspector(self._source.state)

    def GetPoseInWorld(
        self, frame_id: FrameId | GeometryId | None = None, *, geometry_id: GeometryId | None = None
    ) -> RigidTransform:
        """Returns the pose X_WF of a frame, or X_WG of a geometry, in the world.

        Raises:
            TypeError: the argument is neither a FrameId nor a GeometryId.
            RuntimeError: the id is not registered; a source gives no poses of its frames; this
                QueryObject belongs to no Context.
        """
        item_id: Any = frame_id if geometry_id is None else geometry_id
        poses = self._poses("GetPoseInWorld")
        if isinstance(item_id, GeometryId):
            row = poses.layout.geometry_rows.get(item_id)
            return _pose(poses.X_WG, self._known_row(row, item_id))
        row = poses.layout.frame_rows.get(item_id)
        return _pose(poses.X_WF, self._known_row(row, item_id))

    def GetConfigurationsInWorld(self, deformable_geometry_id: GeometryId) -> NDArray[Any]:
        """Returns where the vertices of a deformable geometry are in W [m], one after the other.

        Returns:
            Coordinates, shape [3 num_vertices].

        Raises:
            RuntimeError: there is no such geometry, or it is rigid; its source gives no positions of its vertices;
                this QueryObject belongs to no Context.
        """
        if self._source is None:
            raise _not_bound("GetConfigurationsInWorld")
        geometry = self._state().geometry(deformable_geometry_id)
        if geometry.reference_mesh is None:
            raise RuntimeError(
                f"GetConfigurationsInWorld(): geometry '{geometry.name}' ({geometry.id!r}) is rigid; ask for its pose "
                "with GetPoseInWorld()."
            )
        configuration: NDArray[Any] = self._source.configuration(geometry.id)
        return configuration

    def GetPoseInParent(self, frame_id: FrameId) -> RigidTransform:
        """Returns the pose X_PF of frame F in its parent frame P.

        Raises:
            TypeError: the argument is not a FrameId.
            RuntimeError: as for `GetPoseInWorld`.
        """
        poses = self._poses("GetPoseInParent")
        row = poses.layout.frame_rows.get(frame_id)
        return _pose(poses.X_PF, self._known_row(row, frame_id))

    def world_poses(self) -> WorldPoses:
        """Returns all poses as arrays, to be read only, and before anything changes in the Context.

        Raises:
            RuntimeError: as for `GetPoseInWorld`.
        """
        return self._poses("world_poses")

    # ------------------------------------------------------------------ proximity

    def ComputePointPairPenetration(self) -> list[PenetrationAsPointPair]:
        """Returns the shortest way out of each other for all pairs of geometries that overlap, filtered ones apart.

        The depth is the least translation that takes the two apart, exact to rounding. Mesh and Convex stand for
        their convex hulls.

        Returns:
            One for each pair, sorted by ids; A has the smaller id, save that a Sphere is A against an Ellipsoid,
            Convex or Mesh.

        Raises:
            RuntimeError: two half spaces may meet; poses as for `GetPoseInWorld`.
        """
        queries, poses = self._proximity("ComputePointPairPenetration")
        return queries.penetrations(self._source.state, poses)

    def ComputeSignedDistancePairwiseClosestPoints(self, max_distance: float = np.inf) -> list[SignedDistancePair]:
        """Returns the signed distance and the nearest points of all pairs of geometries, filtered ones apart.

        Args:
            max_distance: pairs farther apart are left out [m].

        Returns:
            One for each pair, sorted by ids; A has the smaller id.

        Raises:
            RuntimeError: as for `ComputePointPairPenetration`; `max_distance` is NaN.
        """
        queries, poses = self._proximity("ComputeSignedDistancePairwiseClosestPoints")
        return queries.signed_distances(self._source.state, poses, float(max_distance))

    def ComputeSignedDistancePairClosestPoints(
        self, geometry_id_A: GeometryId, geometry_id_B: GeometryId
    ) -> SignedDistancePair:
        """Returns the signed distance and the nearest points of two geometries, filtered or not.

        In the result, A has the smaller id.

        Raises:
            RuntimeError: one of them is not registered, or does not have the proximity role; both are one, or half
                spaces.
        """
        queries, poses = self._proximity("ComputeSignedDistancePairClosestPoints")
        return queries.signed_distance(self._source.state, poses, geometry_id_A, geometry_id_B)

    def ComputeSignedDistanceToPoint(self, p_WQ: ArrayLike, threshold: float = np.inf) -> list[SignedDistanceToPoint]:
        """Returns the signed distance of all geometries from a point Q, with its gradient.

        Here a Mesh is its surface, which must be closed, convex or not, with the corners of its triangles
        counter-clockwise seen from outside. Of any other surface, the signs of distances mean nothing, and with a
        threshold it is left out where its convex hull is farther away than that, however negative its distance is.

        Args:
            p_WQ: position of Q in W [m], shape [3].
            threshold: geometries farther away are left out [m].

        Raises:
            RuntimeError: `p_WQ` is not finite, or has another size.
        """
        queries, poses = self._proximity("ComputeSignedDistanceToPoint")
        return queries.distances_to_point(poses, p_WQ, float(threshold))

    def FindCollisionCandidates(self) -> list[tuple[GeometryId, GeometryId]]:
        """Returns the pairs of geometries whose bounding boxes overlap, filtered ones apart; the smaller id first."""
        queries, poses = self._proximity("FindCollisionCandidates")
        return queries.candidates(poses)

    def HasCollisions(self) -> bool:
        """Returns whether any two geometries overlap, filtered pairs apart."""
        queries, poses = self._proximity("HasCollisions")
        return queries.has_collisions(self._source.state, poses)

    def ComputeContactManifolds(self, margin: float = 0.0) -> tuple[list[tuple[GeometryId, GeometryId]], NDArray[Any]]:
        """Returns several points for each pair of geometries that touch, so that a face rests on its corners.

        This is an addition to pydrake's queries, for contact solvers; see geometry/proximity.

        Args:
            margin: points up to so far outside each other count, with negative depth [m].

        Returns:
            The pairs that may meet, and a record array with the fields pair (the number of one of these), p_WC (midway
            between the surfaces), nhat_BA_W, depth, and share (what the point is worth of all that the pair can carry),
            in the order of the pairs.

        Raises:
            RuntimeError: the margin is negative or not finite.
        """
        queries, poses = self._proximity("ComputeContactManifolds")
        return queries.contact_manifolds(poses, float(margin))

    def ComputeContactSurfaces(self, representation: HydroelasticContactRepresentation) -> list[ContactSurface]:
        """Returns the hydroelastic contact surfaces of all pairs of geometries that overlap, filtered ones apart.

        Of two geometries one must be compliant, the other compliant or rigid; a compliant half space has surfaces with
        rigid geometries only. See geometry/hydroelastic for what they are made of.

        Args:
            representation: whether faces are polygons or triangles.

        Returns:
            One for each pair, sorted by ids; M has the smaller id.

        Raises:
            TypeError: `representation` is none.
            RuntimeError: two geometries overlap whose contact is no surface; a geometry has hydroelastic properties
                that are not fit for its shape; two half spaces may meet; poses as for `GetPoseInWorld`.
        """
        query = "ComputeContactSurfaces"
        queries, poses = self._proximity(query)
        return queries.hydroelastic.contact_surfaces(self._source.state, poses, representation, query)

    def ComputeContactSurfacesWithFallback(
        self, representation: HydroelasticContactRepresentation
    ) -> tuple[list[ContactSurface], list[PenetrationAsPointPair]]:
        """Returns the contact surfaces of all pairs that have one, and the point pairs of the others that overlap.

        Args:
            representation: whether faces are polygons or triangles.

        Returns:
            Surfaces as of `ComputeContactSurfaces`, and point pairs as of `ComputePointPairPenetration`.

        Raises:
            TypeError: `representation` is none.
            RuntimeError: as for these two, save that all contacts have a surface or a point.
        """
        query = "ComputeContactSurfacesWithFallback"
        queries, poses = self._proximity(query)
        return queries.hydroelastic.contact_surfaces_with_fallback(self._source.state, poses, representation, query)

    def ComputeAabbInWorld(self, geometry_id: GeometryId) -> Aabb | None:
        """Returns the box of a deformable geometry's vertices, in W; None for a rigid one, see `ComputeObbInWorld`.

        Raises:
            RuntimeError: the geometry is not registered; or as for `GetConfigurationsInWorld`.
        """
        self._proximity("ComputeAabbInWorld")
        if self._state().geometry(geometry_id).reference_mesh is None:
            return None
        p_WV = cast_array(self.GetConfigurationsInWorld(geometry_id), float).reshape(-1, 3)
        lower, upper = p_WV.min(axis=0), p_WV.max(axis=0)
        return Aabb(0.5 * (lower + upper), 0.5 * (upper - lower))

    def ComputeObbInWorld(self, geometry_id: GeometryId) -> Obb | None:
        """Returns a box around a geometry, in W; None for a half space.

        Raises:
            RuntimeError: the geometry is not registered; a mesh cannot be read.
        """
        X_WG = self.GetPoseInWorld(geometry_id)
        obb_G = CalcObb(self._state().geometry(geometry_id).shape)
        return None if obb_G is None else Obb(X_WG @ obb_G.pose(), obb_G.half_width())

    # ------------------------------------------------------------------ images

    def RenderColorImage(self, camera: ColorRenderCamera, parent_frame: FrameId, X_PC: RigidTransform) -> ImageRgba8U:
        """Returns a color image of the geometries of the perception role.

        Args:
            camera: with the name of the renderer that makes the image.
            parent_frame: the frame P to which the camera is fixed.
            X_PC: pose of the camera's body in P.

        Raises:
            TypeError: an argument has the wrong type.
            RuntimeError: there is no such frame or renderer; poses as for `GetPoseInWorld`; the renderer cannot make
                images here.
        """
        image: ImageRgba8U = self._render("Color", camera, parent_frame, X_PC)
        return image

    def RenderDepthImage(self, camera: DepthRenderCamera, parent_frame: FrameId, X_PC: RigidTransform) -> ImageDepth32F:
        """Returns an image of distances along the viewing direction [m]; arguments and errors as `RenderColorImage`.

        0 stands for what is nearer than the camera's depth range, infinity for what is farther away.
        """
        image: ImageDepth32F = self._render("Depth", camera, parent_frame, X_PC)
        return image

    def RenderLabelImage(self, camera: ColorRenderCamera, parent_frame: FrameId, X_PC: RigidTransform) -> ImageLabel16I:
        """Returns an image of render labels; arguments and errors as `RenderColorImage`."""
        image: ImageLabel16I = self._render("Label", camera, parent_frame, X_PC)
        return image

    def _render(self, kind: str, camera: Any, parent_frame: Any, X_PC: Any) -> Any:
        if self._source is None:
            raise _not_bound(f"Render{kind}Image")
        return render(self._source, kind, camera, parent_frame, X_PC)

    # ------------------------------------------------------------------ helpers

    def _state(self) -> GeometryState:
        state: GeometryState = self._source.state()
        return state

    def _proximity(self, function: str) -> tuple[ProximityQueries, WorldPoses]:
        """What answers proximity queries, made again when the geometries have changed, and the poses now."""
        source, queries = self._source, self._queries
        if source is None:
            raise _not_bound(function)
        poses = source.poses()
        if queries is None or queries.layout is not source.state().proximity_layout():
            queries = self.proximity_queries()
        return queries, poses

    def proximity_queries(self) -> ProximityQueries:
        """Returns what answers proximity queries for the geometries as they are now, wherever they are."""
        layout = self._source.state().proximity_layout()
        if self._queries is None or self._queries.layout is not layout:
            from merganser.geometry.proximity.queries import ProximityQueries  # loads the compiler

            self._queries = ProximityQueries(layout)
        return self._queries

    def takes_poses_from(self, source_id: SourceId, slot: Any) -> bool:
        """Whether a source's poses come directly from the cache entry of an output port in some Context."""
        return self._source is not None and self._source.of_port(source_id) is slot

    def _poses(self, function: str) -> WorldPoses:
        if self._source is None:
            raise _not_bound(function)
        poses: WorldPoses = self._source.poses()
        return poses

    def _known_row(self, row: int | None, item_id: Any) -> int:
        """The row, unless the id is unknown: then the error about it."""
        if row is None:
            state = self._state()
            if isinstance(item_id, GeometryId):
                state.geometry(item_id)
            state.frame(item_id)
        return row  # type: ignore[return-value]

    def __copy__(self) -> QueryObject:
        snapshot = QueryObject()
        if self._source is not None:
            state = copy.deepcopy(self._source.state())
            deformable = [g.id for g in state.geometries.values() if g.reference_mesh is not None]
            given = {id: self._source.configuration(id) for id in deformable}
            snapshot.bind(_Snapshot(state, self._source.poses().copy(), given))
        return snapshot

    def __deepcopy__(self, memo: dict[int, Any]) -> QueryObject:
        return self.__copy__()


def _pose(X: Any, row: int) -> RigidTransform:
    return RigidTransform.MakeUnchecked(X[row, :3])


def _not_bound(function: str) -> RuntimeError:
    return RuntimeError(
        f"QueryObject.{function}(): this QueryObject belongs to no Context and can answer nothing. Get one "
        "from scene_graph.get_query_output_port().Eval(context), or from an input port that is connected to "
        "that port."
    )
