"""Velocities and accelerations of frames: what the functions of Frame compute."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody import kernels
from merganser.multibody.math import SpatialAcceleration, SpatialVelocity
from merganser.multibody.plant.outputs import PlantOutputs
from merganser.multibody.tree import Frame

__all__ = ["PlantFrameMotion"]

Array = NDArray[Any]


class PlantFrameMotion(PlantOutputs):
    """Motion of one frame in another, by one kernel call.

    Frames must be those of the plant: others are refused with RuntimeError, other things with TypeError.
    """

    def _frame_velocity(
        self, caller: str, context: Any, frame_F: Frame, frame_M: Frame, frame_E: Frame
    ) -> SpatialVelocity:
        """V_MF_E, measured in M and expressed in E."""
        w = self._eval_velocity(context)
        V_MF_E = np.empty(6, w.dtype)
        F, M, E = (self._place(caller, w, frame) for frame in (frame_F, frame_M, frame_E))
        w.call(kernels.frame_velocity, w.position, w.velocity, *F, M[0], *E, V_MF_E)
        return SpatialVelocity._from_coeffs(V_MF_E)

    def _frame_angular_velocity(self, caller: str, context: Any, frame_F: Frame) -> Array:
        """w_WF_W [rad/s], shape [3]."""
        w = self._eval_velocity(context)
        mobod, _ = self._place(caller, w, frame_F)
        w_WF_W: Array = w.velocity["V_WB_W"][mobod, :3].copy()
        return w_WF_W

    def _frame_acceleration(
        self, caller: str, context: Any, frame_F: Frame, frame_M: Frame, frame_E: Frame
    ) -> SpatialAcceleration:
        """A_MF_E, measured in M and expressed in E, as it follows from the forces at the moment."""
        A_WB_W, w = self._eval_body_dynamics_now(context).A_WB_W, self._eval_velocity(context)
        A_MF_E = np.empty(6, w.dtype)
        F, M, E = (self._place(caller, w, frame) for frame in (frame_F, frame_M, frame_E))
        w.call(kernels.frame_acceleration, w.position, w.velocity, A_WB_W, *F, M[0], *E, A_MF_E)
        return SpatialAcceleration._from_coeffs(A_MF_E)
