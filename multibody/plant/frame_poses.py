"""Poses of offset frames in a Context, and what follows from them."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.framework.math import RigidTransform
from merganser.multibody.plant.state_access import PlantState
from merganser.multibody.tree import FixedOffsetFrame, Frame
from merganser.multibody.tree.force_elements import LinearBushingRollPitchYaw
from merganser.multibody.tree.parameters import write_joint_frames

__all__ = ["PlantFramePoses"]


class PlantFramePoses(PlantState):
    """Changes poses of frames: with a frame, those fixed to it move, and joints and bushings between them."""

    def _set_frame_pose(self, context: Any, frame: FixedOffsetFrame, X_PF: RigidTransform) -> None:
        """Sets the pose of a frame in its parent frame, in a Context."""
        w = self._workspace(context)
        matrix = X_PF.GetAsMatrix34()
        self._checked_vector("SetPoseInParentFrame", matrix.ravel(), 12, w.dtype)
        context.get_mutable_numeric_parameter(self._frame_group)
        w.frames["X_PF"][frame._slot] = matrix
        moved: set[Frame] = set()
        for other in self._tree._offset_frames:  # parents before the frames fixed to them
            if other is frame or other._frame_P in moved:
                X_BF = other._frame_P.CalcPoseInBodyFrame(context) @ other.GetPoseInParentFrame(context)
                w.frames["X_BF"][other._slot] = X_BF.GetAsMatrix34()
                moved.add(other)
        self._move_joints(context, w.parameters, moved)
        self._move_bushings(context, moved)

    def _move_joints(self, context: Any, parameters: NDArray[Any], moved: set[Frame]) -> None:
        """Writes the frames of the mobilizers of all joints between frames that have moved."""
        tree = self._tree
        for mobod, (mobilizer, joint) in enumerate(zip(tree._mobilizers, tree._mobilizer_joints), start=1):
            F, M = joint.frame_on_parent(), joint.frame_on_child()
            if F in moved or M in moved:
                self._mutable_parameters_view(context)
                poses = F.CalcPoseInBodyFrame(context), M.CalcPoseInBodyFrame(context)
                write_joint_frames(parameters[mobod], joint, mobilizer.is_reversed, *poses)

    def _move_bushings(self, context: Any, moved: set[Frame]) -> None:
        for element in self._tree.force_elements:
            if isinstance(element, LinearBushingRollPitchYaw):
                for field, frame in (("X_L0A", element.frameA()), ("X_L1C", element.frameC())):
                    if frame in moved:
                        constants = self._mutable_constants_view(context)
                        constants[field][element.index() - 1] = frame.CalcPoseInBodyFrame(context).GetAsMatrix34()
