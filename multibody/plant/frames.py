"""Velocities and accelerations of frames: what the functions of Frame compute.

Poses of offset frames in a Context, and what follows from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import RigidTransform
from merganser.multibody import kernels
from merganser.multibody.math import SpatialAcceleration, SpatialVelocity
from merganser.multibody.plant.arguments import checked_vector, mobod_of, place_of
from merganser.multibody.plant.kinematics import PlantKinematics
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.step.sampling import Sampling
from merganser.multibody.tree import FixedOffsetFrame, Frame, RigidBody
from merganser.multibody.tree.force_elements import LinearBushingRollPitchYaw
from merganser.multibody.tree.parameters import write_joint_frames

if TYPE_CHECKING:
    from merganser.framework import Context


Array = NDArray[Any]


class FrameMotion:
    """Motion of one frame in another, by one kernel call.

    Frames must be those of the plant: others are refused with RuntimeError, other things with TypeError.

    Args:
        model: of the plant.
        kinematics: of the plant.
        sampling: has the accelerations of the bodies from the current forces.
    """

    def __init__(self, model: PlantModel, kinematics: PlantKinematics, sampling: Sampling) -> None:
        self._model, self._kinematics, self._sampling = model, kinematics, sampling

    def eval_body_acceleration(self, context: Context, body: RigidBody) -> SpatialAcceleration:
        """Returns the spatial acceleration A_WB_W of a body at its origin, in the world frame.

        It follows from all current forces, those of contact, joint limits and constraints included; for a
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
        """A_MF_E, measured in M and expressed in E, from the current forces."""
        A_WB_W, w = self._sampling.eval_A_WB_W(context), self._kinematics.eval_velocity(context)
        A_MF_E = np.empty(6, w.dtype)
        F, M, E = (place_of(self._model, caller, w, frame) for frame in (frame_F, frame_M, frame_E))
        w.call(kernels.frame_acceleration, w.position, w.velocity, A_WB_W, *F, M[0], *E, A_MF_E)
        return SpatialAcceleration._from_coeffs(A_MF_E)


class FramePoses:
    """Changes poses of frames: with a frame, those fixed to it move, and joints and bushings between them."""

    def __init__(self, model: PlantModel, views: StateViews) -> None:
        self._model, self._tree, self._views = model, model.tree, views

    def set_pose_in_parent(self, context: Context, frame: FixedOffsetFrame, X_PF: RigidTransform) -> None:
        """Sets the pose of a frame in its parent frame, in a Context.

        Raises:
            RuntimeError: a loop joint is at the frame: those are where the model says.
        """
        self._refuse_frame_of_loop_joint(frame)
        w = self._views.workspace(context)
        matrix = X_PF.GetAsMatrix34()
        checked_vector(self._model, "SetPoseInParentFrame", matrix.ravel(), 12, w.dtype)
        self._views.mutable_frames(context)["X_PF"][frame._slot] = matrix
        moved: set[Frame] = set()
        for other in self._tree._offset_frames:  # parents before the frames fixed to them
            if other is frame or other._frame_P in moved:
                X_BF = other._frame_P.CalcPoseInBodyFrame(context) @ other.GetPoseInParentFrame(context)
                w.frames["X_BF"][other._slot] = X_BF.GetAsMatrix34()
                moved.add(other)
        self._move_joints(context, w.parameters, moved)
        self._move_bushings(context, moved)

    def _refuse_frame_of_loop_joint(self, frame: FixedOffsetFrame) -> None:
        for joint in self._tree.loop_joints:
            for end in (joint.frame_on_parent(), joint.frame_on_child()):
                if any(f is frame for f in _with_ancestors(end)):
                    raise RuntimeError(
                        f"SetPoseInParentFrame(): loop joint '{joint.name()}' of plant '{self._model.path()}' is fixed "
                        f"to frame '{frame.name()}', so its pose cannot change in a context. Build the plant with the "
                        "pose that you want."
                    )

    def _move_joints(self, context: Context, parameters: NDArray[Any], moved: set[Frame]) -> None:
        """Writes the frames of the mobilizers of all joints between frames that have moved."""
        tree = self._tree
        for mobod, (mobilizer, joint) in enumerate(zip(tree._edges, tree._mobilizer_joints), start=1):
            F, M = joint.frame_on_parent(), joint.frame_on_child()
            if F in moved or M in moved:
                self._views.mutable_parameters(context)
                poses = F.CalcPoseInBodyFrame(context), M.CalcPoseInBodyFrame(context)
                write_joint_frames(parameters[mobod], joint, mobilizer.is_reversed, *poses)

    def _move_bushings(self, context: Context, moved: set[Frame]) -> None:
        for element in self._tree.force_elements:
            if isinstance(element, LinearBushingRollPitchYaw):
                for field, frame in (("X_L0A", element.frameA()), ("X_L1C", element.frameC())):
                    if frame in moved:
                        constants = self._views.mutable_constants(context)
                        constants[field][element.index() - 1] = frame.CalcPoseInBodyFrame(context).GetAsMatrix34()


def _with_ancestors(frame: Frame) -> Iterator[Frame]:
    """The frame and those that it is fixed to, one to the other."""
    yield frame
    while isinstance(frame, FixedOffsetFrame):
        frame = frame._frame_P
        yield frame
