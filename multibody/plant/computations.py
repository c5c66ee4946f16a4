"""Kinematics and dynamics of a plant in a given Context, as functions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RigidTransform
from merganser.multibody import kernels
from merganser.multibody.math import SpatialVelocity
from merganser.multibody.plant.free_bodies import PlantFreeBodies
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Frame, MultibodyForces, RigidBody

__all__ = ["PlantComputations"]

Array = NDArray[Any]


class PlantComputations(PlantFreeBodies):
    """What follows from positions and velocities: kinematics, system matrices, inverse dynamics, energies."""

    _force_sizes: tuple[int, int]  # number of bodies and of velocities

    # ------------------------------------------------------------------ kinematics in the cache

    def _calc_position(self, context: Any, output: Any) -> None:
        self._eval_position(context)

    def _calc_velocity(self, context: Any, output: Any) -> None:
        self._eval_velocity(context)

    def _eval_position(self, context: Any) -> Workspace:
        """The workspace, with position kinematics up to date."""
        w = self._workspace(context)
        store, bit = w.store, w.position_slot.bit
        if store.invalid & bit:
            # What slot.compute() does for an entry that calls no other; it takes 1 us less.
            w.call(kernels.position_kinematics, w.topology, w.parameters, w.q, w.position)
            store.invalid &= ~bit
        return w

    def _eval_velocity(self, context: Any) -> Workspace:
        """The workspace, with position and velocity kinematics up to date."""
        w = self._workspace(context)
        store, position_bit, bit = w.store, w.position_slot.bit, w.velocity_slot.bit
        if store.invalid & position_bit:
            w.call(kernels.kinematics, w.topology, w.parameters, w.q, w.v, w.position, w.velocity)
            store.invalid &= ~(position_bit | bit)
        elif store.invalid & bit:
            w.call(kernels.velocity_kinematics, w.topology, w.parameters, w.position, w.v, w.velocity)
            store.invalid &= ~bit
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
        X_WA = self._frame_pose("CalcRelativeTransform", context, frame_A)
        X_WB = self._frame_pose("CalcRelativeTransform", context, frame_B)
        return X_WA.InvertAndCompose(X_WB)

    def _frame_pose(self, caller: str, context: Any, frame_F: Frame) -> RigidTransform:
        """X_WF of a frame of this plant."""
        if not isinstance(frame_F, Frame):
            raise TypeError(f"{caller}() takes frames, got a {type(frame_F).__name__}. A body has body_frame().")
        self._mobod(caller, frame_F.body())
        return self.EvalBodyPoseInWorld(context, frame_F.body()) @ frame_F.GetFixedPoseInBodyFrame()

    def CalcPointsPositions(self, context: Any, frame_B: Frame, p_BQi: ArrayLike, frame_A: Frame) -> Array:
        """Returns the positions in frame A of points Qi that are fixed to frame B.

        Args:
            context: of this plant.
            frame_B: where the points are fixed.
            p_BQi: their positions in B [m], shape [3] or [3, n].
            frame_A: where they are wanted.

        Returns:
            p_AQi [m], shape [3, n].

        Raises:
            ValueError: p_BQi has another shape.
        """
        points = np.asarray(p_BQi)
        if points.ndim not in (1, 2) or points.shape[0] != 3:
            raise ValueError(f"CalcPointsPositions(): p_BQi must have shape [3] or [3, n], got {points.shape}.")
        X_AB = self.CalcRelativeTransform(context, frame_A, frame_B)
        return X_AB._R_AB @ points.reshape(3, -1) + X_AB._p_AoBo_A[:, np.newaxis]

    def _mobod(self, caller: str, body: RigidBody) -> int:
        if not isinstance(body, RigidBody):
            raise TypeError(f"{caller}() takes a RigidBody, got {type(body).__name__}.")
        if body._tree is not self._tree or body._mobod is None:
            self._tree._check_mine(caller, "it", body)
            self._require_finalized(f"{caller}()")
        assert body._mobod is not None
        return body._mobod

    # ------------------------------------------------------------------ system matrices

    def CalcMassMatrix(self, context: Any) -> Array:
        """Returns the mass matrix M(q), reflected rotor inertias included, shape [nv, nv].

        By the composite rigid body algorithm (Featherstone 2008, section 6.2).
        """
        w = self._eval_position(context)
        M = np.empty((len(w.v), len(w.v)), w.dtype)
        w.call(kernels.mass_matrix, w.topology, w.parameters, w.position, w.scratch, M)
        return M

    def CalcBiasTerm(self, context: Any) -> Array:
        """Returns the Coriolis, centripetal and gyroscopic forces C(q, v) v, shape [nv]."""
        w = self._workspace(context)
        return self._inverse_dynamics(context, w.zeros_v, w.zeros_F)

    def CalcInverseDynamics(self, context: Any, known_vdot: ArrayLike, external_forces: MultibodyForces) -> Array:
        """Returns the generalized forces that are needed, beside the external ones, for given accelerations.

        tau = M(q) vdot + C(q, v) v - tau_app - sum_B J_B^T F_app_B; gravity and damping only act if they are
        among the external forces (see CalcForceElementsContribution). By the recursive Newton-Euler algorithm
        (Featherstone 2008, section 5.3).

        Args:
            context: of this plant.
            known_vdot: generalized accelerations, shape [nv].
            external_forces: forces on bodies and generalized forces.

        Returns:
            tau, shape [nv].

        Raises:
            ValueError: known_vdot or the forces are of wrong size, or not finite.
            TypeError: the forces are no MultibodyForces.
        """
        self._check_forces("CalcInverseDynamics", external_forces)
        w = self._workspace(context)
        vdot: Any = known_vdot
        F_Bo_W = external_forces._F_Bo_W
        is_array = type(vdot) is np.ndarray and vdot.shape == w.v.shape
        if not (is_array and vdot.dtype is w.dtype and vdot.flags.carray):
            vdot = self._checked_vector("CalcInverseDynamics", known_vdot, len(w.v), w.dtype)
        if F_Bo_W.dtype is not w.dtype:
            F_Bo_W = F_Bo_W.astype(w.dtype)
        tau = self._inverse_dynamics(context, vdot, F_Bo_W)
        tau -= external_forces._tau
        if not math.isfinite(abs(tau.dot(tau))):  # look for the reason only now
            self._checked_vector("CalcInverseDynamics", known_vdot, len(w.v), w.dtype)
            if not _are_finite(external_forces):
                raise ValueError("CalcInverseDynamics(): the external forces must be finite.")
        return tau

    def _check_forces(self, caller: str, forces: MultibodyForces) -> None:
        if not isinstance(forces, MultibodyForces):
            raise TypeError(f"{caller}() takes MultibodyForces, got {type(forces).__name__}.")
        mine = self._force_sizes
        theirs = (len(forces._F_Bo_W), len(forces._tau))
        if mine != theirs:
            raise ValueError(
                f"{caller}(): the forces are for {theirs[0]} bodies and {theirs[1]} velocities, but plant "
                f"'{self.GetSystemPathname()}' has {mine[0]} and {mine[1]}. Make them by "
                "MultibodyForces(plant)."
            )

    def _inverse_dynamics(self, context: Any, vdot: Array, F_applied: Array) -> Array:
        w = self._workspace(context)
        tau = w.zeros_v.copy()  # quicker than np.empty
        store = w.store
        if store.invalid & w.position_bit:
            w.call(
                kernels.state_inverse_dynamics, w.topology, w.parameters, w.zero_gravity, w.q, w.v, vdot, F_applied,
                w.position, w.velocity, w.scratch, tau,
            )  # fmt: skip
            store.invalid &= w.kinematics_clearing
            return tau
        self._eval_velocity(context)
        w.call(
            kernels.inverse_dynamics, w.topology, w.parameters, w.zero_gravity, w.position, w.velocity,
            vdot, F_applied, w.scratch, tau,
        )  # fmt: skip
        return tau

    def CalcGravityGeneralizedForces(self, context: Any) -> Array:
        """Returns the generalized forces of gravity tau_g(q), with M vdot + C v = tau_g + tau, shape [nv]."""
        w = self._eval_position(context)
        tau_g = np.empty(len(w.v), w.dtype)
        w.call(kernels.gravity_forces, w.topology, w.parameters, w.gravity, w.position, w.scratch, tau_g)
        return tau_g

    def CalcForceElementsContribution(self, context: Any, forces: MultibodyForces) -> None:
        """Sets `forces` to those of gravity and joint damping.

        Raises:
            ValueError: the forces are for a plant of other size.
            TypeError: they are no MultibodyForces.
        """
        self._check_forces("CalcForceElementsContribution", forces)
        w = self._eval_position(context)
        body = w.position[1:]
        # Gravity acts at Bcm: F_Bo_W = [p_BoBcm_W x m g; m g]. The world stays where it is.
        F_Bo_W = np.zeros((len(w.position), 6), w.dtype)
        F_Bo_W[1:, 3:] = body["mass"][:, np.newaxis] * w.gravity
        F_Bo_W[1:, :3] = np.cross(body["p_BoBcm_W"], F_Bo_W[1:, 3:])
        forces._F_Bo_W = F_Bo_W
        forces._tau = np.zeros(len(w.v), w.dtype)
        for joint in self._tree.joints:
            joint.AddInDamping(context, forces)

    def MapVelocityToQDot(self, context: Any, v: ArrayLike) -> Array:
        """Returns qdot = N(q) v, shape [nq].

        Raises:
            RuntimeError: a joint with roll, pitch and yaw is at a pitch of a quarter turn.
            ValueError: v is of wrong size or not finite.
        """
        w = self._workspace(context)
        velocity = self._checked_vector("MapVelocityToQDot", v, len(w.v), w.dtype)
        self._check_pitches("MapVelocityToQDot()", w)
        qdot = np.empty(len(w.q), w.dtype)
        w.call(kernels.velocity_to_qdot, w.topology, w.q, velocity, qdot)
        return qdot

    def MapQDotToVelocity(self, context: Any, qdot: ArrayLike) -> Array:
        """Returns v = N+(q) qdot, shape [nv]."""
        w = self._workspace(context)
        rates = self._checked_vector("MapQDotToVelocity", qdot, len(w.q), w.dtype)
        v = np.empty(len(w.v), w.dtype)
        w.call(kernels.qdot_to_velocity, w.topology, w.q, rates, v)
        return v

    def IsVelocityEqualToQDot(self) -> bool:
        """Returns whether qdot = v for all joints.

        Raises:
            RuntimeError: before Finalize().
        """
        return self._tree.num_positions() == self._tree.num_velocities() and not self._pitches

    # ------------------------------------------------------------------ energies and mass

    def CalcKineticEnergy(self, context: Any) -> float:
        """Returns the kinetic energy, rotors included [J]."""
        return self._energies(context)[0]

    def CalcPotentialEnergy(self, context: Any) -> float:
        """Returns the potential energy of gravity, zero for masses at the world origin [J]."""
        return self._energies(context)[1]

    EvalKineticEnergy = CalcKineticEnergy
    EvalPotentialEnergy = CalcPotentialEnergy

    def _energies(self, context: Any) -> Array:
        w = self._eval_velocity(context)
        energy = np.empty(2, w.dtype)
        w.call(kernels.energies, w.topology, w.parameters, w.gravity, w.position, w.velocity, energy)
        return energy

    def CalcTotalMass(self, context: Any, model_instances: Iterable[int] | None = None) -> float:
        """Returns the mass of all bodies but the world, or of those of some model instances [kg]."""
        mass: Array = self._workspace(context).parameters["mass"]
        return mass[self._moving_mobods("CalcTotalMass", model_instances)].sum()

    def CalcCenterOfMassPositionInWorld(self, context: Any, model_instances: Iterable[int] | None = None) -> Array:
        """Returns the position p_WoScm_W of the centre of mass of bodies [m], shape [3].

        Args:
            context: of this plant.
            model_instances: whose bodies; by default all. The world does not count.

        Raises:
            RuntimeError: the total mass is zero, or there is no such model instance.
        """
        mobods = self._moving_mobods("CalcCenterOfMassPositionInWorld", model_instances)
        body = self._eval_position(context).position[mobods]
        mass = body["mass"]
        if not mass.any():
            raise RuntimeError(
                "CalcCenterOfMassPositionInWorld(): the total mass is zero, so there is no centre of mass."
            )
        return mass @ (body["p_WoBo_W"] + body["p_BoBcm_W"]) / mass.sum()

    def _moving_mobods(self, caller: str, model_instances: Iterable[int] | None) -> Array:
        """Mobods of the bodies of the model instances, or of all, without the world."""
        self._require_finalized(f"{caller}()")
        if model_instances is None:
            return np.arange(1, self._tree.num_bodies())
        instances = set(model_instances)
        for instance in instances:
            self._tree.GetModelInstanceName(instance)  # refuses one that does not exist
        return np.array(
            [body._mobod for body in self._tree.bodies if body._mobod and body.model_instance() in instances],
            dtype=np.int64,
        )


def _are_finite(forces: MultibodyForces) -> bool:
    return bool(np.isfinite(forces._F_Bo_W).all() and np.isfinite(forces._tau).all())
