"""Base of bodies, frames, joints, actuators and force elements, names of the form namespace::element, and collections.

A collection has the elements of one kind in a tree: by index, and by name within model instances.
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from merganser.framework.common.indices import TypedIndex
from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.copying import PartOfSystem
from merganser.multibody.tree.indices import ModelInstanceIndex

if TYPE_CHECKING:
    from merganser.multibody.tree.tree import MultibodyTree

_SEPARATOR = "::"


class ScopedName:
    """Name of an element together with the namespace that holds it, usually that of a model instance.

    Args:
        namespace_name: may be empty (no namespace) and may itself hold "::".
        element_name: must not be empty nor hold "::".

    Raises:
        ValueError: if `element_name` is empty or holds "::".
    """

    def __init__(self, namespace_name: str = "", element_name: str | None = None) -> None:
        self._namespace, self._element = namespace_name, ""
        if element_name is not None:
            self.set_element(element_name)
        elif namespace_name:
            raise TypeError("ScopedName() takes no argument or (namespace_name, element_name).")

    @staticmethod
    def Make(namespace_name: str, element_name: str) -> ScopedName | None:
        """Returns the name, or None where the constructor would raise an error."""
        if not element_name or _SEPARATOR in element_name:
            return None
        return ScopedName(namespace_name, element_name)

    @staticmethod
    def Join(name1: str, name2: str) -> ScopedName:
        """Returns the parsed name name1::name2; an empty part adds no separator."""
        return ScopedName.Parse(_SEPARATOR.join(part for part in (name1, name2) if part))

    @staticmethod
    def Parse(scoped_name: str) -> ScopedName:
        """Splits at the last "::"; without one the namespace is empty."""
        namespace, _, element = scoped_name.rpartition(_SEPARATOR)
        name = ScopedName()
        name._namespace, name._element = namespace, element
        return name

    def get_namespace(self) -> str:
        """Returns the namespace, perhaps empty."""
        return self._namespace

    def get_element(self) -> str:
        """Returns the name without its namespace."""
        return self._element

    def get_full(self) -> str:
        """Returns namespace::element, or the element alone if the namespace is empty."""
        return f"{self._namespace}{_SEPARATOR}{self._element}" if self._namespace else self._element

    to_string = get_full

    def set_namespace(self, namespace_name: str) -> None:
        """Replaces the namespace."""
        self._namespace = namespace_name

    def set_element(self, element_name: str) -> None:
        """Replaces the element name.

        Raises:
            ValueError: if `element_name` is empty or holds "::".
        """
        if not element_name or _SEPARATOR in element_name:
            raise ValueError(f"ScopedName: an element name must not be empty nor hold '::', but is {element_name!r}.")
        self._element = element_name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScopedName) and self.get_full() == other.get_full()

    def __hash__(self) -> int:
        return hash(self.get_full())

    def __str__(self) -> str:
        return self.get_full()

    def __repr__(self) -> str:
        return f"ScopedName({self._namespace!r}, {self._element!r})"


class MultibodyElement(PartOfSystem):
    """Abstract element of a MultibodyTree.

    An element is made by itself, then added to one tree, which gives it its index. What depends on a Context
    goes through the plant that owns the tree. Its attributes are replaced, what they refer to is never changed in
    place: plants of several scalar types share it (`copy_finalized_tree`).

    Args:
        model_instance: the model instance the element will belong to.
    """

    _index_type: ClassVar[type[TypedIndex]]

    def __init__(self, model_instance: int) -> None:
        self._model_instance = ModelInstanceIndex(model_instance)
        self._index: Any = self._index_type()
        self._tree: MultibodyTree | None = None
        self._is_ephemeral = False

    def index(self) -> Any:
        """Returns the index in the tree, invalid (negative) until the element is added."""
        return self._index

    def model_instance(self) -> ModelInstanceIndex:
        """Returns the index of the model instance that the element belongs to."""
        return self._model_instance

    def is_ephemeral(self) -> bool:
        """Returns whether Finalize() added the element, rather than the user."""
        return self._is_ephemeral

    def GetParentPlant(self) -> Any:
        """Returns the MultibodyPlant that owns the tree of this element.

        Raises:
            RuntimeError: if the element was not added to a tree, or the tree has no plant.
        """
        plant = self._get_tree("GetParentPlant").plant
        if plant is None:
            raise RuntimeError(f"GetParentPlant(): the tree of {self!r} does not belong to a MultibodyPlant.")
        return plant

    def _get_tree(self, caller: str) -> MultibodyTree:
        if self._tree is None:
            raise RuntimeError(f"{caller}(): {self!r} was not added to a MultibodyPlant yet.")
        return self._tree

    def _add_to(self, tree: MultibodyTree, index: int, is_ephemeral: bool) -> None:
        """Called by the tree when it accepts the element."""
        self._tree, self._index, self._is_ephemeral = tree, self._index_type(index), is_ephemeral

    def _owner(self) -> Any:
        return None if self._tree is None else self._tree.plant

    def _counterpart_in(self, system: Any) -> Any:
        return self._in_tree(system._tree)

    def _in_tree(self, tree: MultibodyTree) -> Any:
        """Override: the element of the same kind and index in another tree."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} index={int(self._index)} model_instance={int(self._model_instance)}>"

    def _scalar_type(self) -> Any:
        return float if self._tree is None or self._tree.plant is None else scalar_of(self._tree.plant)


class NamedElement(MultibodyElement):
    """Abstract element with a name that is unique among the elements of its kind in its model instance.

    Args:
        name: must not be empty.
        model_instance: the model instance the element will belong to.

    Raises:
        RuntimeError: if the name is empty.
        TypeError: if the name is not a string.
    """

    def __init__(self, name: str, model_instance: int) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{type(self).__name__}(): the name must be a string, not {name!r}.")
        if not name:
            raise RuntimeError(f"{type(self).__name__}(): the name must not be empty.")
        self._name = name
        super().__init__(model_instance)

    def name(self) -> str:
        """Returns the name."""
        return self._name

    def scoped_name(self) -> ScopedName:
        """Returns the name within the name of the model instance: instance::name.

        Raises:
            RuntimeError: if the element was not added to a tree.
        """
        tree = self._get_tree("scoped_name")
        return ScopedName.Parse(f"{tree.GetModelInstanceName(self._model_instance)}::{self._name}")

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} name={self._name!r} index={int(self._index)} "
            f"model_instance={int(self._model_instance)}>"
        )


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
