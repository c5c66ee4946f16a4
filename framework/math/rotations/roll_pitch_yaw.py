"""Orientations as roll, pitch and yaw angles, and their rates.

Notation: R_AD = Rz(y) Ry(p) Rx(r), with s and c for sine and cosine. The angular velocity of D in A is

    w_AD_A = ẏ Az + ṗ Rz(y) Ay + ṙ Rz(y) Ry(p) Ax    (1)  in the parent frame A
    w_AD_D = ṙ Dx + ṗ Rx(-r) Dy + ẏ Rx(-r) Ry(-p) Dz  (2)  in the child frame D

(Kane, Likins and Levinson, 1983, "Spacecraft Dynamics", appendix II, space-three angles 1-2-3.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from merganser.framework.core.scalars.scalars import class_name
from merganser.framework.math._scalars import Array, ArrayValue, cos, expect_instance, owned_vector, sin
from merganser.framework.math.arrays import largest_difference
from merganser.framework.math.rotations._rotation_formulas import matrix_from_rpy, rpy_from_matrix
from merganser.framework.math.rotations.quaternion import Quaternion
from merganser.framework.math.rotations.rotation_matrix import RotationMatrix, rotation_array

_GIMBAL_LOCK_COSINE = 0.008  # |cos(pitch)| below this, within 0.46 degrees, has no trustworthy angle rates


class RollPitchYaw(ArrayValue):
    """The orientation of D in A after turns by roll about Ax, then pitch about Ay, then yaw about Az [rad].

    R_AD = Rz(yaw) Ry(pitch) Rx(roll): turns about fixed axes x, y, z, or about body axes z, y, x. Angles are
    kept as given, not wrapped.
    """

    __slots__ = _PARTS = ("_rpy",)
    _rpy: Array

    def __init__(
        self,
        rpy: Any = None,
        pitch: Any = None,
        yaw: Any = None,
        *,
        roll: Any = None,
        R: RotationMatrix | None = None,
        quaternion: Quaternion | None = None,
        matrix: Any = None,
        other: RollPitchYaw | None = None,
    ) -> None:
        """Makes an orientation from one of these:

        Args:
            rpy: the three angles [rad], shape [3]; or, alone by position, any of the arguments below.
            roll, pitch, yaw: the three angles [rad], all given by position or all by name.
            R: an orientation as a rotation matrix.
            quaternion: an orientation as a quaternion.
            matrix: rotation matrix R_AD, shape [3, 3].
            other: angles to copy.

        Raises:
            TypeError: no such combination of arguments.
            ValueError: wrong shape, NaN or infinity.
            RuntimeError: `matrix` is not a rotation matrix.
        """
        if roll is not None or pitch is not None or yaw is not None:
            angles = (rpy if roll is None else roll, pitch, yaw)
            given = [a for a in (rpy, roll, pitch, yaw, R, quaternion, matrix, other) if a is not None]
            if len(given) != 3 or any(angle is None for angle in angles):
                raise TypeError("RollPitchYaw: give all three of roll, pitch, yaw and nothing else.")
            self._rpy = owned_vector(angles, 3, "RollPitchYaw: roll, pitch, yaw")
            return
        given = [argument for argument in (rpy, R, quaternion, matrix, other) if argument is not None]
        if len(given) != 1:
            raise TypeError("RollPitchYaw: give one of rpy, R, quaternion, matrix, other, or roll, pitch, yaw.")
        source: Any = given[0]
        if isinstance(source, RollPitchYaw):
            self._rpy = source._rpy
        elif hasattr(source, "_rotation_array") or np.shape(source) == (3, 3):
            self._rpy = rpy_from_matrix(rotation_array(source))
        else:
            self._rpy = owned_vector(source, 3, "RollPitchYaw: rpy")

    @classmethod
    def _from_array(cls, rpy: Array) -> RollPitchYaw:
        """Wraps `rpy`, shape [3], without check or copy; the caller must not write it later."""
        self = cls.__new__(cls)
        self._rpy = rpy
        return self

    def vector(self) -> Array:
        """A copy of the angles [roll, pitch, yaw] [rad], shape [3]."""
        return self._rpy.copy()

    def roll_angle(self) -> Any:
        """The angle about Ax [rad]."""
        return self._rpy[0]

    def pitch_angle(self) -> Any:
        """The angle about Ay [rad]."""
        return self._rpy[1]

    def yaw_angle(self) -> Any:
        """The angle about Az [rad]."""
        return self._rpy[2]

    def ToRotationMatrix(self) -> RotationMatrix:
        """R_AD = Rz(yaw) Ry(pitch) Rx(roll)."""
        return RotationMatrix._from_array(matrix_from_rpy(self._rpy))

    def _rotation_array(self) -> Array:
        return matrix_from_rpy(self._rpy)

    def ToQuaternion(self) -> Quaternion:
        """q_AD = q_z(yaw) q_y(pitch) q_x(roll), with half angles."""
        r, p, y = (angle / 2 for angle in self._rpy.tolist())
        sr, cr, sp, cp, sy, cy = sin(r), cos(r), sin(p), cos(p), sin(y), cos(y)
        return Quaternion._from_array(
            np.array(
                [
                    cy * cp * cr + sy * sp * sr,
                    cy * cp * sr - sy * sp * cr,
                    cy * sp * cr + sy * cp * sr,
                    sy * cp * cr - cy * sp * sr,
                ]
            )
        )

    def IsNearlyEqualTo(self, other: RollPitchYaw, tolerance: float) -> bool:
        """Whether no angle differs from that of `other` by more than `tolerance` [rad]."""
        expect_instance(other, RollPitchYaw, "RollPitchYaw.IsNearlyEqualTo")
        return largest_difference(self._rpy, other._rpy) <= tolerance

    def CalcRotationMatrixDt(self, rpyDt: Any) -> Array:
        """dR_AD/dt = [w_AD_A]x R_AD [1/s], shape [3, 3], from the angle rates [rad/s], shape [3]."""
        x, y, z = self.CalcAngularVelocityInParentFromRpyDt(rpyDt).tolist()
        return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]).dot(matrix_from_rpy(self._rpy))

    def CalcAngularVelocityInParentFromRpyDt(self, rpyDt: Any) -> Array:
        """w_AD_A [rad/s], shape [3], from the angle rates [rad/s], shape [3]; equation (1)."""
        rDt, pDt, yDt = _rates(rpyDt, "rpyDt")
        _, p, y = self._rpy.tolist()
        sp, cp, sy, cy = sin(p), cos(p), sin(y), cos(y)
        return np.array([cy * cp * rDt - sy * pDt, sy * cp * rDt + cy * pDt, yDt - sp * rDt])

    def CalcAngularVelocityInChildFromRpyDt(self, rpyDt: Any) -> Array:
        """w_AD_D [rad/s], shape [3], from the angle rates [rad/s], shape [3]; equation (2)."""
        rDt, pDt, yDt = _rates(rpyDt, "rpyDt")
        r, p, _ = self._rpy.tolist()
        sr, cr, sp, cp = sin(r), cos(r), sin(p), cos(p)
        return np.array([rDt - sp * yDt, cr * pDt + sr * cp * yDt, cr * cp * yDt - sr * pDt])

    def CalcRpyDtFromAngularVelocityInParent(self, w_AD_A: Any) -> Array:
        """Angle rates [rad/s], shape [3], from the angular velocity [rad/s], shape [3]; (1) inverted.

        Raises:
            RuntimeError: the pitch angle is within 0.46 degrees of gimbal lock.
        """
        self._check_gimbal_lock("CalcRpyDtFromAngularVelocityInParent")
        return self._rates_from_parent(*_rates(w_AD_A, "w_AD_A"))

    def CalcRpyDtFromAngularVelocityInChild(self, w_AD_D: Any) -> Array:
        """Angle rates [rad/s], shape [3], from the angular velocity [rad/s], shape [3]; (2) inverted.

        Raises:
            RuntimeError: the pitch angle is within 0.46 degrees of gimbal lock.
        """
        self._check_gimbal_lock("CalcRpyDtFromAngularVelocityInChild")
        return self._rates_from_child(*_rates(w_AD_D, "w_AD_D"))

    def CalcRpyDDtFromRpyDtAndAngularAccelInParent(self, rpyDt: Any, alpha_AD_A: Any) -> Array:
        """Second derivatives of the angles [rad/s²], shape [3]; the derivative of (1), inverted.

        Args:
            rpyDt: angle rates [rad/s], shape [3].
            alpha_AD_A: angular acceleration of D in A, expressed in A [rad/s²], shape [3].

        Raises:
            RuntimeError: the pitch angle is within 0.46 degrees of gimbal lock.
        """
        self._check_gimbal_lock("CalcRpyDDtFromRpyDtAndAngularAccelInParent")
        rDt, pDt, yDt = _rates(rpyDt, "rpyDt")
        x, y, z = _rates(alpha_AD_A, "alpha_AD_A")
        _, pitch, yaw = self._rpy.tolist()
        sp, cp, sy, cy = sin(pitch), cos(pitch), sin(yaw), cos(yaw)
        return self._rates_from_parent(
            x + (sy * cp * yDt + cy * sp * pDt) * rDt + cy * yDt * pDt,
            y - (cy * cp * yDt - sy * sp * pDt) * rDt + sy * yDt * pDt,
            z + cp * pDt * rDt,
        )

    def CalcRpyDDtFromAngularAccelInChild(self, rpyDt: Any, alpha_AD_D: Any) -> Array:
        """Second derivatives of the angles [rad/s²], shape [3]; the derivative of (2), inverted.

        Args:
            rpyDt: angle rates [rad/s], shape [3].
            alpha_AD_D: angular acceleration of D in A, expressed in D [rad/s²], shape [3].

        Raises:
            RuntimeError: the pitch angle is within 0.46 degrees of gimbal lock.
        """
        self._check_gimbal_lock("CalcRpyDDtFromAngularAccelInChild")
        rDt, pDt, yDt = _rates(rpyDt, "rpyDt")
        x, y, z = _rates(alpha_AD_D, "alpha_AD_D")
        roll, pitch, _ = self._rpy.tolist()
        sr, cr, sp, cp = sin(roll), cos(roll), sin(pitch), cos(pitch)
        return self._rates_from_child(
            x + cp * pDt * yDt,
            y + sr * rDt * pDt - (cr * cp * rDt - sr * sp * pDt) * yDt,
            z + cr * rDt * pDt + (sr * cp * rDt + cr * sp * pDt) * yDt,
        )

    def _rates_from_parent(self, x: Any, y: Any, z: Any) -> Array:
        _, pitch, yaw = self._rpy.tolist()
        sy, cy = sin(yaw), cos(yaw)
        rDt = (cy * x + sy * y) / cos(pitch)
        return np.array([rDt, cy * y - sy * x, z + sin(pitch) * rDt])

    def _rates_from_child(self, x: Any, y: Any, z: Any) -> Array:
        roll, pitch, _ = self._rpy.tolist()
        sr, cr = sin(roll), cos(roll)
        yDt = (sr * y + cr * z) / cos(pitch)
        return np.array([x + sin(pitch) * yDt, cr * y - sr * z, yDt])

    def _check_gimbal_lock(self, where: str) -> None:
        if self._rpy.dtype.kind == "O":
            return
        pitch = self._rpy[1].real
        if abs(math.cos(pitch)) < _GIMBAL_LOCK_COSINE:
            raise RuntimeError(
                f"RollPitchYaw.{where}: the pitch angle {math.degrees(pitch):.4g} degrees is too near gimbal "
                f"lock (90 degrees), where angle rates do not follow from angular velocity: |cos(pitch)| is "
                f"{abs(math.cos(pitch)):.3g}, expected at least {_GIMBAL_LOCK_COSINE}. Use a Quaternion "
                f"there."
            )

    def __repr__(self) -> str:
        roll, pitch, yaw = self._rpy.tolist()
        return f"{class_name('RollPitchYaw', self._rpy)}(roll={roll!r}, pitch={pitch!r}, yaw={yaw!r})"


def _rates(value: Any, name: str) -> list:
    return owned_vector(value, 3, f"RollPitchYaw: {name}").tolist()
