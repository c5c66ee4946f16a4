"""Forces, energies and powers of the force elements of a plant, gravity among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody import kernels
from merganser.multibody.plant.arguments import check_forces
from merganser.multibody.plant.computations import PlantComputations
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.step.failures import describe_overflow, time_of
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import ForceElement, MultibodyForces, UniformGravityFieldElement
from merganser.multibody.tree.force_elements import LinearBushingRollPitchYaw

if TYPE_CHECKING:
    from merganser.framework import Context

__all__ = ["ForceElements"]

Array = NDArray[Any]


class ForceElements:
    """Force elements: what acts on bodies and joints besides actuators, damping of joints and what comes by ports.

    Errors of all functions that compute forces or energies: RuntimeError, if a spring has no length or the pitch of a
    bushing is a quarter turn.
    """

    def __init__(self, model: PlantModel, kinematics: PlantKinematics, computations: PlantComputations) -> None:
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
        energy = self._computations.calc_energies(context)[1]
        return energy + self._sum_up_energies(context)[0] if len(self._tree.elements) else energy

    def calc_conservative_power(self, context: Context) -> Any:
        """Returns the power of gravity and of the springs: the rate at which potential energy decreases [W]."""
        power = self._gravity_power(context)
        return power + self._sum_up_energies(context)[1] if len(self._tree.elements) else power

    def calc_non_conservative_power(self, context: Context) -> Any:
        """Returns the power of the other forces of the force elements, such as damping of springs [W].

        As in pydrake, damping of joints, actuators and applied forces do not count.
        """
        return self._sum_up_energies(context)[2] if len(self._tree.elements) else 0.0

    def _gravity_power(self, context: Context) -> Any:
        tau_g = self._computations.calc_gravity_generalized_forces(context)
        return tau_g.dot(self._kinematics.eval_position(context).v)

    def calc_element_energies(self, context: Context, element: ForceElement) -> Any:
        """Potential energy [J], conservative and other power [W] of one element."""
        if isinstance(element, UniformGravityFieldElement):
            return self._computations.calc_energies(context)[1], self._gravity_power(context), 0.0
        return self._sum_up_energies(context, element)

    def _sum_up_energies(self, context: Context, element: ForceElement | None = None) -> Array:
        """Energy [J] and powers [W] of one element, or of all but gravity, shape [3]."""
        elements = self._tree.force_elements[1:] if element is None else [element]
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
        return energy
