"""SymbolicVectorSystem: a block whose dynamics and output are expressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import (
    CONTINUOUS_STATE,
    CURRENT_TIME,
    OUTPUT,
    DiscreteStateOf,
    InputOf,
    NativeCode,
    NextDiscreteStateOf,
    ParameterOf,
)
from merganser.framework.core.inside import use_native_derivatives
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.core.values.state import ContinuousState, DiscreteValues
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives._arguments import checked_period
from merganser.framework.symbolic.numeric import ExpressionVector

Array = NDArray[Any]
_DEFAULTS: dict[str, Any] = {
    "time": None, "state": (), "input": (), "parameter": (), "dynamics": (), "output": (), "time_period": 0.0,
}  # fmt: skip
_WITHOUT_PARAMETER = tuple(name for name in _DEFAULTS if name != "parameter")


class SymbolicVectorSystem(LeafSystem):
    """A block that evaluates expressions of its time, state x, input u and parameters p,

        dx/dt = f(t, x, u, p)   or   x[n+1] = f(t, x[n], u[n], p),    y = g(t, x, u, p).

    The input port is u0, the output port y0; either is missing where there is nothing for it. There is direct
    feedthrough if an input occurs in the output. Derivatives of AutoDiffXd are those of the expressions.

    Args:
        time: the Variable t; None if it does not occur.
        state: the Variables x, shape [n].
        input: the Variables u.
        parameter: the Variables p (the fourth of seven positional arguments; it may be left out).
        dynamics: the expressions f, shape [n].
        output: the expressions g.
        time_period: time between two updates of a discrete-time system [s]; 0 for continuous time.

    Raises:
        TypeError: a variable is no Variable.
        ValueError: there is not one expression for each state variable, a variable occurs twice, or an expression has
            a variable that was not named.
    """

    @overload
    def __init__(
        self,
        time: Any = None,
        state: Any = (),
        input: Any = (),
        dynamics: Any = (),
        output: Any = (),
        time_period: float = 0.0,
    ) -> None: ...
    @overload
    def __init__(
        self,
        time: Any = None,
        state: Any = (),
        input: Any = (),
        parameter: Any = (),
        dynamics: Any = (),
        output: Any = (),
        time_period: float = 0.0,
    ) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        has_parameter = "parameter" in kwargs or len(args) > 6 or (len(args) == 6 and np.ndim(args[5]) > 0)
        names = tuple(_DEFAULTS) if has_parameter else _WITHOUT_PARAMETER
        given = {**_DEFAULTS, **bind_overload("SymbolicVectorSystem", names, _DEFAULTS, args, kwargs)}
        self._time = given["time"]
        self._state, self._input, self._parameter = (
            _variables(given[name], name) for name in ("state", "input", "parameter")
        )
        self._dynamics, self._output = (_expressions(given[name]) for name in ("dynamics", "output"))
        self._time_period = checked_period(given["time_period"], "SymbolicVectorSystem: time_period")
        self._check()
        self._functions = {
            "dynamics": ExpressionVector(self._dynamics, self._all()),
            "output": ExpressionVector(self._output, self._all()),
        }
        self._declare()

    def dynamics_for_variable(self, var: Any) -> Any:
        """Returns the expression for the derivative, or the next value, of a state variable.

        Raises:
            IndexError: `var` is not a state variable.
        """
        for variable, expression in zip(self._state, self._dynamics):
            if variable.get_id() == var.get_id():
                return expression
        raise IndexError(f"System '{self.GetSystemPathname()}' has no dynamics for the variable {var}.")

    def _all(self) -> list[Any]:
        return [*([] if self._time is None else [self._time]), *self._state, *self._input, *self._parameter]

    def _check(self) -> None:
        if len(self._dynamics) != len(self._state):
            raise ValueError(
                f"SymbolicVectorSystem: there must be one expression in dynamics for each state variable; got "
                f"{len(self._dynamics)} and {len(self._state)}."
            )
        named = [variable.get_id() for variable in self._all()]
        if len(set(named)) < len(named):
            raise ValueError(f"SymbolicVectorSystem: a variable occurs twice among {self._all()}.")
        for expression in (*self._dynamics, *self._output):
            unknown = [variable for variable in expression.GetVariables() if variable.get_id() not in named]
            if unknown:
                raise ValueError(
                    f"SymbolicVectorSystem: {expression} has the variable {unknown[0]}, which is not the time and not "
                    "among state, input and parameter."
                )

    def _declare(self) -> None:
        if len(self._input):
            self.DeclareVectorInputPort(kUseDefaultName, len(self._input))
        if len(self._parameter):
            self.DeclareNumericParameter(BasicVector(np.zeros(len(self._parameter))))
        if len(self._state) and self._time_period == 0.0:
            self.DeclareContinuousState(len(self._state))
            native = _CodeOfExpressions(self, self._dynamics, OUTPUT)
            here = SymbolicVectorSystem
            use_native_derivatives(self, NativeCode("", native.places()), of=here)  # says what they depend on
            use_native_derivatives(self, native, of=here)
        elif len(self._state):
            self.DeclareDiscreteState(len(self._state))
            self.DeclarePeriodicDiscreteUpdateEvent(self._time_period, 0.0, self._update)
            self._sys_amend_last_event(native=_CodeOfExpressions(self, self._dynamics, NextDiscreteStateOf(0)))
            self.DeclareForcedDiscreteUpdateEvent(self._update)
        if len(self._output):
            occurring = {variable.get_id() for e in self._output for variable in e.GetVariables()}
            tickets = {
                self.time_ticket(): [] if self._time is None else [self._time],
                self.all_state_ticket(): self._state,
                self.all_input_ports_ticket(): self._input,
                self.all_parameters_ticket(): self._parameter,
            }
            needed = {ticket for ticket, known in tickets.items() if any(v.get_id() in occurring for v in known)}
            prerequisites = needed or {self.nothing_ticket()}
            port = self.DeclareVectorOutputPort(kUseDefaultName, len(self._output), self._calc_output, prerequisites)
            port.cache_entry().use_native(_CodeOfExpressions(self, self._output, OUTPUT))

    def DoCalcTimeDerivatives(self, context: Context, derivatives: ContinuousState) -> None:
        if len(self._state) and self._time_period == 0.0:
            derivatives.SetFromVector(self._evaluate("dynamics", context))

    def _update(self, context: Context, discrete_state: DiscreteValues) -> None:
        discrete_state.set_value(0, self._evaluate("dynamics", context))

    def _calc_output(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self._evaluate("output", context))

    def _evaluate(self, which: str, context: Context) -> Array:
        function = self._functions[which]
        return function.evaluate(self._values(context, function.occurring))

    def _values(self, context: Context, needed: set[Any]) -> list[Any]:
        """Time, state, input and parameters, in this order; zeros for an input that is not needed."""
        values: list[Any] = [] if self._time is None else [context.get_time()]
        if len(self._state) and self._time_period == 0.0:
            values += context.get_continuous_state_vector().value().tolist()
        elif len(self._state):
            values += context.get_discrete_state(0).value().tolist()
        if any(variable.get_id() in needed for variable in self._input):
            values += self.get_input_port(0).EvalBasicVector(context).value().tolist()
        else:
            values += [0.0] * len(self._input)
        if len(self._parameter):
            values += context.get_numeric_parameter(0).value().tolist()
        return values


class _CodeOfExpressions:
    """Expressions of a block as an operation.

    Args:
        system: the block.
        expressions: what to evaluate.
        target: placeholder of the result.
    """

    operation = ""

    def __init__(self, system: SymbolicVectorSystem, expressions: Array, target: Any) -> None:
        self._system, self._expressions, self._target = system, expressions, target
        self._code: NativeCode | None = None
        self._was_tried = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_code": None, "_was_tried": False}

    def _groups(self) -> list[tuple[Any, list[Any]]]:
        """Time, state, input and parameters, with their placeholders."""
        system = self._system
        state = CONTINUOUS_STATE if system._time_period == 0.0 else DiscreteStateOf(0)
        time = [] if system._time is None else [system._time]
        lists = time, system._state, system._input, system._parameter
        return list(zip((CURRENT_TIME, state, InputOf(0), ParameterOf(0)), lists))

    def places(self) -> tuple[Any, ...]:
        """The placeholders of time, state, input and parameters that occur in the expressions."""
        occurring = {variable.get_id() for e in self._expressions for variable in e.GetVariables()}
        return tuple(place for place, group in self._groups() if any(v.get_id() in occurring for v in group))

    def resolve(self, context: Context) -> NativeCode | None:
        """The operation; None if an expression cannot be compiled."""
        if not self._was_tried:
            from merganser.framework.primitives.expression_code import expression_code  # loads numba

            self._code, self._was_tried = expression_code(self._expressions, self._groups(), self._target), True
        return self._code


def _variables(given: Iterable[Any], name: str) -> list[Any]:
    from merganser.framework.symbolic import Variable  # needs an extra

    variables = list(np.ravel(np.asarray(given, dtype=object)))
    for variable in variables:
        if not isinstance(variable, Variable):
            raise TypeError(f"SymbolicVectorSystem: {name} takes Variables, got {variable!r}.")
    return variables


def _expressions(given: Iterable[Any]) -> Array:
    from merganser.framework.symbolic import Expression  # needs an extra

    made = [Expression(e) for e in np.ravel(np.asarray(given, dtype=object))]
    array = np.empty(len(made), dtype=object)
    array[:] = made
    return array
