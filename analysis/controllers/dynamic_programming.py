"""Dynamic programming over sampled states and inputs, for cost functions and policies without a formula.

The discrete-time problem is: minimize the sum of gamma^n h g(x[n], u[n]) with x[n+1] = f(x[n], u[n]), where f is what
a simulator makes of x in one time step h. Value iteration repeats

    J(x) <- min over u of h g(x, u) + gamma J(f(x, u))                                         (1)

on a grid, with J interpolated between its points (Gordon 1995; Munos and Moore 1998). The linear program of

    maximize the sum of J(x),  subject to  J(x) <= h g(x, u) + gamma J(f(x, u))                (2)

over all samples has the same solution if J is free, and bounds it if J has few parameters (de Farias and Van Roy 2003).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.batches.batch_simulation import BatchSimulator
from merganser.analysis.simulation.simulator import Simulator
from merganser.analysis.system_dynamics import selected_input_port
from merganser.framework import Context, InputPortSelection
from merganser.framework.common.records import settings
from merganser.framework.math import BarycentricMesh
from merganser.framework.primitives import BarycentricMeshSystem

Array = NDArray[Any]
CostFunction = Callable[[Context], float]


@settings
@dataclasses.dataclass
class PeriodicBoundaryCondition:
    """A state variable, such as an angle, that is wrapped into [low, high).

    Attributes:
        state_index: which element of the state.
        low: lower end.
        high: upper end, which means the same as `low`.
    """

    state_index: int
    low: float
    high: float


_Condition = PeriodicBoundaryCondition  # the class below has an attribute of the same name


@settings
@dataclasses.dataclass(kw_only=True, eq=False)
class DynamicProgrammingOptions:
    """Options of the algorithms of dynamic programming.

    Attributes:
        discount_factor: gamma, in (0, 1].
        periodic_boundary_conditions: list of PeriodicBoundaryCondition.
        convergence_tol: value iteration ends when J changes by no more than this anywhere.
        visualization_callback: called as callback(iteration, mesh, J, policy) after each iteration, the first being 1;
            J has shape [number of points], the policy [num_inputs, number of points].
        input_port_index: the input port that u goes to.
        assume_non_continuous_states_are_fixed: whether other state may be there; it is then taken to have no influence.
    """

    PeriodicBoundaryCondition = _Condition

    discount_factor: float = 1.0
    periodic_boundary_conditions: list[_Condition] = dataclasses.field(default_factory=list)
    convergence_tol: float = 1e-4
    visualization_callback: Callable[[int, BarycentricMesh, Array, Array], None] | None = None
    input_port_index: Any = InputPortSelection.kUseFirstInputIfItExists
    assume_non_continuous_states_are_fixed: bool = False


def FittedValueIteration(
    simulator: Simulator,
    cost_function: CostFunction,
    state_grid: Sequence[Iterable[float]],
    input_grid: Sequence[Iterable[float]],
    time_step: float,
    options: DynamicProgrammingOptions | None = None,
) -> tuple[BarycentricMeshSystem, Array]:
    """Finds a policy by value iteration (1) on a grid of states.

    Args:
        simulator: of a time-invariant system with continuous state; its integrator settings count. Its context is
            as it was afterwards, but for the time and for cached values.
        cost_function: g, called with a context.
        state_grid: for each state variable, the coordinates of the grid.
        input_grid: for each input, the values to choose from.
        time_step: h [s].
        options: see DynamicProgrammingOptions.

    Returns:
        The policy as a system from state to input, and J at the points of the grid, shape [number of points].

    Raises:
        ValueError: sizes do not match, or an option is out of range.
    """
    options = options or DynamicProgrammingOptions()
    states, inputs = BarycentricMesh(state_grid), BarycentricMesh(input_grid)
    steps = _Steps("FittedValueIteration", simulator, cost_function, time_step, options)
    steps.require_sizes(states.get_input_size(), inputs.get_input_size())
    for condition in options.periodic_boundary_conditions:
        ends = sorted(states.get_input_grid()[condition.state_index])
        if condition.low > ends[0] or condition.high < ends[-1]:
            raise ValueError(
                f"FittedValueIteration: state_grid[{condition.state_index}] goes from {ends[0]} to {ends[-1]}, beyond "
                f"its periodic boundaries {condition.low} and {condition.high}."
            )
    u_points = inputs.get_all_mesh_points()
    costs, P = _transitions(steps, states, u_points)
    J = np.zeros(states.get_num_mesh_points())
    iteration, change = 0, np.inf
    while change > options.convergence_tol:
        values = costs + options.discount_factor * (P @ J).reshape(costs.shape)  # (1)
        choice = values.argmin(axis=0)
        following = values.min(axis=0)
        change = np.abs(following - J).max()
        if not np.isfinite(change):
            raise RuntimeError(
                f"FittedValueIteration: the cost-to-go is not finite after {iteration + 1} iterations; make the "
                "discount factor smaller, or the cost zero where the system can stay."
            )
        J, policy = following, u_points[:, choice]
        iteration += 1
        if options.visualization_callback is not None:
            options.visualization_callback(iteration, states, J, policy)
    return BarycentricMeshSystem(states, policy), J


def _transitions(steps: _Steps, states: BarycentricMesh, u_points: Array) -> tuple[Array, Any]:
    """For each of k inputs the costs h g at n points, shape [k, n], and the weights of J that give J(f), [k n, n]."""
    from scipy.sparse import csr_matrix

    x_points, costs, columns, weights = states.get_all_mesh_points(), [], [], []
    for u in u_points.T:
        cost, ends = steps.take(x_points, u)
        costs.append(cost)
        for end in ends.T:
            places, parts = states.EvalBarycentricWeights(end)
            columns.append(places)
            weights.append(parts)
    steps.restore()
    width, shape = states.get_num_interpolants(), (len(weights), x_points.shape[1])
    rows = np.arange(0, shape[0] * width + 1, width)
    return np.array(costs), csr_matrix((np.concatenate(weights), np.concatenate(columns), rows), shape=shape)


def LinearProgrammingApproximateDynamicProgramming(
    simulator: Simulator,
    cost_function: CostFunction,
    linearly_parameterized_cost_to_go_function: Callable[[Array, Array], Any],
    num_parameters: int,
    state_samples: ArrayLike,
    input_samples: ArrayLike,
    time_step: float,
    options: DynamicProgrammingOptions | None = None,
) -> Array:
    """Fits a cost-to-go that is linear in its parameters, by the linear program (2).

    Args:
        simulator: as for `FittedValueIteration`.
        cost_function: g, called with a context.
        linearly_parameterized_cost_to_go_function: J(x, p), called with a state [n] and symbolic variables
            [num_parameters]; returns an Expression linear in p.
        num_parameters: how many.
        state_samples: states at which (2) holds, one a column, shape [n, number of states].
        input_samples: inputs for which (2) holds, one a column, shape [m, number of inputs].
        time_step: h [s].
        options: see DynamicProgrammingOptions.

    Returns:
        The parameters, shape [num_parameters].

    Raises:
        ValueError: sizes do not match, an option is out of range, or J is not linear in its parameters.
        RuntimeError: the linear program has no solution.
    """
    from scipy.optimize import linprog

    name = "LinearProgrammingApproximateDynamicProgramming"
    options = options or DynamicProgrammingOptions()
    xs, us = (np.atleast_2d(np.asarray(samples, dtype=float)) for samples in (state_samples, input_samples))
    steps = _Steps(name, simulator, cost_function, time_step, options)
    steps.require_sizes(len(xs), len(us))
    features = _Features(linearly_parameterized_cost_to_go_function, num_parameters)
    gamma = options.discount_factor
    objective, rows, bounds = np.zeros(num_parameters), [], []
    taken = [steps.take(xs, u) for u in us.T]
    steps.restore()
    for i, x in enumerate(xs.T):
        phi, offset = features.at(x)
        objective -= phi
        for costs, ends in taken:
            phi_next, offset_next = features.at(ends[:, i])
            rows.append(phi - gamma * phi_next)  # (2)
            bounds.append(costs[i] + gamma * offset_next - offset)
    solution = linprog(objective, A_ub=np.array(rows), b_ub=np.array(bounds), bounds=(None, None), method="highs")
    if solution.x is None or solution.status != 0:
        raise RuntimeError(
            f"{name}: the linear program has no solution ({solution.message}) Take more samples, fewer parameters or a "
            "smaller discount factor."
        )
    return solution.x


class _Features:
    """phi(x) and an offset, with J(x, p) = phi(x)' p + offset."""

    def __init__(self, function: Callable[[Array, Array], Any], num_parameters: int) -> None:
        from merganser.framework.symbolic import Expression, Variable

        self._function, self._expression = function, Expression
        self._parameters = np.array([Variable(f"p{i}") for i in range(num_parameters)])

    def at(self, x: Array) -> tuple[Array, float]:
        J = self._expression(self._function(x, self._parameters))
        slopes = [J.Differentiate(parameter) for parameter in self._parameters]
        if any(len(slope.GetVariables()) for slope in slopes):
            raise ValueError(f"The cost-to-go function is not linear in its parameters: at x = {x.tolist()} it is {J}.")
        phi = np.array([slope.Evaluate() for slope in slopes])
        return phi, float(J.Evaluate(dict.fromkeys(self._parameters, 0.0)))


