"""DofMask: some of the degrees of freedom of a plant."""

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
        require_types(f"DofMask.{function}()", other=(other, DofMask))
        if other.size() != self.size():
            raise ValueError(f"DofMask.{function}(): masks must have one size; got {self.size()} and {other.size()}.")
        return other._mask

    def __getitem__(self, index: int) -> bool:
        return bool(self._mask[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DofMask) and np.array_equal(self._mask, other._mask)

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
