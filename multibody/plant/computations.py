"""Dynamics of a plant in a given Context, as functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody import kernels
from merganser.multibody.plant.arguments import check_forces, checked_vector
from merganser.multibody.plant.checked_code import checked
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.tree import MultibodyForces

if TYPE_CHECKING:
    from merganser.framework import Context

__all__ = ["PlantComputations"]

Array = NDArray[Any]


class PlantComputations:
    """System matrices, inverse dynamics, energies."""

    def __init__(self, model: PlantModel, views: StateViews, kinematics: PlantKinematics) -> None:
        self._model, self._views, self._kinematics = model, views, kinematics

    # ------------------------------------------------------------------ system matrices

    def calc_mass_matrix(self, context: Context) -> Array:
        """Returns the mass matrix M(q), reflected rotor inertias included, shape [nv, nv].

        By the composite rigid body algorithm (Featherstone 2008, section 6.2).
        """
        w = self._kinematics.eval_position(context)
        return w.calls.mass_matrix()

    def calc_mass_matrix_via_inverse_dynamics(self, context: Context) -> Array:
        """Returns what CalcMassMatrix() returns, up to rounding, by nv calls of inverse dynamics: slower."""
        w = self._kinematics.eval_position(context)
        num_v = len(w.v)
        M = np.empty((num_v, num_v), w.dtype)
        w.store.invalid |= w.velocity_slot.bit  # its records serve as workspace
        w.call(
            kernels.mass_matrix_by_columns, w.topology, w.parameters, w.position, w.zero_gravity, w.zeros_F,
            w.velocity, w.scratch, w.zeros_v.copy(), w.zeros_v.copy(), M,
        )  # fmt: skip
        return M

    def calc_generalized_forces(self, context: Context, forces: MultibodyForces) -> Array:
        """Returns the generalized forces that act as `forces` do: tau + sum_B J_B^T F_B, shape [nv].

        Args:
            context: of this plant.
            forces: forces on bodies and generalized forces.

        Raises:
            ValueError: the forces are for a plant of other size, or not finite.
            TypeError: they are no MultibodyForces.
        """
        check_forces(self._model, "CalcGeneralizedForces", forces)
        w = self._kinematics.eval_position(context)
        F_Bo_W, tau = forces._F_Bo_W.astype(w.dtype), w.zeros_v.copy()
        w.call(kernels.generalized_forces, w.topology, w.position, F_Bo_W, w.zeros_F.copy(), tau)
        if w.is_float and not _are_finite(forces):
            raise ValueError("CalcGeneralizedForces(): the forces must be finite.")
        return tau + forces._tau

    def calc_bias_term(self, context: Context) -> Array:
        """Returns the Coriolis, centripetal and gyroscopic forces C(q, v) v, shape [nv]."""
        w = self._views.workspace(context)
        return self._inverse_dynamics(context, w.zeros_v, w.zeros_F)

    def calc_inverse_dynamics(self, context: Context, known_vdot: ArrayLike, external_forces: MultibodyForces) -> Array:
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
        check_forces(self._model, "CalcInverseDynamics", external_forces)
        w = self._views.workspace(context)
        vdot: Any = known_vdot
        F_Bo_W = external_forces._F_Bo_W
        is_array = type(vdot) is np.ndarray and vdot.shape == w.v_shape
        if not (is_array and vdot.dtype is w.dtype and vdot.flags.carray):
            vdot = checked_vector(self._model, "CalcInverseDynamics", known_vdot, len(w.v), w.dtype)
        if w.is_numeric:
            F_Bo_W = F_Bo_W if F_Bo_W.dtype is w.dtype else F_Bo_W.astype(w.dtype)
        elif external_forces._is_fresh(F_Bo_W):  # what is known to be zero needs no products
            F_Bo_W = w.zeros_F
        tau = self._inverse_dynamics(context, vdot, F_Bo_W)
        if w.is_float and external_forces._tau.dtype is w.dtype:
            is_finite = checked.subtract_checked(tau, external_forces._tau)
        else:
            if w.is_numeric or not external_forces._is_fresh(external_forces._tau):
                tau -= external_forces._tau
            is_finite = not w.is_numeric or math.isfinite(abs(tau.dot(tau)))
        if not is_finite:  # look for the reason only now
            checked_vector(self._model, "CalcInverseDynamics", known_vdot, len(w.v), w.dtype)
            if not _are_finite(external_forces):
                raise ValueError("CalcInverseDynamics(): the external forces must be finite.")
        return tau

    def _inverse_dynamics(self, context: Context, vdot: Array, F_applied: Array) -> Array:
        w = self._views.workspace(context)
        store = w.store
        if store.invalid & w.position_bit:
            tau = w.calls.state_inverse_dynamics(vdot, F_applied)
            store.invalid &= w.kinematics_clearing
            return tau
        self._kinematics.eval_velocity(context)
        return w.calls.inverse_dynamics(vdot, F_applied)

    def calc_gravity_generalized_forces(self, context: Context) -> Array:
        """Returns the generalized forces of gravity tau_g(q), with M vdot + C v = tau_g + tau, shape [nv]."""
        w = self._kinematics.eval_position(context)
        tau_g = np.empty(len(w.v), w.dtype)
        w.call(kernels.gravity_forces, w.topology, w.parameters, w.gravity, w.position, w.scratch, tau_g)
        return tau_g

    # ------------------------------------------------------------------ energies and mass

    def calc_kinetic_energy(self, context: Context) -> float:
        """Returns the kinetic energy, rotors included [J]."""
        return self.calc_energies(context)[0]

    def calc_energies(self, context: Context) -> Array:
        w = self._kinematics.eval_velocity(context)
        energy = np.empty(2, w.dtype)
        w.call(kernels.energies, w.topology, w.parameters, w.gravity, w.position, w.velocity, energy)
        return energy


def _are_finite(forces: MultibodyForces) -> bool:
    return bool(np.isfinite(forces._F_Bo_W).all() and np.isfinite(forces._tau).all())
