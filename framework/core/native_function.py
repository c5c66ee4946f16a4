"""Functions of a user that are compiled: `@native`, whose parameter names are wires."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.core.native_code import (
    CONTINUOUS_STATE,
    CURRENT_TIME,
    OUTPUT,
    DiscreteStateOf,
    InputOf,
    NativeCode,
    ParameterOf,
)

if TYPE_CHECKING:
    from merganser.framework.core.leaf_system import LeafSystem

__all__ = ["NativeFunction", "NativeHandler", "native"]

_TIME = ("t", "time")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def native(function: Callable[..., None]) -> NativeFunction:
    """Makes a function one that runs compiled, and as a part of the compiled simulation; see `NativeFunction`.

    What numba can compile is allowed: numbers, arrays, loops, numpy's and math's elementary functions, and helpers
    decorated with `merganser.framework.native.device`. Compilation takes place when the function is first called for
    floats, and is kept on disk as long as the function and all that it refers to stay the same.

        @native
        def calc_force(state, gains, force):  # two input ports, or an input port and a parameter; then the result
            force[0] = -gains[0] * state[0] - gains[1] * state[1]
    """
    return NativeFunction(function)


class NativeFunction:
    """A function of arrays that runs compiled wherever its arrays hold floats; made by the decorator `native`.

    It can be given wherever a LeafSystem takes a callback that fills in a vector: to `DeclareVectorOutputPort`, to
    `DeclareTimeDerivatives`, and to the periodic, per-step and forced discrete updates. The names of its parameters say
    what it reads:

    - the name of a vector input port: the value of that port;
    - the name of a group of numeric parameters (`DeclareNumericParameter(model, name=...)`, or p0, p1, ...);
    - `xc`: the continuous state; `q`, `v` and `z`: its parts; `xd` or xd0, xd1, ...: groups of the discrete state;
    - `t` or `time`: the time [s], a float.

    All others are arrays of one dimension, which the function must not change. The last parameter, under any name, is
    the array to fill in. Direct feedthrough follows from these names.

    In a context of another scalar type the function runs as plain Python.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        parameters = inspect.signature(function).parameters.values()
        self._function = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        odd = [parameter.name for parameter in parameters if parameter.kind not in _POSITIONAL]
        if odd or not parameters:
            wrong = f"'{odd[0]}' is none" if odd else "it has no parameters"
            raise TypeError(f"{self.describe()}: parameters must be positional ones, the last for the result; {wrong}.")
        self.parameters = [parameter.name for parameter in parameters]
        self.takes_number = [name in _TIME for name in self.parameters]
        self._compiled: Any = None

    def __call__(self, *arguments: Any) -> None:
        """Calls the function; compiled if the arguments are contiguous arrays of floats, and a float for the time."""
        # Compiled code trusts its arguments.
        fits = len(arguments) == len(self.parameters) and all(map(_fits, arguments, self.takes_number))
        function = self.compiled().call if fits else self._function
        function(*arguments)

    def __reduce__(self) -> Any:
        if "<" in self.__qualname__:  # local to another function: cloudpickle can take that along
            return NativeFunction, (self._function,)
        return self.__qualname__

    @property
    def interpreted(self) -> Callable[..., None]:
        """The function as plain Python."""
        return self._function

    def compiled(self) -> Any:
        """The compiled forms of the function, see native/user_functions.py."""
        if self._compiled is None:
            from merganser.framework.native.extending import import_whole

            module = import_whole("merganser.framework.native.user_functions")
            with module.global_compiler_lock:  # threads wait for the first one's code rather than make their own
                if self._compiled is None:
                    self._compiled = module.CompiledFunction(self)
        return self._compiled

    def address(self) -> int:
        """Where the function stands as an operation of the tape."""
        address: int = self.compiled().address()
        return address

    def complex_address(self) -> int:
        """Where it stands for complex numbers.

        Raises:
            TypeError: it takes none.
        """
        address: int = self.compiled().complex_address()
        return address

    def describe(self) -> str:
        """Names the function with file and line, for messages."""
        code = getattr(self._function, "__code__", None)
        place = f" ({code.co_filename}:{code.co_firstlineno})" if code is not None else ""
        return f"Native function '{self.__name__}'{place}"

    def bind(self, system: LeafSystem, what: str, result: Any = OUTPUT) -> BoundNativeFunction:
        """Looks up what the parameters stand for in a system.

        Args:
            system: with its ports, state and parameters declared.
            what: what the function computes, for messages.
            result: where the result goes, see native_code.py.

        Raises:
            ValueError: the system has nothing of a parameter's name.
        """
        wires = _wires(system)
        arguments: list[tuple[Any, int, int]] = []
        for name in self.parameters[:-1]:
            if name not in wires:
                raise ValueError(
                    f"{self.describe()}, {what} of system '{system.GetSystemPathname()}': parameter '{name}' is "
                    "neither an input port nor a parameter or state of the system. Declare it before, or use one of: "
                    f"{', '.join(sorted(wires))}."
                )
            arguments.append(wires[name])
        return BoundNativeFunction(self, arguments, result)


