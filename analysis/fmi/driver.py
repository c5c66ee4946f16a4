"""One instance of an FMU and the calls of FMI 2 and 3 that it needs, in this process or in one of its own."""

from __future__ import annotations

import collections
import ctypes
import logging
import math
import multiprocessing
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.fmi.archive import Archive, Variable, values_of

_MOST_EVENT_ROUNDS = 100  # of discrete states at one instant
_LOG = logging.getLogger("merganser.fmi")
_LEVELS = {1: logging.WARNING, 2: logging.WARNING, 3: logging.ERROR, 4: logging.CRITICAL}  # by status


class Choice(NamedTuple):
    """What a block takes from an FMU.

    Attributes:
        is_cosimulation: whether the FMU solves its equations itself.
        inputs, parameters, outputs: those that become ports and parameters.
        starts: values of other variables that it begins with; numbers, truth values or strings.
        tolerance: that the FMU is asked for; None for its own.
    """

    is_cosimulation: bool
    inputs: list[Variable]
    parameters: list[Variable]
    outputs: list[Variable]
    starts: dict[str, Any]
    tolerance: float | None


class Situation(NamedTuple):
    """What is known of an FMU at the end of a step or event.

    Attributes:
        outputs: one after the other, shape [sum of sizes].
        state: continuous state, shape [n]; empty in co-simulation.
        next_event: time of its next event [s]; infinite if none is known.
    """

    outputs: NDArray[np.float64]
    state: NDArray[np.float64]
    next_event: float


class Evaluation(NamedTuple):
    """What a model computes at one time, state and input: derivatives, outputs and event indicators."""

    derivatives: NDArray[np.float64]
    outputs: NDArray[np.float64]
    indicators: NDArray[np.float64]


class _Group:
    """Variables of one type, which one call gets or sets."""

    def __init__(self, version: int, kind: str, variables: Sequence[Variable], places: Sequence[NDArray[Any]]) -> None:
        if version == 3 and kind == "Enumeration":
            kind = "Int64"
        elif kind == "Enumeration":
            kind = "Integer"
        number: Any = {"Real": ctypes.c_double, "Float64": ctypes.c_double, "Float32": ctypes.c_float}.get(kind)
        if number is None and kind == "Boolean":
            number = ctypes.c_int if version == 2 else ctypes.c_bool
        elif number is None:
            number = ctypes.c_int if kind == "Integer" else getattr(ctypes, f"c_{kind.lower()}")
        self.kind, self.places = kind, np.concatenate(places)
        self.references = (ctypes.c_uint * len(variables))(*(each.reference for each in variables))
        self.values = (number * len(self.places))()
        self.array = np.frombuffer(self.values, dtype=np.dtype(number))
        sizes = (len(self.array),) if version == 3 else ()
        self.arguments = self.references, len(variables), self.values, *sizes


class _Variables:
    """Variables of any types, got and set as one array of floats."""

    def __init__(self, version: int, variables: Sequence[Variable]) -> None:
        self._version, self.size = version, sum(variable.size for variable in variables)
        kinds: dict[str, list[int]] = collections.defaultdict(list)
        for n, variable in enumerate(variables):
            kinds[variable.type].append(n)
        places = values_of(variables, np.arange(self.size))
        self._groups = [
            _Group(version, kind, [variables[n] for n in numbers], [places[n] for n in numbers])
            for kind, numbers in kinds.items()
        ]

    def get(self, fmu: Any) -> NDArray[np.float64]:
        values = np.zeros(self.size)
        for group in self._groups:
            fmu._call(f"fmi{self._version}Get{group.kind}", fmu.component, *group.arguments)
            values[group.places] = group.array
        return values

    def set(self, fmu: Any, values: NDArray[np.float64]) -> None:
        for group in self._groups:
            group.array[:] = values[group.places]
            fmu._call(f"fmi{self._version}Set{group.kind}", fmu.component, *group.arguments)


