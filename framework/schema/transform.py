"""Poses as data, which may be random."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework.common.keywords import also_named
from merganser.framework.core.system.random_values import RandomGenerator
from merganser.framework.math import RigidTransform
from merganser.framework.schema.functions import ToDistributionVector
from merganser.framework.schema.rotation import Reading, Rotation, Vector3
from merganser.framework.schema.vectors import DistributionVector


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
