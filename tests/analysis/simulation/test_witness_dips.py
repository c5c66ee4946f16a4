"""Witness functions that pass through zero twice within one step, that come back at once, and that meet in time."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bouncing_ball import accumulation_time, make_ball
from hypothesis import given, settings
from hypothesis import strategies as st

import merganser.framework as framework
from merganser.analysis import Simulator, SimulatorStatus
from merganser.analysis.simulation.witness_dips import lower_bound, lowest_time
from merganser.framework import LeafSystem, PublishEvent, WitnessFunction, WitnessFunctionDirection

Direction = WitnessFunctionDirection
CROSSES, FALLS, RISES = Direction.kCrossesZero, Direction.kPositiveThenNonPositive, Direction.kNegativeThenNonNegative
Functions = dict[str, tuple[Direction, Callable[[float], float]]]


class Clocked(LeafSystem):
    """dx/dt = 1 from x = 0, so that x = t, with witness functions of x that write (name, x) into `log`."""

    def __init__(self, functions: Functions, moves: bool = True, period: float | None = None) -> None:
        super().__init__()
        self.log: list[tuple[str, float]] = []
        self.num_calls = self.num_derivatives = 0
        self._moves = moves
        if moves:
            self.DeclareContinuousState(1)
        if period is not None:
            self.DeclarePeriodicPublishEvent(period, 0.0, lambda context: self._note("clock", context))
        self._witnesses = [
            self.MakeWitnessFunction(
                name, direction, self._counted(function), PublishEvent(lambda c, e, name=name: self._note(name, c))
            )
            for name, (direction, function) in functions.items()
        ]

    def _x(self, context: Any) -> float:
        return float(context.get_continuous_state_vector()[0]) if self._moves else context.get_time()

    def _note(self, name: str, context: Any) -> None:
        self.log.append((name, context.get_time()))

    def _counted(self, function: Callable[[float], float]) -> Callable[[Any], float]:
        def calc(context: Any) -> float:
            self.num_calls += 1
            return function(self._x(context))

        return calc

    def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
        return self._witnesses

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        self.num_derivatives += 1
        derivatives.SetFromVector([1.0 + 0.0 * self._x(context)])


def simulation(system: LeafSystem, step: float = 1.0) -> Simulator:
    simulator = Simulator(system)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.get_mutable_integrator().set_maximum_step_size(step)
    return simulator


def triggers(functions: Functions, moves: bool = True, until: float = 1.0) -> list[tuple[str, float]]:
    system = Clocked(functions, moves)
    simulation(system).AdvanceTo(until)
    return system.log


def passages(function: Callable[[float], float], direction: Direction = CROSSES, moves: bool = True) -> list[float]:
    return [time for _, time in triggers({"w": (direction, function)}, moves)]


# ---------------------------------------------------------------------- the cubic


def test_the_minimum_of_a_cubic_is_exact() -> None:
    """p = t^3 - 3 t has its minimum at 1, its maximum at -1."""
    ends = [(t, t**3 - 3.0 * t, 3.0 * t * t - 3.0) for t in (-1.5, 2.0, 0.5, -0.5)]
    assert lowest_time(*ends[0], *ends[1]) == pytest.approx(1.0, abs=1e-14)
    assert lowest_time(*ends[2], *ends[1]) == pytest.approx(1.0, abs=1e-14)
    assert math.isnan(lowest_time(*ends[3], *ends[2]))
    assert math.isnan(lowest_time(0.0, 1.0, math.nan, 1.0, 1.0, 1.0))
    line = 0.0, 0.0, 1.0, 1.0, 1.0, 1.0
    assert math.isnan(lowest_time(*line)) and lower_bound(*line) == -math.inf


def test_tangents_bound_a_convex_function_from_below() -> None:
    assert lower_bound(1.0, math.cosh(-1.0), math.sinh(-1.0), 4.0, math.cosh(2.0), math.sinh(2.0)) <= 1.0
    assert lower_bound(0.0, 1.0, -1.0, 2.0, 1.0, 1.0) == pytest.approx(0.0)


# ---------------------------------------------------------------------- two passages in one step


@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("half_width", [0.3, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("middle", [0.3001, 0.5, 0.67])
def test_both_passages_of_a_dip_are_found_however_narrow(middle: float, half_width: float, moves: bool) -> None:
    dip = lambda x: (x - middle) ** 2 - half_width**2  # noqa: E731
    both = [middle - half_width, middle + half_width]
    assert passages(dip, CROSSES, moves) == pytest.approx(both, abs=1e-9)
    assert passages(dip, FALLS, moves) == pytest.approx(both[:1], abs=1e-9)
    assert passages(lambda x: -dip(x), FALLS, moves) == pytest.approx(both[1:], abs=1e-9)
    assert passages(lambda x: -dip(x), RISES, moves) == pytest.approx(both[:1], abs=1e-9)


@pytest.mark.parametrize(
    "dip",
    [
        lambda x: math.cosh(9.0 * (x - 0.4)) - 1.01,
        lambda x: math.hypot(x - 0.4, 1e-3) - 0.011,  # a corner, almost
        lambda x: 0.05 - math.exp(-(((x - 0.4) / 0.2) ** 2)) / 10.0,
        lambda x: x * (x - 0.35) * (x - 0.45),  # begins at zero, and leaves it to the side to which it comes back
        lambda x: (x - 0.4) ** 4 - 1e-8,
    ],
)
def test_dips_of_other_shapes_are_found(dip: Callable[[float], float]) -> None:
    times = passages(dip)
    assert len(times) == 2 and [dip(t) for t in times] == pytest.approx([0.0, 0.0], abs=1e-11)
    assert times[0] < 0.4 < times[1]


@pytest.mark.parametrize("moves", [True, False])
def test_a_minimum_above_zero_does_not_trigger(moves: bool) -> None:
    assert passages(lambda x: (x - 0.4) ** 2 + 1e-9, CROSSES, moves) == []
    assert passages(lambda x: -((x - 0.4) ** 2) - 1e-9, CROSSES, moves) == []


def test_the_earliest_of_dips_and_passages_comes_first() -> None:
    log = triggers({
        "late": (FALLS, lambda x: (x - 0.8) ** 2 - 1e-4),
        "once": (FALLS, lambda x: 0.5 - x),
        "wide": (FALLS, lambda x: (x - 0.2) * (x - 0.6)),
        "early": (FALLS, lambda x: (x - 0.3) ** 2 - 1e-4),
    })  # fmt: skip
    assert [name for name, _ in log] == ["wide", "early", "once", "late"]
    assert [time for _, time in log] == pytest.approx([0.2, 0.29, 0.5, 0.79], abs=1e-10)


def test_looking_for_dips_costs_one_call_a_step_and_no_derivatives() -> None:
    watched, unwatched = Clocked({"w": (CROSSES, lambda x: x + 1.0)}), Clocked({})
    for system in (watched, unwatched):
        simulator = simulation(system, 0.01)
        simulator.AdvanceTo(10.0)
        assert simulator.get_num_steps_taken() == 1000
    assert watched.num_calls <= 3 * 1000 + 1  # at the start, at the end and next to it
    assert watched.num_derivatives <= unwatched.num_derivatives + 3  # around the last step, for all steps together
    idle = Clocked({"w": (Direction.kNone, lambda x: -1.0 - x)})
    simulation(idle, 0.01).AdvanceTo(10.0)
    assert idle.num_calls == 0  # it never triggers


def test_a_witness_function_that_fails_next_to_the_end_of_a_step_only_does_no_harm() -> None:
    ends: list[float] = []

    def picky(x: float) -> float:
        if min(abs(x - round(x, 1)), 1.0) > 1e-9:
            raise ArithmeticError(x)
        ends.append(x)
        return 1.0

    system = Clocked({"w": (CROSSES, picky)})
    simulation(system, 0.1).AdvanceTo(1.0)
    assert len(ends) >= 11 and system.log == []


def test_slopes_leave_what_was_current_current() -> None:
    """Values that a publish event reads at the end of a step were computed with the witness function."""
    counts = []

    class Measured(LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareContinuousState(1)
            self._y = self.DeclareVectorOutputPort("y", 1, self._calc)
            self._z = self.DeclareVectorOutputPort("z", 1, self._calc)
            self.DeclarePerStepPublishEvent(self._check)
            self._witness = self.MakeWitnessFunction("w", CROSSES, lambda c: 1.0 + self._y.Eval(c)[0])

        def _calc(self, context: Any, output: Any) -> None:
            counts.append(context.get_time())
            output.SetFromVector(context.get_continuous_state_vector().value())

        def _check(self, context: Any) -> None:
            expected = context.get_continuous_state_vector()[0]
            assert self._y.Eval(context)[0] == self._z.Eval(context)[0] == expected
            assert self.EvalTimeDerivatives(context)[0] == math.cos(context.get_time())

        def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
            return [self._witness]

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            derivatives.SetFromVector([math.cos(context.get_time())])

    Simulator(Measured()).AdvanceTo(2.0)
    assert counts


# ---------------------------------------------------------------------- coming back at once


@pytest.mark.parametrize("height", [1e-3, 1.0, 10.0])
@pytest.mark.parametrize("restitution", [0.0, 1e-12, 1e-8, 1e-5, 1e-4, 1e-3, 1e-2])
def test_a_ball_that_hardly_bounces_stays_on_the_floor(restitution: float, height: float) -> None:
    log: list[float] = []
    simulator = Simulator(make_ball(framework, restitution, log=log, rest_speed=-math.inf))
    simulator.get_mutable_context().SetContinuousState([height, 0.0])
    status = simulator.AdvanceTo(100.0)
    assert status.reason() is SimulatorStatus.ReturnReason.kZenoBehavior
    assert status.return_time() == pytest.approx(accumulation_time(height, restitution), abs=1e-7)
    position, velocity = simulator.get_context().get_continuous_state_vector().value()
    assert abs(position) < 1e-11 and -1e-8 < velocity < 1e-8
    assert len(log) < 60


def test_a_function_that_goes_on_through_zero_does_not_trigger_again() -> None:
    """Neither with a finite slope nor with none, whatever its event does elsewhere."""
    for function in (lambda x: 0.3 - x, lambda x: (0.3 - x) ** 3, lambda x: math.expm1(1e2 * (0.3 - x))):
        assert passages(function, FALLS) == pytest.approx([0.3], abs=1e-4)


# ---------------------------------------------------------------------- where times meet


@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("direction", [CROSSES, FALLS])
def test_a_passage_at_a_boundary_a_step_or_a_clock_triggers_once(direction: Direction, moves: bool) -> None:
    for time in (0.25, 0.3, 0.5, 0.75):
        system = Clocked({"w": (direction, lambda x, time=time: time - x)}, moves, period=0.25)
        simulator = simulation(system, 0.1)
        for boundary in (0.25, 0.3, 0.5, 0.5, 0.6, 1.0):
            simulator.AdvanceTo(boundary)
        assert [t for name, t in system.log if name == "w"] == pytest.approx([time], abs=1e-11)
        assert [t for name, t in system.log if name == "clock"] == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_many_functions_that_pass_at_the_same_time_trigger_together() -> None:
    functions = {str(n): (CROSSES, lambda x, n=n: (n + 1.0) * (x - 0.4) + (x - 0.4) ** 3) for n in range(20)}
    log = triggers(functions)
    assert sorted(int(name) for name, _ in log) == list(range(20))
    assert max(t for _, t in log) - min(t for _, t in log) < 1e-11


def test_a_chain_of_passages_keeps_its_order() -> None:
    """The last digits of time apart, and each found once."""
    times = [0.4 + n * 1e-11 for n in range(10)]
    log = triggers({str(n): (CROSSES, lambda x, t=t: x - t) for n, t in reversed(list(enumerate(times)))})
    assert [name for name, _ in log] == [str(n) for n in range(10)]
    assert [t for _, t in log] == pytest.approx(times, abs=1e-12)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    phases=st.lists(st.floats(0.0, 6.25), min_size=1, max_size=3),
    rate=st.sampled_from([1.0, 7.0, 20.0]),
    boundaries=st.lists(st.floats(0.01, 2.99), max_size=6),
    moves=st.booleans(),
)
def test_advances_of_any_lengths_give_the_triggers_of_one(
    phases: list[float], rate: float, boundaries: list[float], moves: bool
) -> None:
    functions = {
        f"{direction.name} {n}": (direction, lambda x, phase=phase: math.sin(rate * x + phase))
        for n, phase in enumerate(phases)
        for direction in (CROSSES, FALLS, RISES)
    }
    # Boundaries right at triggers as well.
    boundaries = [*boundaries, *((math.pi - phase) / rate % 2.9 for phase in phases[:1])]
    logs = []
    for ends in ([3.0], [*sorted(boundaries), 3.0]):
        system = Clocked(functions, moves, period=0.1)
        simulator = simulation(system, 0.1)
        for end in ends:
            assert simulator.AdvanceTo(end).succeeded()
        logs.append(sorted(system.log))
    assert [name for name, _ in logs[0]] == [name for name, _ in logs[1]]
    np.testing.assert_allclose([t for _, t in logs[0]], [t for _, t in logs[1]], rtol=0.0, atol=1e-11)
    for n, phase in enumerate(phases):
        times = [t for name, t in logs[0] if name == f"kCrossesZero {n}"]
        # Zeros at the very start or end may count or not, by the last digit.
        zeros = [(math.pi * k - phase) / rate for k in range(-1, 40)]
        inner = [z for z in zeros if 1e-9 < z < 3.0 - 1e-9]
        np.testing.assert_allclose([t for t in times if 1e-9 < t < 3.0 - 1e-9], inner, rtol=0.0, atol=1e-10)
