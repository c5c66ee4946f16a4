"""FmuSystem: a unit of another tool (FMI 2 or 3) as a block."""

from __future__ import annotations

import functools
import math
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.fmi.archive import Archive, Variable, values_of
from merganser.analysis.fmi.driver import Choice, Driver, Evaluation, IsolatedDriver, Situation
from merganser.framework import (
    BasicVector,
    Context,
    LeafSystem,
    UnrestrictedUpdateEvent,
    Value,
    ValueProducer,
    WitnessFunction,
    WitnessFunctionDirection,
)
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff

Array = NDArray[Any]


class FmuState:
    """Which state an FMU is in, as a Context keeps it: all that the FMU has inside, besides its continuous state.

    It does not change; steps and events make new ones. While the instance goes on, it keeps a copy of the states that
    a Context still has, if the FMU offers that.

    Attributes:
        unit: the FMU; None in the state of a Context that has not been initialized.
        situation: what is known of the FMU in this state.
        time: at the end of the last step or event [s].
        copy: number of the copy that is kept; 0 for none.
    """

    _never_changes = True

    def __init__(self, unit: _Unit | None, situation: Situation | None, time: float) -> None:
        self.unit, self.situation, self.time, self.copy = unit, situation, time, 0

    def __deepcopy__(self, memo: dict[int, Any]) -> FmuState:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self.unit is not None:
            raise TypeError(f"The state inside the FMU '{self.unit.archive.path}' cannot be pickled.")
        return FmuState, (None, None, 0.0)

    def __del__(self) -> None:
        if self.copy and self.unit is not None:
            self.unit.unused.append(self.copy)


class _Unit:
    """One instance of an FMU, and the state that it is in: Contexts name states, the instance goes to them.

    Args:
        archive, choice: see Driver.
        is_isolated: whether it has a process of its own.

    Attributes:
        archive: as given.
        unused: copies that no Context names any more.
    """

    def __init__(self, archive: Archive, choice: Choice, is_isolated: bool) -> None:
        self.archive = archive
        self.driver: Any = (IsolatedDriver if is_isolated else Driver)(archive, choice)
        description = archive.description
        interface = description.coSimulation if choice.is_cosimulation else description.modelExchange
        self._can_copy = bool(interface.canGetAndSetFMUstate)
        self._present: Callable[[], FmuState | None] = lambda: None
        self._last: tuple[Any, ...] = ()  # state, arguments and result of the last step or event
        self._lock = threading.RLock()
        self.unused: list[int] = []
        weakref.finalize(self, self.driver.end)

    def begin(self, name: str, time: float, parameters: Array, inputs: Array) -> FmuState:
        """Initializes the instance at `time` [s]."""
        return self._arrived(self.driver.begin(name, time, parameters, inputs), time)

    def advance(self, state: FmuState, what: str, end: float, *arguments: Any) -> FmuState:
        """Lets the instance take a step, or carry out an event, from a state; returns the one at the time `end` [s].

        The same once more, as two events of one instant ask for it, has the same result.
        """
        with self._lock:
            key = (what, *(each.tobytes() if isinstance(each, np.ndarray) else each for each in arguments))
            if self._last and self._last[0] is state and self._last[1] == key:
                found: FmuState = self._last[2]
                return found
            self._go_to(state)
            self._keep_present()
            self._present = lambda: None  # until it has succeeded
            situation = getattr(self.driver, what)(*arguments)
            if situation is None:
                self._present = weakref.ref(state)
                return state
            result = self._arrived(situation, end)
            self._last = state, key, result
            return result

    def ask(self, state: FmuState, what: str, *arguments: Any) -> Any:
        """Has the instance compute something in a state."""
        with self._lock:
            self._go_to(state)
            return getattr(self.driver, what)(*arguments)

    def _arrived(self, situation: Situation, time: float) -> FmuState:
        state = FmuState(self, situation, time)
        self._present = weakref.ref(state)
        return state

    def _keep_present(self) -> None:
        """Keeps a copy of the state that the instance is in, if a Context has it."""
        while self.unused:
            self.driver.forget(self.unused.pop())
        present = self._present()
        if self._can_copy and present is not None and not present.copy:
            present.copy = self.driver.save()

    def _go_to(self, state: FmuState) -> None:
        if self._present() is state:
            return
        self._keep_present()
        if not state.copy:
            why = "" if self._can_copy else ", and it offers no copies of its state (canGetAndSetFMUState)"
            raise RuntimeError(
                f"the FMU has gone on from the state of this Context at {state.time} s{why}; initialize the Context "
                "again, by Simulator.Initialize(), or with another FmuSystem of the same file"
            )
        self._present = lambda: None
        self.driver.restore(state.copy)
        self._present = weakref.ref(state)


