"""Poses as data, for YAML files: rotations by their parametrization, vectors, and transforms with a base frame.

The names are those of pydrake.common.schema. Distributions can be read and kept, but not sampled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix

__all__ = ["DeterministicVector", "GaussianVector", "Rotation", "Transform", "UniformVector"]

Vector = npt.NDArray[np.float64]
Vector3 = Annotated[Vector, 3]


def _zeros() -> Vector:
    return np.zeros(3)


@dataclass(kw_only=True, eq=False)
class DeterministicVector:
    """A vector without randomness; the same as writing its numbers."""

    value: Vector3 = field(default_factory=_zeros)


@dataclass(kw_only=True, eq=False)
class GaussianVector:
    """Independent normally distributed numbers."""

    mean: Vector3 = field(default_factory=_zeros)
    stddev: Vector3 = field(default_factory=_zeros)


@dataclass(kw_only=True, eq=False)
class UniformVector:
    """Independent uniformly distributed numbers."""

    min: Vector3 = field(default_factory=_zeros)
    max: Vector3 = field(default_factory=_zeros)


@dataclass(kw_only=True, eq=False)
class _Identity:
    """No rotation."""


@dataclass(kw_only=True, eq=False)
class _Rpy:
    """Roll, pitch and yaw [degrees], see RollPitchYaw."""

    deg: Vector3 = field(default_factory=_zeros)

    def __post_init__(self) -> None:
        self.deg = np.array(self.deg, dtype=np.float64)


@dataclass(kw_only=True, eq=False)
class _AngleAxis:
    """A rotation by an angle [degrees] about an axis."""

    angle_deg: float = 0.0
    axis: Vector3 = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))

    def __post_init__(self) -> None:
        self.axis = np.array(self.axis, dtype=np.float64)


@dataclass(kw_only=True, eq=False)
class _Uniform:
    """Any rotation, all equally likely."""


for _kind, _name in ((_Identity, "Identity"), (_Rpy, "Rpy"), (_AngleAxis, "AngleAxis"), (_Uniform, "Uniform")):
    _kind.__name__, _kind.__qualname__ = _name, f"Rotation.{_name}"

RotationKind = _Identity | _Rpy | _AngleAxis | _Uniform


@dataclass(kw_only=True, eq=False)
class Rotation:
    """A rotation, or a distribution of rotations.

    Attributes:
        value: an Identity, Rpy, AngleAxis or Uniform.
    """

    Identity: ClassVar[type[_Identity]] = _Identity
    Rpy: ClassVar[type[_Rpy]] = _Rpy
    AngleAxis: ClassVar[type[_AngleAxis]] = _AngleAxis
    Uniform: ClassVar[type[_Uniform]] = _Uniform
    # Inside of other records YAML files hold the value alone.
    _is_inlined: ClassVar[bool] = True

    value: RotationKind = field(default_factory=_Identity)

    def IsDeterministic(self) -> bool:
        """Returns whether this is one rotation, not a distribution."""
        return not isinstance(self.value, _Uniform)

    def GetDeterministicValue(self) -> RotationMatrix:
        """Returns the rotation.

        Raises:
            RuntimeError: this is a distribution.
            ValueError: the axis of an AngleAxis has no direction.
        """
        match self.value:
            case _Rpy():
                return RotationMatrix(RollPitchYaw(np.deg2rad(self.value.deg)))
            case _AngleAxis():
                return _rotation_about(self.value)
            case _Uniform():
                raise RuntimeError("Rotation.GetDeterministicValue(): this rotation is random (!Uniform).")
        return RotationMatrix()

    def set_rpy_deg(self, rpy_deg: npt.ArrayLike) -> None:
        """Makes this the rotation of roll, pitch and yaw [degrees], shape [3]."""
        self.value = _Rpy(deg=np.array(rpy_deg, dtype=np.float64))


def _rotation_about(turn: _AngleAxis) -> RotationMatrix:
    """R = I + sin(a) [n] + (1 - cos(a)) [n]^2 (Rodrigues)."""
    length = float(np.linalg.norm(turn.axis))
    if not (np.isfinite(length) and length > 0.0):
        raise ValueError(f"Rotation.AngleAxis: the axis {np.asarray(turn.axis).tolist()} has no direction.")
    n, angle = np.asarray(turn.axis, dtype=np.float64) / length, np.deg2rad(turn.angle_deg)
    cross = np.array([[0.0, -n[2], n[1]], [n[2], 0.0, -n[0]], [-n[1], n[0], 0.0]])
    return RotationMatrix(np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * cross @ cross)


@dataclass(kw_only=True, eq=False, init=False)
class Transform:
    """A pose in a base frame, or a distribution of poses.

    Args:
        X: in place of the others: a RigidTransform.

    Attributes:
        base_frame: name of the base frame; None where that is clear.
        translation: [m], shape [3], or a distribution of it.
        rotation: a Rotation; assigning a Rotation.Rpy or the like makes one.
    """

    base_frame: str | None = None
    translation: Vector3 | DeterministicVector | GaussianVector | UniformVector = field(default_factory=_zeros)
    rotation: Rotation = field(default_factory=Rotation)

    def __init__(
        self,
        X: RigidTransform | None = None,
        *,
        base_frame: str | None = None,
        translation: Any = None,
        rotation: Rotation | RotationKind | None = None,
    ) -> None:
        if X is not None and (translation is not None or rotation is not None):
            raise TypeError("Transform() takes a RigidTransform, or translation and rotation.")
        self.base_frame = base_frame
        self.translation = np.zeros(3) if translation is None else translation
        self.rotation = rotation if isinstance(rotation, Rotation) else Rotation(value=rotation or _Identity())
        if X is not None:
            self.translation = X.translation()
            self.set_rotation_rpy_deg(np.rad2deg(RollPitchYaw(X.rotation()).vector()))

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "translation" and not isinstance(value, (DeterministicVector, GaussianVector, UniformVector)):
            value = np.array(value, dtype=np.float64)
        elif name == "rotation" and isinstance(value, RotationKind):
            value = Rotation(value=value)
        object.__setattr__(self, name, value)

    def IsDeterministic(self) -> bool:
        """Returns whether this is one pose, not a distribution."""
        return self.rotation.IsDeterministic() and not isinstance(self.translation, (GaussianVector, UniformVector))

    def GetDeterministicValue(self) -> RigidTransform:
        """Returns the pose, without its base frame.

        Raises:
            RuntimeError: this is a distribution.
        """
        if isinstance(self.translation, (GaussianVector, UniformVector)):
            raise RuntimeError("Transform.GetDeterministicValue(): the translation is random.")
        p = self.translation.value if isinstance(self.translation, DeterministicVector) else self.translation
        return RigidTransform(self.rotation.GetDeterministicValue(), np.array(p, dtype=np.float64))

    def set_rotation_rpy_deg(self, rpy_deg: npt.ArrayLike) -> None:
        """Makes the rotation that of roll, pitch and yaw [degrees], shape [3]."""
        self.rotation = Rotation()
        self.rotation.set_rpy_deg(rpy_deg)
