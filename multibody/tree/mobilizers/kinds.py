"""The mobilizers, one class a kind: how each is made, and its coordinates by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import Quaternion, RigidTransform, RollPitchYaw, RotationMatrix
from merganser.multibody.kernels.mobilizers import (
    MobilizerKind,
    ball_rpy,
    curvilinear,
    planar,
    prismatic,
    quaternion_floating,
    revolute,
    rpy_floating,
    screw,
    universal,
    weld,
)
from merganser.multibody.tree.frame import Frame
from merganser.multibody.tree.joints import (
    BallRpyJoint,
    CurvilinearJoint,
    Joint,
    PlanarJoint,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RpyFloatingJoint,
    ScrewJoint,
    UniversalJoint,
    WeldJoint,
)
from merganser.multibody.tree.mobilizers.mobilizer import Mobilizer

__all__ = [
    "CurvilinearMobilizer",
    "OtherMobilizer",
    "PlanarMobilizer",
    "PrismaticMobilizer",
    "QuaternionFloatingMobilizer",
    "RevoluteMobilizer",
    "RpyFloatingMobilizer",
    "ScrewMobilizer",
    "SpaceXYZMobilizer",
    "UniversalMobilizer",
    "WeldMobilizer",
    "class_of",
]

Array = npt.NDArray[Any]


class WeldMobilizer(Mobilizer):
    """M is fixed in F, with the pose X_FM."""

    _kind = weld.KIND

    def __init__(self, inboard_frame_F: Frame, outboard_frame_M: Frame, X_FM: RigidTransform) -> None:
        super().__init__(inboard_frame_F, outboard_frame_M)
        self._X_FM = X_FM

    def _make_joint(self, name: str) -> Joint:
        return WeldJoint(name, self._inboard_frame, self._outboard_frame, self._X_FM)

    def _bind(self, tree: Any, mobod: int, joint: Joint, is_reversed: bool) -> None:
        super()._bind(tree, mobod, joint, is_reversed)
        X_FM = joint._mobilizer_X_FM()
        self._X_FM = X_FM.inverse() if is_reversed else X_FM

    def get_X_FM(self) -> RigidTransform:
        """Returns the pose of M in F."""
        return self._X_FM

    def CalcAcrossMobilizerTransform(self, context: Any) -> RigidTransform:
        """Returns X_FM; the kernels have it in the pose of F."""
        self._q(context)  # refuses the context of another system
        return self._X_FM


class _AxisMobilizer(Mobilizer):
    """Abstract mobilizer with one coordinate and an axis, any length but zero, the same in F and M."""

    def __init__(self, inboard_frame_F: Frame, outboard_frame_M: Frame, axis_F: npt.ArrayLike) -> None:
        super().__init__(inboard_frame_F, outboard_frame_M)
        self._axis_F = self._make_joint("axis", np.asarray(axis_F))._mobilizer_axis()  # checked and normalized there

    def _make_joint(self, name: str, axis: Array | None = None) -> Joint:
        raise NotImplementedError

    def _bind(self, tree: Any, mobod: int, joint: Joint, is_reversed: bool) -> None:
        super()._bind(tree, mobod, joint, is_reversed)
        self._axis_F = -joint._mobilizer_axis() if is_reversed else joint._mobilizer_axis()


class RevoluteMobilizer(_AxisMobilizer):
    """M turns about an axis through Fo and Mo."""

    _kind = revolute.KIND

    def _make_joint(self, name: str, axis: Array | None = None) -> Joint:
        return RevoluteJoint(name, self._inboard_frame, self._outboard_frame, self._axis_F if axis is None else axis)

    def revolute_axis(self) -> Array:
        """Returns the unit vector along the axis, in F, shape [3]."""
        return self._axis_F.copy()

    def get_angle(self, context: Any) -> Any:
        """Returns the angle in the context [rad]."""
        return self._q(context)[0]

    def set_angle(self, context: Any, angle: Any) -> RevoluteMobilizer:
        """Sets the angle in the context [rad], and returns this mobilizer."""
        self._set_q(context, angle)
        return self

    def get_angular_rate(self, context: Any) -> Any:
        """Returns the rate of the angle in the context [rad/s]."""
        return self._v(context)[0]

    def set_angular_rate(self, context: Any, theta_dot: Any) -> RevoluteMobilizer:
        """Sets the rate of the angle in the context [rad/s], and returns this mobilizer."""
        self._set_v(context, theta_dot)
        return self


class PrismaticMobilizer(_AxisMobilizer):
    """M slides along an axis, without turning."""

    _kind = prismatic.KIND

    def _make_joint(self, name: str, axis: Array | None = None) -> Joint:
        return PrismaticJoint(name, self._inboard_frame, self._outboard_frame, self._axis_F if axis is None else axis)

    def translation_axis(self) -> Array:
        """Returns the unit vector along the axis, in F, shape [3]."""
        return self._axis_F.copy()

    def get_translation(self, context: Any) -> Any:
        """Returns the displacement in the context [m]."""
        return self._q(context)[0]

    def set_translation(self, context: Any, translation: Any) -> PrismaticMobilizer:
        """Sets the displacement in the context [m], and returns this mobilizer."""
        self._set_q(context, translation)
        return self

    def get_translation_rate(self, context: Any) -> Any:
        """Returns the rate of the displacement in the context [m/s]."""
        return self._v(context)[0]

    def set_translation_rate(self, context: Any, translation_dot: Any) -> PrismaticMobilizer:
        """Sets the rate of the displacement in the context [m/s], and returns this mobilizer."""
        self._set_v(context, translation_dot)
        return self


class ScrewMobilizer(_AxisMobilizer):
    """M turns about an axis and moves along it, by screw_pitch a turn [m]."""

    _kind = screw.KIND

    def __init__(
        self, inboard_frame_F: Frame, outboard_frame_M: Frame, axis_F: npt.ArrayLike, screw_pitch: float
    ) -> None:
        self._screw_pitch = screw_pitch
        super().__init__(inboard_frame_F, outboard_frame_M, axis_F)

    def _make_joint(self, name: str, axis: Array | None = None) -> Joint:
        given = self._axis_F if axis is None else axis
        return ScrewJoint(name, self._inboard_frame, self._outboard_frame, given, self._screw_pitch, 0.0)

    def _bind(self, tree: Any, mobod: int, joint: Joint, is_reversed: bool) -> None:
        super()._bind(tree, mobod, joint, is_reversed)
        assert isinstance(joint, ScrewJoint)
        self._screw_pitch = joint.screw_pitch()

    def screw_pitch(self) -> float:
        """Returns the displacement by turn [m]."""
        return self._screw_pitch


class _AngularVelocity(Mobilizer):
    """Abstract mobilizer whose first three velocities are w_FM_F."""

    def get_angular_velocity(self, context: Any) -> Array:
        """Returns w_FM_F in the context [rad/s], shape [3]."""
        return self._v(context)[:3].copy()

    def set_angular_velocity(self, context: Any, w_FM: npt.ArrayLike) -> Any:
        """Sets w_FM_F in the context [rad/s], shape [3], and returns this mobilizer."""
        self._set_v(context, w_FM)
        return self


class SpaceXYZMobilizer(_AngularVelocity):
    """M turns about Fo = Mo, by angles about the fixed axes Fx, Fy, Fz: R_FM = Rz(q_2) Ry(q_1) Rx(q_0); v: w_FM_F."""

    _kind = ball_rpy.KIND

    def _make_joint(self, name: str) -> Joint:
        return BallRpyJoint(name, self._inboard_frame, self._outboard_frame)

    def get_angles(self, context: Any) -> Array:
        """Returns the angles about Fx, Fy, Fz in the context [rad], shape [3]."""
        return self._q(context).copy()

    def set_angles(self, context: Any, angles: npt.ArrayLike) -> SpaceXYZMobilizer:
        """Sets the angles about Fx, Fy, Fz in the context [rad], shape [3], and returns this mobilizer."""
        self._set_q(context, angles)
        return self

    def SetFromRotationMatrix(self, context: Any, R_FM: RotationMatrix) -> SpaceXYZMobilizer:
        """Sets the angles in the context to those of a rotation, and returns this mobilizer."""
        return self.set_angles(context, RollPitchYaw(R_FM).vector())


class _FloatingMobilizer(_AngularVelocity):
    """Abstract mobilizer with six degrees of freedom; v: w_FM_F, v_FMo_F; the last three positions are p_FoMo_F."""

    def get_position(self, context: Any) -> Array:
        """Returns p_FoMo_F in the context [m], shape [3]."""
        return self._q(context)[-3:].copy()

    def set_position(self, context: Any, p_FM: npt.ArrayLike) -> Any:
        """Sets p_FoMo_F in the context [m], shape [3], and returns this mobilizer."""
        self._set_q(context, p_FM, self.num_positions() - 3)
        return self

    def get_translational_velocity(self, context: Any) -> Array:
        """Returns v_FMo_F in the context [m/s], shape [3]."""
        return self._v(context)[3:].copy()

    def set_translational_velocity(self, context: Any, v_FM: npt.ArrayLike) -> Any:
        """Sets v_FMo_F in the context [m/s], shape [3], and returns this mobilizer."""
        self._set_v(context, v_FM, 3)
        return self


class QuaternionFloatingMobilizer(_FloatingMobilizer):
    """M moves freely; q: quaternion w, x, y, z of R_FM, then p_FoMo_F."""

    _kind = quaternion_floating.KIND

    def _make_joint(self, name: str) -> Joint:
        return QuaternionFloatingJoint(name, self._inboard_frame, self._outboard_frame)

    def get_quaternion(self, context: Any) -> Quaternion:
        """Returns the quaternion of R_FM in the context, normalized."""
        return self.CalcAcrossMobilizerTransform(context).rotation().ToQuaternion()

    def set_quaternion(self, context: Any, q_FM: Quaternion) -> QuaternionFloatingMobilizer:
        """Sets the quaternion of R_FM in the context, and returns this mobilizer."""
        self._set_q(context, q_FM.wxyz())
        return self


class RpyFloatingMobilizer(_FloatingMobilizer):
    """M moves freely; q: angles as those of SpaceXYZMobilizer, then p_FoMo_F."""

    _kind = rpy_floating.KIND

    def _make_joint(self, name: str) -> Joint:
        return RpyFloatingJoint(name, self._inboard_frame, self._outboard_frame)

    def get_angles(self, context: Any) -> Array:
        """Returns roll, pitch and yaw of R_FM in the context [rad], shape [3]."""
        return self._q(context)[:3].copy()

    def set_angles(self, context: Any, angles: npt.ArrayLike) -> RpyFloatingMobilizer:
        """Sets roll, pitch and yaw of R_FM in the context [rad], shape [3], and returns this mobilizer."""
        self._set_q(context, angles)
        return self


class UniversalMobilizer(Mobilizer):
    """M turns about Fx, then about My."""

    _kind = universal.KIND

    def _make_joint(self, name: str) -> Joint:
        return UniversalJoint(name, self._inboard_frame, self._outboard_frame)

    def get_angles(self, context: Any) -> Array:
        """Returns the angles about Fx and My in the context [rad], shape [2]."""
        return self._q(context).copy()

    def set_angles(self, context: Any, angles: npt.ArrayLike) -> UniversalMobilizer:
        """Sets the angles about Fx and My in the context [rad], shape [2], and returns this mobilizer."""
        self._set_q(context, angles)
        return self


class PlanarMobilizer(Mobilizer):
    """Mo moves in the x-y plane of F, M turns about Fz; q: x, y [m] and the angle [rad]."""

    _kind = planar.KIND

    def _make_joint(self, name: str) -> Joint:
        return PlanarJoint(name, self._inboard_frame, self._outboard_frame)


class CurvilinearMobilizer(Mobilizer):
    """M moves along a path of lines and arcs; q: distance along it [m]. Made by a CurvilinearJoint."""

    _kind = curvilinear.KIND

    def __init__(self, joint: CurvilinearJoint) -> None:
        super().__init__(joint.frame_on_parent(), joint.frame_on_child())
        self._joint = joint

    def _make_joint(self, name: str) -> Joint:
        assert self._joint is not None
        return self._joint


class OtherMobilizer(Mobilizer):
    """The mobilizer of a joint whose kind has no class of its own; made by the joint."""

    def __init__(self, joint: Joint) -> None:
        super().__init__(joint.frame_on_parent(), joint.frame_on_child())
        self._joint, self._kind = joint, joint.kind

    def _make_joint(self, name: str) -> Joint:
        assert self._joint is not None
        return self._joint

    def _bind(self, tree: Any, mobod: int, joint: Joint, is_reversed: bool) -> None:
        super()._bind(tree, mobod, joint, is_reversed)
        self._kind = joint.kind


_CLASSES: dict[MobilizerKind, type[Mobilizer]] = {
    kind._kind: kind
    for kind in (
        WeldMobilizer, RevoluteMobilizer, PrismaticMobilizer, QuaternionFloatingMobilizer, ScrewMobilizer,
        PlanarMobilizer, SpaceXYZMobilizer, RpyFloatingMobilizer, UniversalMobilizer, CurvilinearMobilizer,
    )
}  # fmt: skip


def class_of(kind: MobilizerKind) -> type[Mobilizer]:
    """The class of the mobilizers of a kind."""
    return _CLASSES.get(kind, OtherMobilizer)
