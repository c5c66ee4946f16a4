"""Base of bodies, frames, joints, actuators and force elements, and names of the form namespace::element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

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
