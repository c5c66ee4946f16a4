"""Rotations, by one of their parametrizations, and poses as data, which may be random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from merganser.framework.common.keywords import also_named
from merganser.framework.common.records import copyable
from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.math import AngleAxis, RigidTransform, RollPitchYaw, RotationMatrix
from merganser.framework.math.rotations.quaternion_functions import quaternion_of_numbers
from merganser.framework.schema.vectors import (
    Deterministic,
    DeterministicVector,
    Distribution,
    DistributionVector,
    Gaussian,
    GaussianVector,
    ToDistribution,
    ToDistributionVector,
    Uniform,
    UniformDiscrete,
    UniformVector,
)

# A number, and a vector of three, that may be random, as settings files say them.
Number = float | Deterministic | Gaussian | Uniform | UniformDiscrete
if TYPE_CHECKING:
    Vector3 = Any
else:
    Vector3 = Annotated[NDArray[np.float64], 3] | DeterministicVector[3] | GaussianVector[3] | UniformVector[3]


@dataclass(frozen=True)
class Reading:
    """How random numbers are resolved: by a sample, the mean, an expression, or the only value.

    Attributes:
        number: called with a distribution of a number.
        vector: called with a distribution of a vector.
    """

    number: Callable[[Distribution], Any]
    vector: Callable[[DistributionVector], Any]

    @staticmethod
    def sample(generator: RandomGenerator) -> Reading:
        """Draws random numbers; those with one possible value need no draw."""

        def drawn(x: Distribution) -> float:
            value = x._only_value()
            return x.Sample(generator) if value is None else value

        return Reading(drawn, lambda x: np.array([drawn(each) for each in x._elements("Sample")]))

    @staticmethod
    def mean() -> Reading:
        """Takes the mean of random numbers."""
        return Reading(lambda x: x.Mean(), lambda x: x.Mean())

    @staticmethod
    def symbolic() -> Reading:
        """Makes new variables for random numbers."""
        return Reading(lambda x: x.ToSymbolic(), lambda x: x.ToSymbolic())

    @staticmethod
    def only_value(what: str) -> Reading:
        """There is nothing random; otherwise errors say that `what` is."""

        def only(x: Any) -> Any:
            value = x._only_value()
            if value is None:
                raise RuntimeError(f"{what} is random; its value is not determined.")
            return value

        return Reading(only, only)


@dataclass(eq=False, repr=False)
class _Kind:
    """A parametrization of rotations; attributes are numbers, vectors, or distributions of them."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'.")
        object.__setattr__(self, name, _checked(value, name))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


def _checked(value: Any, name: str) -> Any:
    if isinstance(value, (Distribution, DistributionVector)):
        return value
    if name == "angle_deg":
        return float(value)
    vector = np.array(value, dtype=np.float64)
    if vector.shape != (3,):
        raise ValueError(f"{name} has three numbers; given {value!r}.")
    return vector


@copyable
@dataclass(eq=False, repr=False)
class _Identity(_Kind):
    """No rotation."""


@copyable
@dataclass(eq=False, repr=False, kw_only=True)
class _Rpy(_Kind):
    """Roll, pitch and yaw [degrees], see RollPitchYaw."""

    deg: Vector3 = field(default_factory=lambda: np.zeros(3))


@copyable
@dataclass(eq=False, repr=False, kw_only=True)
class _AngleAxis(_Kind):
    """A rotation by an angle [degrees] about an axis, of any length but zero."""

    angle_deg: Number = 0.0
    axis: Vector3 = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))


@copyable
@dataclass(eq=False, repr=False)
class _Uniform(_Kind):
    """Any rotation, all equally likely."""


for _kind in (_Identity, _Rpy, _AngleAxis, _Uniform):
    _kind.__name__ = _kind.__name__.removeprefix("_")
    _kind.__qualname__ = f"Rotation.{_kind.__name__}"

RotationKind = _Identity | _Rpy | _AngleAxis | _Uniform


