"""Velocities and accelerations of frames: what the functions of Frame compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody import kernels
from merganser.multibody.math import SpatialAcceleration, SpatialVelocity
from merganser.multibody.plant.arguments import mobod_of, place_of
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.step.sampling import Sampling
from merganser.multibody.tree import Frame, RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context

__all__ = ["FrameMotion"]

Array = NDArray[Any]


class FrameMotion:
    """Motion of one frame in another, by one kernel call.

    Frames must be those of the plant: others are refused with RuntimeError, other things with TypeError.

    Args:
        model: of the plant.
        kinematics: of the plant.
        sampling: has the accelerations of the bodies that follow from the forces at the moment.
    """

    def __init__(self, model: PlantModel, kinematics: PlantKinematics, sampling: Sampling) -> None:
        self._model, self._kinematics, self._sampling = model, kinematics, sampling

    def eval_body_acceleration(self, context: Context, body: RigidBody) -> SpatialAcceleration:
        """Returns the spatial acceleration A_WB_W of a body at its origin, in the world frame.

        It follows from all forces at the moment, those of contact, joint limits and constraints included; for a
        discrete plant it is the mean over the next step, from (v+ - v) / h.
        """
        mobod = mobod_of(self._model, "EvalBodySpatialAccelerationInWorld", body)
        return SpatialAcceleration(self._sampling.eval_A_WB_W(context)[mobod].copy())

    def velocity(
        self, caller: str, context: Context, frame_F: Frame, frame_M: Frame, frame_E: Frame
    ) -> SpatialVelocity:
        """V_MF_E, measured in M and expressed in E."""
        w = self._kinematics.eval_velocity(context)
        V_MF_E = np.empty(6, w.dtype)
        F, M, E = (place_of(self._model, caller, w, frame) for frame in (frame_F, frame_M, frame_E))
        w.call(kernels.frame_velocity, w.position, w.velocity, *F, M[0], *E, V_MF_E)
        return SpatialVelocity._from_coeffs(V_MF_E)

    def angular_velocity(self, caller: str, context: Context, frame_F: Frame) -> Array:
        """w_WF_W [rad/s], shape [3]."""
        w = self._kinematics.eval_velocity(context)
        mobod, _ = place_of(self._model, caller, w, frame_F)
        w_WF_W: Array = w.velocity["V_WB_W"][mobod, :3].copy()
        return w_WF_W

    def acceleration(
        self, caller: str, context: Context, frame_F: Frame, frame_M: Frame, frame_E: Frame
    ) -> SpatialAcceleration:
        """A_MF_E, measured in M and expressed in E, as it follows from the forces at the moment."""
        A_WB_W, w = self._sampling.eval_A_WB_W(context), self._kinematics.eval_velocity(context)
        A_MF_E = np.empty(6, w.dtype)
        F, M, E = (place_of(self._model, caller, w, frame) for frame in (frame_F, frame_M, frame_E))
        w.call(kernels.frame_acceleration, w.position, w.velocity, A_WB_W, *F, M[0], *E, A_MF_E)
        return SpatialAcceleration._from_coeffs(A_MF_E)
