"""Costs of where points and axes of a plant are: PositionCost and its like."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context
from merganser.framework.math import RotationMatrix
from merganser.framework.optimization import Cost
from merganser.multibody.inverse_kinematics.posture_functions import MeasuredPosture, finite_vector, unit_vector
from merganser.multibody.inverse_kinematics.posture_rows import COSINE, POSITION, TRACE
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame

Array = NDArray[np.float64]


class PositionCost(MeasuredPosture, Cost):
    """(p_AP - p_AQ)^T C (p_AP - p_AQ) for a point P of frame A and a point Q of frame B, C of shape [3, 3].

    Raises:
        ValueError: C has another shape, or numbers are not finite.
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frameA: Frame,
        p_AP: Any,
        frameB: Frame,
        p_BQ: Any,
        C: Any,
        plant_context: Context,
    ) -> None:
        frameA, frameB = self._take(plant, plant_context, frameA, frameB)
        self._p_AP = finite_vector("PositionCost: p_AP", p_AP)
        self._measure(POSITION, frameA, frameB, p_BQ=finite_vector("PositionCost: p_BQ", p_BQ))
        self._C = finite_vector("PositionCost: C", C, 9).reshape(3, 3)
        Cost.__init__(self, plant.num_positions())

    def _at(self, x: Array) -> tuple[Array, Array]:
        p_AQ, J = super()._at(x)
        e = p_AQ - self._p_AP
        return np.array([e @ self._C @ e]), (e @ (self._C + self._C.T) @ J)[np.newaxis]


class OrientationCost(MeasuredPosture, Cost):
    """c (1 - cos(theta)), where theta is the angle between frames A and B, fixed to Abar and Bbar.

    Raises:
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frameAbar: Frame,
        R_AbarA: RotationMatrix,
        frameBbar: Frame,
        R_BbarB: RotationMatrix,
        c: float,
        plant_context: Context,
    ) -> None:
        frameAbar, frameBbar = self._take(plant, plant_context, frameAbar, frameBbar)
        self._measure(TRACE, frameAbar, frameBbar, R_A=R_AbarA, R_B=R_BbarB)
        self._c = float(c)
        Cost.__init__(self, plant.num_positions())

    def _at(self, x: Array) -> tuple[Array, Array]:
        trace, J = super()._at(x)
        return 0.5 * self._c * (3.0 - trace), -0.5 * self._c * J


class AngleBetweenVectorsCost(MeasuredPosture, Cost):
    """c (1 - cos(theta)), where theta is the angle between a vector fixed to frame A and one fixed to frame B.

    Raises:
        ValueError: a vector has no direction.
        RuntimeError: a frame is not of the plant.
    """

    def __init__(
        self,
        plant: MultibodyPlant,
        frameA: Frame,
        a_A: Any,
        frameB: Frame,
        b_B: Any,
        c: float,
        plant_context: Context,
    ) -> None:
        name = type(self).__name__
        frameA, frameB = self._take(plant, plant_context, frameA, frameB)
        a_A, b_B = unit_vector(f"{name}: a_A", a_A), unit_vector(f"{name}: b_B", b_B)
        self._measure(COSINE, frameA, frameB, a_A=a_A, b_B=b_B)
        self._c = float(c)
        Cost.__init__(self, plant.num_positions())

    def _at(self, x: Array) -> tuple[Array, Array]:
        cosine, J = super()._at(x)
        return self._c * (1.0 - cosine), -self._c * J