class Driver:
    """One instance of an FMU.

    Args:
        archive: of the FMU.
        choice: what is taken from it.
    """

    def __init__(self, archive: Archive, choice: Choice) -> None:
        self._archive, self._choice, self._version = archive, choice, archive.version
        description, version = archive.description, archive.version
        self._interface = description.coSimulation if choice.is_cosimulation else description.modelExchange
        self._inputs, self._parameters = _Variables(version, choice.inputs), _Variables(version, choice.parameters)
        self._outputs = _Variables(version, choice.outputs)
        self._changes = _Variables(version, [each for each in choice.parameters if each.variability == "tunable"])
        self._tunable = np.repeat(
            [each.variability == "tunable" for each in choice.parameters], [each.size for each in choice.parameters]
        ).astype(bool)
        num_states = 0 if choice.is_cosimulation else int(description.numberOfContinuousStates)
        num_indicators = 0 if choice.is_cosimulation else int(description.numberOfEventIndicators)
        self._state_values, self._state = _doubles(num_states)
        self._rate_values, self._rates = _doubles(num_states)
        self._indicator_values, self._indicators = _doubles(num_indicators)
        self._name = ""
        self._messages: collections.deque[str] = collections.deque(maxlen=3)
        self._fmu: Any = None
        self._set_parameters = self._set_inputs = np.zeros(0)
        self._saved: dict[int, Any] = {}

    # ------------------------------------------------------------------ the way of an instance

    def begin(self, name: str, time: float, parameters: NDArray[np.float64], inputs: NDArray[np.float64]) -> Situation:
        """Makes the instance, under a name, and initializes it at `time` [s]."""
        self._name = name
        fmu, choice = self._instantiate(), self._choice
        self._fmu = fmu
        for name, value in choice.starts.items():
            self._set_start(self._archive.variables[name], value)
        self._parameters.set(fmu, parameters)
        self._inputs.set(fmu, inputs)
        self._set_parameters, self._set_inputs = parameters.copy(), inputs.copy()
        if self._version == 2:
            fmu.setupExperiment(choice.tolerance, time)
            fmu.enterInitializationMode()
        else:
            fmu.enterInitializationMode(choice.tolerance, time)
        fmu.exitInitializationMode()
        next_event = math.inf if choice.is_cosimulation else self._update_discrete_states(time)
        return self._situation(next_event)

    def _instantiate(self) -> Any:
        from fmpy import fmi2, fmi3

        kind = "Slave" if self._choice.is_cosimulation else "Model"
        made: Any = getattr(fmi2 if self._version == 2 else fmi3, f"FMU{self._version}{kind}")(
            guid=self._archive.description.instantiationToken or self._archive.description.guid,
            modelIdentifier=self._interface.modelIdentifier, unzipDirectory=self._archive.folder,
            instanceName=self._name,
        )  # fmt: skip
        if self._version == 3:
            made.instantiate(loggingOn=False, logMessage=lambda _, status, category, text: self._note(status, text))
            return made
        callbacks = fmi2.fmi2CallbackFunctions()
        callbacks.logger = fmi2.fmi2CallbackLoggerTYPE(lambda _, name, status, category, text: self._note(status, text))
        callbacks.allocateMemory = fmi2.defaultCallbacks.allocateMemory
        callbacks.freeMemory = fmi2.defaultCallbacks.freeMemory
        try:
            from fmpy.logging import addLoggerProxy

            addLoggerProxy(ctypes.byref(callbacks))  # which puts the arguments into the text
        except Exception:  # no proxy for this platform: messages come with their % marks
            _LOG.debug("FMPy has no proxy for messages on this platform.")
        made.instantiate(callbacks=callbacks, loggingOn=False)
        return made

    def _note(self, status: int, text: bytes | None) -> None:
        message = (text or b"").decode("utf-8", "replace").strip()
        if status >= 1:
            self._messages.append(message)
        _LOG.log(_LEVELS.get(status, logging.INFO), "%s: %s", self._name, message)

    def _set_start(self, variable: Variable, value: Any) -> None:
        if variable.is_number:
            _Variables(self._version, [variable]).set(self._fmu, np.asarray(value, np.float64).reshape(-1))
        else:
            self._fmu.setString([variable.reference], [str(value)])

    def end(self) -> None:
        """Frees the instance, if there is one."""
        while self._fmu is not None and self._saved:
            self.forget(next(iter(self._saved)))
        fmu, self._fmu = self._fmu, None
        if fmu is not None:
            try:
                fmu.terminate()
            except Exception as error:  # it may have failed before
                _LOG.debug("%s", error)
            fmu.freeInstance()

    def _situation(self, next_event: float) -> Situation:
        if not self._choice.is_cosimulation and len(self._state):
            self._fmu.getContinuousStates(self._state_values, len(self._state))
        return Situation(self._outputs.get(self._fmu), self._state.copy(), next_event)

    def _give(self, parameters: NDArray[np.float64], inputs: NDArray[np.float64]) -> None:
        """Sets parameters and inputs where they have changed."""
        changed = parameters != self._set_parameters
        if changed.any():
            if (changed & ~self._tunable).any():
                places = values_of(self._choice.parameters, changed)
                names = [each.name for each, mine in zip(self._choice.parameters, places) if mine.any()]
                raise ValueError(f"the parameters {names} are not tunable: they cannot change after initialization")
            self._changes.set(self._fmu, parameters[self._tunable])
            self._set_parameters = parameters.copy()
        if (inputs != self._set_inputs).any():
            self._inputs.set(self._fmu, inputs)
            self._set_inputs = inputs.copy()

    # ------------------------------------------------------------------ co-simulation

    def step(self, time: float, size: float, parameters: NDArray[np.float64], inputs: NDArray[np.float64]) -> Situation:
        """Lets it advance from `time` by `size` [s] with constant inputs."""
        self._give(parameters, inputs)
        ended = self._fmu.doStep(time, size)
        if self._version == 3 and ended[1]:
            raise RuntimeError("the FMU asks for the end of the simulation (terminateSimulation)")
        return self._situation(math.inf)

    # ------------------------------------------------------------------ model exchange

    def evaluate(
        self,
        time: float,
        state: NDArray[np.float64],
        parameters: NDArray[np.float64],
        inputs: NDArray[np.float64] | None,
    ) -> Evaluation:
        """Computes derivatives, outputs and event indicators; without inputs only the outputs, with the last ones."""
        fmu = self._fmu
        self._move(time, state, parameters, self._set_inputs if inputs is None else inputs)
        if inputs is None:
            return Evaluation(np.zeros(0), self._outputs.get(fmu), np.zeros(0))
        if len(state):
            derivatives = fmu.getDerivatives if self._version == 2 else fmu.getContinuousStateDerivatives
            derivatives(self._rate_values, len(self._rates))
        if len(self._indicators):
            fmu.getEventIndicators(self._indicator_values, len(self._indicators))
        return Evaluation(self._rates.copy(), self._outputs.get(fmu), self._indicators.copy())

    def _move(
        self, time: float, state: NDArray[np.float64], parameters: NDArray[np.float64], inputs: NDArray[np.float64]
    ) -> None:
        self._fmu.setTime(time)
        self._give(parameters, inputs)
        if len(state):
            self._state[:] = state
            self._fmu.setContinuousStates(self._state_values, len(state))

    def handle_event(
        self, time: float, state: NDArray[np.float64], parameters: NDArray[np.float64], inputs: NDArray[np.float64]
    ) -> Situation:
        """Lets it carry out an event."""
        self._move(time, state, parameters, inputs)
        self._fmu.enterEventMode()
        return self._situation(self._update_discrete_states(time))

    def complete_step(
        self, time: float, state: NDArray[np.float64], parameters: NDArray[np.float64], inputs: NDArray[np.float64]
    ) -> Situation | None:
        """Ends a step of the integrator; returns what the FMU has become if that is an event, else None."""
        self._move(time, state, parameters, inputs)
        is_event, asks_for_end = self._fmu.completedIntegratorStep()
        if asks_for_end:
            raise RuntimeError("the FMU asks for the end of the simulation (terminateSimulation)")
        if not is_event:
            return None
        self._fmu.enterEventMode()
        return self._situation(self._update_discrete_states(time))

    def _update_discrete_states(self, time: float) -> float:
        """From event mode to continuous time; returns the time of the next event [s]."""
        fmu = self._fmu
        update = fmu.newDiscreteStates if self._version == 2 else fmu.updateDiscreteStates
        for _ in range(_MOST_EVENT_ROUNDS):
            needs_more, asks_for_end, _, _, is_known, next_event = update()
            if asks_for_end:
                raise RuntimeError("the FMU asks for the end of the simulation (terminateSimulation)")
            if not needs_more:
                fmu.enterContinuousTimeMode()
                return float(next_event) if is_known else math.inf
        raise RuntimeError(f"discrete states did not settle in {_MOST_EVENT_ROUNDS} rounds of one event")

    def partials(
        self, time: float, state: NDArray[np.float64], parameters: NDArray[np.float64], inputs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Derivatives of (derivatives, outputs) with respect to (state, inputs), by the FMU's own directional ones.

        Returns:
            Shape [n + sum of sizes of outputs, n + sum of sizes of inputs].
        """
        self._move(time, state, parameters, inputs)
        unknowns = [each.variable for each in self._archive.description.derivatives]
        states = [each.derivative for each in unknowns]
        rows = [each.valueReference for each in unknowns] + [each.reference for each in self._choice.outputs]
        given = [(each.valueReference, int(np.prod(each.shape or ()))) for each in states]
        given += [(each.reference, each.size) for each in self._choice.inputs]
        num_rows = len(self._rates) + self._outputs.size
        columns = []
        for reference, size in given:
            for direction in np.eye(size):
                arguments = [rows, [reference], direction.tolist()]
                if self._version == 3:
                    arguments.append(num_rows)
                columns.append(self._fmu.getDirectionalDerivative(*arguments))
        return np.array(columns, np.float64).reshape(-1, num_rows).T

    # ------------------------------------------------------------------ states

    def save(self) -> int:
        """Keeps a copy of all that the instance has inside; returns its number."""
        number = max(self._saved, default=0) + 1
        self._saved[number] = (self._fmu.getFMUState(), self._set_parameters, self._set_inputs)
        return number

    def restore(self, number: int) -> None:
        """Brings the instance back to a copy that was kept."""
        kept, self._set_parameters, self._set_inputs = self._saved[number]
        self._fmu.setFMUState(kept)

    def forget(self, number: int) -> None:
        """Frees a copy."""
        kept = self._saved.pop(number, None)
        if kept is not None and self._fmu is not None:
            self._fmu.freeFMUState(kept[0])

    def messages(self) -> str:
        """The last warnings and errors that the FMU has given, for messages of ours."""
        return " | ".join(self._messages)


def _doubles(count: int) -> tuple[Any, NDArray[np.float64]]:
    """Room for numbers, as C functions and as numpy see it."""
    values = (ctypes.c_double * max(count, 1))()
    return values, np.frombuffer(memoryview(values))[:count]


class IsolatedDriver:
    """A driver in a process of its own: what the FMU does to memory or to the process does not touch ours.

    Args:
        archive, choice: see Driver.
    """

    def __init__(self, archive: Archive, choice: Choice) -> None:
        context, self._has_answered = multiprocessing.get_context("spawn"), False
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, archive, choice), daemon=True)
        self._process.start()
        other.close()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments: self._ask(name, arguments)

    def _ask(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """Has the driver over there do something."""
        try:
            self._connection.send((name, arguments))
            is_result, answer = self._connection.recv()
        except (EOFError, OSError):
            self._process.join()
            main = "" if self._has_answered else " (a program that isolates FMUs needs `if __name__ == '__main__':`)"
            raise RuntimeError(f"its process has ended with exit code {self._process.exitcode}{main}") from None
        self._has_answered = True
        if is_result:
            return answer
        raise answer

    def messages(self) -> str:
        """See Driver; nothing once the process has ended."""
        return str(self._ask("messages", ())) if self._process.is_alive() else ""

    def end(self) -> None:
        """Ends the process."""
        self._connection.close()
        self._process.join(2.0)
        if self._process.is_alive():
            self._process.kill()


def _serve(connection: Any, archive: Archive, choice: Choice) -> None:
    """Calls a driver for another process until that closes the connection."""
    driver = Driver(archive, choice)
    while True:
        try:
            name, arguments = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            answer = True, getattr(driver, name)(*arguments)
        except Exception as error:
            answer = False, RuntimeError(str(error))
        connection.send(answer)
