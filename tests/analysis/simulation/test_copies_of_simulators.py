"""A copied or pickled Simulator goes on as the original does, in a context of its own."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from bouncing_ball import make_ball

import merganser.analysis.integrators as integrators
import merganser.framework as framework
from merganser.analysis import BatchSimulator, Simulator
from merganser.framework import (
    Context,
    DiagramBuilder,
    DiscreteUpdateEvent,
    EventStatus,
    LeafSystem,
    System,
    WitnessFunctionDirection,
)
from merganser.framework.primitives import LinearSystem, LogVectorOutput, SymbolicVectorSystem, VectorLogSink
from merganser.framework.symbolic import Variable
from merganser.framework.symbolic import sin as symbolic_sin


def pickled(x: Any) -> Any:
    return pickle.loads(pickle.dumps(x))


WAYS: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, pickled]


def pendulum() -> System:
    """A pendulum with a log of each step."""
    angle, rate = Variable("a"), Variable("w")
    builder = DiagramBuilder()
    system = builder.AddSystem(
        SymbolicVectorSystem(state=[angle, rate], dynamics=[rate, -10.0 * symbolic_sin(angle)], output=[angle])
    )
    LogVectorOutput(system.get_output_port(), builder)
    return builder.Build()


def discrete_oscillator() -> System:
    builder = DiagramBuilder()
    system = LinearSystem([[1.0, 0.1], [-0.1, 1.0]], np.zeros((2, 0)), np.eye(2), np.zeros((2, 0)), 0.1)
    builder.AddSystem(system)
    LogVectorOutput(system.get_output_port(), builder, publish_period=0.05)
    return builder.Build()


def outcome(simulator: Simulator) -> list[Any]:
    """State, counts and samples, to be compared to the last bit."""
    context, system = simulator.get_context(), simulator.get_system()
    numbers: list[Any] = [context.get_time(), simulator.get_num_steps_taken(), simulator.get_num_publishes()]
    numbers += context.get_continuous_state_vector().CopyToVector().tolist()
    for group in range(context.num_discrete_state_groups()):
        numbers += context.get_discrete_state(group).CopyToVector().tolist()
    if isinstance(system, framework.Diagram):
        for inner in system.GetSystems():
            if isinstance(inner, VectorLogSink):
                log = inner.FindLog(context)
                numbers += [log.sample_times().tolist(), log.data().tolist()]
    return numbers


METHODS: list[Callable[[System, Context], Any]] = [
    integrators.RungeKutta3Integrator,
    integrators.RungeKutta5Integrator,
    integrators.BogackiShampine3Integrator,
    integrators.Radau1Integrator,
    integrators.Radau3Integrator,
    lambda system, context: integrators.RadauIntegrator(system, context, num_stages=3),
    integrators.ImplicitEulerIntegrator,
    integrators.VelocityImplicitEulerIntegrator,
    lambda system, context: integrators.ExplicitEulerIntegrator(system, 0.01, context),
    lambda system, context: integrators.SemiExplicitEulerIntegrator(system, 0.01, context),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [pendulum, discrete_oscillator])
def test_a_copy_goes_on_as_the_original_does_and_leaves_it_alone(
    make: Callable[[], System], way: Callable[[Any], Any]
) -> None:
    original = Simulator(make())
    context = original.get_mutable_context()
    set_state = context.SetContinuousState if context.num_continuous_states() else context.SetDiscreteState
    set_state([1.0, 0.0])
    original.AdvanceTo(0.55)
    before = outcome(original)
    copied = way(original)
    assert outcome(copied) == before
    assert (copied.get_system() is original.get_system()) == (way is copy.copy)
    assert copied.get_context() is copied.get_integrator().get_context() is not context
    copied.AdvanceTo(1.2)
    assert outcome(original) == before
    original.AdvanceTo(1.2)
    assert outcome(copied) == outcome(original) != before


@pytest.mark.parametrize("method", METHODS)
def test_copies_keep_the_step_sizes_and_memory_of_the_integrator(method: Callable[[System, Context], Any]) -> None:
    system = pendulum()
    original = Simulator(system)
    original.reset_integrator(method(system, original.get_context()))
    original.get_mutable_context().SetContinuousState([1.0, 0.0])
    original.AdvanceTo(0.3)
    copied = copy.deepcopy(original)
    copied.AdvanceTo(0.8)
    original.AdvanceTo(0.8)
    assert outcome(copied) == outcome(original)
    mine, theirs = original.get_integrator(), copied.get_integrator()
    assert type(theirs) is type(mine) and theirs.get_num_steps_taken() == mine.get_num_steps_taken() > 5


@pytest.mark.parametrize("way", WAYS[:2])
@pytest.mark.parametrize("time", [0.45, 1.0])
def test_copies_remember_which_witness_functions_have_triggered(way: Callable[[Any], Any], time: float) -> None:
    """A ball that leaves the ground does not bounce at once again, nor in the copy."""
    original = Simulator(make_ball(framework, 0.8))
    original.get_mutable_context().SetContinuousState([1.0, 0.0])
    original.AdvanceTo(time)
    copied = way(original)
    for simulator in (copied, original):
        simulator.AdvanceTo(2.5)
    assert outcome(copied) == outcome(original)


class HalfSeconds(LeafSystem):
    """Counts half seconds by a witness function of time, beside a state that decays."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(1)
        self.DeclareDiscreteState([0.0])
        self._next = self.MakeWitnessFunction(
            "next half second", WitnessFunctionDirection.kPositiveThenNonPositive,
            self._time_left, DiscreteUpdateEvent(self._count),
        )  # fmt: skip

    def _time_left(self, context: Context) -> float:
        return float(0.5 * (context.get_discrete_state_vector()[0] + 1.0) - context.get_time())

    def _count(self, context: Context, event: Any, values: Any) -> None:
        values.set_value(0, context.get_discrete_state_vector().CopyToVector() + 1.0)

    def DoGetWitnessFunctions(self, context: Context) -> list[Any]:
        return [self._next]

    def DoCalcTimeDerivatives(self, context: Context, derivatives: Any) -> None:
        derivatives.SetFromVector(-context.get_continuous_state_vector().CopyToVector())


