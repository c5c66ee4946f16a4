"""Names of the form namespace::element."""

from __future__ import annotations

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
            raise ValueError(
                f"ScopedName: an element name must not be empty nor hold '::', but is {element_name!r}."
            )
        self._element = element_name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ScopedName) and self.get_full() == other.get_full()

    def __hash__(self) -> int:
        return hash(self.get_full())

    def __str__(self) -> str:
        return self.get_full()

    def __repr__(self) -> str:
        return f"ScopedName({self._namespace!r}, {self._element!r})"
