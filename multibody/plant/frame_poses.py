"""Poses of offset frames in a Context, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from merganser.framework.math import RigidTransform
from merganser.multibody.plant.arguments import checked_vector
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.tree import FixedOffsetFrame, Frame
from merganser.multibody.tree.force_elements import LinearBushingRollPitchYaw
from merganser.multibody.tree.parameters import write_joint_frames

if TYPE_CHECKING:
    from merganser.framework import Context

__all__ = ["FramePoses"]


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
