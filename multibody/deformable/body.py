"""A deformable body of a plant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import AbstractParameterIndex, DiscreteStateIndex
from merganser.framework.math import RigidTransform
from merganser.geometry import GeometryId, Shape, VolumeMesh
from merganser.geometry.meshes.volume_mesh import tetrahedron_volumes
from merganser.geometry.registration.ids import _Identifier
from merganser.multibody.fem.config import DeformableBodyConfig
from merganser.multibody.fem.force_density_field import ForceDensityFieldBase, ForceDensityType, GravityForceField
from merganser.multibody.tree.constraints import MultibodyConstraintId
from merganser.multibody.tree.element import NamedElement
from merganser.multibody.tree.indices import DeformableBodyIndex
from merganser.multibody.tree.rigid_body import RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.fem.body import FemBody

Array = NDArray[Any]


class DeformableBodyId(_Identifier):
    """Names a deformable body; one and the same in copies of its plant."""

    __slots__ = ()


class FixedVertices(NamedTuple):
    """Vertices that are fixed to a rigid body B.

    Attributes:
        body: B.
        vertices: which ones, shape [n].
        p_BP: where they are in B [m], shape [n, 3].
    """

    body: RigidBody
    vertices: NDArray[np.int64]
    p_BP: Array


class DeformableBody(NamedElement):
    """A body of tetrahedra whose vertices move; `DeformableModel.RegisterDeformableBody()` makes it.

    Positions and velocities of its vertices are discrete state of the plant: all coordinates of positions in W, then of
    velocities, then of accelerations, in the order of the mesh's vertices.

    Errors of all functions that take a Context: ValueError, if it belongs to another system; RuntimeError, before
    Finalize().

    Args:
        name: unique among the deformable bodies of its model instance.
        model_instance: which one.
        geometry_id: of the deformable geometry.
        mesh: at rest, in the geometry's frame D.
        X_WD: where it is at rest.
        config: its material.
    """

    _index_type = DeformableBodyIndex

    def __init__(
        self,
        name: str,
        model_instance: int,
        geometry_id: GeometryId,
        mesh: VolumeMesh,
        X_WD: RigidTransform,
        config: DeformableBodyConfig,
    ) -> None:
        super().__init__(name, model_instance)
        self._id, self._geometry_id, self._config = DeformableBodyId.get_new_id(), geometry_id, config
        self._p_DV: Array = np.array(mesh.vertex_array())
        vertices = _moved(X_WD, self._p_DV)
        self._mesh_W = VolumeMesh(mesh.tetrahedron_array(), vertices)
        self._default_pose = X_WD
        self._is_held = np.zeros(len(vertices), np.bool_)
        self._fixed: tuple[FixedVertices, ...] = ()
        self._forces: tuple[ForceDensityFieldBase, ...] = ()
        self._state_index = self._parameter_index = -1
        self._fem: FemBody | None = None

    # ------------------------------------------------------------------ what it is

    def body_id(self) -> DeformableBodyId:
        """Returns the identifier of this body."""
        return self._id

    def geometry_id(self) -> GeometryId:
        """Returns the identifier of its geometry."""
        return self._geometry_id

    def config(self) -> DeformableBodyConfig:
        """Returns its material."""
        return self._config

    def num_dofs(self) -> int:
        """Returns the number of its coordinates: three for each vertex."""
        return 3 * len(self._p_DV)

    def reference_positions(self) -> Array:
        """Returns the vertices at rest, as they were registered, in W [m], shape [3 num_vertices]."""
        return np.array(self._mesh_W.vertex_array()).ravel()

    def get_default_pose(self) -> RigidTransform:
        """Returns X_WD, where new Contexts have the undeformed body."""
        return RigidTransform(self._default_pose)

    def set_default_pose(self, X_WD: RigidTransform) -> None:
        """Sets where new Contexts have the undeformed body; vertices that are held stay where they were registered."""
        if not isinstance(X_WD, RigidTransform):
            raise TypeError(
                f"set_default_pose() of deformable body '{self._name}' takes a RigidTransform; given {X_WD!r}."
            )
        self._default_pose = RigidTransform(X_WD)

    def external_forces(self) -> list[ForceDensityFieldBase]:
        """Returns all force densities that act on it, gravity first.

        Raises:
            RuntimeError: before Finalize().
        """
        self._require_finalized("external_forces")
        return list(self._forces)

    def has_fixed_constraint(self) -> bool:
        """Returns whether vertices are fixed to a rigid body."""
        return bool(self._fixed)

    def discrete_state_index(self) -> DiscreteStateIndex:
        """Returns which group of the plant's discrete state is that of this body.

        Raises:
            RuntimeError: before Finalize().
        """
        self._require_finalized("discrete_state_index")
        return DiscreteStateIndex(self._state_index)

    def is_enabled_parameter_index(self) -> AbstractParameterIndex:
        """Returns which abstract parameter of the plant, a bool, says whether this body moves.

        Raises:
            RuntimeError: before Finalize().
        """
        self._require_finalized("is_enabled_parameter_index")
        return AbstractParameterIndex(self._parameter_index)

    # ------------------------------------------------------------------ what holds it

    def SetWallBoundaryCondition(self, p_WQ: ArrayLike, n_W: ArrayLike) -> None:
        """Holds all vertices behind a plane where they are at rest.

        Args:
            p_WQ: position of a point of the plane in W [m], shape [3].
            n_W: direction that points away from what is held, in W, shape [3]; a vertex V is held if n . p_QV < 0 at
                rest.

        Raises:
            ValueError: the direction is shorter than 1e-10, or a number is not finite.
        """
        p, n = (np.asarray(vector, np.float64).reshape(3) for vector in (p_WQ, n_W))
        length = float(np.linalg.norm(n))
        if not (np.isfinite(p).all() and 1e-10 < length < np.inf):
            raise ValueError(
                f"SetWallBoundaryCondition() of deformable body '{self._name}' takes a point and a direction of some "
                f"length; given {p_WQ!r} and {n_W!r}."
            )
        self._is_held |= (np.asarray(self._mesh_W.vertex_array()) - p) @ n < 0.0
        self._fem = None

    def AddFixedConstraint(
        self, body_B: RigidBody, X_BA: RigidTransform, shape_G: Shape, X_BG: RigidTransform
    ) -> MultibodyConstraintId:
        """Fixes all vertices that lie in a shape to a rigid body B.

        If B is the world or welded to it, the vertices are where they are fixed from the first step on; else a stiff
        constraint of the contact problem holds them to B, and B to them. (pydrake refuses bodies that are welded to the
        world.)

        Args:
            body_B: the body.
            X_BA: where the mesh at rest, in its frame A, is put in B.
            shape_G: the shape.
            X_BG: its pose in B.

        Returns:
            An identifier of the constraint.

        Raises:
            RuntimeError: B belongs to another plant; no vertex lies in the shape; after Finalize().
        """
        tree = self._get_tree("AddFixedConstraint")
        tree._check_not_finalized("AddFixedConstraint")
        tree._check_mine("AddFixedConstraint", f"deformable body '{self._name}'", body_B)
        p_BP = _moved(X_BA, self._p_DV)
        inside = _is_inside(shape_G, X_BG, p_BP)
        if not inside.any():
            raise RuntimeError(
                f"AddFixedConstraint(): no vertex of deformable body '{self._name}' is inside of {shape_G!r} with the "
                "given poses. Look at X_BA, X_BG and the size of the shape."
            )
        vertices = np.flatnonzero(inside)
        self._fixed = (*self._fixed, FixedVertices(body_B, vertices, p_BP[vertices]))
        self._fem = None
        return MultibodyConstraintId.get_new_id()

    # ------------------------------------------------------------------ state

    def GetPositions(self, context: Context) -> Array:
        """Returns the positions of the vertices in W [m], shape [3, num_vertices]."""
        return self._state(context)[0].T.copy()

    def GetVelocities(self, context: Context) -> Array:
        """Returns the velocities of the vertices in W [m/s], shape [3, num_vertices]."""
        return self._state(context)[1].T.copy()

    def GetPositionsAndVelocities(self, context: Context) -> Array:
        """Returns positions [m] and, to their right, velocities [m/s], in W, shape [3, 2 num_vertices]."""
        return np.hstack([self.GetPositions(context), self.GetVelocities(context)])

    def SetPositions(self, context: Context, q: ArrayLike) -> None:
        """Sets the positions of the vertices in W [m], shape [3, num_vertices].

        Raises:
            ValueError: another shape, or a number is not finite.
        """
        given = self._checked("SetPositions", "q", q)
        self._mutable_state(context)[0] = given.T

    def SetVelocities(self, context: Context, v: ArrayLike) -> None:
        """Sets the velocities of the vertices in W [m/s], shape [3, num_vertices].

        Raises:
            ValueError: another shape, or a number is not finite.
        """
        given = self._checked("SetVelocities", "v", v)
        self._mutable_state(context)[1] = given.T

    def SetPositionsAndVelocities(self, context: Context, q: ArrayLike, v: ArrayLike) -> None:
        """Sets positions and velocities of the vertices, see SetPositions() and SetVelocities()."""
        caller = "SetPositionsAndVelocities"
        given = self._checked(caller, "q", q), self._checked(caller, "v", v)
        state = self._mutable_state(context)
        state[0], state[1] = given[0].T, given[1].T

    def Disable(self, context: Context) -> None:
        """Stops the body where it is: its velocities become zero, and it does not move until Enable()."""
        state = self._mutable_state(context)
        if self.is_enabled(context):
            state[1:] = 0.0
            context.get_mutable_abstract_parameter(self._parameter_index).set_value(False)

    def Enable(self, context: Context) -> None:
        """Lets the body move again."""
        self._state(context)
        if not self.is_enabled(context):
            context.get_mutable_abstract_parameter(self._parameter_index).set_value(True)

    def is_enabled(self, context: Context) -> bool:
        """Returns whether the body moves."""
        self._state(context)
        return bool(context.get_abstract_parameter(self._parameter_index).get_value())

    def CalcCenterOfMassPositionInWorld(self, context: Context) -> Array:
        """Returns the position of the centre of mass in W [m], shape [3]."""
        masses, p, _ = self._centers(context)
        return np.asarray(masses @ p / masses.sum())

    def CalcCenterOfMassTranslationalVelocityInWorld(self, context: Context) -> Array:
        """Returns the velocity of the centre of mass in W [m/s], shape [3]."""
        masses, _, v = self._centers(context)
        return np.asarray(masses @ v / masses.sum())

    def CalcEffectiveAngularVelocity(self, context: Context) -> Array:
        """Returns the angular velocity of a rigid body of this angular momentum and inertia, in W [rad/s], shape [3].

        Both are about the centre of mass, of the masses of elements in their centers (fem/elements.py).
        """
        masses, p, v = self._centers(context)
        r, u = p - masses @ p / masses.sum(), v - masses @ v / masses.sum()
        inertia = np.eye(3) * (masses @ (r * r).sum(axis=1)) - (masses[:, np.newaxis] * r).T @ r
        return np.linalg.solve(inertia, masses @ np.cross(r, u))

    def cauchy_stresses(self, context: Context) -> Array:
        """Returns the stress of each tetrahedron of the mesh, in W [Pa], shape [num_tetrahedra, 3, 3].

        It is that of deformation alone, without damping; of linear materials that of small strains.
        """
        from merganser.multibody.fem.stress import cauchy_stresses

        return cauchy_stresses(self.fem_body(), self._state(context)[0])

    def von_mises_stresses(self, context: Context, at_vertices: bool = False) -> Array:
        """Returns von Mises' stress of each tetrahedron [Pa], shape [num_tetrahedra].

        Args:
            context: of the plant.
            at_vertices: whether it is to be that of each vertex, the mean of the tetrahedra around it, shape
                [num_vertices].
        """
        from merganser.multibody.fem.stress import mean_at_vertices, von_mises_stresses

        stresses = von_mises_stresses(self.cauchy_stresses(context))
        return mean_at_vertices(self.fem_body(), stresses) if at_vertices else stresses

    def _centers(self, context: Context) -> tuple[Array, Array, Array]:
        """Masses of elements, and positions and velocities of their centers."""
        q, v, _ = self._state(context)
        nodes = self._mesh_W.tetrahedron_array()
        masses = self.fem_body().element_masses()
        return masses, q[nodes].mean(axis=1), v[nodes].mean(axis=1)

    def _state(self, context: Context) -> Array:
        """Positions, velocities and accelerations, for reading, shape [3, num_vertices, 3]."""
        self._require_finalized("a computation")
        self._get_tree("a computation").plant.ValidateContext(context)
        values: Array = context.get_discrete_state(self._state_index).value()
        return values.reshape(3, -1, 3)

    def _mutable_state(self, context: Context) -> Array:
        self._state(context)
        values: Array = context.get_mutable_discrete_state(self._state_index).get_mutable_value()
        return values.reshape(3, -1, 3)

    def _checked(self, caller: str, what: str, values: ArrayLike) -> Array:
        given = np.asarray(values, np.float64)
        shape = (3, len(self._p_DV))
        if given.shape != shape:
            raise ValueError(
                f"{caller}(): {what} of deformable body '{self._name}' must have shape {shape}; given {given.shape}."
            )
        if not np.isfinite(given).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(given))[0])
            raise ValueError(
                f"{caller}(): {what} of deformable body '{self._name}' is not finite: {what}[{place[0]}, {place[1]}] "
                f"is {given[place]}."
            )
        return given

    def _require_finalized(self, what: str) -> None:
        if self._state_index < 0:
            raise RuntimeError(
                f"Deformable body '{self._name}': {what} needs a finalized plant; call Finalize() once all elements "
                "have been added."
            )

    # ------------------------------------------------------------------ steps

    def _complete(self, state_index: int, parameter_index: int, forces: Sequence[ForceDensityFieldBase]) -> None:
        """Called by Finalize()."""
        self._state_index, self._parameter_index, self._forces = state_index, parameter_index, tuple(forces)
        self._fem = None  # what is anchored is known now

    def fem_body(self) -> FemBody:
        """The body as arrays."""
        if self._fem is None:
            from merganser.multibody.fem.body import FemBody

            held = self._is_held.copy()
            for fixed in self._held_by_anchored():
                held[fixed.vertices] = True
            self._fem = FemBody(self._mesh_W, self._config, held, self._name)
        return self._fem

    def reference_mesh(self) -> VolumeMesh:
        """Returns its mesh at rest, as it was registered, in W."""
        return self._mesh_W

    def place_held(self, context: Context) -> Array:
        """Returns where the vertices are, those that are held where they are held [m], shape [num_vertices, 3]."""
        plant, q = self._get_tree("a computation").plant, self._state(context)[0].copy()
        q[self._is_held] = self._mesh_W.vertex_array()[self._is_held]
        for fixed in self._held_by_anchored():
            q[fixed.vertices] = _moved(plant.EvalBodyPoseInWorld(context, fixed.body), fixed.p_BP)
        return q

    def check_alone(self, context: Context, what: str) -> None:
        """Raises an error if the body has contact, or is fixed to moving rigid bodies.

        Args:
            context: of the plant.
            what: it is, in the plural.

        Raises:
            RuntimeError: it has contacts, or is fixed to a rigid body that moves.
        """
        self._state(context)
        port = self._get_tree(what).plant.get_geometry_query_input_port()
        if port.HasValue(context) and port.Eval(context).inspector().GetProximityProperties(self._geometry_id):
            raise RuntimeError(
                f"{what} are for bodies without contact, and deformable body '{self._name}' has proximity properties. "
                "Register it without."
            )
        for fixed in self.vertices_fixed_to_moving():
            raise RuntimeError(
                f"{what} are for bodies that hang on nothing that moves, and deformable body '{self._name}' is fixed "
                f"to rigid body '{fixed.body.name()}'. Weld that to the world."
            )

    def vertices_fixed_to_moving(self) -> list[FixedVertices]:
        """Returns the vertices that are fixed to rigid bodies which can move, after Finalize()."""
        return [fixed for fixed in self._fixed if not self._get_tree("a constraint").IsAnchored(fixed.body)]

    def _held_by_anchored(self) -> list[FixedVertices]:
        tree = self._get_tree("a constraint")
        return [fixed for fixed in self._fixed if tree.is_finalized() and tree.IsAnchored(fixed.body)]

    def _default_state(self) -> Array:
        """Positions, velocities and accelerations of new Contexts, shape [9 num_vertices]."""
        q = _moved(self._default_pose, self._p_DV).ravel()
        return np.concatenate([q, np.zeros(2 * len(q))])

    def held_points(self, mobod_of: Callable[[RigidBody], int]) -> tuple[NDArray[np.int64], Array]:
        """Returns of each vertex the mobod that holds it, -1 of those that are free, and where in its frame [m].

        Args:
            mobod_of: returns the number of a rigid body's mobod; 0 is the world.
        """
        holders = np.where(self._is_held, 0, -1).astype(np.int64)
        points = np.array(self._mesh_W.vertex_array())
        for fixed in self._held_by_anchored():
            holders[fixed.vertices], points[fixed.vertices] = mobod_of(fixed.body), fixed.p_BP
        return holders, points

    def constant_force(self) -> Array | None:
        """Returns external forces on the vertices [N], shape [3 num_vertices]; None if they may change."""
        if any(type(field) is not GravityForceField for field in self._forces):
            return None
        return self.calc_force(None, np.array(self._mesh_W.vertex_array())).ravel()

    def calc_force(self, context: Context | None, q: Array, density: float | None = None) -> Array:
        """Returns external forces on the vertices [N], shape [num_vertices, 3].

        Args:
            context: of the plant; gravity needs none.
            q: where the vertices are [m], shape [num_vertices, 3].
            density: of the material, if it is to be another [kg/m³].
        """
        fem, force = self.fem_body(), np.zeros_like(q)
        scale = 1.0 if density is None else density / self._config.mass_density()
        nodes, volumes = fem.arrays.elements["nodes"], fem.arrays.elements["volume"]
        for field in self._forces:
            if type(field) is GravityForceField:
                pull = np.broadcast_to(scale * field.EvaluateAt(context, np.zeros(3)), (len(nodes), 3))
            else:
                pull = np.array([field.EvaluateAt(context, p_WQ) for p_WQ in q[nodes].mean(axis=1)])
            share = 0.25 * volumes
            if field.density_type() == ForceDensityType.kPerCurrentVolume:
                share = 0.25 * tetrahedron_volumes(q, nodes)
            np.add.at(force, nodes, (share[:, np.newaxis] * pull)[:, np.newaxis, :])
        return force


def _moved(X_AB: RigidTransform, p_BQ: Array) -> Array:
    """Points of B in A, shape [n, 3]."""
    return np.asarray(p_BQ @ X_AB.rotation().matrix().T + X_AB.translation())


def _is_inside(shape: Shape, X_BG: RigidTransform, p_BP: Array) -> NDArray[np.bool_]:
    """Whether points lie in a shape or on its surface, shape [n]."""
    from merganser.geometry import GeometryInstance, ProximityProperties, SceneGraph

    scene_graph = SceneGraph()
    geometry = GeometryInstance(X_BG, shape, "shape")
    geometry.set_proximity_properties(ProximityProperties())
    scene_graph.RegisterAnchoredGeometry(scene_graph.RegisterSource("shape"), geometry)
    context = scene_graph.CreateDefaultContext()
    query = scene_graph.get_query_output_port().Eval(context)
    return np.array([query.ComputeSignedDistanceToPoint(p)[0].distance <= 0.0 for p in p_BP])
