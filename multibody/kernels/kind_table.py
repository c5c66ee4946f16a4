"""Tables of kinds: what kernels branch on, be it a kind of this package or one that a program brings.

A kind is a record of functions, one a role. Of those in the table, kernels call the functions by a chain of branches
(branches.py). Functions of other kinds are compiled apart and called by address, so that the kernels need not be
compiled again for them, and what is kept of these on the disk stays valid: each record of a thing has the addresses of
two lists of functions, for floats and for complex numbers (framework/native/memory/listed_kernels.py). Interpreted
kernels call the functions as they are. An unknown kind is an error in interpreted kernels, and never gets to compiled
ones, as `KindTable.set_kind` makes the records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from merganser.framework.native import KernelList, calls_listed
from merganser.multibody.kernels.branches import chain_of_branches

__all__ = ["KindTable", "Role"]

K = TypeVar("K")


class Role(NamedTuple):
    """One of the functions of a kind.

    Attributes:
        arguments: their names; the first one is the record that has the kind, whose numbers are always floats.
        spoiled: which number becomes NaN if a compiled function of a user is left by an exception; None if functions
            return a status, which is 0 where a kind has no such function.
    """

    arguments: tuple[str, ...]
    spoiled: str | None = None


class KindTable(Generic[K]):
    """The kinds of one sort of thing.

    Args:
        what: it is, such as "force element".
        kind_class: of the kinds; they have the attributes `name`, `number`, and a function or None for each role.
        kinds: those of this package, by their numbers.
        roles: of their functions.
        make_examples: given float64 or complex128, makes arguments of all functions, of the types that kernels call
            them with, by name.
        field: of records, for the number of the kind; these have fields `code` and `complex_code`, too.
    """

    def __init__(
        self,
        what: str,
        kind_class: type[K],
        kinds: Sequence[K],
        roles: Mapping[str, Role],
        make_examples: Callable[[Any], dict[str, Any]],
        field: str = "kind",
    ) -> None:
        self._what, self._class, self._kinds = what, kind_class, list(kinds)  # those of users follow as they come
        self._own, self._roles, self._make_examples, self._field = tuple(kinds), dict(roles), make_examples, field
        self._lists: dict[tuple[K, Any], KernelList] = {}  # for good, as records have their addresses

    def kind_of(self, number: int) -> K:
        """Returns the kind that has this number in records.

        Raises:
            RuntimeError: there is none.
        """
        if not 0 <= number < len(self._kinds):
            names: list[Any] = [getattr(kind, "name", kind) for kind in self._kinds]
            known = ", ".join(f"{k} ({name})" for k, name in enumerate(names))
            raise RuntimeError(f"There is no kind of {self._what} with number {number}: known are {known}.")
        return self._kinds[number]

    def number_of(self, kind: Any) -> int:
        """Returns the number of a kind in records; one of a user gets its own when it is first asked for.

        Raises:
            TypeError: it is no such kind.
        """
        if not isinstance(kind, self._class):
            raise TypeError(
                f"The kind of a {self._what} must be a {self._class.__name__}, not a {type(kind).__name__}: {kind!r}."
            )
        if kind not in self._kinds:
            self._kinds.append(kind)
        return self._kinds.index(kind)

    def set_kind(self, record: Any, kind: K) -> None:
        """Makes a record that of a thing of this kind: its number, and where its code stands.

        Raises:
            TypeError: it is no such kind.
        """
        record[self._field] = self.number_of(kind)
        record["code"] = record["complex_code"] = 0
        if kind not in self._own:
            record["code"], record["complex_code"] = (self._list_of(kind, t) for t in (np.float64, np.complex128))

    def _list_of(self, kind: K, scalar: Any) -> int:
        """The address of the list of the functions of a kind, compiled when first asked for; 0 if nothing is."""
        if (kind, scalar) not in self._lists:
            examples = self._make_examples(scalar)
            arguments = [tuple(examples[name] for name in role.arguments) for role in self._roles.values()]
            self._lists[kind, scalar] = KernelList([getattr(kind, role) for role in self._roles], arguments)
        return self._lists[kind, scalar].address

    def branches(self, name: str) -> Callable[..., Any]:
        """Returns the function of a role: it looks which kind a record is of, and calls that kind's."""
        role = self._roles[name]
        functions = [getattr(kind, name) for kind in self._own]
        calls = self._calls_of_others(name, role)
        return chain_of_branches(name, role.arguments, self._field, functions, calls, spoiled=role.spoiled)

    def _calls_of_others(self, name: str, role: Role) -> Any:
        """A function that calls that of a kind from outside the table: call(code, complex_code, arguments)."""

        def call_in_python(code: int, complex_code: int, arguments: tuple[Any, ...]) -> int:
            function = getattr(self.kind_of(int(arguments[0][self._field])), name)
            status = None if function is None else function(*arguments)
            return 0 if role.spoiled is not None or status is None else int(status)

        place = list(self._roles).index(name)
        return calls_listed(place, call_in_python, has_status=role.spoiled is None, takes_record=True)
