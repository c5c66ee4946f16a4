"""Sets of variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from merganser.framework.common.keywords import also_named
from merganser.framework.symbolic.nodes import Symbol

if TYPE_CHECKING:
    from merganser.framework.symbolic.variable import Variable


def _is_variable(value: Any) -> bool:
    return isinstance(getattr(value, "_node", None), Symbol) and hasattr(value, "get_id")


class Variables:
    """A set of variables, in the order in which the variables were made."""

    __slots__ = ("_by_id",)
    _by_id: dict[int, Variable]

    def __init__(self, variables: Iterable[Variable] = ()) -> None:
        """Makes a set.

        Raises:
            TypeError: something else than variables.
        """
        self._by_id = {}
        for variable in variables:
            self._add(variable)

    def _add(self, variable: Variable) -> None:
        if not _is_variable(variable):
            raise TypeError(f"Variables: expected a Variable, got {type(variable).__name__}.")
        self._by_id[variable.get_id()] = variable

    def size(self) -> int:
        """Number of variables."""
        return len(self._by_id)

    def empty(self) -> bool:
        """Whether the set is empty."""
        return not self._by_id

    def include(self, key: Variable) -> bool:
        """Whether `key` is in the set."""
        return _is_variable(key) and key.get_id() in self._by_id

    @also_named(vars="var")
    def insert(self, var: Variable | Variables) -> None:
        """Adds a variable, or all of another set."""
        for variable in Variables(var) if isinstance(var, Variables) else Variables([var]):
            self._add(variable)

    @also_named(vars="key")
    def erase(self, key: Variable | Variables) -> int:
        """Removes a variable, or all of another set; returns how many were there."""
        removed = Variables(key) if isinstance(key, Variables) else Variables([key])
        return sum(self._by_id.pop(variable.get_id(), None) is not None for variable in removed)

    def IsSubsetOf(self, vars: Variables) -> bool:
        """Whether all variables are in `vars`."""
        return self._by_id.keys() <= vars._by_id.keys()

    def IsSupersetOf(self, vars: Variables) -> bool:
        """Whether all of `vars` are here."""
        return vars.IsSubsetOf(self)

    def IsStrictSubsetOf(self, vars: Variables) -> bool:
        """Whether this is a subset of `vars`, and not equal."""
        return self._by_id.keys() < vars._by_id.keys()

    def IsStrictSupersetOf(self, vars: Variables) -> bool:
        """Whether this is a superset of `vars`, and not equal."""
        return vars.IsStrictSubsetOf(self)

    def EqualTo(self, other: Variables) -> bool:
        """Whether both sets have the same variables."""
        return self._by_id.keys() == other._by_id.keys()

    def __hash__(self) -> int:
        return hash(frozenset(self._by_id))

    def __lt__(self, other: Variables) -> bool:
        """Whether this set comes before another in the lexicographic order of the numbers of variables."""
        return sorted(self._by_id) < sorted(other._by_id) if isinstance(other, Variables) else NotImplemented

    def __eq__(self, other: object) -> bool:
        return self.EqualTo(other) if isinstance(other, Variables) else NotImplemented

    def __add__(self, other: Variable | Variables) -> Variables:
        result = Variables(self)
        result.insert(other)
        return result

    __radd__ = __add__

    def __sub__(self, other: Variable | Variables) -> Variables:
        result = Variables(self)
        result.erase(other)
        return result

    def __contains__(self, key: object) -> bool:
        return self.include(key)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Variable]:
        return iter([self._by_id[index] for index in sorted(self._by_id)])

    def __len__(self) -> int:
        return len(self._by_id)

    def to_string(self) -> str:
        """The names in braces."""
        return "{" + ", ".join(variable.get_name() for variable in self) + "}"

    __str__ = to_string

    def __repr__(self) -> str:
        return f'<Variables "{self}">'


def intersect(vars1: Variables, vars2: Variables) -> Variables:
    """Variables that are in both sets."""
    return Variables(variable for variable in vars1 if variable in vars2)
