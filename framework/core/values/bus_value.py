"""BusValue: many named values that travel through one port."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from merganser.framework.core.values.values import AbstractValue


class BusValue:
    """Values by name, of any types; iterating gives the names in the order in which they were set.

    A copy has its own copies of all values.
    """

    def __init__(self) -> None:
        self._values: dict[str, AbstractValue] = {}

    def Set(self, name: str, value: AbstractValue) -> None:
        """Sets the value of that name to a copy of what `value` holds.

        Raises:
            TypeError: `value` is no Value, or holds another type than the value that had the name before.
        """
        if not isinstance(name, str):
            raise TypeError(f"BusValue.Set: names are strings, got {name!r}.")
        if not isinstance(value, AbstractValue):
            raise TypeError(f"BusValue.Set('{name}', ...) takes a Value, got {type(value).__name__}; write Value(...).")
        before = self._values.get(name)
        if before is not None and type(before.get_value()) is not type(value.get_value()):
            raise TypeError(
                f"BusValue: '{name}' has type {type(before.get_value()).__name__}; it cannot become a "
                f"{type(value.get_value()).__name__}. Call Clear() first to use the names for other types."
            )
        self._values[name] = value.Clone()

    def Find(self, name: str) -> Any:
        """Returns the value of that name, or None if it is unknown."""
        value = self._values.get(name)
        return None if value is None else value.get_value()

    def Clear(self) -> None:
        """Removes all values."""
        self._values.clear()

    def __getitem__(self, key: str) -> Any:
        return self._values[key].get_value()

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __copy__(self) -> BusValue:
        clone = BusValue()
        clone._values = {name: value.Clone() for name, value in self._values.items()}
        return clone

    def __deepcopy__(self, memo: dict[int, Any]) -> BusValue:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"BusValue({ {name: value.get_value() for name, value in self._values.items()}!r})"