class FmuSystem(LeafSystem):
    """A functional mock-up unit (FMI 2.0 or 3.0) as a block.

    In **model exchange** its continuous state is that of the Context, its event indicators are witness functions and
    its time events are found exactly; the integrator of the Simulator solves its equations. In **co-simulation** it
    solves them itself: every `step` it takes the inputs and advances, as a discrete plant does, and its outputs change
    only there.

    What else it has inside is an abstract state of the Context. Each initialization makes an instance; copies of a
    Context share one, which goes from one's state to the other's, if the FMU can copy its state. Otherwise going on
    with the second one is refused.

    Initialization gives the FMU its parameters and inputs. The Context then has the FMU's initial continuous state,
    unless another one was set before.

    A FMU is machine code: naming its file runs it. `isolated=True` lets it run in a process of its own, whose end (an
    invalid access to memory, say) is an error here; it does not keep malicious code from doing harm. Messages of the
    FMU go to the logger "merganser.fmi".

    Ports:
        input, output: one for each variable of numbers, named after it; truth values are 0 and 1. An input that is not
            connected has the FMU's start value.

    Parameters:
        group 0: the FMU's parameters of real numbers, one after the other, see GetParameterNames.

    Args:
        path: of the file .fmu.
        kind: "me" for model exchange, "cs" for co-simulation; "auto" for co-simulation if a step is given or the FMU
            offers nothing else, otherwise model exchange.
        step: between two communication points of co-simulation [s]; by default that of the FMU's default experiment.
        accuracy: relative tolerance that the FMU is asked for; None for its own.
        parameters: values of parameters by name; whole numbers, truth values and strings can be given here only.
        outputs: names of further variables that become output ports.
        isolated: whether the FMU runs in a process of its own; a program then needs `if __name__ == "__main__":`, as
            all programs that start processes do.

    Raises:
        ImportError: the extra `fmi` is not installed.
        FileNotFoundError: there is no such file.
        ValueError: the file is no FMU, offers no such kind, or an argument does not fit.
        RuntimeError: the FMU has no binary for this platform, or does not initialize.

    Source: Functional Mock-up Interface Specification 2.0.5 and 3.0.2, Modelica Association.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        kind: str = "auto",
        step: float | None = None,
        accuracy: float | None = None,
        parameters: Mapping[str, Any] | None = None,
        outputs: Sequence[str] = (),
        isolated: bool = False,
    ) -> None:
        super().__init__()
        archive = Archive(path)
        self._where = f"FmuSystem('{os.path.basename(archive.path)}')"
        self._is_cosimulation = self._chosen(archive, kind, step)
        self.changes_abstract_state_at_events_only = not self._is_cosimulation  # which can be linearized between them
        if accuracy is not None and not 0.0 < accuracy < 1.0:
            raise ValueError(f"{self._where}: accuracy must be between 0 and 1, got {accuracy!r}.")
        numbers = [each for each in archive.variables.values() if each.is_number]
        self._inputs = [each for each in numbers if each.causality == "input"]
        self._outputs = [each for each in numbers if each.causality == "output"]
        known = {each.name for each in self._outputs}
        self._outputs += archive.choose("outputs", [name for name in outputs if name not in known], self._where)
        self._parameters = [
            each for each in numbers
            if each.causality == "parameter" and each.type in ("Real", "Float64") and each.start is not None
        ]  # fmt: skip
        starts = self._checked_starts(archive, parameters or {})
        choice = Choice(self._is_cosimulation, self._inputs, self._parameters, self._outputs, starts, accuracy)
        self._archive, self._choice, self._is_isolated = archive, choice, isolated
        self._start_inputs = _starts(self._inputs)
        self._provisional: Any = None
        first = self._not_initialized(0.0, self._parameter_starts).situation
        assert first is not None
        self._start_state = first.state
        self._declare(archive, step)

    def _chosen(self, archive: Archive, kind: str, step: float | None) -> bool:
        """Whether the FMU is used in co-simulation."""
        description = archive.description
        offered = [k for k, each in (("me", description.modelExchange), ("cs", description.coSimulation)) if each]
        if kind not in ("auto", "me", "cs"):
            raise ValueError(f"{self._where}: kind must be 'auto', 'me' or 'cs', got {kind!r}.")
        if kind == "auto":
            kind = "cs" if step is not None or "me" not in offered else "me"
        if kind not in offered:
            only = " and ".join({"me": "model exchange", "cs": "co-simulation"}[each] for each in offered)
            wanted = {"me": "model exchange", "cs": "co-simulation"}[kind]
            raise ValueError(f"{self._where} offers {only or 'scheduled execution'} only, not {wanted}.")
        if kind == "me" and step is not None:
            raise ValueError(f"{self._where}: a step is for co-simulation; the Simulator's integrator has its own.")
        return kind == "cs"

    def _checked_starts(self, archive: Archive, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """What of the parameters the FMU is given once; the others become start values of the numeric parameters."""
        where, starts = self._where, {}
        values = {each.name: each.start for each in self._parameters}
        for name, value in parameters.items():
            variable = archive.variables.get(name)
            if variable is None or variable.causality != "parameter":
                known = [each.name for each in archive.variables.values() if each.causality == "parameter"]
                raise ValueError(f"{where} has no parameter '{name}' that can be set; it has {known}.")
            if name in values:
                values[name] = variable.checked(value, where)
            else:
                starts[name] = variable.checked(value, where) if variable.is_number else str(value)
        self._parameter_starts = np.concatenate([np.zeros(0), *(each for each in values.values() if each is not None)])
        return starts

    def _declare(self, archive: Archive, step: float | None) -> None:
        """Declares ports, state and events."""
        for variable in self._inputs:
            self.DeclareVectorInputPort(variable.name, variable.size, units=variable.units)
        self._group = self.DeclareNumericParameter(BasicVector(self._parameter_starts), name="parameters")
        self._state = self.DeclareAbstractState(Value(FmuState(None, None, 0.0)))
        self.DeclareInitializationUnrestrictedUpdateEvent(self._initialize)
        state = {self.time_ticket(), self.abstract_state_ticket(self._state), self.pn_ticket()}
        producer = functools.partial(ValueProducer, lambda: Value(Evaluation(*(np.zeros(0),) * 3)))
        without_inputs = self.DeclareCacheEntry(
            "outputs of the FMU", producer(functools.partial(self._calc, False)), state | {self.xc_ticket()}
        )
        entry = without_inputs
        if self._is_cosimulation:
            period = self._step(archive, step)
            self.DeclarePeriodicUnrestrictedUpdateEvent(period, 0.0, functools.partial(self._advance, period))
        else:
            if len(self._start_state):
                self.DeclareContinuousState(BasicVector(self._start_state))
            entry = self.DeclareCacheEntry(
                "equations of the FMU", producer(functools.partial(self._calc, True)),
                state | {self.xc_ticket(), self.all_input_ports_ticket()},
            )  # fmt: skip
            self._declare_events(archive, entry)
        self._entry = entry
        inputs = {variable.name for variable in self._inputs}
        depends = {
            each.variable.name: each.dependencies is None or any(other.name in inputs for other in each.dependencies)
            for each in archive.description.outputs
        }
        places = values_of(self._outputs, np.arange(sum(each.size for each in self._outputs)))
        for variable, part in zip(self._outputs, places):
            source = entry if depends.get(variable.name, True) else without_inputs
            self.DeclareVectorOutputPort(
                variable.name, variable.size, functools.partial(self._calc_output, source, part), {source.ticket()},
                units=variable.units,
            )  # fmt: skip

    def _step(self, archive: Archive, step: float | None) -> float:
        """Between two communication points [s]."""
        experiment = archive.description.defaultExperiment
        if step is None and experiment is not None and experiment.stepSize is not None:
            step = float(experiment.stepSize)
        if step is None or not 0.0 < step < math.inf:
            raise ValueError(f"{self._where}: give a positive step [s]; the FMU has no default, got {step!r}.")
        return float(step)

    def _declare_events(self, archive: Archive, entry: Any) -> None:
        """Declares events of model exchange: by its indicators, by time and at the end of steps."""
        event = UnrestrictedUpdateEvent(self._handle_event)
        both, down = WitnessFunctionDirection.kCrossesZero, WitnessFunctionDirection.kPositiveThenNonPositive
        self._indicators = [
            self.MakeWitnessFunction(f"event indicator {n}", both, functools.partial(_indicator, entry, n), event)
            for n in range(int(archive.description.numberOfEventIndicators))
        ]
        self._next_event = self.MakeWitnessFunction("next event of the FMU", down, self._time_left, event)
        if archive.description.modelExchange.needsCompletedIntegratorStep:
            self.DeclarePerStepUnrestrictedUpdateEvent(self._complete_step)

    # ------------------------------------------------------------------ parameters

    def GetParameterNames(self) -> list[str]:
        """Names of the parameters of group 0, in their order; those of several numbers once."""
        return [each.name for each in self._parameters]

    def SetParameter(self, context: Context, name: str, value: ArrayLike) -> None:
        """Sets a parameter of real numbers; the FMU gets it at initialization, or later if it is tunable.

        Raises:
            ValueError: there is no such parameter, or the value does not fit.
        """
        self.ValidateContext(context)
        places = values_of(self._parameters, np.arange(len(self._parameter_starts)))
        for variable, part in zip(self._parameters, places):
            if variable.name == name:
                group = context.get_mutable_numeric_parameter(self._group)
                values = group.CopyToVector()
                values[part] = variable.checked(value, self._where)
                group.SetFromVector(values)
                return
        raise ValueError(f"{self._where} has no parameter '{name}' of real numbers; it has {self.GetParameterNames()}.")

    # ------------------------------------------------------------------ in a context

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        return [] if self._is_cosimulation else [*self._indicators, self._next_event]

    def _begin(self, time: float, parameters: Array, inputs: Array) -> FmuState:
        """Makes an instance and initializes it."""
        unit = _Unit(self._archive, self._choice, self._is_isolated)
        name = self.get_name() or os.path.splitext(os.path.basename(self._archive.path))[0]
        return self._tried("initialization", time, unit, unit.begin, name, time, parameters, inputs)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_provisional": None}

    def _not_initialized(self, time: float, parameters: Array) -> FmuState:
        """The state of a Context that has not been initialized: the FMU's at that time, with its own inputs."""
        key = time, parameters.tobytes()
        if self._provisional is None or self._provisional[0] != key:
            self._provisional = key, self._begin(time, parameters, self._start_inputs)
        state: FmuState = self._provisional[1]
        return state

    def _tried(self, what: str, time: float, unit: _Unit, function: Callable[..., Any], *arguments: Any) -> Any:
        """Calls the FMU; errors name it, its system and the time."""
        try:
            return function(*arguments)
        except Exception as error:
            said = unit.driver.messages()
            raise RuntimeError(
                f"FMU '{self._archive.path}' of system '{self.GetSystemPathname()}': {what} failed at time {time} s: "
                f"{error}" + (f" It says: {said}" if said else "")
            ) from error

    def _ask(self, what: str, time: float, state: FmuState, *arguments: Any) -> Any:
        """Has the FMU evaluate something in a state."""
        assert state.unit is not None
        return self._tried("evaluation", time, state.unit, state.unit.ask, state, what, *arguments)

    def _advanced(self, what: str, time: float, state: FmuState, end: float, *arguments: Any) -> FmuState:
        """Has the FMU take a step or carry out an event."""
        assert state.unit is not None
        result: FmuState = self._tried(
            {"step": "a step"}.get(what, "an event"), time, state.unit, state.unit.advance, state, what, end, *arguments
        )
        return result

    def _values(self, context: Context) -> tuple[float, Array, Array]:
        """Time, continuous state and parameters, as floats."""
        state = context.get_continuous_state_vector().CopyToVector()
        parameters = context.get_numeric_parameter(self._group).CopyToVector()
        return float(_floats([context.get_time()])[0]), _floats(state), _floats(parameters)

    def _input_values(self, context: Context) -> Array:
        """Values of all inputs, of whichever scalars; start values of those that are not connected."""
        parts: list[Array] = [np.zeros(0)]
        for n, start in enumerate(values_of(self._inputs, self._start_inputs)):
            port = self.get_input_port(n)
            parts.append(port.Eval(context) if port.HasValue(context) else start)
        return np.concatenate(parts)

    def _state_of(self, context: Context) -> FmuState:
        """The state of the FMU in a Context."""
        state: FmuState = context.get_abstract_state(self._state).get_value()
        if state.unit is None:
            time, _, parameters = self._values(context)
            state = self._not_initialized(time, parameters)
        return state

    def _calc(self, with_inputs: bool, context: Context, result: Any) -> None:
        """Computes what the FMU gives; without inputs, that which does not depend on them."""
        state = self._state_of(context)
        assert state.situation is not None
        if self._is_cosimulation:
            result.set_value(Evaluation(np.zeros(0), state.situation.outputs, np.zeros(0)))
            return
        time, x, parameters = self._values(context)
        given = self._input_values(context) if with_inputs else self._start_inputs
        inputs = _floats(given)
        found: Evaluation = self._ask("evaluate", time, state, time, x, parameters, inputs if with_inputs else None)
        knowns = np.concatenate([context.get_continuous_state_vector().CopyToVector(), given])
        if knowns.dtype == object:
            self._require_derivatives(context)
            by = self._ask("partials", time, state, time, x, parameters, inputs) @ ExtractGradient(knowns)
            values = np.concatenate([found.derivatives if with_inputs else np.zeros(len(x)), found.outputs])
            scalars = InitializeAutoDiff(values, gradient=by).reshape(-1)
            found = Evaluation(scalars[: len(x)], scalars[len(x) :], found.indicators)
        result.set_value(found)

    def _require_derivatives(self, context: Context) -> None:
        where = f"{self._where} of system '{self.GetSystemPathname()}' cannot be differentiated"
        if not self._archive.has_partials:
            raise RuntimeError(f"{where}: the FMU provides no directional derivatives.")
        if ExtractGradient([context.get_time()]).any():
            raise RuntimeError(f"{where} by time: FMUs have no such derivatives.")

    def _calc_output(self, entry: Any, part: Array, context: Context, output: BasicVector) -> None:
        output.SetFromVector(entry.Eval(context).outputs[part])

    def DoCalcTimeDerivatives(self, context: Context, derivatives: Any) -> None:
        derivatives.SetFromVector(self._entry.Eval(context).derivatives)

    def _time_left(self, context: Context) -> float:
        """Until the next event of the FMU [s]; 1 without one."""
        situation = self._state_of(context).situation
        assert situation is not None
        left = situation.next_event - _floats([context.get_time()])[0]
        return 1.0 if math.isinf(left) else float(left)

    # ------------------------------------------------------------------ events

    def _initialize(self, context: Context, state: Any) -> None:
        time, x, parameters = self._values(context)
        begun = self._begin(time, parameters, _floats(self._input_values(context)))
        self._put(state, begun, is_new=(x == self._start_state).all())

    def _put(self, state: Any, fmu_state: FmuState, is_new: Any = True) -> None:
        """Puts a state of the FMU into that of a Context; its continuous part too, if that is new."""
        state.get_mutable_abstract_state(self._state).set_value(fmu_state)
        assert fmu_state.situation is not None
        if is_new and len(fmu_state.situation.state):
            state.get_mutable_continuous_state().SetFromVector(fmu_state.situation.state)

    def _advance(self, period: float, context: Context, state: Any) -> None:
        """A step of co-simulation."""
        time, _, parameters = self._values(context)
        inputs = self._input_values(context)
        if inputs.dtype == object:
            raise RuntimeError(
                f"{self._where} of system '{self.GetSystemPathname()}': co-simulation cannot be differentiated."
            )
        now = self._state_of(context)
        if abs(time - now.time) > 1e-9 * max(period, abs(time)):
            raise RuntimeError(
                f"{self._where} of system '{self.GetSystemPathname()}': the FMU is at {now.time} s, the Context at "
                f"{time} s. Initialize the Simulator after SetTime."
            )
        self._put(state, self._advanced("step", time, now, now.time + period, now.time, period, parameters, inputs))

    def _handle_event(self, context: Context, event: Any, state: Any) -> None:
        self._change(context, state, "handle_event")

    def _complete_step(self, context: Context, state: Any) -> None:
        self._change(context, state, "complete_step")

    def _change(self, context: Context, state: Any, what: str) -> None:
        """An event of model exchange, or the end of a step."""
        time, x, parameters = self._values(context)
        inputs = _floats(self._input_values(context))
        now = self._state_of(context)
        after = self._advanced(what, time, now, time, time, x, parameters, inputs)
        if after is not now:
            self._put(state, after)


def _indicator(entry: Any, number: int, context: Context) -> float:
    return float(entry.Eval(context).indicators[number])


def _floats(values: Any) -> Array:
    """Values of numbers or AutoDiffXd; others are refused."""
    array = np.asarray(values)
    if array.dtype != object:
        return array.astype(np.float64)
    if not all(isinstance(each, (AutoDiffXd, float, int)) for each in array.flat):
        raise TypeError("An FMU takes numbers and AutoDiffXd, no symbolic expressions.")
    return ExtractValue(array).reshape(-1)


def _starts(variables: Sequence[Variable]) -> NDArray[np.float64]:
    """Start values, one after the other; 0 where the FMU gives none."""
    starts = (np.zeros(each.size) if each.start is None else each.start for each in variables)
    return np.concatenate([np.zeros(0), *starts])
