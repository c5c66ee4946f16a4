"""Batches of simulations give what a Simulator for each gives, to the last bit."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.analysis import ApplySimulatorConfig, BatchSimulator, Simulator, SimulatorConfig, batch_simulate
from merganser.framework import (
    BasicVector,
    Context,
    DiagramBuilder,
    EventStatus,
    LeafSystem,
    RandomDistribution,
    System,
)
from merganser.framework.native import native
from merganser.framework.primitives import (
    Adder,
    DiscreteTimeDelay,
    Gain,
    Integrator,
    LinearSystem,
    LogVectorOutput,
    RandomSource,
    WrapToSystem,
    ZeroOrderHold,
)

NUM, END = 12, 0.53
_CART_POLE = Path(__file__).resolve().parents[3] / "examples" / "models" / "cart_pole.sdf"


@native
def _van_der_pol(xc, mu, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = xc[1]
    xdot[1] = mu[0] * (1.0 - xc[0] * xc[0]) * xc[1] - xc[0]


class VanDerPol(LeafSystem):
    """A compiled block of a user."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(2)
        self.DeclareNumericParameter(BasicVector([2.0]), name="mu")
        self.DeclareTimeDerivatives(_van_der_pol)


class Python(LeafSystem):
    """xdot = -x^3, a block in Python that also counts its steps in discrete state."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(2)
        self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.0, self._count)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector(-(context.get_continuous_state_vector().CopyToVector() ** 3))

    def _count(self, context: Any, state: Any) -> None:
        state.set_value(0, [context.get_discrete_state(0).value()[0] + 1.0])


def controlled() -> System:
    """A double integrator under feedback that is held, delayed and logged, at times that do and do not coincide."""
    builder = DiagramBuilder()
    velocity, position = builder.AddSystem(Integrator(1)), builder.AddSystem(Integrator(1))
    gain, hold = builder.AddSystem(Gain(-3.0, 1)), builder.AddSystem(ZeroOrderHold(0.02, 1))
    delay = builder.AddSystem(DiscreteTimeDelay(0.03, 1, 1))
    ports = [block.get_output_port() for block in (velocity, position, gain, hold)]
    for port, block in zip(ports, (position, gain, hold, velocity)):
        builder.Connect(port, block.get_input_port())
    builder.Connect(velocity.get_output_port(), delay.get_input_port())
    LogVectorOutput(position.get_output_port(), builder, 0.05)
    LogVectorOutput(delay.get_output_port(), builder)
    return builder.Build()


def driven() -> System:
    builder = DiagramBuilder()
    linear = builder.AddSystem(LinearSystem(np.eye(2) * -0.5, [[1.0], [2.0]], np.eye(2), np.zeros((2, 1))))
    wrap = builder.AddSystem(WrapToSystem(1))
    wrap.set_interval(0, -0.5, 0.5)
    builder.Connect(wrap.get_output_port(), linear.get_input_port())
    builder.ExportInput(wrap.get_input_port(), "u")
    return builder.Build()


def noisy() -> System:
    """An integrator of random numbers, which are logged, and of a second source with another period."""
    builder = DiagramBuilder()
    source = builder.AddSystem(RandomSource(RandomDistribution.kGaussian, 2, 0.03))
    other = builder.AddSystem(RandomSource(RandomDistribution.kUniform, 2, 0.1))
    adder, integrator = builder.AddSystem(Adder(2, 2)), builder.AddSystem(Integrator(2))
    builder.Connect(source.get_output_port(), adder.get_input_port(0))
    builder.Connect(other.get_output_port(), adder.get_input_port(1))
    builder.Connect(adder.get_output_port(), integrator.get_input_port())
    LogVectorOutput(source.get_output_port(), builder, 0.03)
    return builder.Build()


def state_of(context: Context) -> Any:
    groups = [context.get_discrete_state(n).value() for n in range(context.num_discrete_state_groups())]
    return np.concatenate([context.get_continuous_state_vector().value(), *groups])


def random_contexts(system: System, num: int = NUM) -> list[Context]:
    random, contexts = np.random.default_rng(3), []
    for _ in range(num):
        context = system.CreateDefaultContext()
        context.SetTimeAndContinuousState(
            random.choice([0.0, 0.04, 0.0311]), random.normal(size=context.num_continuous_states())
        )
        for n in range(context.num_discrete_state_groups()):
            context.SetDiscreteState(n, random.normal(size=context.get_discrete_state(n).size()))
        for n in range(context.num_numeric_parameter_groups()):
            size = context.get_numeric_parameter(n).size()
            context.get_mutable_numeric_parameter(n).SetFromVector(random.uniform(0.5, 2.0, size))
        for n in range(context.num_input_ports()):
            system.get_input_port(n).FixValue(context, random.normal(size=system.get_input_port(n).size()))
        contexts.append(context)
    return contexts


def alone(system: System, context: Context, config: SimulatorConfig | None = None) -> Simulator:
    simulator, start = Simulator(system, context), context.get_time()
    if config is not None:
        ApplySimulatorConfig(config, simulator)
        context.SetTime(start)
    simulator.AdvanceTo(END)
    return simulator


@pytest.fixture
def tracks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Plans are made at once; counts the rows that go through workers, thread by thread."""
    rows = pytest.importorskip("merganser.analysis.batches.rows")
    monkeypatch.setenv("MERGANSER_PLAN", "always")
    counts: list[int] = []
    run = rows.BatchWorker.run

    def counting(self: Any, values: Any, *arguments: Any) -> Any:
        outcome = run(self, values, *arguments)
        if outcome == 0:
            counts.append(len(values))
        return outcome

    monkeypatch.setattr(rows.BatchWorker, "run", counting)
    return counts


