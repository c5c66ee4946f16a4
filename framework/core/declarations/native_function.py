"""Functions that are compiled: `@native`, whose parameter names are wires and constants of a block."""

from __future__ import annotations

import dis
import inspect
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.common.indices import DependencyTicket
from merganser.framework.core.context.compiler_hook import compilation
from merganser.framework.core.context.native_code import (
    FAILURE,
    NEXT_CONTINUOUS_STATE,
    OUTPUT,
    NativeCode,
    NextDiscreteStateOf,
    may_compile,
)
from merganser.framework.core.declarations.native_wires import TIME_NAMES, Argument, Wire, argument_for, wires_of
from merganser.framework.core.scalars.element_functions import put
from merganser.framework.core.values.state import DiscreteValues

if TYPE_CHECKING:
    from merganser.framework.core.system.leaf_system import LeafSystem

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_FLOAT, _OBJECT = np.dtype(np.float64), np.dtype(object)
_OURS = "merganser."
CONTINUOUS = -1  # in place of the number of a group of the discrete state


def native(function: Callable[..., Any]) -> NativeFunction:
    """Makes a function one that runs compiled, and as a part of the compiled simulation; see `NativeFunction`.

    What numba can compile is allowed: numbers, arrays, loops, numpy's and math's elementary functions, and helpers
    decorated with `merganser.framework.native.device`. Compilation takes place when the function is first called for
    floats, and is kept on disk as long as the function and all that it refers to stay the same. Compiled code looks
    whether indices are in range, and what it raises arrives as in Python, wherever it runs.

        @native
        def calc_force(state, gains, force):  # two input ports, or an input port and a parameter; then the result
            force[0] = -gains[0] * state[0] - gains[1] * state[1]
    """
    return NativeFunction(function)


