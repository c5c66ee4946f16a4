"""Tendons and other transmissions of a plant in a Context: their lengths, rates and moment arms, and their energy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.multibody.kernels.transmissions import transmission_motion
from merganser.multibody.kernels.transmissions.motion import stretch_of
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel

Array = NDArray[Any]


class PlantTransmissions:
    """Transmissions of a plant.

    Args:
        model, kinematics: of the plant.
    """

    def __init__(self, model: PlantModel, kinematics: PlantKinematics) -> None:
        self._model, self._tree, self._kinematics = model, model.tree, kinematics

    def calc_motion(self, context: Context) -> tuple[Array, Array, Array]:
        """Lengths and their rates, shape [num_transmissions], and moment arms, shape [num_transmissions, num_v]."""
        self._model.require_finalized("The length of a transmission")
        tree, w = self._tree, self._kinematics.eval_position(context)
        num_q, num_v, num_t = len(w.q), len(w.v), len(tree.transmissions)
        lengths, rates = np.zeros(num_q + num_t, w.dtype), np.zeros(num_v + num_t, w.dtype)
        arms = np.zeros((num_t, num_v), w.dtype)
        given = tree.topology, tree.transmission_records, tree.transmission_nodes, w.q, w.v, w.position
        w.call(transmission_motion, *given, lengths, rates, arms)
        return lengths[num_q:], rates[num_v:], arms

    def calc_energies(self, context: Context) -> Array:
        """Potential energy of the springs [J], its loss and the power of dampers [W], of all together, shape [3]."""
        lengths, rates, _ = self.calc_motion(context)
        energies: Array = np.zeros(3, lengths.dtype)
        for record, length, rate in zip(self._tree.transmission_records, lengths, rates):
            stretch = stretch_of(record, length)
            energies[0] += 0.5 * record["stiffness"] * stretch * stretch
            energies[1] -= record["stiffness"] * stretch * rate
            energies[2] -= record["damping"] * rate * rate
        return energies
