"""JointFriction: dry friction of joints."""

from __future__ import annotations

from abc import ABC
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from merganser.multibody.math.vectors import as_vector
from merganser.multibody.tree.element import NamedElement
from merganser.multibody.tree.inertia.validity import real_values

if TYPE_CHECKING:
    from merganser.framework import Context

Vector = npt.NDArray[Any]


def check_coefficients(caller: str, what: str, joint: str, values: npt.ArrayLike, size: int) -> Vector:
    """A vector of coefficients of a joint, which must be finite and not negative.

    Raises:
        ValueError: the size is wrong.
        RuntimeError: a number is negative or not finite.
    """
    vector: Vector = as_vector(values, size, f"{caller}: {what} of joint {joint!r}")
    real = real_values(vector)
    if real is not None and not (np.isfinite(real).all() and (real >= 0.0).all()):
        raise RuntimeError(
            f"{caller}(): the {what} of joint {joint!r} must be finite and not negative, but is {vector}."
        )
    return vector


class JointFriction(NamedElement, ABC):
    """Dry (Coulomb) friction, a part of each Joint.

    Each velocity v of a joint with friction f is held by a force of up to f [N m or N], and where it moves all the
    same, f works against it. In a discrete step this is a constraint, with the rate at the end of the step and an
    impulse of at most h f; in continuous time the force is f v / sqrt(v^2 + v_s^2), where v_s [rad/s or m/s] is
    MultibodyPlant.set_stiction_tolerance().

    Which joints may have friction is decided before Finalize(): those whose default friction is not zero. How much it
    is can be changed in a Context. pydrake's joints have no dry friction: these functions are additions.
    """

    _default_friction: npt.NDArray[np.float64]
    _velocity_start: int | None
    _may_have_friction = False

    if TYPE_CHECKING:

        def num_velocities(self) -> int: ...
        def _mobod(self, caller: str) -> int: ...

    def default_friction_vector(self) -> Vector:
        """Returns the dry friction that new Contexts start with [N m or N], shape [num_velocities]."""
        return self._default_friction.copy()

    def set_default_friction_vector(self, friction: npt.ArrayLike) -> None:
        """Sets the dry friction that new Contexts start with [N m or N], shape [num_velocities].

        Raises:
            ValueError: if the size is wrong.
            RuntimeError: if a friction is negative or not finite; or if it is not zero, the plant is finalized, and
                this joint had no friction then.
        """
        values = self._check_friction("set_default_friction_vector", friction).astype(np.float64)
        self._may_have_friction = self._may_have_friction or bool(values.any())
        self._default_friction = values

    def GetFrictionVector(self, context: Context) -> Vector:
        """Returns the dry friction in the Context, shape [num_velocities]."""
        record = self.GetParentPlant()._views.parameters(context)[self._mobod("GetFrictionVector")]
        values: Vector = record["friction"][: self.num_velocities()].copy()
        return values

    def SetFrictionVector(self, context: Context, friction: npt.ArrayLike) -> None:
        """Sets the dry friction in the Context [N m or N], shape [num_velocities].

        Raises:
            ValueError: if the size is wrong.
            RuntimeError: if a friction is negative or not finite; or if it is not zero, and this joint had no default
                friction when the plant was finalized.
        """
        values = self._check_friction("SetFrictionVector", friction)
        parameters = self.GetParentPlant()._views.mutable_parameters(context)
        parameters["friction"][self._mobod("SetFrictionVector"), : self.num_velocities()] = values

    def _check_friction(self, caller: str, friction: npt.ArrayLike) -> Vector:
        values = check_coefficients(caller, "friction", self._name, friction, self.num_velocities())
        real = real_values(values)
        if self._velocity_start is not None and not self._may_have_friction and (real is None or real.any()):
            raise RuntimeError(
                f"{caller}(): joint {self._name!r} cannot get friction, as it had none when the plant was finalized. "
                "Give it a default friction before Finalize() (set_default_friction_vector), however small."
            )
        return values
