"""The elements of one kind in a tree: by index, and by name within model instances."""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from merganser.multibody.tree.element import NamedElement
from merganser.multibody.tree.indices import ModelInstanceIndex

Element = TypeVar("Element", bound=NamedElement)


class ElementCollection(Generic[Element]):
    """Ordered elements of one kind, found by index or name.

    Names are unique within a model instance; a lookup that names no instance succeeds only if one instance
    has the name.

    Args:
        kind: the middle of Get...ByName, such as "Body" or "JointActuator".
        instance_name: gives the name of a model instance, and refuses those that do not exist.
        plant_name: gives what messages call the plant.
    """

    def __init__(self, kind: str, instance_name: Callable[[int], str], plant_name: Callable[[], str]) -> None:
        self._kind = kind
        self._noun = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).lower()  # "joint actuator"
        self._instance_name = instance_name
        self._plant_name = plant_name
        self._elements: dict[int, Element] = {}  # by index, ascending; indices of removed elements are not used again
        self._next_index = 0
        self._by_name: dict[str, list[Element]] = {}

    def __len__(self) -> int:
        return len(self._elements)

    def __iter__(self) -> Iterator[Element]:
        return iter(self._elements.values())

    def next_index(self) -> int:
        """Returns the index for the element to be added next: one more than the highest that there ever was."""
        return self._next_index

    def append(self, element: Element) -> None:
        """Adds an element, whose name must be free (see check_name) and whose index must be next_index()."""
        self._elements[self._next_index] = element
        self._next_index += 1
        self._by_name.setdefault(element.name(), []).append(element)

    def add_name(self, element: Element, name: str) -> None:
        """Adds another name of an element, unless its model instance has an element of that name."""
        if not self._find(name, element.model_instance()):
            self._by_name.setdefault(name, []).append(element)

    def remove(self, element: Element) -> None:
        """Removes an element. The others keep their indices; its name is free again, its index is not."""
        del self._elements[element.index()]
        for named in self._by_name.values():
            if element in named:
                named.remove(element)

    def forget_from(self, index: int) -> None:
        """Removes the elements from an index on, as if they had never been added: names and indices are free."""
        self._elements = {i: element for i, element in self._elements.items() if i < index}
        by_name = {name: [e for e in named if e.index() < index] for name, named in self._by_name.items()}
        self._by_name = {name: named for name, named in by_name.items() if named}
        self._next_index = index

    def with_copies(
        self, copies: dict[int, Any], instance_name: Callable[[int], str], plant_name: Callable[[], str]
    ) -> ElementCollection[Element]:
        """Returns the same collection of copies, given by the id() of the elements; the rest as for the class."""
        collection = copy.copy(self)
        collection._instance_name, collection._plant_name = instance_name, plant_name
        collection._elements = {index: copies[id(element)] for index, element in self._elements.items()}
        collection._by_name = {name: [copies[id(e)] for e in named] for name, named in self._by_name.items()}
        return collection

    def has_index(self, index: int) -> bool:
        """Returns whether there is an element with the given index."""
        return int(index) in self._elements

    def check_name(self, name: str, model_instance: int) -> None:
        """Raises RuntimeError if the model instance does not exist or has an element of this name."""
        instance = self._instance_name(model_instance)
        if self._find(name, model_instance):
            raise RuntimeError(
                f"Model instance '{instance}' already contains a {self._noun} named '{name}'. The "
                "names of "
                "its elements of one kind must be unique: choose another name or another model instance."
            )

    def get(self, index: int) -> Element:
        """Returns the element with the given index.

        Raises:
            RuntimeError: if it does not exist.
        """
        element = self._elements.get(index)
        if element is None and 0 <= index < self._next_index:
            raise RuntimeError(
                f"The {self._noun} with index {int(index)} has been removed from {self._plant_name()}."
            )
        if element is None:
            raise RuntimeError(
                f"There is no {self._noun} with index {int(index)} in {self._plant_name()}: it has {len(self)} of "
                f"them{f', with indices from 0 to {self._next_index - 1}' if len(self) else ''}."
            )
        return element

    def in_instance(self, model_instance: int | None) -> list[Element]:
        """Returns the elements of one model instance, or of all for None, in the order of their indices."""
        if model_instance is None:
            return list(self._elements.values())
        self._instance_name(model_instance)
        return [element for element in self._elements.values() if element.model_instance() == model_instance]

    def count_named(self, name: str) -> int:
        """Returns the number of model instances that have an element of this name."""
        return len(self._by_name.get(name, ()))

    def has_name(self, name: str, model_instance: int | None) -> bool:
        """Returns whether the model instance (for None, any) has an element of this name.

        Raises:
            RuntimeError: if no instance is given and several have the name.
        """
        found = self._find(name, model_instance)
        self._check_unambiguous(f"Has{self._kind}Named", name, found)
        return bool(found)

    def get_by_name(self, name: str, model_instance: int | None) -> Element:
        """Returns the element of this name in the model instance (for None, in any).

        Raises:
            RuntimeError: if it does not exist, or no instance is given and several have the name.
        """
        caller = f"Get{self._kind}ByName"
        found = self._find(name, model_instance)
        self._check_unambiguous(caller, name, found)
        if not found:
            raise RuntimeError(self._not_found(caller, name, model_instance))
        return found[0]

    def _find(self, name: str, model_instance: int | None) -> list[Element]:
        named = self._by_name.get(name, [])
        if model_instance is None:
            return named
        self._instance_name(model_instance)
        return [element for element in named if element.model_instance() == model_instance]

    def _check_unambiguous(self, caller: str, name: str, found: list[Element]) -> None:
        if len(found) > 1:
            instances = ", ".join(self._instance_name(element.model_instance()) for element in found)
            raise RuntimeError(
                f"{caller}(): a {self._noun} named '{name}' is in several model instances "
                f"({instances}); "
                "pass model_instance to say which."
            )

    def _not_found(self, caller: str, name: str, model_instance: int | None) -> str:
        place = "any model instance"
        if model_instance is not None:
            place = f"model instance '{self._instance_name(model_instance)}'"
        message = f"{caller}(): there is no {self._noun} named '{name}' in {place}."
        others = [ModelInstanceIndex(element.model_instance()) for element in self._by_name.get(name, ())]
        if others:
            message += f" It is in {', '.join(repr(self._instance_name(other)) for other in others)}."
        return message + suggest_names(name, sorted({e.name() for e in self.in_instance(model_instance)}))


def suggest_names(name: str, names: list[str]) -> str:
    """Returns the end of a message: the names near `name`, or else what names there are."""
    near = difflib.get_close_matches(name, names, n=3)
    if near:
        return " Did you mean " + " or ".join(f"'{other}'" for other in near) + "?"
    if not names:
        return " The plant has none."
    shown = ", ".join(f"'{other}'" for other in names[:20]) + (", ..." if len(names) > 20 else "")
    return f" The names there are: {shown}."
