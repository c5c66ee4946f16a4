"""MultipleShooting: a program whose variables are the states and inputs of a system at break points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.keywords import also_named
from merganser.framework.optimization import (
    Binding,
    Constraint,
    LinearConstraint,
    MathematicalProgram,
    MathematicalProgramResult,
)
from merganser.framework.optimization.arrays import objects
from merganser.framework.optimization.evaluators.evaluators import copies_of
from merganser.framework.optimization.programs.parsing import parsed_formulas
from merganser.framework.optimization.programs.program_bindings import add_alike
from merganser.framework.symbolic import Expression, Formula, MakeVectorContinuousVariable
from merganser.framework.trajectories import PiecewisePolynomial, Trajectory

Array = NDArray[np.float64]
Objects = NDArray[Any]

_SOME_INPUT = 0.003  # first guess of inputs and states of which nothing is known: not 0, where much is singular


class MultipleShooting:
    """The variables x_n, u_n at N break points, and time steps h_n between them, with costs and constraints on them.

    A subclass adds the dynamics, says how running costs are summed, and what the state is between break points.

    Args:
        num_states, num_inputs: sizes of x and u.
        num_time_samples: N, at least 2.
        time_steps: their bounds (shortest, longest) if time steps are variables, or the fixed one [s].
        prog: to which variables are added; by default a new one.

    Raises:
        ValueError: there are less than two samples, or the time steps are out of range.
    """

    def __init__(
        self,
        num_states: int,
        num_inputs: int,
        num_time_samples: int,
        time_steps: tuple[float, float] | float,
        prog: MathematicalProgram | None = None,
    ) -> None:
        if num_time_samples < 2:
            raise ValueError(f"{type(self).__name__}: num_time_samples must be 2 or more, not {num_time_samples}.")
        self._num_samples = int(num_time_samples)
        self._prog = MathematicalProgram() if prog is None else prog
        self._are_steps_free = isinstance(time_steps, tuple)
        self._fixed_step, bounds = _checked_steps(type(self).__name__, time_steps)
        n = self._num_samples
        self._x = self._prog.NewContinuousVariables(num_states * n, "x").reshape(n, num_states)
        self._u = self._prog.NewContinuousVariables(num_inputs * n, "u").reshape(n, num_inputs)
        self._h = self._prog.NewContinuousVariables(n - 1, "h") if self._are_steps_free else np.zeros(0, object)
        if self._are_steps_free:
            self._prog.AddBoundingBoxConstraint(*bounds, self._h)
        # Placeholders, and the variables that replace them at each break point.
        self._time = objects(MakeVectorContinuousVariable(1, "t"))
        self._state = objects(MakeVectorContinuousVariable(num_states, "x"))
        self._input = objects(MakeVectorContinuousVariable(num_inputs, "u"))
        self._sequential: dict[str, tuple[Objects, Objects]] = {}

    def prog(self) -> MathematicalProgram:
        """The program."""
        return self._prog

    # ------------------------------------------------------------------ variables

    def time(self) -> Objects:
        """A placeholder for the time, shape [1]; costs and constraints have times of break points in its place."""
        return self._time.copy()

    def state(self, index: int | None = None) -> Objects:
        """Placeholders for the state; or its variables at a break point. Shape [num_states]."""
        return self._state.copy() if index is None else self._x[self._checked(index, "state")].copy()

    def input(self, index: int | None = None) -> Objects:
        """Placeholders for the input; or its variables at a break point. Shape [num_inputs]."""
        return self._input.copy() if index is None else self._u[self._checked(index, "input")].copy()

    def initial_state(self) -> Objects:
        """The variables of the first state."""
        return self.state(0)

    def final_state(self) -> Objects:
        """The variables of the last state."""
        return self.state(self._num_samples - 1)

    def time_step(self, index: int) -> Objects:
        """The variable of a time step, shape [1].

        Raises:
            RuntimeError: time steps are no variables.
        """
        self._require_free_steps("time_step")
        if not 0 <= index < len(self._h):
            raise IndexError(f"time_step({index}): there are {len(self._h)} time steps.")
        return self._h[index : index + 1].copy()

    def fixed_time_step(self) -> float:
        """The time step [s].

        Raises:
            RuntimeError: time steps are variables.
        """
        if self._are_steps_free:
            raise RuntimeError("fixed_time_step(): the time steps are variables; their values are in the result.")
        return self._fixed_step

    def NewSequentialVariable(self, rows: int, name: str) -> Objects:
        """Adds variables at all break points, and returns placeholders for them, shape [rows].

        Raises:
            ValueError: there are some of this name.
        """
        if name in self._sequential:
            raise ValueError(f"NewSequentialVariable(): there is a sequential variable '{name}' already.")
        placeholder = objects(MakeVectorContinuousVariable(rows, name))
        of_samples = self._prog.NewContinuousVariables(rows, self._num_samples, name)
        self._sequential[name] = placeholder, np.reshape(of_samples, (rows, self._num_samples)).T
        return placeholder.copy()

    def GetSequentialVariableAtIndex(self, name: str, index: int) -> Objects:
        """The variables of a name at a break point."""
        checked = self._checked(index, "GetSequentialVariableAtIndex")
        return self._samples_of(name, "GetSequentialVariableAtIndex")[checked].copy()

    # ------------------------------------------------------------------ costs and constraints

    def AddRunningCost(self, g: Any) -> None:
        """Adds the integral of an expression g(t, x, u) of placeholders over the time, by the rule of the subclass."""
        self._add_running_cost(_single(g, "AddRunningCost"))

    @also_named(matrix="e")
    def AddFinalCost(self, e: Any) -> Binding:
        """Adds an expression of placeholders, at the last break point, to the cost."""
        return self._prog.AddCost(self._substituted(_single(e, "AddFinalCost"), self._num_samples - 1))

    @also_named(constraint="f")
    def AddConstraintToAllKnotPoints(self, f: Any, vars: Any = None) -> list[Binding]:
        """Adds a constraint at each break point.

        Args:
            f: a formula of placeholders or an array of them; or a Constraint.
            vars: of the Constraint, placeholders among them.

        Returns:
            One binding for each formula and break point, those of the first formula first.
        """
        if isinstance(f, Constraint):
            if any(self._time[0] is each for each in objects(vars)):
                raise ValueError(
                    "AddConstraintToAllKnotPoints(): no single variable is the time; give a formula of it."
                )
            return self._add_at(Binding(f, vars), is_shared=True)
        added = []
        for formula in [f] if isinstance(f, Formula) else np.ravel(np.asarray(f, dtype=object)).tolist():
            if self._has_time(formula):
                added += [self._prog.AddConstraint(self._substituted(formula, k)) for k in range(self._num_samples)]
            else:
                added += self._add_at(parsed_formulas([formula]))
        return added

    def AddEqualTimeIntervalsConstraints(self) -> list[Binding]:
        """Makes all time steps equal.

        Raises:
            RuntimeError: they are no variables.
        """
        self._require_free_steps("AddEqualTimeIntervalsConstraints")
        equal, variables = LinearConstraint([[1.0, -1.0]], [0.0], [0.0]), np.column_stack((self._h[:-1], self._h[1:]))
        return add_alike(self._prog, copies_of(equal, [""] * len(variables)), variables)

    def AddDurationBounds(self, lower_bound: float, upper_bound: float) -> Binding:
        """Bounds the sum of all time steps [s].

        Raises:
            RuntimeError: they are no variables.
        """
        self._require_free_steps("AddDurationBounds")
        return self._prog.AddLinearConstraint(np.ones((1, len(self._h))), [lower_bound], [upper_bound], self._h)

    def AddTimeIntervalBounds(self, lower_bound: float, upper_bound: float) -> Binding:
        """Bounds each time step [s].

        Raises:
            RuntimeError: they are no variables.
        """
        self._require_free_steps("AddTimeIntervalBounds")
        return self._prog.AddBoundingBoxConstraint(lower_bound, upper_bound, self._h)

    # ------------------------------------------------------------------ while it is solved

    def AddInputTrajectoryCallback(self, callback: Callable[[Array, Array], None]) -> Binding:
        """Has `callback(times, inputs)` called as the program is solved, shapes [N] and [num_inputs, N]."""
        return self._add_callback([self._u], lambda times, parts: callback(times, parts[0]))

    def AddStateTrajectoryCallback(self, callback: Callable[[Array, Array], None]) -> Binding:
        """Has `callback(times, states)` called as the program is solved, shapes [N] and [num_states, N]."""
        return self._add_callback([self._x], lambda times, parts: callback(times, parts[0]))

    def AddCompleteTrajectoryCallback(
        self, callback: Callable[[Array, Array, Array, list[Array]], None], names: Sequence[str]
    ) -> Binding:
        """Has `callback(times, states, inputs, values)` called, with the values of the sequential variables named."""
        others = [self._samples_of(name, "AddCompleteTrajectoryCallback") for name in names]
        return self._add_callback(
            [self._x, self._u, *others], lambda times, parts: callback(times, parts[0], parts[1], parts[2:])
        )

    def _add_callback(self, groups: list[Objects], call: Callable[[Array, list[Array]], None]) -> Binding:
        splits = np.cumsum([len(self._h), *(group.size for group in groups)])

        def show(values: Array) -> None:
            steps, *parts, _ = np.split(values, splits)
            call(self._times(steps), [part.reshape(group.shape).T for part, group in zip(parts, groups)])

        return self._prog.AddVisualizationCallback(show, np.concatenate([self._h, *(g.ravel() for g in groups)]))

    # ------------------------------------------------------------------ guesses and results

    def SetInitialTrajectory(
        self, traj_init_u: Trajectory | None = None, traj_init_x: Trajectory | None = None
    ) -> None:
        """Sets the guess: inputs and states of trajectories at equal time steps; nearly 0 where one is empty.

        Raises:
            ValueError: time steps are variables and both are empty, they have other start or end times, or do not
                start at 0.
        """
        u, x = (each if each is not None and _is_given(each) else None for each in (traj_init_u, traj_init_x))
        step = self._fixed_step
        if self._are_steps_free:
            spans = {(each.start_time(), each.end_time()) for each in (u, x) if each is not None}
            if len(spans) != 1 or next(iter(spans))[0] != 0.0:
                raise ValueError(
                    "SetInitialTrajectory(): the time steps follow from trajectories that start at 0 and end together; "
                    f"given are {sorted(spans) or 'empty ones'}."
                )
            step = next(iter(spans))[1] / (self._num_samples - 1)
            self._prog.SetInitialGuess(self._h, np.full(len(self._h), step))
        for variables, given in ((self._u, u), (self._x, x)):
            guess = np.full(variables.shape, _SOME_INPUT)
            if given is not None:
                guess = np.array([given.value(k * step).ravel() for k in range(self._num_samples)])
            if guess.shape != variables.shape:
                raise ValueError(
                    f"SetInitialTrajectory(): expected a trajectory of {variables.shape[1]} rows, got {guess.shape[1]}."
                )
            if variables.size:
                self._prog.SetInitialGuess(variables.ravel(), guess.ravel())

    def GetSampleTimes(self, result: MathematicalProgramResult) -> Array:
        """The times of the break points [s], shape [N]."""
        return self._times(np.asarray(result.GetSolution(self._h), float) if self._are_steps_free else np.zeros(0))

    def GetInputSamples(self, result: MathematicalProgramResult) -> Array:
        """The inputs at the break points, shape [num_inputs, N]."""
        return _solution(result, self._u)

    def GetStateSamples(self, result: MathematicalProgramResult) -> Array:
        """The states at the break points, shape [num_states, N]."""
        return _solution(result, self._x)

    def GetSequentialVariableSamples(self, result: MathematicalProgramResult, name: str) -> Array:
        """The values of the sequential variable of a name at the break points, shape [rows, N]."""
        return _solution(result, self._samples_of(name, "GetSequentialVariableSamples"))

    def ReconstructInputTrajectory(self, result: MathematicalProgramResult) -> PiecewisePolynomial:
        """The input between the break points."""
        raise NotImplementedError

    def ReconstructStateTrajectory(self, result: MathematicalProgramResult) -> PiecewisePolynomial:
        """The state between the break points."""
        raise NotImplementedError

    # ------------------------------------------------------------------ for subclasses

    def _add_running_cost(self, g: Any) -> None:
        raise NotImplementedError

    def _substituted(self, e: Any, index: int) -> Any:
        """An expression or formula with the variables of a break point in the place of placeholders."""
        return e.Substitute(self._at(index)) if isinstance(e, (Expression, Formula)) else e

    def _has_time(self, e: Any) -> bool:
        """Whether a formula or expression depends on the time, and so on all time steps before."""
        return not isinstance(e, (Expression, Formula)) or self._time[0] in _variables_of(e)

    def _add_at(
        self, binding: Binding, samples: slice = slice(None), more: dict[Any, Objects] | None = None,
        is_shared: bool = False,
    ) -> list[Binding]:  # fmt: skip
        """Adds a binding at break points, each with the variables there in the place of placeholders.

        Args:
            binding: of placeholders and other variables.
            samples: the break points.
            more: variables in the place of other placeholders, as many as there are of these break points.
            is_shared: whether all have one evaluator, rather than copies of it.
        """
        groups = (self._state, self._x), (self._input, self._u), *self._sequential.values()
        columns = {p: values[samples, i] for placeholders, values in groups for i, p in enumerate(placeholders)}
        columns |= more or {}
        given, evaluator = binding.variables(), binding.evaluator()
        variables = np.empty((len(self._x[samples]), len(given)), dtype=object)
        for i, each in enumerate(given):
            variables[:, i] = columns.get(each, each)
        names = [evaluator.get_description()] * len(variables)
        return add_alike(self._prog, [evaluator] * len(names) if is_shared else copies_of(evaluator, names), variables)

    def _at(self, index: int) -> dict[Any, Any]:
        """The variables that replace each placeholder at a break point."""
        time = sum(self._h[1:index], Expression(self._h[0])) if self._are_steps_free and index else Expression(0.0)
        pairs = {self._time[0]: time if self._are_steps_free else Expression(index * self._fixed_step)}
        for placeholders, variables in ((self._state, self._x), (self._input, self._u), *self._sequential.values()):
            pairs |= {p: Expression(v) for p, v in zip(placeholders, variables[index])}
        return pairs

    def _times(self, steps: Array) -> Array:
        times = np.zeros(self._num_samples)
        times[1:] = np.cumsum(steps) if self._are_steps_free else self._fixed_step * np.arange(1, len(times))
        return times

    def _samples_of(self, name: str, caller: str) -> Objects:
        if name not in self._sequential:
            known = ", ".join(map(repr, self._sequential)) or "none"
            raise ValueError(f"{caller}(): there is no sequential variable '{name}'; there are: {known}.")
        return self._sequential[name][1]

    def _checked(self, index: int, caller: str) -> int:
        if not 0 <= index < self._num_samples:
            raise IndexError(f"{caller}({index}): there are {self._num_samples} break points.")
        return index

    def _require_free_steps(self, caller: str) -> None:
        if not self._are_steps_free:
            raise RuntimeError(f"{caller}(): the time steps are no variables, all are {self._fixed_step} s.")


def _checked_steps(name: str, given: tuple[float, float] | float) -> tuple[float, tuple[float, float]]:
    """The fixed step, or 0, and the bounds of free ones."""
    if not isinstance(given, tuple):
        if not (given > 0.0 and math.isfinite(given)):
            raise ValueError(f"{name}: the time step must be positive and finite, not {given} s.")
        return float(given), (0.0, 0.0)
    shortest, longest = map(float, given)
    if not (0.0 < shortest <= longest and math.isfinite(longest)):
        raise ValueError(
            f"{name}: time steps need 0 < minimum_time_step <= maximum_time_step, finite; given are {shortest} s and "
            f"{longest} s."
        )
    return 0.0, (shortest, longest)


def _is_given(trajectory: Any) -> bool:
    """Whether a trajectory is no empty PiecewisePolynomial."""
    return not isinstance(trajectory, PiecewisePolynomial) or trajectory.get_number_of_segments() > 0


def _single(e: Any, caller: str) -> Any:
    """An expression, also out of an array of one."""
    item = e if isinstance(e, Expression) else np.asarray(e, dtype=object)
    if isinstance(item, np.ndarray):
        if item.size != 1:
            raise ValueError(f"{caller}(): expected one expression, got an array of shape {item.shape}.")
        item = item.ravel()[0]
    return Expression(item)


def _variables_of(e: Expression | Formula) -> Any:
    return e.GetFreeVariables() if isinstance(e, Formula) else e.GetVariables()


def _solution(result: MathematicalProgramResult, variables: Objects) -> Array:
    if not variables.size:
        return np.zeros(variables.shape[::-1])
    return np.asarray(result.GetSolution(variables.ravel()), float).reshape(variables.shape).T
