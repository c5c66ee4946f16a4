"""Law: how a quantity of a state machine follows from others, in any of the forms in which users write it.

| given | the law |
|---|---|
| `2.0`, `[1.0, 0.0]` | a constant |
| `"speed"`, `"x[1]"` | an input, a variable or a part of the continuous state; or one element |
| `lambda x, u: ...` | a function of such names, which gets arrays; parameters with a default keep that |
| a `@native` function | the same, compiled; its last parameter is the array to fill in |
| an Expression, or a list | of Variables with such names: `Variable("speed")`, `Variable("x[1]")` |

Further names are `t`, the time [s], and `time_in_state`, the time since the state was entered [s], shape [1].
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.errors import note_place
from merganser.framework.core.context.native_code import CURRENT_TIME, OUTPUT, NativeCode
from merganser.framework.core.declarations.cache import CacheEntry
from merganser.framework.core.declarations.native_function import NativeFunction, copy, native
from merganser.framework.core.declarations.native_wires import TIME_NAMES, PartOf
from merganser.framework.core.scalars.element_functions import elements, is_finite
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives._arguments import checked_vector
from merganser.framework.primitives.native_parts import if_at_most
from merganser.framework.symbolic.numeric import ExpressionVector

Array = NDArray[Any]
Lookup = Callable[[str], Any]  # the value of a name
ELAPSED = "time_in_state"
_NUM_GROUPS = 4  # of variables that one operation of expressions takes
_ELEMENT = re.compile(r"(\w+)(?:\[(\d+)\])?")


@native
def time_now(t: float, y: Array) -> None:
    """The time [s]."""
    y[0] = t


@native
def elapsed(t: float, entered: Array, y: Array) -> None:
    """The time since a state was entered [s]."""
    y[0] = t - entered[0]


@native
def of_active(active: Array, owners: Array, laws: Sequence[Array], y: Array) -> None:
    """What the last of the active owners gives; 0 where none of them is active."""
    for i in elements(y):
        value = 0.0 * laws[0][i]
        for k in range(len(laws)):
            value = if_at_most(active[owners[k]], 0.5, value, laws[k][i])
        y[i] = value


@native
def distance(signal: Array, level: float, y: Array) -> None:
    """How far a signal is above a level."""
    y[0] = signal[0] - level


@native
def constant(y: Array) -> None:
    """No change."""
    for i in elements(y):
        y[i] = 0.0


class Law:
    """Abstract: a vector as a function of named quantities.

    Args:
        size: of the vector; None if it follows from what is given.
        sizes: of all quantities that there are, by name.
        what: is computed, for messages, such as "flow of 'height' in state 'flight'".
        reads: names of the quantities that it depends on.

    Attributes:
        reads: as given.
        is_native: whether it is also a compiled operation.
    """

    is_native = True

    def __init__(self, size: int | None, sizes: Mapping[str, int], what: str, reads: list[str]) -> None:
        self.size, self.what, self.reads = size, what, list(dict.fromkeys(reads))
        known = [*sizes, *TIME_NAMES, ELAPSED]
        for name in self.reads:
            if name not in known:
                raise ValueError(
                    f"{what}: '{name}' is neither an input nor a variable nor a part of the continuous state; these "
                    f"are {', '.join(known)}."
                )

    def value(self, lookup: Lookup) -> Array:
        """The vector, shape [size].

        Args:
            lookup: gives the value of a name: an array; of the time a number.

        Raises:
            ValueError: it has another size, or an element that is not finite.
        """
        try:
            vector = np.array(self._calc(lookup), ndmin=1)
        except Exception as error:
            note_place(error, f"while computing {self.what}")
            raise
        if vector.dtype.kind in "biu":
            vector = vector.astype(np.float64)
        if vector.dtype.kind not in "fcO" or vector.shape != (self.size or vector.size,):
            raise ValueError(f"{self.what}: expected {self._expected()}, got {vector.tolist()!r}.")
        numbers = [element.real for element in vector.tolist() if hasattr(element, "real")]
        if not all(map(is_finite, numbers)):
            raise ValueError(f"{self.what}: the value must be finite, got {vector.tolist()}.")
        return vector

    def declare(self, machine: Any, state: Any) -> CacheEntry:
        """Declares the law as a computation of a state machine, in one of its states."""
        tickets = {machine.ticket_of(name, state) for name in self.reads} or {machine.nothing_ticket()}
        model = BasicVector(np.zeros(self.size or 1))
        return machine._sys_declare_entry(self.what, model, self._callback(machine, state), tickets)

    def _calc(self, lookup: Lookup) -> Any:
        """Override: the value, unchecked."""
        raise NotImplementedError

    def _callback(self, machine: Any, state: Any) -> Any:
        """What computes the entry: a native function, or a function of context and output."""
        return functools.partial(_fill_in, self, machine, state)

    def _expected(self) -> str:
        return "one number" if self.size == 1 else f"{self.size} numbers"

    def _checked_size(self, size: int) -> int:
        if self.size not in (None, size):
            raise ValueError(f"{self.what}: expected {self._expected()}, got {size}.")
        return size


class _Constant(Law):
    def __init__(self, given: Any, size: int | None, sizes: Mapping[str, int], what: str) -> None:
        super().__init__(size, sizes, what, [])
        self._constant = checked_vector(given, what)
        if not np.isfinite(self._constant.astype(np.float64)).all():
            raise ValueError(f"{what}: the value must be finite, got {self._constant.tolist()}.")
        self.size = self._checked_size(self._constant.size)

    def _calc(self, lookup: Lookup) -> Array:
        return self._constant

    def _callback(self, machine: Any, state: Any) -> Any:
        return copy.given(source=self._constant)


class _Part(Law):
    """A quantity, or one element of it."""

    def __init__(self, given: str, size: int | None, sizes: Mapping[str, int], what: str) -> None:
        name, self._first, count = element_of(given, sizes, what)
        super().__init__(size, sizes, what, [name])
        self.size = self._checked_size(count)

    def _calc(self, lookup: Lookup) -> Array:
        values: Array = np.array(lookup(self.reads[0]), ndmin=1)
        return values[self._first : self._first + (self.size or 1)]

    def _callback(self, machine: Any, state: Any) -> Any:
        if self.reads[0] in TIME_NAMES:
            return time_now
        whole = machine.wire_of(self.reads[0], state)
        return copy.given(source=PartOf(whole.wire, whole.first + self._first, self.size or 1))


class _OfFunction(Law):
    is_native = False

    def __init__(self, given: Callable[..., Any], size: int | None, sizes: Mapping[str, int], what: str) -> None:
        parameters = inspect.signature(given).parameters.values()
        super().__init__(size, sizes, what, [each.name for each in parameters if each.default is each.empty])
        self._function = given

    def _calc(self, lookup: Lookup) -> Any:
        return self._function(*[lookup(name) for name in self.reads])


class _OfNative(Law):
    def __init__(self, given: NativeFunction, size: int | None, sizes: Mapping[str, int], what: str) -> None:
        reads = [name for name in given.parameters[:-1] if name not in given.explained]
        super().__init__(size or 1, sizes, what, reads)
        self._function = given

    def _calc(self, lookup: Lookup) -> Array:
        given = self._function.explained
        arguments = [given[name] if name in given else lookup(name) for name in self._function.parameters[:-1]]
        result = np.zeros(self.size or 1, dtype=np.result_type(np.float64, *map(np.asarray, arguments)))
        self._function(*arguments, result)
        return result

    def _callback(self, machine: Any, state: Any) -> Any:
        return self._function.given(
            **{name: machine.wire_of(name, state) for name in self.reads if name not in TIME_NAMES}
        )


class _OfExpressions(Law):
    def __init__(self, given: Any, size: int | None, sizes: Mapping[str, int], what: str) -> None:
        from merganser.framework.symbolic import Expression  # needs an extra

        items = [Expression(item) for item in np.ravel(np.asarray(given, dtype=object))]
        self._expressions = np.empty(len(items), dtype=object)
        self._expressions[:] = items
        found = {v.get_id(): v for e in items for v in e.GetVariables()}
        self._variables = list(found.values())
        self._elements = [element_of(v.get_name(), sizes, what) for v in self._variables]
        super().__init__(size, sizes, what, [name for name, _, _ in self._elements])
        self.size = self._checked_size(len(items))
        for variable, (_, _, count) in zip(self._variables, self._elements):
            if count != 1:
                raise ValueError(f"{what}: '{variable}' has {count} elements; name one, as Variable('{variable}[0]').")
        self._values = ExpressionVector(self._expressions, self._variables)

    def _calc(self, lookup: Lookup) -> Array:
        return self._values.evaluate([np.array(lookup(name), ndmin=1)[i] for name, i, _ in self._elements])

    def declare(self, machine: Any, state: Any) -> CacheEntry:
        entry = super().declare(machine, state)
        known = {name: machine.place_of(name, state) for name in self.reads}
        at = [(known[name][0], known[name][1] + i) for name, i, _ in self._elements]
        entry.use_native(_ExpressionCode(self._expressions, self._variables, at))
        return entry


class _ExpressionCode:
    """Expressions as an operation.

    Args:
        expressions: what to evaluate.
        variables: what they depend on.
        places: for each the placeholder of the vector that it is in, and the number of its element there.
    """

    operation = ""

    def __init__(self, expressions: Array, variables: list[Any], places: list[tuple[Any, int]]) -> None:
        self._expressions, self._variables, self._places = expressions, variables, places

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation; None if an expression cannot be compiled."""
        from merganser.framework.primitives.expression_code import expression_code  # loads numba
        from merganser.framework.symbolic import Variable

        groups: dict[Any, list[Any]] = {}
        for variable, (place, number) in zip(self._variables, self._places):
            group = groups.setdefault(place, [])
            group.extend(Variable("unused") for _ in range(number + 1 - len(group)))
            group[number] = variable
        if len(groups) > _NUM_GROUPS:
            return None
        nothing: list[tuple[Any, list[Any]]] = [(CURRENT_TIME, [])] * (_NUM_GROUPS - len(groups))
        return expression_code(self._expressions, [*groups.items(), *nothing], OUTPUT)


