"""The mobilizers, one class a kind: how each is made, and its coordinates by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.framework.math import Quaternion, RigidTransform, RollPitchYaw, RotationMatrix
from merganser.multibody.kernels.mobilizers import (
    MobilizerKind,
    ball_quaternion,
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
    BallQuaternionJoint,
    BallRpyJoint,
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

if TYPE_CHECKING:
    from merganser.framework import Context

Array = npt.NDArray[Any]


def _access(
    name: str, what: str, part: int | slice, *, is_rate: bool = False
) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any, Any], Any]]:
    """Functions of a mobilizer that get and set some of its positions, or of its velocities, in a context.

    Args:
        name: what they are called, after get_ and set_.
        what: they are, with unit, frame and shape.
        part: which of them: one as a number, or several as a copy.
        is_rate: whether they are velocities.
    """

    def get(self: Mobilizer, context: Context) -> Any:
        values = self._v(context) if is_rate else self._q(context)
        return values[part] if isinstance(part, int) else values[part].copy()

    def set_(self: Mobilizer, context: Context, value: npt.ArrayLike) -> Any:
        size = self.num_velocities() if is_rate else self.num_positions()
        first = part if isinstance(part, int) else part.indices(size)[0]
        (self._set_v if is_rate else self._set_q)(context, value, first)
        return self

    get.__doc__, set_.__doc__ = (
        f"Returns {what} in the context.",
        f"Sets {what} in the context; returns this mobilizer.",
    )
    for function, verb in ((get, "get"), (set_, "set")):
        function.__name__ = function.__qualname__ = f"{verb}_{name}"
    return get, set_


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

    def CalcAcrossMobilizerTransform(self, context: Context) -> RigidTransform:
        """Returns X_FM; the kernels have it in the pose of F."""
        self._q(context)  # refuses the context of another system
        return self._X_FM


class _OfJointType(Mobilizer):
    """Abstract mobilizer whose joints take a name and two frames."""

    _joint_type: Any

    def _make_joint(self, name: str) -> Joint:
        joint: Joint = self._joint_type(name, self._inboard_frame, self._outboard_frame)
        return joint


class _AxisMobilizer(Mobilizer):
    """Abstract mobilizer with one coordinate and an axis, any length but zero, the same in F and M."""

    _joint_type: Any

    def __init__(self, inboard_frame_F: Frame, outboard_frame_M: Frame, axis_F: npt.ArrayLike) -> None:
        super().__init__(inboard_frame_F, outboard_frame_M)
        self._axis_F = self._make_joint("axis", np.asarray(axis_F))._mobilizer_axis()  # checked and normalized there

    def _make_joint(self, name: str, axis: Array | None = None) -> Joint:
        given = self._axis_F if axis is None else axis
        joint: Joint = self._joint_type(name, self._inboard_frame, self._outboard_frame, given)
        return joint

    def _bind(self, tree: Any, mobod: int, joint: Joint, is_reversed: bool) -> None:
        super()._bind(tree, mobod, joint, is_reversed)
        self._axis_F = -joint._mobilizer_axis() if is_reversed else joint._mobilizer_axis()


class RevoluteMobilizer(_AxisMobilizer):
    """M turns about an axis through Fo and Mo."""

    _kind, _joint_type = revolute.KIND, RevoluteJoint

    def revolute_axis(self) -> Array:
        """Returns the unit vector along the axis, in F, shape [3]."""
        return self._axis_F.copy()

    get_angle, set_angle = _access("angle", "the angle [rad]", 0)
    get_angular_rate, set_angular_rate = _access("angular_rate", "the rate of the angle [rad/s]", 0, is_rate=True)


class PrismaticMobilizer(_AxisMobilizer):
    """M slides along an axis, without turning."""

    _kind, _joint_type = prismatic.KIND, PrismaticJoint

    def translation_axis(self) -> Array:
        """Returns the unit vector along the axis, in F, shape [3]."""
        return self._axis_F.copy()

    get_translation, set_translation = _access("translation", "the displacement [m]", 0)
    get_translation_rate, set_translation_rate = _access(
        "translation_rate", "the rate of the displacement [m/s]", 0, is_rate=True
    )


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


class _AngularVelocity(_OfJointType):
    """Abstract mobilizer whose first three velocities are w_FM_F."""

    get_angular_velocity, set_angular_velocity = _access(
        "angular_velocity", "w_FM_F [rad/s], shape [3],", slice(3), is_rate=True
    )


class SpaceXYZMobilizer(_AngularVelocity):
    """M turns about Fo = Mo, by angles about the fixed axes Fx, Fy, Fz: R_FM = Rz(q_2) Ry(q_1) Rx(q_0); v: w_FM_F."""

    _kind, _joint_type = ball_rpy.KIND, BallRpyJoint

    get_angles, set_angles = _access("angles", "the angles about Fx, Fy, Fz [rad], shape [3],", slice(3))

    def SetFromRotationMatrix(self, context: Context, R_FM: RotationMatrix) -> SpaceXYZMobilizer:
        """Sets the angles in the context to those of a rotation, and returns this mobilizer."""
        self.set_angles(context, RollPitchYaw(R_FM).vector())
        return self


class _QuaternionMobilizer(_AngularVelocity):
    """Abstract mobilizer whose first four positions are the quaternion w, x, y, z of R_FM."""

    def get_quaternion(self, context: Context) -> Quaternion:
        """Returns the quaternion of R_FM in the context, normalized."""
        return self.CalcAcrossMobilizerTransform(context).rotation().ToQuaternion()

    def set_quaternion(self, context: Context, q_FM: Quaternion) -> Any:
        """Sets the quaternion of R_FM in the context, and returns this mobilizer."""
        self._set_q(context, q_FM.wxyz())
        return self


class BallQuaternionMobilizer(_QuaternionMobilizer):
    """M turns about Fo = Mo; q: quaternion w, x, y, z of R_FM; v: w_FM_F."""

    _kind, _joint_type = ball_quaternion.KIND, BallQuaternionJoint


class _FloatingMobilizer(_AngularVelocity):
    """Abstract mobilizer with six degrees of freedom; v: w_FM_F, v_FMo_F; the last three positions are p_FoMo_F."""

    get_position, set_position = _access("position", "p_FoMo_F [m], shape [3],", slice(-3, None))
    get_translational_velocity, set_translational_velocity = _access(
        "translational_velocity", "v_FMo_F [m/s], shape [3],", slice(3, 6), is_rate=True
    )


class QuaternionFloatingMobilizer(_QuaternionMobilizer, _FloatingMobilizer):
    """M moves freely; q: quaternion w, x, y, z of R_FM, then p_FoMo_F."""

    _kind, _joint_type = quaternion_floating.KIND, QuaternionFloatingJoint


class RpyFloatingMobilizer(_FloatingMobilizer):
    """M moves freely; q: angles as those of SpaceXYZMobilizer, then p_FoMo_F."""

    _kind, _joint_type = rpy_floating.KIND, RpyFloatingJoint

    get_angles, set_angles = _access("angles", "roll, pitch and yaw of R_FM [rad], shape [3],", slice(3))


class UniversalMobilizer(_OfJointType):
    """M turns about Fx, then about My."""

    _kind, _joint_type = universal.KIND, UniversalJoint

    get_angles, set_angles = _access("angles", "the angles about Fx and My [rad], shape [2],", slice(2))


class PlanarMobilizer(_OfJointType):
    """Mo moves in the x-y plane of F, M turns about Fz; q: x, y [m] and the angle [rad]."""

    _kind, _joint_type = planar.KIND, PlanarJoint


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


class CurvilinearMobilizer(OtherMobilizer):
    """M moves along a path of lines and arcs; q: distance along it [m]. Made by a CurvilinearJoint."""

    _kind = curvilinear.KIND


_CLASSES: dict[MobilizerKind, type[Mobilizer]] = {
    kind._kind: kind
    for kind in (
        WeldMobilizer, RevoluteMobilizer, PrismaticMobilizer, QuaternionFloatingMobilizer, ScrewMobilizer,
        PlanarMobilizer, SpaceXYZMobilizer, RpyFloatingMobilizer, UniversalMobilizer, CurvilinearMobilizer,
        BallQuaternionMobilizer,
    )
}  # fmt: skip


def class_of(kind: MobilizerKind) -> type[Mobilizer]:
    """The class of the mobilizers of a kind."""
    return _CLASSES.get(kind, OtherMobilizer)