class NativeFunction:
    """A function of arrays that runs compiled wherever its arrays hold floats; made by the decorator `native`.

    It can be given wherever a LeafSystem takes a callback that fills in a vector: to `DeclareVectorOutputPort`, to
    `DeclareTimeDerivatives`, to the periodic, per-step and forced discrete updates, and as the callback to an event
    that updates. The names of its parameters say what it reads:

    - the name of a vector input port: the value of that port;
    - the name of a group of numeric parameters (`DeclareNumericParameter(model, name=...)`, or p0, p1, ...);
    - `xc`: the continuous state; `q`, `v` and `z`: its parts; `xd` or xd0, xd1, ...: groups of the discrete state;
    - `t` or `time`: the time [s], a float;
    - a name that `given` explains: a constant of the block, or a wire of another name.

    All but the time and single constants are arrays, which the function must not change. The last parameter, under any
    name, is the array to fill in; in discrete updates all that are called next_xd0, next_xd1, ... are, in unrestricted
    ones also next_xc. Direct feedthrough follows from these names.

        @native
        def scaled(factors, u, y):
            for i in elements(y):
                y[i] = factors[i] * u[i]

        self.DeclareVectorOutputPort("y", 2, scaled.given(factors=[2.0, 3.0]))  # of a block with input port 'u'

    In a context of another scalar type the function runs as plain Python. So do functions of this package's own blocks
    for floats, where there is no compiled simulation: with `elements` (element_functions.py) numpy computes them.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        parameters = inspect.signature(function).parameters.values()
        self._function = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        odd = [parameter.name for parameter in parameters if parameter.kind not in _POSITIONAL]
        if odd or not parameters:
            wrong = f"parameter '{odd[0]}' is not positional" if odd else "it has no parameters"
            raise TypeError(f"{self.describe()}: parameters must be positional ones, the last for the result; {wrong}.")
        self.parameters = [parameter.name for parameter in parameters]
        self._readable = frozenset(self.parameters[:-1])
        self.is_ours = str(function.__module__).startswith(_OURS)
        self._type_codes = "".join("t" if name in TIME_NAMES else "w" for name in self.parameters)
        self._operations: dict[str, NativeOperation] = {}
        self._origin = self
        self._given: dict[str, Any] = {}
        self._explain: Callable[[Any], None] | None = None

    def given(self, **values: Any) -> NativeFunction:
        """The function with some parameters explained, which need not have names of the block then.

        Args:
            **values: for the name of a parameter what it stands for: a number; an array of one or two dimensions (one
                of integers holds integers in the function, to be used as indices); an input port, a cache entry, or
                what `DeclareContinuousState`, `DeclareDiscreteState` or `DeclareNumericParameter` returned; `PartOf`
                such; a list of such, which the function gets as a list of arrays, to be indexed;
                `MatrixOf(wire, shape)`; `InputOr(port, default)`; an array that is to be replaced later, as
                `Changing(array)`. Arrays are copied. With an array of objects (symbols, fractions, integers of more
                than 64 bits) the function runs as plain Python everywhere.

        Raises:
            TypeError: the function has no such parameter.
        """
        if not self._readable.issuperset(values):
            unknown = next(name for name in values if name not in self._readable)
            raise TypeError(
                f"{self.describe()}: it does not read a parameter '{unknown}'; those that it reads are "
                f"{', '.join(self.parameters[:-1]) or 'none'}."
            )
        return self._with(_given={**self._given, **values})

    @property
    def explained(self) -> dict[str, Any]:
        """What `given` has said of parameters, by name."""
        return dict(self._given)

    def or_raise(self, explain: Callable[[Any], None]) -> NativeFunction:
        """The function as one that may fail: it returns True if its arguments do not allow a result, else False.

        Args:
            explain: called as explain(context) then; raises an exception that says what is wrong.
        """
        return self._with(_explain=explain)

    def _with(self, **attributes: Any) -> NativeFunction:
        other = object.__new__(NativeFunction)
        other.__dict__.update(self.__dict__, **attributes)
        return other

    def __call__(self, *arguments: Any) -> Any:
        """Calls the function; compiled if the arguments are contiguous arrays of floats, and a float for the time."""
        # Compiled code trusts its arguments.
        fits = len(arguments) == len(self.parameters) and all(map(_fits, arguments, self._type_codes))
        function = self.operation("e" + self._type_codes).call if fits and not self.is_ours else self._function
        return function(*arguments)

    def __reduce__(self) -> Any:
        if self is not self._origin:
            return _restored, (self._origin, self._given, self._explain)
        if "<" in self.__qualname__:  # local to another function: cloudpickle can take that along
            return NativeFunction, (self._function,)
        return self.__qualname__

    @property
    def interpreted(self) -> Callable[..., Any]:
        """The function as plain Python."""
        return self._function

    def operation(self, kinds: str) -> NativeOperation:
        """The function as an operation, see NativeOperation."""
        operation = self._operations.get(kinds)
        if operation is None:
            operation = self._operations.setdefault(kinds, NativeOperation(self._origin, kinds))
        return operation

    def describe(self) -> str:
        """Names the function with file and line, for messages."""
        code = getattr(self._function, "__code__", None)
        place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
        return f"Native function '{self.__name__}'{place}"

    def bind(self, system: LeafSystem, what: str, *results: Wire) -> BoundNativeFunction:
        """Looks up what the parameters stand for in a system.

        Args:
            system: with its ports, state and parameters declared.
            what: what the function computes, for messages.
            results: where the last parameters, for the results, stand.

        Raises:
            ValueError: the system has nothing of a parameter's name.
            TypeError: what was given for a parameter is neither a constant nor a wire.
        """
        if self._explain is None and not self.is_ours and _returns_values(self._function):
            raise TypeError(
                f"{self.describe()}, {what} of system '{system.GetSystemPathname()}': it returns a value, which is "
                f"not used. Write the result into its last parameter, as in {self.parameters[-1]}[0] = ..., and return "
                "None."
            )
        wires: dict[str, Argument] | None = None
        arguments = []
        for name in self.parameters[: len(self.parameters) - len(results)]:
            if name in self._given:
                try:
                    arguments.append(argument_for(self._given[name], system))
                except (TypeError, ValueError) as error:
                    where = f"{self.describe()}, {what} of system '{system.GetSystemPathname()}'"
                    raise type(error)(f"{where}: what is given for '{name}' cannot be used: {error}") from None
                continue
            wires = wires_of(system) if wires is None else wires
            if name not in wires:
                raise ValueError(
                    f"{self.describe()}, {what} of system '{system.GetSystemPathname()}': parameter '{name}' is "
                    "neither an input port nor a parameter or state of the system, nor given. Declare it before, or "
                    f"use one of: {', '.join(sorted(wires))}."
                )
            arguments.append(wires[name])
        return BoundNativeFunction(self._origin, arguments, results, self._explain)


def _restored(origin: NativeFunction, given: dict[str, Any], explain: Any) -> NativeFunction:
    return origin._with(_given=given, _explain=explain)


@native
def copy(source: Any, to: Any) -> None:
    """to = source: what the compiled simulation reads where the source stands, instead."""
    put(source, to, 0)


class NativeOperation:
    """A native function as a compiled operation (framework/native/operations/operations.py).

    Args:
        function: the function.
        kinds: type codes of its parameters, see native_wires.py; after an "s" if it returns whether it failed,
            and an "e" if it may raise exceptions: then Python calls it again, and says why.
    """

    _never_changes = True  # a copy of a system has the same

    def __init__(self, function: NativeFunction, kinds: str) -> None:
        self.function, self.kinds = function, kinds
        self._compiled: Any = None

    @property
    def call(self) -> Callable[..., Any]:
        """What Python calls, with contiguous arrays of floats; not for lists of vectors."""
        call: Callable[..., Any] = self.compiled().call
        return call

    def address(self) -> int:
        """Where the operation stands."""
        address: int = self.compiled().address()
        return address

    def complex_address(self) -> int:
        """Where it stands for complex numbers.

        Raises:
            TypeError: it takes none.
        """
        address: int = self.compiled().complex_address()
        return address

    def compiled(self) -> Any:
        """Its compiled forms."""
        if self._compiled is None:
            with compilation().lock():  # threads wait for the first one's code rather than make their own
                if self._compiled is None:
                    self._compiled = compilation().form_of(self)
        return self._compiled

    def __reduce__(self) -> Any:
        return NativeFunction.operation, (self.function, self.kinds)


class BoundNativeFunction:
    """A native function with what its parameters stand for: a callback that fills in a vector, and its operation.

    Args:
        function: the function.
        arguments: what the parameters stand for, but for those of the results.
        results: where these stand.
        explain: see NativeFunction.or_raise().

    Attributes:
        may_copy: whether it may only copy a wire.
    """

    operation = ""
    # Made when first needed: a diagram of many blocks is built in a third less time.
    _code: NativeCode | None = None
    _calls: tuple[Any, list[Any], list[tuple[int, Argument]]] | None = None

    def __init__(
        self,
        function: NativeFunction,
        arguments: Sequence[Argument],
        results: Sequence[Wire],
        explain: Callable[[Any], None] | None,
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._results = results
        self._explain = explain
        self._ways_to_fail = ("s" if explain is not None else "") + ("e" if not function.is_ours else "")
        self._is_compiled = all(argument.is_compiled for argument in arguments)
        self.may_copy = function is copy

    def __reduce__(self) -> Any:
        return BoundNativeFunction, (self._function, self._arguments, self._results, self._explain)

    def tickets(self, system: LeafSystem) -> set[DependencyTicket]:
        """What it depends on in its system."""
        tickets = [ticket for argument in self._arguments for ticket in argument.tickets(system)]
        return set(tickets) or {system.nothing_ticket()}

    # ------------------------------------------------------------------ as an operation

    def resolve(self, context: Any) -> NativeCode | None:
        """The operation in a Context; None if a constant is no array of floats or integers."""
        code = self._code
        if code is None and self._is_compiled:
            code = self._code_of([argument.in_context(context) for argument in self._arguments])
            if all(argument.is_fixed for argument in self._arguments):
                self._code = code
        return code

    def watch(self, context: Any) -> None:
        """Contexts that have lowered this into an operation of their own do so again."""
        for argument in self._arguments:
            argument.watch(context)

    def _code_of(self, arguments: Sequence[Argument]) -> NativeCode:
        every = [*arguments, *self._results]
        source, result = every[0], self._results[0]
        if self.may_copy and isinstance(source, Wire) and source.first == 0:  # read where it stands, if possible
            return NativeCode("copy", (result.size, source.place, result.place))
        integers: list[Any] = [FAILURE] if self._ways_to_fail else []
        start = len(integers) + sum(len(argument.integers([], 0)) for argument in every)
        rest: list[Any] = []
        for argument in every:
            integers.extend(argument.integers(rest, start))
        return NativeCode(self._function.operation(self._kinds(every)), (*integers, *rest))

    def _kinds(self, every: Sequence[Argument]) -> str:
        return self._ways_to_fail + "".join(argument.type_code for argument in every)

    # ------------------------------------------------------------------ in Python

    def __call__(self, context: Any, output: Any) -> None:
        """The callback of an output port or of time derivatives."""
        self.fill_in(context, output._values)

    def fill_in(self, context: Any, *results: Any) -> None:
        """Computes the results.

        Args:
            context: of the system.
            results: arrays.
        """
        call, known, read = self._calls or self._prepared()
        dtype = results[0].dtype
        if dtype is _OBJECT:
            call, values = self._function.interpreted, [argument.object_value(context) for argument in self._arguments]
        else:
            values = known.copy()
            for i, argument in read:
                values[i] = argument.value(context)
            if call is None:
                call = self._call_of_user(dtype is context.store.flat.dtype is _FLOAT)
        status = call(*values, *results)
        if status and self._explain is not None:
            self._explain(context)
            raise RuntimeError(f"{self._function.describe()} could not compute its result.")

    def _prepared(self) -> tuple[Any, list[Any], list[tuple[int, Argument]]]:
        """What Python calls for numbers, None if it depends; arguments that are always the same; and the others."""
        arguments = self._arguments
        is_plain = self._function.is_ours or not self._is_compiled
        known = [argument.value(None) if argument.is_constant else None for argument in arguments]
        read = [(i, argument) for i, argument in enumerate(arguments) if not argument.is_constant]
        self._calls = self._function.interpreted if is_plain else None, known, read
        return self._calls

    def _call_of_user(self, is_of_floats: bool) -> Callable[..., Any]:
        if not is_of_floats:
            return self._function.interpreted
        operation = self._function.operation(self._kinds((*self._arguments, *self._results)))
        if all(argument.type_code != "l" for argument in self._arguments) or not may_compile():
            return operation.call
        # Python cannot call compiled code with lists of arrays; but what cannot be compiled is reported now.
        operation.address()
        return self._function.interpreted


class NativeHandler:
    """The handler of an update that is a native function.

    Args:
        bound: the function.
        groups: what it updates: groups of the discrete state, or CONTINUOUS for the continuous state.
    """

    def __init__(self, bound: BoundNativeFunction, groups: Sequence[int]) -> None:
        self._bound = bound
        self._groups = groups

    def __call__(self, context: Any, state: Any) -> None:
        discrete = state if isinstance(state, DiscreteValues) else state.get_mutable_discrete_state()
        self._bound.fill_in(context, *[
            state.get_mutable_continuous_state().get_mutable_vector()._values
            if group == CONTINUOUS
            else discrete.get_mutable_vector(group)._values
            for group in self._groups
        ])  # fmt: skip


def next_state(index: int, size: int) -> Wire:
    """Where an update leaves the new values of a group of the discrete state, or of the continuous state."""
    return Wire(NEXT_CONTINUOUS_STATE if index == CONTINUOUS else NextDiscreteStateOf(index), 0, size)


def result_of(size: int) -> Wire:
    """Where the result of a computation goes."""
    return Wire(OUTPUT, 0, size)


def _returns_values(function: Any) -> bool:
    """Whether a function of Python has a statement that returns something else than None."""
    instructions = list(dis.get_instructions(function)) if hasattr(function, "__code__") else []
    ends = [  # in later versions of Python, constants are returned by one instruction
        instruction if instruction.opname == "RETURN_CONST" else before
        for before, instruction in itertools.pairwise([*instructions[:1], *instructions])
        if instruction.opname in ("RETURN_VALUE", "RETURN_CONST")
    ]
    return any(end.opname not in ("LOAD_CONST", "RETURN_CONST") or end.argval is not None for end in ends)


def _fits(argument: Any, kind: str) -> bool:
    """Whether compiled code can take an argument as it is."""
    if kind == "t":
        return isinstance(argument, float)
    is_float_array = isinstance(argument, np.ndarray) and argument.dtype == np.float64
    return is_float_array and argument.ndim == 1 and argument.flags.carray
