"""Tables of kinds: what kernels branch on, be it a kind of this package or one that a program brings.

A kind is a record of functions, one a role. Of those in the table, kernels call the functions by a chain of branches
(see below). Functions of other kinds are compiled apart and called by address, so that the kernels need not be
compiled again for them, and what is kept of these on the disk stays valid: each record of a thing has the addresses of
two lists of functions, for floats and for complex numbers (framework/native/memory/listed_kernels.py). Interpreted
kernels call the functions as they are. An unknown kind is an error in interpreted kernels, and never gets to compiled
ones, as `KindTable.set_kind` makes the records.

Chains of branches, for compiled code that does something else for each kind of thing in a table.

Compiled code knows its functions when it is compiled. So a table is turned into source:

    def set_pose(node, fixed, parameters, q_in, R_FM, p_FoMo_F):
        kind = node["mobilizer"]
        if kind == 0:
            set_pose_0(node, fixed, parameters, q_in, R_FM, p_FoMo_F)
        elif kind == 6 or kind == 7:
            set_pose_6(node, fixed, parameters, q_in, R_FM, p_FoMo_F)
        elif call_other(node["code"], node["complex_code"], (node, fixed, parameters, q_in, R_FM, p_FoMo_F)) != 0:
            p_FoMo_F[0] = np.nan
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from merganser.framework.native import KernelList, calls_listed


def chain_of_branches(
    name: str,
    arguments: Sequence[str],
    kind: str,
    functions: Sequence[Callable[..., Any] | None],
    call_other: Any,
    *,
    spoiled: str | None = None,
) -> Callable[..., Any]:
    """Returns the function that calls, of the kind of a thing, what the table has for it.

    Args:
        name: of the function.
        arguments: names of what it takes, and hands on; the first one is the record that has the kind.
        kind: field of that record: the number of the kind. Its fields code and complex_code are for call_other.
        functions: by kinds; None where there is nothing to do.
        call_other: a function of calls_listed(), for kinds from outside the table.
        spoiled: what becomes NaN where a function of another kind was left by an exception; None if all functions
            return a status, which the chain then returns. Of nothing to do it is 0.
    """
    record, given = arguments[0], ", ".join(arguments)
    answer = "return " if spoiled is None else ""
    numbers: dict[Callable[..., Any] | None, list[int]] = {}
    for number, function in enumerate(functions):
        numbers.setdefault(function, []).append(number)
    lines = [f"def {name}({given}):", f'    kind = {record}["{kind}"]']
    space: dict[str, Any] = {"__name__": __name__, "call_other": call_other, "np": np}
    for function, of_function in numbers.items():
        called = f"{name}_{of_function[0]}"
        space[called] = function
        nothing = "return 0" if spoiled is None else "pass"
        lines += [
            f"    {'if' if len(lines) == 2 else 'elif'} {' or '.join(f'kind == {k}' for k in of_function)}:",
            f"        {nothing}" if function is None else f"        {answer}{called}({given})",
        ]
    called = f'call_other({record}["code"], {record}["complex_code"], ({given}))'
    if spoiled is None:
        lines.append(f"    return {called}")
    else:
        lines += [f"    {'elif' if functions else 'if'} {called} != 0:", f"        {spoiled} = np.nan"]
    file = f"<{__name__}.{name}>"
    text = "\n".join(lines) + "\n"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file  # for tracebacks
    exec(compile(text, file, "exec"), space)
    made: Callable[..., Any] = space[name]
    made.__doc__ = f"{name} of a kind, see {functions[0].__module__ if functions and functions[0] else __name__}."
    return made


K = TypeVar("K")

_ADDRESSES: dict[Any, str] = {np.float64: "code", np.complex128: "complex_code"}  # fields of records


class Role(NamedTuple):
    """One of the functions of a kind.

    Attributes:
        arguments: their names; the first one is the record that has the kind.
        spoiled: which number becomes NaN if a compiled function of a user is left by an exception; None if functions
            return a status, which is 0 where a kind has no such function.
        num_constant: how many arguments at the front are records whose numbers are always floats.
    """

    arguments: tuple[str, ...]
    spoiled: str | None = None
    num_constant: int = 1


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
        scalars: of the numbers that kernels call the functions with, float64 and complex128 by default.
    """

    def __init__(
        self,
        what: str,
        kind_class: type[K],
        kinds: Sequence[K],
        roles: Mapping[str, Role],
        make_examples: Callable[[Any], dict[str, Any]],
        field: str = "kind",
        scalars: Sequence[Any] = (np.float64, np.complex128),
    ) -> None:
        self._what, self._class, self._kinds = what, kind_class, list(kinds)  # those of users follow as they come
        self._own, self._roles, self._make_examples, self._field = tuple(kinds), dict(roles), make_examples, field
        self._scalars = tuple(scalars)
        self._lists: dict[tuple[K, Any], KernelList] = {}  # for good, as records have their addresses

    def kind_of(self, number: int) -> K:
        """Returns the kind that has this number in records.

        Raises:
            RuntimeError: no kind has this number.
        """
        if not 0 <= number < len(self._kinds):
            names: list[Any] = [getattr(kind, "name", kind) for kind in self._kinds]
            known = ", ".join(f"{k} ({name})" for k, name in enumerate(names))
            raise RuntimeError(f"There is no kind of {self._what} with number {number}: known are {known}.")
        return self._kinds[number]

    def number_of(self, kind: Any) -> int:
        """Returns the number of a kind in records; one of a user gets its own when it is first asked for.

        Raises:
            TypeError: it is no such kind, or a function of it takes other arguments.
        """
        if not isinstance(kind, self._class):
            raise TypeError(
                f"The kind of a {self._what} must be a {self._class.__name__}, not a {type(kind).__name__}: {kind!r}."
            )
        if kind not in self._kinds:
            self._check_functions(kind)
            self._kinds.append(kind)
        return self._kinds.index(kind)

    def _check_functions(self, kind: K) -> None:
        """Checks that a kind of a user has the functions of its roles, with their arguments.

        Raises:
            TypeError: a function is missing, or takes other arguments.
        """
        for name, role in self._roles.items():
            function = getattr(kind, name)
            if function is None and getattr(self._class, name, 0) is None:  # by default
                continue
            try:
                inspect.signature(getattr(function, "interpreted", function)).bind(*role.arguments)
            except TypeError as error:
                raise TypeError(
                    f"{self._class.__name__} '{getattr(kind, 'name', '')}': {name} must be a function of "
                    f"({', '.join(role.arguments)}), but {function!r} is not: {error}."
                ) from None

    def set_kind(self, record: Any, kind: K) -> None:
        """Makes a record that of a thing of this kind: its number, and where its code stands.

        Raises:
            TypeError: it is no such kind.
        """
        record[self._field] = self.number_of(kind)
        record["code"] = record["complex_code"] = 0
        if kind not in self._own:
            for scalar in self._scalars:
                record[_ADDRESSES[scalar]] = self._list_of(kind, scalar)

    def _list_of(self, kind: K, scalar: Any) -> int:
        """The address of the list of the functions of a kind, compiled when first asked for; 0 if nothing is."""
        if (kind, scalar) not in self._lists:
            examples = self._make_examples(scalar)
            arguments = [tuple(examples[name] for name in role.arguments) for role in self._roles.values()]
            try:
                self._lists[kind, scalar] = KernelList([getattr(kind, role) for role in self._roles], arguments)
            except KeyError as error:  # of a record that has no such field
                name = f"{self._class.__name__} '{getattr(kind, 'name', '')}'"
                raise TypeError(f"{name}: no record that its functions take has a field {error}.") from None
        return self._lists[kind, scalar].address

    def branches(self, name: str) -> Callable[..., Any]:
        """Returns the function of a role: it looks which kind a record is of, and calls that kind's."""
        role = self._roles[name]
        functions = [getattr(kind, name) for kind in self._own]
        calls = self.calls_of_others(name)
        return chain_of_branches(name, role.arguments, self._field, functions, calls, spoiled=role.spoiled)

    def calls_of_others(self, name: str) -> Any:
        """Returns what calls the function of a kind from outside the table: call(code, complex_code, arguments).

        It returns 0, unless an exception has left a compiled function or its status is another one.
        """
        role = self._roles[name]

        def call_in_python(code: int, complex_code: int, arguments: tuple[Any, ...]) -> int:
            function = getattr(self.kind_of(int(arguments[0][self._field])), name)
            status = None if function is None else function(*arguments)
            return 0 if role.spoiled is not None or status is None else int(status)

        place = list(self._roles).index(name)
        return calls_listed(place, call_in_python, has_status=role.spoiled is None, num_constant=role.num_constant)
