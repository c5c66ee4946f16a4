"""Contacts of pairs of geometries as programs see them: where two surfaces are nearest, and what acts there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.optimization.evaluators.evaluators import ClosedFormEvaluator
from merganser.geometry import GeometryId, QueryObject
from merganser.multibody.inverse_kinematics.posture_functions import query_of
from merganser.multibody.math import SpatialForce
from merganser.multibody.optimization.plant_functions import with_derivatives
from merganser.multibody.plant import (
    CalcContactFrictionFromSurfaceProperties,
    CoulombFriction,
    MultibodyPlant,
)
from merganser.multibody.tree import BodyIndex, JacobianWrtVariable, RigidBody

Array = NDArray[np.float64]
Objects = NDArray[Any]

_WHERE = "Contacts of a program"


class ContactWrench(NamedTuple):
    """The spatial force that body A exerts on body B at the point Cb of B.

    Attributes:
        bodyA_index: of A.
        bodyB_index: of B.
        p_WCb_W: where Cb is, in the world [m], shape [3].
        F_Cb_W: [torque; force] on B at Cb, expressed in the world [N m, N].
    """

    bodyA_index: BodyIndex
    bodyB_index: BodyIndex
    p_WCb_W: Array
    F_Cb_W: SpatialForce


class Witnesses(NamedTuple):
    """Where two geometries are nearest, or deepest in each other; numbers of AutoDiffXd.

    Attributes:
        distance: signed [m].
        normal_W: unit vector from A to B in the world, shape [3].
        p_ACa, p_BCb: the points in the frames of the bodies [m], shape [3].
    """

    distance: Any
    normal_W: Objects
    p_ACa: Objects
    p_BCb: Objects


class PairOfGeometries:
    """Two geometries of a plant of AutoDiffXd that may touch, A and B.

    Args:
        plant: of AutoDiffXd.
        context: of the plant, in that of a diagram with the SceneGraph.
        ids: of A and of B.

    Raises:
        RuntimeError: there is no SceneGraph, or a geometry is not of a body of the plant.
    """

    def __init__(self, plant: MultibodyPlant, context: Context, ids: tuple[GeometryId, GeometryId]) -> None:
        self._plant, self._context = plant, context
        id_A, id_B = ids
        self.ids = id_A, id_B
        query = query_of(plant, context, _WHERE)
        self.body_A, self.body_B = self._body(query, id_A), self._body(query, id_B)
        self._known: tuple[list[AutoDiffXd], Witnesses] | None = None

    def _body(self, query: QueryObject, id: GeometryId) -> RigidBody:
        body = self._plant.GetBodyFromFrameId(query.inspector().GetFrameId(id))
        if body is None:
            raise RuntimeError(
                f"Geometry '{query.inspector().GetName(id)}' is of no body of plant "
                f"'{self._plant.GetSystemPathname()}'. Choose pairs of the plant's own geometries."
            )
        return body

    def calc_witnesses(self) -> Witnesses:
        """Where the two are nearest at the positions in the Context; kept for these, as two constraints ask."""
        q = list(self._plant.GetPositions(self._context))
        if self._known is None or not all(one is other for one, other in zip(q, self._known[0])):
            self._known = q, self._find_witnesses()
        return self._known[1]

    def _find_witnesses(self) -> Witnesses:
        query = query_of(self._plant, self._context, _WHERE)
        pair, inspector = query.ComputeSignedDistancePairClosestPoints(*self.ids), query.inspector()
        id_A, _ = self.ids
        is_in_order = pair.id_A == id_A
        p_GCa, p_GCb = (pair.p_ACa, pair.p_BCb) if is_in_order else (pair.p_BCb, pair.p_ACa)
        p_ACa, p_BCb = (inspector.GetPoseInFrame(id) @ p for id, p in zip(self.ids, (p_GCa, p_GCb)))
        return Witnesses(pair.distance, -pair.nhat_BA_W if is_in_order else pair.nhat_BA_W, p_ACa, p_BCb)

    def calc_jacobians(self) -> tuple[Objects, Objects]:
        """Of the velocities of Ca and of Cb in the world for v, of AutoDiffXd, shape [3, num_velocities] each."""
        at, world, by_v = self.calc_witnesses(), self._plant.world_frame(), JacobianWrtVariable.kV
        J_Ca, J_Cb = (
            self._plant.CalcJacobianTranslationalVelocity(self._context, by_v, body.body_frame(), p, world, world)
            for body, p in ((self.body_A, at.p_ACa), (self.body_B, at.p_BCb))
        )
        return J_Ca, J_Cb

    def calc_p_WCb(self) -> Objects:
        """Where Cb is in the world [m], of AutoDiffXd, shape [3]."""
        at, frame, world = self.calc_witnesses(), self.body_B.body_frame(), self._plant.world_frame()
        p_WCb: Objects = self._plant.CalcPointsPositions(self._context, frame, at.p_BCb, world).ravel()
        return p_WCb

    def calc_static_friction(self) -> float:
        """The coefficient of static friction of the two surfaces.

        Raises:
            RuntimeError: a geometry has no ("material", "coulomb_friction").
        """
        inspector = query_of(self._plant, self._context, _WHERE).inspector()
        frictions = []
        for id in self.ids:
            properties = inspector.GetProximityProperties(id)
            friction = properties and properties.GetPropertyOrDefault("material", "coulomb_friction", None)
            if not isinstance(friction, CoulombFriction):
                raise RuntimeError(
                    f"Geometry '{inspector.GetName(id)}' of plant '{self._plant.GetSystemPathname()}' has no "
                    "('material', 'coulomb_friction'), which its contacts need. Set it by AddContactMaterial()."
                )
            frictions.append(friction)
        return CalcContactFrictionFromSurfaceProperties(*frictions).static_friction()


class ContactWrenchFromForceInWorldFrameEvaluator(ClosedFormEvaluator):
    """The spatial force [0; f] on B at Cb that a force f from A on B is: no torque about the point of contact.

    Variables: [q, f], f expressed in the world [N], shape [3]. Values: [torque; force], shape [6].

    Args:
        plant: of AutoDiffXd, or of floats, with a SceneGraph.
        context: of the plant, in that of the diagram.
        geometry_id_pair: geometries of A and of B, in the order of SceneGraphInspector.GetCollisionCandidates().

    Raises:
        RuntimeError: there is no SceneGraph, or a geometry is not of the plant.
    """

    def __init__(
        self, plant: MultibodyPlant, context: Context, geometry_id_pair: tuple[GeometryId, GeometryId]
    ) -> None:
        moved_plant, moved_context = with_derivatives(type(self).__name__, plant, context)
        self._pair = PairOfGeometries(moved_plant, moved_context, geometry_id_pair)
        num_vars = plant.num_positions() + 3
        ClosedFormEvaluator.__init__(self, num_vars, 6, "contact_wrench_from_pure_force_in_world_frame")

    def pair(self) -> PairOfGeometries:
        """The geometries of A and B."""
        return self._pair

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        jacobian = np.zeros((6, x.size))
        jacobian[3:, -3:] = np.eye(3)
        return jacobian @ x, jacobian