class _Steps:
    """Takes single steps of a simulator from many states with one input."""

    def __init__(
        self, name: str, simulator: Simulator, cost: CostFunction, time_step: float, options: DynamicProgrammingOptions
    ) -> None:
        system, context = simulator.get_system(), simulator.get_mutable_context()
        where = f"{name}: system '{system.GetSystemPathname()}'"
        if not context.num_continuous_states():
            raise ValueError(f"{where} must have continuous state.")
        if not (context.has_only_continuous_state() or options.assume_non_continuous_states_are_fixed):
            raise ValueError(
                f"{where} has state that is not continuous; set assume_non_continuous_states_are_fixed if it has no "
                "influence on the continuous state."
            )
        if not 0.0 < time_step < np.inf:
            raise ValueError(f"{name}: time_step must be positive, got {time_step} s.")
        if not 0.0 < options.discount_factor <= 1.0:
            raise ValueError(f"{name}: discount_factor must be in (0, 1], got {options.discount_factor}.")
        if not options.convergence_tol > 0.0:
            raise ValueError(f"{name}: convergence_tol must be positive, got {options.convergence_tol}.")
        port = selected_input_port(system, options.input_port_index, name)
        if port is None:
            raise ValueError(f"{where} must have an input port to act on.")
        for condition in options.periodic_boundary_conditions:
            if not 0 <= condition.state_index < context.num_continuous_states() or not condition.low < condition.high:
                raise ValueError(f"{where}, {context.num_continuous_states()} state variables: {condition} cannot be.")
        self._name, self._simulator, self._context, self._port = name, simulator, context, port
        self._cost, self._h, self._conditions = cost, float(time_step), options.periodic_boundary_conditions
        self._saved, self._batch = context.Clone(), BatchSimulator(system, context, config=simulator)

    def require_sizes(self, num_states: int, num_inputs: int) -> None:
        """Raises a ValueError unless the system has a state and an input of these sizes."""
        wanted = self._context.num_continuous_states(), self._port.size()
        if (num_states, num_inputs) != wanted:
            raise ValueError(
                f"{self._name}: got {num_states} state variables and {num_inputs} inputs; the system has {wanted[0]} "
                f"and {wanted[1]}."
            )

    def take(self, states: Array, u: Array) -> tuple[Array, Array]:
        """Costs of a step of h seconds from time 0, shape [n], and the wrapped states after it, shape [num_states, n].

        By compiled code where Python has no part in the steps; the results are the same.
        """
        context, has_others = self._context, not self._context.has_only_continuous_state()
        self._port.FixValue(context, u)
        is_compiled = not has_others and self._batch.is_compiled()
        costs, ends = np.empty(states.shape[1]), np.empty(states.shape)
        for i, x in enumerate(states.T):
            if has_others:
                context.SetStateAndParametersFrom(self._saved)
            context.SetTimeAndContinuousState(0.0, x)
            costs[i] = self._h * float(self._cost(context))
            if not is_compiled:
                self._simulator.Initialize()
                self._simulator.AdvanceTo(self._h)
                ends[:, i] = context.get_continuous_state_vector().CopyToVector()
        if is_compiled:
            ends = self._batch.simulate(states, self._h, times=np.zeros(costs.size)).states
        for condition in self._conditions:
            span, i = condition.high - condition.low, condition.state_index
            ends[i] = (ends[i] - condition.low) % span + condition.low
        return costs, ends

    def restore(self) -> None:
        """Gives the simulator's context the state that it had."""
        self._context.SetTimeStateAndParametersFrom(self._saved)
        self._simulator.Initialize()