@pytest.mark.parametrize("way", WAYS)
def test_copies_keep_an_event_that_triggers_at_the_end_of_an_advance(way: Callable[[Any], Any]) -> None:
    original = Simulator(HalfSeconds())
    original.get_mutable_context().SetContinuousState([1.0])
    original.AdvanceTo(1.0)
    copied = way(original)
    for simulator in (copied, original):
        assert simulator.get_context().get_discrete_state_vector()[0] == 1.0
        simulator.AdvanceTo(2.2)
        assert simulator.get_context().get_discrete_state_vector()[0] == 4.0
    assert outcome(copied) == outcome(original)


def test_a_recording_goes_on_in_the_copy() -> None:
    original = Simulator(pendulum())
    original.get_mutable_context().SetContinuousState([1.0, 0.0])
    original.get_mutable_integrator().StartDenseIntegration()
    original.AdvanceTo(0.5)
    copied = copy.deepcopy(original)
    copied.AdvanceTo(1.0)
    recorded = copied.get_mutable_integrator().StopDenseIntegration()
    assert (recorded.start_time(), recorded.end_time()) == (0.0, 1.0)
    assert original.get_integrator().get_dense_output().end_time() == 0.5


def test_a_copy_of_an_integrator_would_share_its_context_and_is_refused() -> None:
    integrator = Simulator(pendulum()).get_integrator()
    with pytest.raises(TypeError, match=r"advance the same context.*deepcopy"):
        copy.copy(integrator)
    copied = copy.deepcopy(integrator)
    copied.IntegrateWithMultipleStepsToTime(0.5)
    assert (integrator.get_context().get_time(), copied.get_context().get_time()) == (0.0, 0.5)


class Fragile(LeafSystem):
    """A publish handler that calls a function of the user."""

    def __init__(self, publish: Callable[[], None]) -> None:
        super().__init__()
        self.DeclarePeriodicPublishEvent(0.5, 0.0, lambda context: publish())


def test_copies_within_a_callback_or_of_an_unfinished_advance_are_refused() -> None:
    """Half of the due events have happened."""
    refusals: list[str] = []

    def publish() -> None:
        if simulator.get_context().get_time() == 0.5:
            with pytest.raises(RuntimeError) as caught:
                copy.copy(simulator)
            refusals.append(str(caught.value))
            raise KeyboardInterrupt

    simulator = Simulator(Fragile(publish))
    with pytest.raises(KeyboardInterrupt):
        simulator.AdvanceTo(1.0)
    assert "called by a callback or monitor of this simulation" in refusals[0]
    with pytest.raises(RuntimeError, match=r"'::Fragile\S*' cannot be copied at time 0.5 s, .* call AdvanceTo first"):
        copy.deepcopy(simulator)


def test_monitors_and_settings_are_those_of_the_original() -> None:
    original = Simulator(pendulum())
    original.set_monitor(_stop_late)
    original.set_use_native_plan(False)
    for way in WAYS:
        copied = way(original)
        assert not copied.AdvanceTo(1.0).succeeded()
        assert copied.get_monitor() is _stop_late and not copied.get_use_native_plan()


def _stop_late(context: Context) -> EventStatus | None:
    return EventStatus.ReachedTermination(None, "late") if context.get_time() > 0.5 else None


@pytest.mark.parametrize("way", WAYS)
def test_copies_of_batches_and_worlds_share_no_numbers(way: Callable[[Any], Any]) -> None:
    system = LinearSystem([[0.0, 1.0], [-1.0, 0.0]], np.zeros((2, 0)), np.eye(2), np.zeros((2, 0)))
    batch = BatchSimulator(system, parallelize=False)
    expected = batch.simulate(np.eye(2), 1.0).states
    np.testing.assert_array_equal(way(batch).simulate(np.eye(2), 1.0).states, expected)
    worlds = batch.make_worlds(2, lambda context, index: context.SetContinuousState([1.0, float(index)]))
    copied = way(worlds) if way is not pickled else copy.deepcopy(worlds)
    batch.advance(copied, 1.0)
    times = [[each.context(i).get_time() for i in range(2)] for each in (worlds, copied)]
    assert times == [[0.0, 0.0], [1.0, 1.0]]


def test_the_copy_of_a_part_of_a_context_is_the_part_of_a_copy() -> None:
    diagram = discrete_oscillator()
    context = diagram.CreateDefaultContext()
    part = diagram.GetSystems()[0].GetMyContextFromRoot(context)
    copied = copy.deepcopy(part)
    copied.SetDiscreteState([3.0, 4.0])
    assert part.get_discrete_state_vector()[0] == 0.0
    both = copy.deepcopy([context, part])
    assert diagram.GetSystems()[0].GetMyContextFromRoot(both[0]) is both[1]
