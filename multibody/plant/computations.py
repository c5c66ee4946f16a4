"""Kinematics and dynamics of a plant in a given Context, as functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RigidTransform
from merganser.multibody import kernels
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant.state_access import PlantState
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Frame, MultibodyForces, RigidBody

__all__ = ["PlantComputations"]

Array = NDArray[Any]


class PlantComputations(PlantState):
    """What follows from positions and velocities: kinematics, system matrices, inverse dynamics, energies."""

    # ------------------------------------------------------------------ kinematics in the cache

    def _calc_position(self, context: Any, output: Any) -> None:
        w = self._workspace(context)
        w.code_of(kernels.position_kinematics)(w.topology, w.parameters, w.q, w.position)

    def _calc_velocity(self, context: Any, output: Any) -> None:
        w = self._eval_position(context)
        w.code_of(kernels.velocity_kinematics)(w.topology, w.parameters, w.position, w.v, w.velocity)

    def _eval_position(self, context: Any) -> Workspace:
        """The workspace, with position kinematics up to date."""
        w = context._workspace
        if w is None or context._system is not self:
            w = self._workspace(context)
        slot = w.position_slot
        if w.store.invalid & slot.bit:
            slot.compute()
        return w  # type: ignore[no-any-return]

    def _eval_velocity(self, context: Any) -> Workspace:
        """The workspace, with position and velocity kinematics up to date."""
        w = self._eval_position(context)
        slot = w.velocity_slot
        if w.store.invalid & slot.bit:
            slot.compute()
        return w

    # ------------------------------------------------------------------ poses and velocities

    def EvalBodyPoseInWorld(self, context: Any, body: RigidBody) -> RigidTransform:
        """Returns the pose X_WB of a body."""
        mobod = self._mobod("EvalBodyPoseInWorld", body)
        record = self._eval_position(context).position[mobod]
        return RigidTransform._from_parts(record["R_WB"].copy(), record["p_WoBo_W"].copy())

    def EvalBodySpatialVelocityInWorld(self, context: Any, body: RigidBody) -> SpatialVelocity:
        """Returns the spatial velocity V_WB_W of a body at its origin, in the world frame."""
        mobod = self._mobod("EvalBodySpatialVelocityInWorld", body)
        return SpatialVelocity(self._eval_velocity(context).velocity[mobod]["V_WB_W"].copy())

    def CalcRelativeTransform(self, context: Any, frame_A: Frame, frame_B: Frame) -> RigidTransform:
        """Returns the pose X_AB of frame B in frame A."""
        X_WA = self.EvalBodyPoseInWorld(context, frame_A.body()) @ frame_A.GetFixedPoseInBodyFrame()
        X_WB = self.EvalBodyPoseInWorld(context, frame_B.body()) @ frame_B.GetFixedPoseInBodyFrame()
        return X_WA.InvertAndCompose(X_WB)

    def CalcPointsPositions(self, context: Any, frame_B: Frame, p_BQi: ArrayLike, frame_A: Frame) -> Array:
        """Returns the positions in frame A of points Qi that are fixed to frame B.

        Args:
            context: of this plant.
            frame_B: where the points are fixed.
            p_BQi: their positions in B [m], shape [3] or [3, n].
            frame_A: where they are wanted.

        Returns:
            p_AQi [m], shape [3, n].
        """
        points = np.asarray(p_BQi)
        if points.ndim not in (1, 2) or points.shape[0] != 3:
            raise ValueError(f"CalcPointsPositions(): p_BQi must have shape [3] or [3, n], got {points.shape}.")
        X_AB = self.CalcRelativeTransform(context, frame_A, frame_B)
        return X_AB._R_AB @ points.reshape(3, -1) + X_AB._p_AoBo_A[:, np.newaxis]

    def _mobod(self, caller: str, body: RigidBody) -> int:
        self._tree._check_mine(caller, "this computation", body)
        self._require_finalized(caller)
        return int(self._tree.mobod_of_body[body.index()])

    # ------------------------------------------------------------------ system matrices

    def CalcMassMatrix(self, context: Any) -> Array:
        """Returns the mass matrix M(q), reflected rotor inertias included, shape [nv, nv].

        By the composite rigid body algorithm (Featherstone 2008, section 6.2).
        """
        w = self._eval_position(context)
        M = np.empty((len(w.v), len(w.v)), w.dtype)
        w.code_of(kernels.mass_matrix)(w.topology, w.parameters, w.position, w.scratch, M)
        return M

    def CalcBiasTerm(self, context: Any) -> Array:
        """Returns the Coriolis, centripetal and gyroscopic forces C(q, v) v, shape [nv]."""
        w = self._eval_velocity(context)
        return self._inverse_dynamics(w, w.zeros_v, w.zeros_F)

    def CalcInverseDynamics(self, context: Any, known_vdot: ArrayLike, external_forces: MultibodyForces) -> Array:
        """Returns the generalized forces that are needed, beside the external ones, for given accelerations.

        tau = M(q) vdot + C(q, v) v - tau_app - sum_B J_B^T F_app_B; gravity and damping only act if they are among
        the external forces (see CalcForceElementsContribution). By the recursive Newton-Euler algorithm
        (Featherstone 2008, section 5.3).

        Args:
            context: of this plant.
            known_vdot: generalized accelerations, shape [nv].
            external_forces: forces on bodies and generalized forces.

        Returns:
            tau, shape [nv].
        """
        w = self._eval_velocity(context)
        vdot = self._checked_vector("CalcInverseDynamics", known_vdot, len(w.v)).astype(w.dtype, copy=False)
        return self._inverse_dynamics(w, vdot, external_forces._F_Bo_W) - external_forces._tau

    def _inverse_dynamics(self, w: Workspace, vdot: Array, F_applied: Array) -> Array:
        tau = np.empty(len(w.v), w.dtype)
        w.code_of(kernels.inverse_dynamics)(
            w.topology, w.parameters, w.zero_gravity, w.position, w.velocity, vdot, F_applied, w.scratch, tau
        )
        return tau

    def CalcGravityGeneralizedForces(self, context: Any) -> Array:
        """Returns the generalized forces of gravity tau_g(q), so that M vdot + C v = tau_g + tau, shape [nv]."""
        w = self._eval_position(context)
        tau_g = np.empty(len(w.v), w.dtype)
        w.code_of(kernels.gravity_forces)(w.topology, w.parameters, w.gravity, w.position, w.scratch, tau_g)
        return tau_g

    def CalcForceElementsContribution(self, context: Any, forces: MultibodyForces) -> None:
        """Sets `forces` to those of gravity and joint damping."""
        w = self._eval_position(context)
        p, mass = w.position["p_BoBcm_W"], w.position["mass"]
        forces.SetZero()
        F_cm_W = mass[:, np.newaxis] * w.gravity
        F_cm_W[0] = 0.0
        forces._F_Bo_W[:, :3] = np.cross(p, F_cm_W)
        forces._F_Bo_W[:, 3:] = F_cm_W
        for joint in self._tree.joints:
            joint.AddInDamping(context, forces)

    def MapVelocityToQDot(self, context: Any, v: ArrayLike) -> Array:
        """Returns qdot = N(q) v, shape [nq]."""
        w = self._workspace(context)
        velocity = self._checked_vector("MapVelocityToQDot", v, len(w.v)).astype(w.dtype, copy=False)
        qdot = np.empty(len(w.q), w.dtype)
        w.code_of(kernels.velocity_to_qdot)(w.topology, w.q, velocity, qdot)
        return qdot

    def MapQDotToVelocity(self, context: Any, qdot: ArrayLike) -> Array:
        """Returns v = N+(q) qdot, shape [nv]."""
        w = self._workspace(context)
        rates = self._checked_vector("MapQDotToVelocity", qdot, len(w.q)).astype(w.dtype, copy=False)
        v = np.empty(len(w.v), w.dtype)
        w.code_of(kernels.qdot_to_velocity)(w.topology, w.q, rates, v)
        return v

    def IsVelocityEqualToQDot(self) -> bool:
        """Returns whether qdot = v for all joints."""
        return not any(joint.num_positions() != joint.num_velocities() for joint in self._tree.joints)

    # ------------------------------------------------------------------ energies and mass

    def CalcKineticEnergy(self, context: Any) -> float:
        """Returns the kinetic energy, rotors included [J]."""
        return self._energies(context)[0]  # type: ignore[no-any-return]

    def CalcPotentialEnergy(self, context: Any) -> float:
        """Returns the potential energy of gravity, zero for masses at the world origin [J]."""
        return self._energies(context)[1]  # type: ignore[no-any-return]

    EvalKineticEnergy = CalcKineticEnergy
    EvalPotentialEnergy = CalcPotentialEnergy

    def _energies(self, context: Any) -> Array:
        w = self._eval_velocity(context)
        energy = np.empty(2, w.dtype)
        w.code_of(kernels.energies)(w.topology, w.parameters, w.gravity, w.position, w.velocity, energy)
        return energy

    def CalcTotalMass(self, context: Any, model_instances: list[int] | None = None) -> float:
        """Returns the mass of all bodies but the world, or of those of some model instances [kg]."""
        w = self._workspace(context)
        bodies = [
            body
            for body in self._tree.bodies
            if body is not self._tree.world_body()
            and (model_instances is None or body.model_instance() in model_instances)
        ]
        return sum((w.parameters["mass"][self._tree.mobod_of_body[body.index()]] for body in bodies), 0.0)

    def CalcCenterOfMassPositionInWorld(self, context: Any) -> Array:
        """Returns the position p_WoScm_W of the centre of mass of all bodies but the world [m], shape [3].

        Raises:
            RuntimeError: the total mass is zero.
        """
        w = self._eval_position(context)
        mass = w.position["mass"][1:]
        total = mass.sum()
        if not total.real > 0.0:
            raise RuntimeError("CalcCenterOfMassPositionInWorld(): the total mass is zero, so there is no centre.")
        p_WoBcm_W = w.position["p_WoBo_W"][1:] + w.position["p_BoBcm_W"][1:]
        return mass @ p_WoBcm_W / total