@dataclass(eq=False, init=False)
class Rotation:
    """A rotation, or a distribution of rotations.

    Args:
        value: an Identity, Rpy, AngleAxis or Uniform; or a RotationMatrix or RollPitchYaw, which is taken as Rpy; or
            another Rotation, which is copied.
    """

    Identity: ClassVar[type[_Identity]] = _Identity
    Rpy: ClassVar[type[_Rpy]] = _Rpy
    AngleAxis: ClassVar[type[_AngleAxis]] = _AngleAxis
    Uniform: ClassVar[type[_Uniform]] = _Uniform
    # Inside of other records YAML files hold the value alone.
    _is_inlined: ClassVar[bool] = True

    value: RotationKind = field(default_factory=_Identity)

    @also_named(other="value")
    def __init__(self, value: Any = None) -> None:
        self.value = _Identity() if value is None else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name != "value":
            raise AttributeError(f"Rotation has no attribute '{name}'.")
        if isinstance(value, Rotation):
            value = value.value
        elif isinstance(value, (RotationMatrix, RollPitchYaw)):
            value = _Rpy(deg=np.rad2deg(RollPitchYaw(value).vector()))
        elif not isinstance(value, RotationKind):
            raise TypeError(f"Rotation: expected an Identity, Rpy, AngleAxis or Uniform, got {type(value).__name__}.")
        object.__setattr__(self, name, value)

    def IsDeterministic(self) -> bool:
        """Returns whether this is one rotation, not a distribution."""
        match self.value:
            case _Rpy():
                return ToDistributionVector(self.value.deg)._only_value() is not None
            case _AngleAxis():
                return (
                    ToDistribution(self.value.angle_deg)._only_value() is not None
                    and ToDistributionVector(self.value.axis)._only_value() is not None
                )
        return isinstance(self.value, _Identity)

    def GetDeterministicValue(self) -> RotationMatrix:
        """Returns the rotation.

        Raises:
            RuntimeError: this is a distribution.
            ValueError: the axis of an AngleAxis has no direction.
        """
        return self._read(Reading.only_value("Rotation.GetDeterministicValue(): this rotation"))

    def ToSymbolic(self) -> RotationMatrix:
        """Returns the rotation as expressions of new random variables."""
        return self._read(Reading.symbolic())

    def set_rpy_deg(self, rpy_deg: Any) -> None:
        """Makes this the rotation of roll, pitch and yaw [degrees], shape [3]."""
        self.value = _Rpy(deg=rpy_deg)

    def _read(self, reading: Reading) -> RotationMatrix:
        match self.value:
            case _Rpy():
                deg = reading.vector(ToDistributionVector(self.value.deg))
                return RotationMatrix(RollPitchYaw(deg * (np.pi / 180.0)))
            case _AngleAxis():
                angle = reading.number(ToDistribution(self.value.angle_deg)) * (np.pi / 180.0)
                return _rotation_about(reading.vector(ToDistributionVector(self.value.axis)), angle)
            case _Uniform():
                numbers = [reading.number(Uniform(0.0, 1.0)) for _ in range(3)]
                return RotationMatrix(quaternion=quaternion_of_numbers(*numbers))
        return RotationMatrix()


def _rotation_about(axis: NDArray[Any], angle: Any) -> RotationMatrix:
    length = np.sqrt((axis * axis).sum())
    if axis.dtype != object and not (np.isfinite(length) and length > 0.0):
        raise ValueError(f"Rotation.AngleAxis: the axis {axis.tolist()} has no direction.")
    return RotationMatrix(AngleAxis(angle=angle, axis=axis / length))


@dataclass(kw_only=True, eq=False, init=False)
class Transform:
    """A pose in a base frame, or a distribution of poses.

    Args:
        X: in place of the others: a RigidTransform, or a Transform, which is copied.

    Attributes:
        base_frame: name of the base frame; None where that is clear.
        translation: [m], shape [3], or a distribution of it.
        rotation: a Rotation; assigning a Rotation.Rpy or the like makes one.
    """

    base_frame: str | None = None
    translation: Vector3 = field(default_factory=lambda: np.zeros(3))
    rotation: Rotation = field(default_factory=Rotation)

    @also_named(other="X")
    def __init__(
        self,
        X: RigidTransform | Transform | None = None,
        *,
        base_frame: str | None = None,
        translation: Any = None,
        rotation: Any = None,
    ) -> None:
        if X is not None and not (base_frame is translation is rotation is None):
            raise TypeError("Transform() takes a RigidTransform, or base_frame, translation and rotation.")
        if isinstance(X, Transform):
            base_frame, translation, rotation = X.base_frame, X.translation, X.rotation
        elif X is not None:
            translation, rotation = X.translation(), X.rotation()
        self.base_frame = base_frame
        self.translation = np.zeros(3) if translation is None else translation
        self.rotation = Rotation(rotation)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dataclass_fields__:
            raise AttributeError(f"Transform has no attribute '{name}'.")
        if name == "translation" and not isinstance(value, DistributionVector):
            vector = np.array(value, dtype=np.float64)
            if vector.shape != (3,):
                raise ValueError(f"Transform: a translation has three numbers; given {value!r}.")
            value = vector
        elif name == "rotation":
            value = Rotation(value)
        object.__setattr__(self, name, value)

    def IsDeterministic(self) -> bool:
        """Returns whether this is one pose, not a distribution."""
        return self.rotation.IsDeterministic() and ToDistributionVector(self.translation)._only_value() is not None

    def GetDeterministicValue(self) -> RigidTransform:
        """Returns the pose, without its base frame.

        Raises:
            RuntimeError: this is a distribution.
        """
        return self._read(Reading.only_value("Transform.GetDeterministicValue(): this transform"))

    def ToSymbolic(self) -> RigidTransform:
        """Returns the pose in its base frame as expressions of new random variables."""
        return self._read(Reading.symbolic())

    def Mean(self) -> RigidTransform:
        """Returns the pose with every random number at its mean: for rotations, that is no mean of them."""
        return self._read(Reading.mean())

    def Sample(self, generator: RandomGenerator) -> RigidTransform:
        """Draws a pose.

        Raises:
            RuntimeError: there is a base frame, which the result would lose.
        """
        if self.base_frame not in (None, "world"):
            raise RuntimeError(
                f"Transform.Sample(): the result would lose the base frame '{self.base_frame}'. Set base_frame to "
                "None if the pose in that frame is meant."
            )
        return self._read(Reading.sample(generator))

    def set_rotation_rpy_deg(self, rpy_deg: npt.ArrayLike) -> None:
        """Makes the rotation that of roll, pitch and yaw [degrees], shape [3]."""
        self.rotation = Rotation()
        self.rotation.set_rpy_deg(rpy_deg)

    def _read(self, reading: Reading) -> RigidTransform:
        p = reading.vector(ToDistributionVector(self.translation))
        return RigidTransform(self.rotation._read(reading), p)
