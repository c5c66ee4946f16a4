"""DofMask: some of the degrees of freedom of a plant; JointLimits: how far, fast and suddenly they may move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.values.arguments import bind_overload, checked_size, require_types
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.scratch_plant import require_plant
from merganser.multibody.tree import JointIndex, ModelInstanceIndex

Array = NDArray[Any]


class DofMask:
    """Which of the degrees of freedom of a plant are selected; it never changes.

    Position i of the plant must have velocity i as its rate, as joints of one degree of freedom have.

    Args:
        values: for each degree of freedom, whether it is selected. Or
        size: how many there are, and
        value: whether all of them are selected, or none.

    Raises:
        ValueError: the size is negative.
        TypeError: the values are no sequence, such as a set.
    """

    __slots__ = ("_mask",)

    @overload
    def __init__(self) -> None: ...
    @overload
    def __init__(self, size: int, value: bool) -> None: ...
    @overload
    def __init__(self, values: Sequence[bool] | NDArray[np.bool_]) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if len(args) + len(kwargs) == 2:
            given = bind_overload("DofMask", ("size", "value"), {}, args, kwargs)
            self._mask = np.full(checked_size(given["size"], "DofMask: size"), bool(given["value"]))
        else:
            values = bind_overload("DofMask", ("values",), {"values": ()}, args, kwargs)["values"]
            if np.ndim(values) != 1:
                raise TypeError(f"DofMask: expected a sequence of bools, got {type(values).__name__} {values!r}.")
            self._mask = np.array(values, bool)
        self._mask.setflags(write=False)

    @staticmethod
    def MakeFromModel(
        plant: MultibodyPlant, model_index: ModelInstanceIndex | str | None = None, *, model_name: str | None = None
    ) -> DofMask:
        """Returns the mask of a model instance, given by its index, or by its name (also as `model_name=`).

        Raises:
            TypeError: it is given twice, or not at all.
            RuntimeError: there is no such model instance, or velocities of the plant are not rates of its positions.
        """
        if (model_index is None) == (model_name is None):
            raise TypeError("DofMask.MakeFromModel() takes a plant, and an index or a name of a model instance.")
        model = model_name if model_index is None else model_index
        _require_rates(plant)
        instance = plant.GetModelInstanceByName(model) if isinstance(model, str) else model
        mask = np.zeros(plant.num_positions(), bool)
        for index in plant.GetJointIndices(instance):
            joint = plant.get_joint(index)
            mask[joint.position_start() : joint.position_start() + joint.num_positions()] = True
        return DofMask(mask)

    def size(self) -> int:
        """Returns how many degrees of freedom there are, selected or not."""
        return len(self._mask)

    def count(self) -> int:
        """Returns how many are selected."""
        return int(self._mask.sum())

    def GetJoints(self, plant: MultibodyPlant) -> list[JointIndex]:
        """Returns the joints of the selected degrees of freedom, in ascending order.

        Raises:
            RuntimeError: velocities of the plant are not rates of its positions.
            ValueError: it has another number of positions.
        """
        _require_rates(plant)
        if plant.num_positions() != self.size():
            raise ValueError(
                f"DofMask.GetJoints(): the mask is for {self.size()} positions, not for the {plant.num_positions()} of "
                f"plant '{plant.GetSystemPathname()}'."
            )
        found = []
        for index in plant.GetJointIndices():
            joint = plant.get_joint(index)
            if self._mask[joint.position_start() : joint.position_start() + joint.num_positions()].any():
                found.append(index)
        return found

    def Complement(self) -> DofMask:
        """Returns the mask of those that are not selected."""
        return DofMask(~self._mask)

    def Union(self, other: DofMask) -> DofMask:
        """Returns the mask of those that are selected here or there.

        Raises:
            ValueError: the other one has another size.
        """
        return DofMask(self._mask | self._same_size("Union", other))

    def Intersect(self, other: DofMask) -> DofMask:
        """Returns the mask of those that are selected here and there.

        Raises:
            ValueError: the other one has another size.
        """
        return DofMask(self._mask & self._same_size("Intersect", other))

    def Subtract(self, other: DofMask) -> DofMask:
        """Returns the mask of those that are selected here and not there.

        Raises:
            ValueError: the other one has another size.
        """
        return DofMask(self._mask & ~self._same_size("Subtract", other))

    def GetFromArray(self, full_vec: ArrayLike) -> Array:
        """Returns the selected elements of a vector, shape [count].

        Raises:
            ValueError: the vector has another size.
        """
        vector = np.asarray(full_vec).ravel()
        if len(vector) != self.size():
            raise ValueError(f"DofMask.GetFromArray(): expected {self.size()} elements, got {len(vector)}.")
        return np.asarray(vector[self._mask])

    def GetFullToSelectedIndex(self) -> list[int | None]:
        """Returns for each degree of freedom its place among those that are selected, or None."""
        places = np.cumsum(self._mask) - 1
        return [int(place) if is_selected else None for place, is_selected in zip(places, self._mask)]

    def GetSelectedToFullIndex(self) -> list[int]:
        """Returns the places of those that are selected."""
        return [int(place) for place in np.flatnonzero(self._mask)]

    def _same_size(self, function: str, other: DofMask) -> Array:
        other = DofMask(other) if isinstance(other, list | tuple) else other
        require_types(f"DofMask.{function}()", other=(other, DofMask))
        if other.size() != self.size():
            raise ValueError(f"DofMask.{function}(): masks must have one size; got {self.size()} and {other.size()}.")
        return other._mask

    def __getitem__(self, index: int) -> bool:
        return bool(self._mask[index])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DofMask):
            return np.array_equal(self._mask, other._mask)
        return isinstance(other, list | tuple) and self._mask.tolist() == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"DofMask({self._mask.tolist()})"


def _require_rates(plant: MultibodyPlant) -> None:
    require_plant(plant, "DofMask")
    if not plant.IsVelocityEqualToQDot():
        raise RuntimeError(
            f"DofMask: velocity i of plant '{plant.GetSystemPathname()}' must be the rate of position i; that is not "
            "so, as it has bodies that turn freely."
        )


_KINDS = ("position", "velocity", "acceleration")
_FLAGS = ("require_finite_positions", "require_finite_velocities", "require_finite_accelerations")


class JointLimits:
    """Lower and upper limits of positions, velocities and accelerations; they never change.

    Five forms, each with `require_finite_positions`, `require_finite_velocities` and `require_finite_accelerations`,
    all False by default:

        JointLimits()                                    of nothing
        JointLimits(plant)                               of all joints of a plant
        JointLimits(plant, active_dof)                   of some, by a DofMask
        JointLimits(other, active_dof)                   some of other ones
        JointLimits(position_lower, position_upper, velocity_lower, velocity_upper, acceleration_lower,
                    acceleration_upper)

    Raises:
        RuntimeError: the plant is not finalized; a lower limit is above its upper one, or not a number; sizes differ;
            or limits are infinite that must not be.
        ValueError: the mask has another size.
        TypeError: the arguments fit none of the forms.
    """

    @overload
    def __init__(
        self,
        plant: MultibodyPlant = ...,
        require_finite_positions: bool = ...,
        require_finite_velocities: bool = ...,
        require_finite_accelerations: bool = ...,
    ) -> None: ...
    @overload
    def __init__(
        self,
        plant: MultibodyPlant,
        active_dof: DofMask,
        require_finite_positions: bool = ...,
        require_finite_velocities: bool = ...,
        require_finite_accelerations: bool = ...,
    ) -> None: ...
    @overload
    def __init__(
        self,
        other: JointLimits,
        active_dof: DofMask,
        require_finite_positions: bool = ...,
        require_finite_velocities: bool = ...,
        require_finite_accelerations: bool = ...,
    ) -> None: ...
    @overload
    def __init__(
        self,
        position_lower: ArrayLike,
        position_upper: ArrayLike,
        velocity_lower: ArrayLike,
        velocity_upper: ArrayLike,
        acceleration_lower: ArrayLike,
        acceleration_upper: ArrayLike,
        require_finite_positions: bool = ...,
        require_finite_velocities: bool = ...,
        require_finite_accelerations: bool = ...,
    ) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = (*_names_of_form(args, kwargs), *_FLAGS)
        given = bind_overload("JointLimits", names, dict.fromkeys(_FLAGS, False), args, kwargs)
        for flag in _FLAGS:
            if not isinstance(given[flag], (int, np.bool_)):
                raise TypeError(f"JointLimits: {flag} must be True or False; given {given[flag]!r}.")
        self._limits = dict(zip(_KINDS, _limits(given)))
        for (kind, (low, high)), flag in zip(self._limits.items(), _FLAGS):
            _check(kind, low, high, bool(given[flag]))

    def num_positions(self) -> int:
        """Returns how many positions there are limits for."""
        return len(self._limits["position"][0])

    def num_velocities(self) -> int:
        """Returns how many velocities there are limits for."""
        return len(self._limits["velocity"][0])

    def num_accelerations(self) -> int:
        """Returns how many accelerations there are limits for."""
        return len(self._limits["acceleration"][0])

    def position_lower(self) -> Array:
        """Returns the lower limits of positions [rad, m]."""
        return self._limits["position"][0].copy()

    def position_upper(self) -> Array:
        """Returns the upper limits of positions [rad, m]."""
        return self._limits["position"][1].copy()

    def velocity_lower(self) -> Array:
        """Returns the lower limits of velocities [rad/s, m/s]."""
        return self._limits["velocity"][0].copy()

    def velocity_upper(self) -> Array:
        """Returns the upper limits of velocities [rad/s, m/s]."""
        return self._limits["velocity"][1].copy()

    def acceleration_lower(self) -> Array:
        """Returns the lower limits of accelerations [rad/s^2, m/s^2]."""
        return self._limits["acceleration"][0].copy()

    def acceleration_upper(self) -> Array:
        """Returns the upper limits of accelerations [rad/s^2, m/s^2]."""
        return self._limits["acceleration"][1].copy()

    def CheckInPositionLimits(self, position: ArrayLike, tolerance: float = 0.0) -> bool:
        """Returns whether positions are within their limits, or beyond them by at most the tolerance.

        Raises:
            ValueError: there are more or fewer of them, something is not a number, or the tolerance is negative.
        """
        return self._is_within("position", position, tolerance)

    def CheckInVelocityLimits(self, velocity: ArrayLike, tolerance: float = 0.0) -> bool:
        """Returns whether velocities are within their limits, or beyond them by at most the tolerance.

        Raises:
            ValueError: as above.
        """
        return self._is_within("velocity", velocity, tolerance)

    def CheckInAccelerationLimits(self, acceleration: ArrayLike, tolerance: float = 0.0) -> bool:
        """Returns whether accelerations are within their limits, or beyond them by at most the tolerance.

        Raises:
            ValueError: as above.
        """
        return self._is_within("acceleration", acceleration, tolerance)

    def _is_within(self, kind: str, value: ArrayLike, tolerance: float) -> bool:
        low, high = self._limits[kind]
        vector = np.array(value, float).ravel()
        if vector.shape != low.shape or np.isnan(vector).any():
            raise ValueError(f"JointLimits: expected a {kind} of {len(low)} numbers, got {value!r}.")
        if not tolerance >= 0.0:
            raise ValueError(f"JointLimits: the tolerance must not be negative, got {tolerance}.")
        return bool(((low - tolerance <= vector) & (vector <= high + tolerance)).all())


def _names_of_form(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, ...]:
    """The names of the arguments before the flags, by what the first ones are."""
    if not args and not kwargs.keys() - set(_FLAGS):
        return ()
    has_mask = (len(args) > 1 and isinstance(args[1], DofMask)) or "active_dof" in kwargs
    if (args and isinstance(args[0], JointLimits)) or "other" in kwargs:
        return "other", "active_dof"
    if (args and isinstance(args[0], MultibodyPlant)) or "plant" in kwargs:
        return ("plant", "active_dof") if has_mask else ("plant",)
    return tuple(f"{kind}_{side}" for kind in _KINDS for side in ("lower", "upper"))


def _limits(given: dict[str, Any]) -> list[tuple[Array, Array]]:
    """Lower and upper limits of each kind, for one form of arguments."""
    plant, other = given.get("plant"), given.get("other")
    if plant is not None:
        found = [
            (plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits()),
            (plant.GetVelocityLowerLimits(), plant.GetVelocityUpperLimits()),
            (plant.GetAccelerationLowerLimits(), plant.GetAccelerationUpperLimits()),
        ]
    elif other is not None:
        found = [other._limits[kind] for kind in _KINDS]
    else:
        found = [(given.get(f"{kind}_lower", ()), given.get(f"{kind}_upper", ())) for kind in _KINDS]
    mask: DofMask | None = given.get("active_dof")
    vectors = [tuple(np.array(side, float).ravel() for side in pair) for pair in found]
    return [(low, high) if mask is None else (mask.GetFromArray(low), mask.GetFromArray(high)) for low, high in vectors]


def _check(kind: str, low: Array, high: Array, require_finite: bool) -> None:
    name = kind.capitalize()
    if low.shape != high.shape:
        raise RuntimeError(f"JointLimits: {name} limits must have the same size; got {low.size} and {high.size}.")
    if not (low <= high).all():
        raise RuntimeError(f"JointLimits: {name} limits must be ordered; got {low.tolist()} and {high.tolist()}.")
    if require_finite and not np.isfinite([*low, *high]).all():
        raise RuntimeError(f"JointLimits: {name} limits are not finite: {low.tolist()} and {high.tolist()}.")
