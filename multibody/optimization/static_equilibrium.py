"""Constraints of a static equilibrium: forces in balance, in friction cones, and only where bodies touch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.optimization import AdjustableConstraint, Constraint
from merganser.multibody.optimization.contact_wrenches import ContactWrenchFromForceInWorldFrameEvaluator
from merganser.multibody.optimization.plant_functions import PlantFunction, derivatives_of, values_of
from merganser.multibody.plant import MultibodyPlant

Array = NDArray[np.float64]


class StaticEquilibriumConstraint(PlantFunction, Constraint):
    """0 = tau_g(q) + B u + sum_i (J_Cb^T - J_Ca^T) f_i, generalized forces [N m, N]; variables: [q, u, f_1, f_2, ...].

    J_Ca and J_Cb are those of the velocities of the points of contact of bodies A and B; f_i acts from A on B.

    Args:
        plant: of AutoDiffXd.
        context: of the plant; it is moved.
        contacts: the pairs that may touch.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        context: Context,
        contacts: Sequence[ContactWrenchFromForceInWorldFrameEvaluator],
    ) -> None:
        self._take(plant, context)
        self._pairs = [contact.pair() for contact in contacts]
        self._B: Array = np.array(plant.MakeActuationMatrix(), dtype=np.float64)
        nothing = np.zeros(plant.num_velocities())
        num_vars = plant.num_positions() + plant.num_actuated_dofs() + 3 * len(contacts)
        Constraint.__init__(self, num_vars, nothing, nothing, "static equilibrium")

    def _at(self, x: Array) -> tuple[Array, Array]:
        num_q, num_u = self._plant.num_positions(), self._plant.num_actuated_dofs()
        forces = x[num_q + num_u :].reshape(-1, 3)
        tau, by_f = self._plant.CalcGravityGeneralizedForces(self._context), []
        for pair, f in zip(self._pairs, forces):
            J_Ca, J_Cb = pair.calc_jacobians()
            J = J_Cb - J_Ca
            tau = tau + J.T @ f
            by_f.append(values_of(J).T)
        value = values_of(tau) + self._B @ x[num_q : num_q + num_u]
        return value, np.hstack((derivatives_of(tau, num_q), self._B, *by_f))


class FrictionConeComplementarityConstraint(PlantFunction, AdjustableConstraint):
    """A contact force f is in the cone of static friction, and is there only where the distance phi(q) is 0.

    With the normal n from A to B, and slack variables alpha and beta, which are at least 0,

        0 <= ((mu^2 + 1) (n . f)^2 - f . f),  n . f = alpha,  phi = beta,  0 <= alpha beta <= tolerance     (1)

    The first is the square of |f_t| <= mu n . f. Variables: [q, f, alpha, beta]. Stewart and Trinkle (1996) have the
    complementarity; the relaxation is that of Scholtes (2001).

    Args:
        plant: of AutoDiffXd.
        context: of the plant; it is moved.
        contact: the pair.
        tolerance: of (1) [N m].
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        context: Context,
        contact: ContactWrenchFromForceInWorldFrameEvaluator,
        tolerance: float,
    ) -> None:
        self._take(plant, context)
        self._pair = contact.pair()
        self._cone = self._pair.calc_static_friction() ** 2 + 1.0
        upper = [np.inf, 0.0, 0.0, tolerance]
        Constraint.__init__(self, plant.num_positions() + 5, np.zeros(4), upper, "contact complementarity")

    def _at(self, x: Array) -> tuple[Array, Array]:
        num_q = self._plant.num_positions()
        f, (alpha, beta) = x[num_q : num_q + 3], x[num_q + 3 :]
        at = self._pair.calc_witnesses()
        n, n_by_q = values_of(at.normal_W), derivatives_of(at.normal_W, num_q)
        f_n, f_n_by_q = n @ f, f @ n_by_q
        value = np.array([self._cone * f_n**2 - f @ f, f_n - alpha, at.distance.value() - beta, alpha * beta])
        jacobian = np.zeros((4, x.size))
        jacobian[0, :num_q], jacobian[0, num_q : num_q + 3] = (
            2.0 * self._cone * f_n * f_n_by_q,
            2.0 * (self._cone * f_n * n - f),
        )
        jacobian[1, :num_q], jacobian[1, num_q : num_q + 3], jacobian[1, -2] = f_n_by_q, n, -1.0
        jacobian[2, :num_q], jacobian[2, -1] = derivatives_of(np.array([at.distance]), num_q), -1.0
        jacobian[3, -2:] = beta, alpha
        return value, jacobian