SYSTEMS: dict[str, Callable[[], System]] = {
    "native block": VanDerPol, "diagram with events and logs": controlled, "diagram with an input": driven,
    "random numbers": noisy, "Python block": Python,
}  # fmt: skip
CONFIGS = {
    "default": None,
    "tight": SimulatorConfig(accuracy=1e-9),
    "fixed steps": SimulatorConfig(max_step_size=0.01, use_error_control=False),
    "stiff": SimulatorConfig(integration_scheme="radau3", accuracy=1e-5),
    "at every step": SimulatorConfig(publish_every_time_step=True),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("make", SYSTEMS.values(), ids=SYSTEMS)
def test_batches_are_single_simulations_to_the_last_bit(
    make: Callable[[], System], config: SimulatorConfig | None, tracks: list[int]
) -> None:
    system = make()
    contexts = random_contexts(system)
    copies = [context.Clone() for context in contexts]
    statuses = batch_simulate(system, contexts, END, config=config, parallelize=2)
    assert all(status.succeeded() and status.return_time() == END for status in statuses)
    is_compiled = make is not Python and not (config and config.publish_every_time_step)
    assert sum(tracks) == (NUM if is_compiled else 0)
    for context, copy in zip(contexts, copies):
        alone(system, copy, config)
        np.testing.assert_array_equal(state_of(context), state_of(copy))
        assert context.get_time() == copy.get_time() == END
        for mine, theirs in zip(logs_of(context), logs_of(copy), strict=True):
            np.testing.assert_array_equal(mine.sample_times(), theirs.sample_times())
            np.testing.assert_array_equal(mine.data(), theirs.data())


@pytest.mark.parametrize("start", [1e11, 1e12])
def test_first_steps_of_a_batch_that_starts_late_are_those_of_single_simulations(
    start: float, tracks: list[int]
) -> None:
    """Time resolves no shorter ones there."""
    system = LinearSystem([[0.0, 1.0], [-1.0, -0.2]], np.zeros((2, 0)), np.eye(2), np.zeros((2, 0)))
    context = system.CreateDefaultContext()
    context.SetTimeAndContinuousState(start, [1.0, 0.0])
    batch = BatchSimulator(system, parallelize=False).simulate([[1.0], [0.0]], start + 3.0, times=[start])
    assert tracks
    simulator = Simulator(system, context)
    simulator.AdvanceTo(start + 3.0)
    assert batch.num_steps[0] == simulator.get_num_steps_taken()
    np.testing.assert_array_equal(batch.states[:, 0], state_of(context))


def logs_of(context: Context) -> list[Any]:
    systems: list[Any] = context.system._sys_systems if hasattr(context.system, "_sys_systems") else []
    return [part.FindLog(context) for part in systems if hasattr(part, "FindLog")]


@pytest.mark.parametrize("make", SYSTEMS.values(), ids=SYSTEMS)
def test_arrays_give_what_contexts_give(make: Callable[[], System], tracks: list[int]) -> None:
    system = make()
    contexts = random_contexts(system)
    states = np.array([state_of(context) for context in contexts]).T
    groups = [contexts[0].get_numeric_parameter(n) for n in range(contexts[0].num_numeric_parameter_groups())]
    ports = range(contexts[0].num_input_ports())
    batch = BatchSimulator(system, contexts[0].Clone(), parallelize=2)
    result = batch.simulate(
        states,
        END,
        times=[context.get_time() for context in contexts],
        inputs={n: np.array([system.get_input_port(n).Eval(context) for context in contexts]).T for n in ports},
        parameters={
            n: np.array([context.get_numeric_parameter(n).value() for context in contexts]).T
            for n in range(len(groups))
        },
    )
    simulators = [alone(system, context) for context in contexts]
    np.testing.assert_array_equal(result.states, np.array([state_of(context) for context in contexts]).T)
    np.testing.assert_array_equal(result.num_steps, [simulator.get_num_steps_taken() for simulator in simulators])
    np.testing.assert_array_equal(result.times, np.full(NUM, END))
    for sink, logs in result.logs.items():
        for log, context in zip(logs, contexts, strict=True):
            np.testing.assert_array_equal(log.data(), sink.FindLog(context).data())  # type: ignore[attr-defined]
    assert len(result.logs) == len(logs_of(contexts[0]))


def test_results_do_not_depend_on_the_number_of_threads_nor_on_what_ran_before(tracks: list[int]) -> None:
    system = VanDerPol()
    x = np.random.default_rng(1).normal(size=(2, 700))
    config = SimulatorConfig(integration_scheme="radau3", accuracy=1e-5)
    one = BatchSimulator(system, config=config, parallelize=1)
    expected = one.simulate(x, END).states
    np.testing.assert_array_equal(one.simulate(x[:, ::-1], END).states[:, ::-1], expected)
    three = BatchSimulator(system, config=config, parallelize=3)
    np.testing.assert_array_equal(three.simulate(x, END).states, expected)
    assert sum(tracks) == 3 * 700


def test_a_batch_in_threads_uses_several(tracks: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    from merganser.analysis.batches.rows import BatchWorker

    monkeypatch.setattr("merganser.analysis.batches.batch_simulation._WORTH_A_THREAD", 1e-9)
    threads: set[int] = set()
    run = BatchWorker.run

    def noting(self: Any, *arguments: Any) -> Any:
        threads.add(threading.get_ident())
        return run(self, *arguments)

    monkeypatch.setattr(BatchWorker, "run", noting)
    BatchSimulator(VanDerPol(), parallelize=2).simulate(np.full((2, 5000), 0.1), 5.0)
    assert len(threads) == 2


class Fragile(LeafSystem):
    """xdot = 1 / x, compiled, or in Python."""

    def __init__(self, is_native: bool) -> None:
        super().__init__()
        self.state_index = self.DeclareContinuousState(1)
        if is_native:
            self.DeclareTimeDerivatives(_inverse)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector(1.0 / context.get_continuous_state_vector().CopyToVector())


@native
def _inverse(xc, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = 1.0 / xc[0]


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("is_native", [True, False])
def test_failures_are_collected_by_index_and_the_others_go_on(is_native: bool, tracks: list[int]) -> None:
    system = Fragile(is_native)
    states = np.ones((1, NUM))
    states[0, [3, 8]] = 0.0
    failures: dict[int, Exception] = {}
    result = BatchSimulator(system).simulate(states, END, failures=failures)
    assert list(failures) == [3, 8]
    assert "not finite" in str(failures[3])
    assert [n for n, status in enumerate(result.statuses) if not status.succeeded()] == [3, 8]
    good = [n for n in range(NUM) if n not in failures]
    np.testing.assert_allclose(result.states[0, good], np.sqrt(1.0 + 2.0 * END), rtol=1e-4)
    with pytest.raises(RuntimeError, match="not finite") as caught:
        BatchSimulator(system).simulate(states, END)
    assert caught.value.__notes__[-1] == "in simulation 3 of a batch of 12"


@native
def _squared(xc, xdot):  # type: ignore[no-untyped-def]
    xdot[0] = xc[0] * xc[0]


def test_logs_of_a_simulation_that_fails_halfway_are_those_of_a_simulator(tracks: list[int]) -> None:
    builder = DiagramBuilder()
    fragile = builder.AddSystem(Fragile(True))
    fragile.DeclareTimeDerivatives(_squared)  # goes to infinity at 0.5 s if it starts at 2
    fragile.DeclareStateOutputPort("y", fragile.state_index)
    sink = LogVectorOutput(fragile.get_output_port(), builder, 0.1)
    diagram = builder.Build()
    contexts = [diagram.CreateDefaultContext() for _ in range(3)]
    for context, x in zip(contexts, ([1.0], [2.0], [-1.0])):
        context.SetContinuousState(x)
    copies = [context.Clone() for context in contexts]
    failures: dict[int, Exception] = {}
    batch_simulate(diagram, contexts, END, failures=failures)
    assert list(failures) == [1] and tracks
    for n, copy in enumerate(copies):
        if n == 1:
            with pytest.raises(RuntimeError, match="accuracy"):
                alone(diagram, copy)
        else:
            alone(diagram, copy)
        np.testing.assert_array_equal(sink.FindLog(contexts[n]).data(), sink.FindLog(copy).data())
        assert contexts[n].get_time() == copy.get_time()


def test_a_time_in_the_past_is_the_failure_of_that_simulation_only(tracks: list[int]) -> None:
    failures: dict[int, Exception] = {}
    result = BatchSimulator(VanDerPol()).simulate(np.ones((2, 3)), 1.0, times=[0.0, 2.0, 1.0], failures=failures)
    assert list(failures) == [1] and "Cannot advance to time 1.0 s" in str(failures[1])
    np.testing.assert_array_equal(result.times, [1.0, 2.0, 1.0])
    np.testing.assert_array_equal(result.states[:, 2], [1.0, 1.0])


class Ending(LeafSystem):
    """Ends its simulation after some time, in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareContinuousState(1)
        self.DeclarePeriodicPublishEvent(0.25, 0.25, self._end)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector([1.0])

    def _end(self, context: Any) -> EventStatus:
        return EventStatus.ReachedTermination(self, "enough")


def test_the_status_names_what_ended_a_simulation() -> None:
    result = BatchSimulator(Ending()).simulate([[0.0, 1.0]], END)
    assert [status.message() for status in result.statuses] == ["enough", "enough"]
    np.testing.assert_array_equal(result.times, [0.25, 0.25])


def test_contexts_with_other_wires_are_simulated_as_they_are(tracks: list[int]) -> None:
    """One has the input of an inner block fixed, which overrides its wire; another has caching disabled."""
    system: Any = driven()
    contexts = random_contexts(system, 6)
    linear = system.GetSubsystemByName(system.GetSystems()[0].get_name())
    linear.get_input_port().FixValue(linear.GetMyContextFromRoot(contexts[2]), [4.0])
    contexts[4].DisableCaching()
    copies = [context.Clone() for context in contexts]
    batch_simulate(system, contexts, END)
    assert sum(tracks) == 4
    for context, copy in zip(contexts, copies):
        alone(system, copy)
        np.testing.assert_array_equal(state_of(context), state_of(copy))


def test_a_block_that_was_changed_counts_in_the_next_batch(tracks: list[int]) -> None:
    system: Any = driven()
    context = random_contexts(system, 1)[0]
    system.get_input_port().FixValue(context, [0.9])
    batch = BatchSimulator(system, context)
    x = np.ones((2, 3))
    before = batch.simulate(x, END).states
    context.SetTime(0.0)
    system.get_input_port().FixValue(context, [0.4])
    after = batch.simulate(x, END).states
    assert not np.array_equal(before, after)
    copy = context.Clone()
    copy.SetContinuousState([1.0, 1.0])
    alone(system, copy)
    np.testing.assert_array_equal(after[:, 0], state_of(copy))


def test_without_numba_loaded_nothing_is_loaded_for_a_few_short_simulations(
    monkeypatch: pytest.MonkeyPatch, tracks: list[int]
) -> None:
    monkeypatch.setenv("MERGANSER_PLAN", "never")
    batch = BatchSimulator(VanDerPol())
    result = batch.simulate(np.ones((2, 3)), 0.1)
    assert tracks == [] and all(status.succeeded() for status in result.statuses)


def test_wrong_arguments_are_refused() -> None:
    system = driven()
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [0.0])
    batch = BatchSimulator(system, context)
    with pytest.raises(ValueError, match=r"columns of 2 numbers.*\(3, 4\)"):
        batch.simulate(np.ones((3, 4)), 1.0)
    with pytest.raises(ValueError, match="4 states take 4 times, got 2"):
        batch.simulate(np.ones((2, 4)), 1.0, times=[0.0, 1.0])
    with pytest.raises(ValueError, match=r"shape \(1, 4\) for Input port 'u'"):
        batch.simulate(np.ones((2, 4)), 1.0, inputs={0: np.ones((2, 4))})
    with pytest.raises(IndexError, match="parameter"):
        batch.simulate(np.ones((2, 4)), 1.0, parameters={0: np.ones((1, 4))})
    with pytest.raises(ValueError, match="there twice"):
        batch_simulate(system, [context, context], 1.0)
    with pytest.raises(ValueError, match="was given the context of system"):
        batch_simulate(system, [context, VanDerPol().CreateDefaultContext()], 1.0)
    assert batch_simulate(system, [], 1.0) == []
    assert batch.simulate(np.ones((2, 0)), 1.0).states.shape == (2, 0)


@pytest.mark.parametrize("time_step", [0.0, 0.01])
def test_plants_with_geometry_and_parameters_of_their_own_are_simulated_as_they_are(
    time_step: float, tracks: list[int]
) -> None:
    from merganser.multibody.parsing import Parser
    from merganser.multibody.plant import AddMultibodyPlantSceneGraph

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
    Parser(plant).AddModels(str(_CART_POLE))
    plant.Finalize()
    gain = builder.AddSystem(Gain([0.5], 1))
    port = plant.get_net_actuation_output_port()
    builder.Connect(gain.get_output_port(), plant.get_actuation_input_port())
    builder.ExportInput(gain.get_input_port(), "u")
    diagram = builder.Build()
    default, contexts = diagram.CreateDefaultContext(), []
    for n in range(4):
        context = default.Clone()
        mine = plant.GetMyContextFromRoot(context)
        plant.GetBodyByName("pole").SetMass(mine, 0.3 + 0.1 * n)
        plant.SetPositionsAndVelocities(mine, [0.0, 0.2 * n, 0.1, 0.0])
        diagram.get_input_port().FixValue(context, [0.1 * n])
        contexts.append(context)
    copies = [context.Clone() for context in contexts]
    batch_simulate(diagram, contexts, END)
    for context, copy in zip(contexts, copies):
        alone(diagram, copy)
        np.testing.assert_array_equal(state_of(context), state_of(copy))
        mine, theirs = (plant.GetMyContextFromRoot(whole) for whole in (context, copy))
        np.testing.assert_array_equal(port.Eval(mine), port.Eval(theirs))  # of the last step, if it is discrete


def test_an_interrupt_ends_a_batch_and_leaves_unfinished_contexts_alone(
    tracks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    from merganser.analysis.batches.rows import BatchWorker

    system = VanDerPol()
    contexts = random_contexts(system, 40)
    starts = [state_of(context) for context in contexts]
    run, calls = BatchWorker.run, []

    def interrupted(self: Any, *arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return run(self, *arguments)

    monkeypatch.setattr(BatchWorker, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        batch_simulate(system, contexts, END, parallelize=1)
    done = [context.get_time() == END for context in contexts]
    assert 0 < sum(done) < len(contexts)
    for context, start, is_done in zip(contexts, starts, done):
        assert is_done or np.array_equal(state_of(context), start)