class BoundNativeFunction:
    """A native function with what its parameters stand for; a callback that fills in a vector.

    Args:
        function: the function.
        arguments: for each parameter but the last: its place, how much further on it begins, and its size.
        result: the place of the result.
    """

    def __init__(self, function: NativeFunction, arguments: list[tuple[Any, int, int]], result: Any) -> None:
        self._function = function
        self._arguments = arguments
        self._result = result

    def code(self, size: int) -> NativeCode:
        """The operation, for a result of the given size."""
        integers: list[Any] = []
        for place, shift, length in self._arguments:
            integers.extend((place, shift, length))
        return NativeCode(self._function, (*integers, self._result, 0, size))

    def __call__(self, context: Any, output: Any) -> None:
        """The callback of an output port or of time derivatives."""
        function, result = self._function, output._values
        values = [_value(context, *argument) for argument in self._arguments]
        if result.dtype == context.store.flat.dtype == np.float64:
            function.compiled().call(*values, result)
        else:
            function.interpreted(*values, result)


class NativeHandler:
    """The handler of a discrete update that is a native function.

    Args:
        bound: the function.
        group: of the discrete state that it updates.
    """

    def __init__(self, bound: BoundNativeFunction, group: int) -> None:
        self._bound = bound
        self._group = group

    def __call__(self, context: Any, discrete_state: Any) -> None:
        self._bound(context, discrete_state.get_mutable_vector(self._group))


def _fits(argument: Any, takes_number: bool) -> bool:
    """Whether compiled code can take an argument as it is."""
    if takes_number:
        return isinstance(argument, float)
    is_float_array = isinstance(argument, np.ndarray) and argument.dtype == np.float64
    return is_float_array and argument.ndim == 1 and argument.flags.c_contiguous


def _wires(system: LeafSystem) -> dict[str, tuple[Any, int, int]]:
    """What a parameter of each name stands for in a system: place, shift and size."""
    wires: dict[str, tuple[Any, int, int]] = {}
    num_q, num_v, num_z = system._sys_continuous_sizes
    for name, first, size in (
        ("xc", 0, num_q + num_v + num_z), ("q", 0, num_q), ("v", num_q, num_v), ("z", num_q + num_v, num_z),
    ):  # fmt: skip
        if size:
            wires[name] = (CONTINUOUS_STATE, first, size)
    for index, model in enumerate(system._sys_discrete_models):
        wires[f"xd{index}"] = (DiscreteStateOf(index), 0, model.size())
    if len(system._sys_discrete_models) == 1:
        wires["xd"] = wires["xd0"]
    for index, (model, name) in enumerate(
        zip(system._sys_numeric_parameter_models, system._sys_numeric_parameter_names)
    ):
        wires[name] = (ParameterOf(index), 0, model.size())
    for port in system._sys_input_ports:
        if port._size is not None:
            wires[port._name] = (InputOf(port._index), 0, port._size)
    wires.update(dict.fromkeys(_TIME, (CURRENT_TIME, 0, 1)))
    return wires


def _value(context: Any, place: Any, shift: int, size: int) -> Any:
    """What a parameter stands for in a context."""
    if place is CURRENT_TIME:
        return context.get_time()
    if isinstance(place, InputOf):
        return context.require_input(place.port_index)._values
    if isinstance(place, ParameterOf):
        return context.get_numeric_parameter(place.index)._values
    if isinstance(place, DiscreteStateOf):
        return context.get_discrete_state(place.index)._values
    return context.get_continuous_state_vector()._values[shift : shift + size]
