"""Dynamics of a plant in a given Context, and forces, energies and powers of its force elements, gravity among them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.multibody import kernels
from merganser.multibody.plant.arguments import check_forces, checked, checked_vector
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step.failures import describe_overflow, time_of
from merganser.multibody.plant.transmissions import PlantTransmissions
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import ForceElement, MultibodyForces, UniformGravityFieldElement
from merganser.multibody.tree.force_elements import LinearBushingRollPitchYaw

if TYPE_CHECKING:
    from merganser.framework import Context


Array = NDArray[Any]


class PlantComputations:
    """System matrices, inverse dynamics, energies; all with armature of tendons."""

    def __init__(
        self, model: PlantModel, views: StateViews, kinematics: PlantKinematics, transmissions: PlantTransmissions
    ) -> None:
        self._model, self._views, self._kinematics, self._transmissions = model, views, kinematics, transmissions

    # ------------------------------------------------------------------ system matrices

    def calc_mass_matrix(self, context: Context) -> Array:
        """Returns the mass matrix M(q), reflected rotor inertias included, shape [nv, nv].

        By the composite rigid body algorithm (Featherstone 2008, section 6.2).
        """
        w = self._kinematics.eval_position(context)
        return self._transmissions.add_masses(context, w.calls.mass_matrix())

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
        return self._transmissions.add_masses(context, M)

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
        else:
            self._kinematics.eval_velocity(context)
            tau = w.calls.inverse_dynamics(vdot, F_applied)
        return self._transmissions.add_inertial_forces(context, vdot, tau)

    def calc_gravity_generalized_forces(self, context: Context) -> Array:
        """Returns the generalized forces of gravity tau_g(q), with M vdot + C v = tau_g + tau, shape [nv]."""
        w = self._kinematics.eval_position(context)
        return w.calls.gravity_forces()

    def calc_manipulator_dynamics(self, context: Context) -> tuple[Array, Array, Array]:
        """Returns M(q), C(q, v) v and tau_g(q) of M vdot + C v = tau_g + tau, by kinematics that are computed once."""
        w = self._kinematics.eval_velocity(context)
        return self.calc_mass_matrix(context), self.calc_bias_term(context), w.calls.gravity_forces()

    # ------------------------------------------------------------------ energies and mass

    def calc_kinetic_energy(self, context: Context) -> float:
        """Returns the kinetic energy, rotors included [J]."""
        return self.calc_energies(context)[0]

    def calc_energies(self, context: Context) -> Array:
        w = self._kinematics.eval_velocity(context)
        energy = np.empty(2, w.dtype)
        w.call(kernels.energies, w.topology, w.parameters, w.gravity, w.position, w.velocity, energy)
        energy[0] += self._transmissions.calc_kinetic_energy(context)
        return energy


def _are_finite(forces: MultibodyForces) -> bool:
    return bool(np.isfinite(forces._F_Bo_W).all() and np.isfinite(forces._tau).all())


class ForceElements:
    """Force elements: forces on bodies and joints besides actuators, joint damping and input ports.

    Errors of all functions that compute forces or energies: RuntimeError, if a spring has no length or the pitch of a
    bushing is a quarter turn.
    """

    def __init__(
        self,
        model: PlantModel,
        kinematics: PlantKinematics,
        computations: PlantComputations,
        transmissions: PlantTransmissions,
    ) -> None:
        self._transmissions = transmissions
        self._model, self._tree = model, model.tree
        self._kinematics, self._computations = kinematics, computations

    # ------------------------------------------------------------------ forces

    def sum_up_forces(self, context: Context, w: Workspace, which: tuple[int, int], tau: Array, F_Bo_W: Array) -> None:
        """Adds the forces of a range of elements; kinematics must be up to date."""
        status = w.call(
            kernels.force_elements, self._tree.elements, w.constants, *which, w.q, w.v, w.position, w.velocity,
            tau, F_Bo_W, tau, F_Bo_W,
        )  # fmt: skip
        if status:
            raise RuntimeError(self.describe_failure(context, w, status))

    def describe_failure(self, context: Context, w: Workspace, status: int) -> str:
        """Why the force element of a number has no force."""
        if w.is_float and not np.isfinite(w.x).all():
            return describe_overflow(self._model, context, w, w.x)
        element = self._tree.force_elements[status]
        return (
            f"{element!r} of plant '{self._model.path()}' has no force at time {time_of(context)} s: "
            f"{element._describe_failure()}"
        )

    def calc_force_elements_contribution(self, context: Context, forces: MultibodyForces) -> None:
        """Sets `forces` to those of all force elements, gravity included, and of joint damping.

        Raises:
            ValueError: the forces are for a plant of other size.
            TypeError: they are no MultibodyForces.
        """
        check_forces(self._model, "CalcForceElementsContribution", forces)
        w = self._kinematics.eval_velocity(context)
        forces._F_Bo_W, forces._tau = w.zeros_F.copy(), w.zeros_v.copy()
        self._add_weights(w, forces)
        if len(self._tree.elements):
            self.sum_up_forces(context, w, (0, len(self._tree.elements)), forces._tau, forces._F_Bo_W)
        for joint in self._tree.joints:
            joint.AddInDamping(context, forces)

    def _add_weights(self, w: Workspace, forces: MultibodyForces) -> None:
        """Adds the weight of all bodies on which gravity acts, F_Bo_W = [p_BoBcm_W x m g; m g]."""
        has_weight = np.flatnonzero(w.topology["is_weightless"] == 0)[1:]  # the world stays where it is
        bodies = w.position[has_weight]
        weights = bodies["mass"][:, np.newaxis] * w.gravity
        forces._F_Bo_W[has_weight, 3:] += weights
        forces._F_Bo_W[has_weight, :3] += np.cross(bodies["p_BoBcm_W"], weights)

    def add_element_contribution(self, context: Context, element: ForceElement, forces: MultibodyForces) -> None:
        """Adds the forces of one element to `forces`."""
        check_forces(self._model, "CalcAndAddForceContribution", forces)
        w = self._kinematics.eval_velocity(context)
        forces._F_Bo_W, forces._tau = forces._F_Bo_W.astype(w.dtype), forces._tau.astype(w.dtype)
        if isinstance(element, UniformGravityFieldElement):
            self._add_weights(w, forces)
        else:
            number = int(element.index()) - 1
            self.sum_up_forces(context, w, (number, number + 1), forces._tau, forces._F_Bo_W)

    def calc_forces_on_ends(self, context: Context, element: LinearBushingRollPitchYaw) -> Array:
        """Spatial forces of a bushing on the bodies L0 and L1, about their origins, in W, shape [2, 6]."""
        w = self._kinematics.eval_velocity(context)
        F_Bo_W = np.zeros((2, 6), w.dtype)
        number = int(element.index()) - 1
        status = w.call(
            kernels.bushing_forces, self._tree.elements, w.constants, number, w.position, w.velocity, F_Bo_W
        )
        if status:
            raise RuntimeError(self.describe_failure(context, w, status))
        return F_Bo_W

    # ------------------------------------------------------------------ energies and powers

    def calc_potential_energy(self, context: Context) -> Any:
        """Returns the potential energy of all force elements [J]; that of gravity is zero for masses at the origin."""
        return self._computations.calc_energies(context)[1] + self._sum_up_energies(context)[0]

    def calc_conservative_power(self, context: Context) -> Any:
        """Returns the power of gravity and of the springs: the rate at which potential energy decreases [W]."""
        return self._gravity_power(context) + self._sum_up_energies(context)[1]

    def calc_non_conservative_power(self, context: Context) -> Any:
        """Returns the power of the other forces of the force elements, such as damping of springs [W].

        As in pydrake, damping of joints, actuators and applied forces do not count.
        """
        return self._sum_up_energies(context)[2]

    def _gravity_power(self, context: Context) -> Any:
        tau_g = self._computations.calc_gravity_generalized_forces(context)
        return tau_g.dot(self._kinematics.eval_position(context).v)

    def calc_element_energies(self, context: Context, element: ForceElement) -> Any:
        """Potential energy [J], conservative and other power [W] of one element."""
        if isinstance(element, UniformGravityFieldElement):
            return self._computations.calc_energies(context)[1], self._gravity_power(context), 0.0
        return self._sum_up_energies(context, element)

    def _sum_up_energies(self, context: Context, element: ForceElement | None = None) -> Array:
        """Energy [J] and powers [W] of one element, or of all but gravity and of tendons, shape [3]."""
        elements = self._tree.force_elements[1:] if element is None else [element]
        of_tendons: Any = 0.0
        if element is None and len(self._tree.transmissions):
            of_tendons = self._transmissions.calc_energies(context)
        if not elements:
            return np.zeros(3) + of_tendons
        for one in elements:
            one._check_potential(context, "The energy or power")
        w = self._kinematics.eval_velocity(context)
        first = int(elements[0].index()) - 1
        energy = np.zeros(3, w.dtype)
        status = w.call(
            kernels.element_energies, self._tree.elements, w.constants, first, first + len(elements), w.q, w.v,
            w.position, w.velocity, energy,
        )  # fmt: skip
        if status:
            raise RuntimeError(self.describe_failure(context, w, status))
        return energy + of_tendons
