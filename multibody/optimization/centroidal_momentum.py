"""The momentum about the centre of mass as a variable of programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.optimization import Constraint
from merganser.multibody.optimization.plant_functions import PlantFunction, derivatives_of, values_of
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import ModelInstanceIndex

Array = NDArray[np.float64]


class CentroidalMomentumConstraint(PlantFunction, Constraint):
    """h_WC(q, v) - h = 0 for the momentum of model instances about their centre of mass C, expressed in the world.

    Variables: [q, v, h], with h = [angular; linear] [N m s, N s], shape [6]; with `angular_only` its first three.

    Args:
        plant: a finalized plant of AutoDiffXd; of floats, it is copied with all its diagram.
        model_instances: of which models; None for all.
        plant_context: of the plant; it is moved, or its copy.
        angular_only: whether the angular momentum alone counts.

    Raises:
        RuntimeError: the models have no mass.

    Orin and Goswami (2008), Centroidal momentum matrix of a humanoid robot.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        model_instances: Sequence[ModelInstanceIndex] | None,
        plant_context: Context,
        angular_only: bool,
    ) -> None:
        self._take(plant, plant_context)
        self._instances: Any = () if model_instances is None else (list(model_instances),)
        self._rows = 3 if angular_only else 6
        nothing = np.zeros(self._rows)
        num_vars = self._num_state_vars() + self._rows
        Constraint.__init__(self, num_vars, nothing, nothing, "Centroidal momentum constraint")

    def _num_state_vars(self) -> int:
        return self._plant.num_multibody_states()

    def _at(self, x: Array) -> tuple[Array, Array]:
        plant, context, size = self._plant, self._context, self._num_state_vars()
        p_WC = plant.CalcCenterOfMassPositionInWorld(context, *self._instances)
        of: Any = *self._instances, p_WC
        L_WC = plant.CalcSpatialMomentumInWorldAboutPoint(context, *of)
        h = L_WC.get_coeffs()[: self._rows]
        return values_of(h) - x[size:], np.hstack((derivatives_of(h, size), -np.eye(self._rows)))