def law_of(given: Any, size: int | None, sizes: Mapping[str, int], what: str) -> Law:
    """The law in one of the forms of the table at the beginning of this file.

    Args:
        given: the form.
        size, sizes, what: see Law.

    Raises:
        ValueError: it depends on a name that does not exist, or has another size.
        TypeError: it has another form.
    """
    if isinstance(given, Law):
        return given
    if isinstance(given, NativeFunction):
        return _OfNative(given, size, sizes, what)
    if isinstance(given, str):
        return _Part(given, size, sizes, what)
    if any(type(item).__name__ in ("Expression", "Variable") for item in np.ravel(np.asarray(given, dtype=object))):
        return _OfExpressions(given, size, sizes, what)
    if callable(given):
        return _OfFunction(given, size, sizes, what)
    return _Constant(given, size, sizes, what)


def _fill_in(law: Law, machine: Any, state: Any, context: Any, output: BasicVector) -> None:
    """Computes a law in a context."""
    output.SetFromVector(law.value(lambda name: machine.value_of(name, context, state)))


def element_of(text: str, sizes: Mapping[str, int], what: str) -> tuple[str, int, int]:
    """What a text such as "speed" or "x[1]" names: the quantity, its first element, and how many elements."""
    found = _ELEMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"{what}: expected a name such as 'x' or 'x[1]', got {text!r}.")
    name, number = found.groups()
    size = sizes.get(name, 1)
    if number is None:
        return name, 0, size
    if not int(number) < size:
        raise ValueError(f"{what}: '{name}' has {size} elements, so that there is no '{text}'.")
    return name, int(number), 1


def text_of(given: Any) -> str:
    """A law in a few words, for pictures and messages."""
    name = getattr(given, "__name__", None)
    if name is not None:
        return f"f({', '.join(inspect.signature(given).parameters)})" if name == "<lambda>" else f"{name}(...)"
    if isinstance(given, (list, tuple, np.ndarray)):
        return f"[{', '.join(map(text_of, given))}]"
    return f"{given:g}" if isinstance(given, (int, float)) else str(given)
