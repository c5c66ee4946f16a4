"""Poses, velocities and accelerations of bodies, frames and points of a plant in a Context.

`FramePoses` changes poses of frames, and what is fixed to them follows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.math.rotations.rigid_transform import rigid_transform, rotation_matrix
from merganser.framework.native import Result, bind
from merganser.multibody import kernels
from merganser.multibody.kernels import checked_arrays
from merganser.multibody.math import SpatialAcceleration, SpatialVelocity
from merganser.multibody.plant.arguments import checked_points, checked_vector, mobod_of, place_of
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.state_views import StateViews
from merganser.multibody.plant.workspace import Workspace
from merganser.multibody.tree import Frame, RigidBody

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.sampling import Sampling

from merganser.multibody.tree import FixedOffsetFrame
from merganser.multibody.tree.coordinates import write_joint_frames
from merganser.multibody.tree.force_elements import LinearBushingRollPitchYaw

_new = RigidTransform.__new__


class PlantKinematics:
    """Kinematics by one kernel call each, from records in the cache of the Context.

    Functions that begin with `eval_` bring the records up to date and return the workspace; nothing is computed where
    they are. Frames and bodies must be those of the plant: others are refused with RuntimeError, other things with
    TypeError.
    """

    def __init__(self, model: PlantModel, views: StateViews) -> None:
        self._model, self._views = model, views

    # ------------------------------------------------------------------ kinematics in the cache

    # These functions do what slot.compute() does for an entry that calls no other, in a third of the time.

    def eval_poses(self, context: Context) -> Workspace:
        """The workspace, with at least the poses of the position kinematics up to date."""
        w = self._views.workspace(context)
        store = w.store
        if store.invalid & w.pose_bit and store.invalid & w.position_bit:
            w.calls.poses()
            store.invalid &= w.pose_clearing
        return w

    def eval_position(self, context: Context) -> Workspace:
        """The workspace, with position kinematics up to date."""
        w = self._views.workspace(context)
        store = w.store
        if store.invalid & w.position_bit:
            if store.invalid & w.pose_bit:
                w.calls.position()
            else:
                w.calls.rest()
            store.invalid &= w.position_clearing
        return w

    def eval_velocity(self, context: Context) -> Workspace:
        """The workspace, with position and velocity kinematics up to date."""
        w = self._views.workspace(context)
        store = w.store
        if store.invalid & w.position_bit:
            w.calls.kinematics()
            store.invalid &= w.kinematics_clearing
        elif store.invalid & w.velocity_bit:
            w.calls.velocity()
            store.invalid &= w.velocity_clearing
        return w

    def declare_entries(self) -> None:
        """Declares the cache entries whose bits these functions look at."""
        self._views.declare_entries(self._calc_position, self._calc_velocity, self._calc_poses)

    def _calc_position(self, context: Context, output: Any) -> None:
        self.eval_position(context)

    def _calc_velocity(self, context: Context, output: Any) -> None:
        self.eval_velocity(context)

    def _calc_poses(self, context: Context, output: Any) -> None:
        self.eval_poses(context)

    # ------------------------------------------------------------------ poses

    def eval_body_pose_in_world(self, context: Context, body: RigidBody) -> RigidTransform:
        """Returns the pose X_WB of a body."""
        w = self.eval_poses(context)
        try:
            copy_pose = w.poses[body]
        except (KeyError, TypeError):
            copy_pose = self._find_pose("EvalBodyPoseInWorld", w, body)
        X_WB = _new(RigidTransform)  # what rigid_transform() does; 560 ns a call instead of 650
        X_WB._R_AB, X_WB._p_AoBo_A = copy_pose()
        return X_WB

    def eval_body_poses_in_world(self, context: Context) -> Array:
        """Returns the poses X_WB of all bodies as matrices [R_WB p_WoBo_W; 0 1], shape [num_bodies, 4, 4].

        By their index. One kernel computes them all; the array is new.
        """
        w, mobods = self.eval_poses(context), self._model.tree.mobod_of_body
        X_WB = np.empty((len(mobods), 4, 4), w.dtype)
        w.calls.pose_matrices(mobods, X_WB)
        return X_WB

    def _find_pose(self, caller: str, w: Workspace, body: RigidBody) -> Callable[[], tuple[Array, Array]]:
        """What returns copies of R_WB and p_WoBo_W; of floats from views that stay."""
        mobod = mobod_of(self._model, caller, body)
        if not w.is_float:
            return functools.partial(w.pose_of, mobod)
        R_WB, p_WoBo_W = w.position[mobod]["R_WB"], w.position[mobod]["p_WoBo_W"]
        copy_pose = w.poses[body] = bind(checked_arrays.copy_pose, R_WB, p_WoBo_W, Result((3, 3)), Result((3,)))
        return copy_pose

    def calc_relative_transform(self, context: Context, frame_A: Frame, frame_B: Frame) -> RigidTransform:
        """Returns the pose X_AB of frame B in frame A."""
        return rigid_transform(*self.calc_relative_pose("CalcRelativeTransform", context, frame_A, frame_B))

    def calc_relative_rotation_matrix(self, context: Context, frame_A: Frame, frame_B: Frame) -> RotationMatrix:
        """Returns the orientation R_AB of frame B in frame A."""
        R_AB, _ = self.calc_relative_pose("CalcRelativeRotationMatrix", context, frame_A, frame_B)
        return rotation_matrix(R_AB)

    def calc_relative_pose(self, caller: str, context: Context, frame_A: Frame, frame_B: Frame) -> tuple[Array, Array]:
        """R_AB and p_AoBo_A."""
        w = self.eval_poses(context)
        A, B = place_of(self._model, caller, w, frame_A), place_of(self._model, caller, w, frame_B)
        R_AB, p_AoBo_A = np.empty((3, 3), w.dtype), np.empty(3, w.dtype)
        w.call(kernels.relative_pose, w.position, *A, *B, R_AB, p_AoBo_A)
        return R_AB, p_AoBo_A

    def calc_points_positions(self, context: Context, frame_B: Frame, p_BQi: ArrayLike, frame_A: Frame) -> Array:
        """Returns the positions in frame A of points Qi that are fixed to frame B.

        Args:
            context: of this plant.
            frame_B: where the points are fixed.
            p_BQi: their positions in B [m], shape [3] or [3, n].
            frame_A: where they are wanted.

        Returns:
            p_AQi [m], shape [3, n].

        Raises:
            ValueError: p_BQi has another shape, or is not finite.
        """
        caller = "CalcPointsPositions"
        w = self.eval_poses(context)
        points = checked_points(self._model, caller, "p_BQi", p_BQi, w)
        A, B = place_of(self._model, caller, w, frame_A), place_of(self._model, caller, w, frame_B)
        p_AQi = np.empty((3, len(points) // 3), w.dtype)
        w.call(kernels.point_positions, w.position, *B, points, *A, p_AQi)
        return p_AQi

    # ------------------------------------------------------------------ velocities and accelerations

    def eval_body_spatial_velocity_in_world(self, context: Context, body: RigidBody) -> SpatialVelocity:
        """Returns the spatial velocity V_WB_W of a body at its origin, in the world frame."""
        mobod = mobod_of(self._model, "EvalBodySpatialVelocityInWorld", body)
        return SpatialVelocity._from_coeffs(self.eval_velocity(context).velocity_of(mobod))

    def calc_points_velocities(
        self, context: Context, frame_B: Frame, p_BQi: ArrayLike, frame_A: Frame, frame_E: Frame
    ) -> Array:
        """Returns the velocities of points Qi that are fixed to frame B.

        Args:
            context: of this plant.
            frame_B: where the points are fixed.
            p_BQi: their positions in B [m], shape [3] or [3, n].
            frame_A: in which the velocities are measured.
            frame_E: in which they are expressed.

        Returns:
            v_AQi_E [m/s], shape [3, n].

        Raises:
            ValueError: p_BQi has another shape, or is not finite.
        """
        caller = "CalcPointsVelocities"
        w = self.eval_velocity(context)
        points = checked_points(self._model, caller, "p_BQi", p_BQi, w)
        B, A, E = (place_of(self._model, caller, w, frame) for frame in (frame_B, frame_A, frame_E))
        v_AQi_E = np.empty((3, len(points) // 3), w.dtype)
        w.call(kernels.point_velocities, w.position, w.velocity, *B, points, A[0], *E, v_AQi_E)
        return v_AQi_E

    def calc_spatial_accelerations_from_vdot(
        self, context: Context, known_vdot: ArrayLike
    ) -> list[SpatialAcceleration]:
        """Returns the spatial accelerations that bodies have if the generalized accelerations are as given.

        Args:
            context: of this plant.
            known_vdot: generalized accelerations, shape [nv].

        Returns:
            A_WB_W of all bodies at their origins, by BodyIndex [rad/s^2, m/s^2].

        Raises:
            ValueError: known_vdot is of wrong size or not finite.
        """
        w = self.eval_velocity(context)
        vdot = checked_vector(self._model, "CalcSpatialAccelerationsFromVdot", known_vdot, len(w.v), w.dtype)
        A_WB_W = self.calc_A_WB_W(w, vdot)
        return [SpatialAcceleration._from_coeffs(A_WB_W[mobod]) for mobod in self._model.tree.mobod_of_body.tolist()]

    def calc_A_WB_W(self, w: Workspace, vdot: Array) -> Array:
        """A_WB_W of all mobods, from velocity kinematics that are up to date, shape [num_mobods, 6]."""
        A_WB_W = w.zeros_F.copy()
        w.call(kernels.spatial_accelerations, w.topology, w.position, w.velocity, vdot, A_WB_W)
        return A_WB_W


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
        for joint in self._tree.loop_joints:
            for end in (joint.frame_on_parent(), joint.frame_on_child()):
                while end is not frame and isinstance(end, FixedOffsetFrame):
                    end = end._frame_P
                if end is frame:
                    raise RuntimeError(
                        f"SetPoseInParentFrame(): loop joint '{joint.name()}' of plant '{self._model.path()}' is fixed "
                        f"to frame '{frame.name()}', so its pose cannot change in a context. Build the plant with the "
                        "pose that you want."
                    )
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
        # The mobilizers of joints between frames that have moved, and bushings.
        for mobod, (mobilizer, joint) in enumerate(zip(self._tree._edges, self._tree._mobilizer_joints), start=1):
            F, M = joint.frame_on_parent(), joint.frame_on_child()
            if F in moved or M in moved:
                self._views.mutable_parameters(context)
                poses = F.CalcPoseInBodyFrame(context), M.CalcPoseInBodyFrame(context)
                write_joint_frames(w.parameters[mobod], joint, mobilizer.is_reversed, *poses)
        for element in self._tree.force_elements:
            if isinstance(element, LinearBushingRollPitchYaw):
                for field, end in (("X_L0A", element.frameA()), ("X_L1C", element.frameC())):
                    if end in moved:
                        constants = self._views.mutable_constants(context)
                        constants[field][element.index() - 1] = end.CalcPoseInBodyFrame(context).GetAsMatrix34()
