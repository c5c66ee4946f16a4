"""Systems in merganser and pydrake: the same events, steps, errors, linear models and gains."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from event_recorder import (
    DISCRETE,
    FORCED,
    INITIALIZATION,
    KINDS,
    PER_STEP,
    PERIODIC,
    PUBLISH,
    UNRESTRICTED,
    Declared,
    make_recorder,
)

pytest.importorskip("pydrake", reason="compares with pydrake (extra `reference`)")
import pydrake.systems.analysis
import pydrake.systems.controllers
import pydrake.systems.framework
import pydrake.systems.primitives

import merganser.analysis
import merganser.analysis.controllers
import merganser.framework
import merganser.framework.primitives

pytestmark = pytest.mark.reference

OURS = SimpleNamespace(
    framework=merganser.framework,
    analysis=merganser.analysis,
    primitives=merganser.framework.primitives,
    controllers=merganser.analysis.controllers,
)
THEIRS = SimpleNamespace(
    framework=pydrake.systems.framework,
    analysis=pydrake.systems.analysis,
    primitives=pydrake.systems.primitives,
    controllers=pydrake.systems.controllers,
)
ALL_TRIGGERS = [Declared(kind, trigger) for trigger in (INITIALIZATION, PER_STEP) for kind in KINDS]
SAMPLED = [
    Declared(PUBLISH, PERIODIC, 0.125, 0.0),
    Declared(DISCRETE, PERIODIC, 0.125, 0.0),
    Declared(UNRESTRICTED, PERIODIC, 0.375, 0.125),
]
Drive = Callable[[Any, Any, list[Any]], None]


def advance_to(*times: float) -> Drive:
    def drive(lib: Any, simulator: Any, log: list[Any]) -> None:
        for time in times:
            status = simulator.AdvanceTo(time)
            log.append((status.reason().name, status.boundary_time(), status.return_time(), status.message()))

    return drive


def history(lib: Any, parts: list[tuple[str, list[Declared], bool]], drive: Drive) -> list[Any]:
    """The records of recorders (name, events, continuous) in a diagram while `drive` moves the simulator."""
    log: list[Any] = []
    builder = lib.framework.DiagramBuilder()
    for name, events, continuous in parts:
        builder.AddSystem(make_recorder(lib.framework, log, name, events, continuous))
    simulator = lib.analysis.Simulator(builder.Build())
    try:
        drive(lib, simulator, log)
    except RuntimeError:
        log.append("RuntimeError")
    log.append(
        (
            simulator.get_context().get_time(),
            simulator.get_num_steps_taken(),
            simulator.get_num_publishes(),
            simulator.get_num_discrete_updates(),
            simulator.get_num_unrestricted_updates(),
        )
    )
    return log


def assert_same_history(parts: list[tuple[str, list[Declared], bool]], drive: Drive) -> None:
    ours, theirs = history(OURS, parts, drive), history(THEIRS, parts, drive)
    assert len(ours) > 2
    assert rounded(ours) == rounded(theirs)


def rounded(log: list[Any]) -> list[Any]:
    """Times to 12 digits: ours are k periods as exact rationals, pydrake's are products of floats."""
    return [
        tuple(round(value, 12) if isinstance(value, float) else value for value in entry)
        if isinstance(entry, tuple)
        else entry
        for entry in log
    ]


CONTINUOUS = pytest.mark.parametrize("continuous", [False, True])


@CONTINUOUS
def test_events_of_all_triggers_happen_in_the_same_order(continuous: bool) -> None:
    assert_same_history([("a", ALL_TRIGGERS + SAMPLED, continuous)], advance_to(1.0))


@CONTINUOUS
def test_simultaneous_events_go_by_leaf_system(continuous: bool) -> None:
    parts = [("a", ALL_TRIGGERS + SAMPLED, continuous), ("b", SAMPLED + ALL_TRIGGERS, False)]
    assert_same_history(parts, advance_to(0.3, 0.375, 0.375, 1.0))


def test_clocks_that_strike_together_keep_the_order_of_declaration() -> None:
    publish = [Declared(PUBLISH, PERIODIC, period, offset) for period, offset in ((2, 0), (1, 0), (2, 0), (1, 1))]
    update = [Declared(DISCRETE, PERIODIC, period) for period in (3, 1, 2)]
    parts = [
        ("a", publish, False),
        ("b", [Declared(PUBLISH, PERIODIC, 2)], False),
        ("c", publish + update, False),
    ]
    assert_same_history(parts, advance_to(12.0))


def coprime(tick: float) -> list[Declared]:
    return [
        Declared(PUBLISH, PERIODIC, 3 * tick, tick),
        Declared(DISCRETE, PERIODIC, 7 * tick, 0.0),
        Declared(UNRESTRICTED, PERIODIC, 11 * tick, 2 * tick),
    ]


@CONTINUOUS
def test_coprime_periods_with_offsets(continuous: bool) -> None:
    assert_same_history([("a", coprime(2.0**-7), continuous)], advance_to(6.5))


@CONTINUOUS
def test_coprime_periods_of_which_floats_have_no_multiples_happen_in_the_same_order(continuous: bool) -> None:
    parts = [("a", coprime(0.01), continuous)]
    ours, theirs = (rounded(history(library, parts, advance_to(7.0))) for library in (OURS, THEIRS))
    assert ours[:-1] == theirs[:-1]
    (end, num_steps, *counts), (other_end, other_num_steps, *other_counts) = ours[-1], theirs[-1]
    assert (end, counts) == (other_end, other_counts)
    assert num_steps < other_num_steps  # pydrake's clocks that strike together miss each other by rounding, with a step


def test_a_millisecond_clock_keeps_its_exact_times() -> None:
    assert_same_history([("a", [Declared(DISCRETE, PERIODIC, 1e-3)], False)], advance_to(2.0))


@CONTINUOUS
def test_split_advances_and_pending_events(continuous: bool) -> None:
    def drive(lib: Any, simulator: Any, log: list[Any]) -> None:
        for time in (0.1, 0.125, 0.5, 0.6):
            simulator.AdvanceTo(time)
            log.append("advanced")
            simulator.AdvancePendingEvents()
            log.append("pending")

    assert_same_history([("a", SAMPLED, continuous)], drive)
    assert_same_history([("a", ALL_TRIGGERS + SAMPLED, continuous)], drive)


@CONTINUOUS
@pytest.mark.parametrize("trigger", [INITIALIZATION, PER_STEP, PERIODIC])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outcome", ["ReachedTermination", "Failed"])
def test_status_of_a_handler(outcome: str, kind: str, trigger: str, continuous: bool) -> None:
    def status(framework: Any, context: Any) -> Any:
        late = context.get_time() >= 0.25
        return getattr(framework.EventStatus, outcome)(None, "enough") if late else None

    def drive(lib: Any, simulator: Any, log: list[Any]) -> None:
        if trigger == INITIALIZATION:
            simulator.get_mutable_context().SetTime(0.25)
            advance_to(0.5)(lib, simulator, log)  # going on from there, pydrake loses the updates at 0.25 s
        else:
            advance_to(0.5, 0.75)(lib, simulator, log)

    events = [Declared(kind, trigger, 0.125, 0.0, status), *SAMPLED]
    assert_same_history([("a", events, continuous), ("b", SAMPLED, False)], drive)


@pytest.mark.parametrize("kind", KINDS)
def test_handlers_that_did_nothing_are_not_counted(kind: str) -> None:
    def nothing(framework: Any, context: Any) -> Any:
        return framework.EventStatus.DidNothing() if context.get_time() > 0.3 else framework.EventStatus.Succeeded()

    def drive(lib: Any, simulator: Any, log: list[Any]) -> None:
        advance_to(1.0)(lib, simulator, log)
        log.clear()  # what such a handler has written counts in neither library; only the statistics do here

    ours = history(OURS, [("a", [Declared(kind, PERIODIC, 0.125, 0.0, nothing)], False)], drive)
    theirs = history(THEIRS, [("a", [Declared(kind, PERIODIC, 0.125, 0.0, nothing)], False)], drive)
    assert ours == theirs


@pytest.mark.parametrize("start", [0.0, 0.25])
@pytest.mark.parametrize("outcome", ["ReachedTermination", "Failed", "Succeeded"])
def test_monitor(outcome: str, start: float) -> None:
    def drive(lib: Any, simulator: Any, log: list[Any]) -> None:
        def monitor(context: Any) -> Any:
            log.append(("monitor", context.get_time()))
            status = lib.framework.EventStatus
            if outcome == "Succeeded":
                return status.Succeeded()
            return getattr(status, outcome)(None, "seen enough") if context.get_time() >= start else None

        simulator.set_monitor(monitor)
        advance_to(0.5, 0.75)(lib, simulator, log)

    assert_same_history([("a", ALL_TRIGGERS + SAMPLED, False)], drive)


@pytest.mark.filterwarnings("ignore")  # pydrake deprecates these two settings
def test_forced_publish_at_initialization_and_every_step() -> None:
    def drive(lib: Any, simulator: Any, log: list[Any]) -> None:
        simulator.set_publish_at_initialization(True)
        simulator.set_publish_every_time_step(True)
        advance_to(0.5)(lib, simulator, log)

    assert_same_history([("a", [Declared(PUBLISH, FORCED), *SAMPLED], True)], drive)


@pytest.mark.parametrize("start", [0.125, 0.2, 1 / 3, 1e3 + 0.1, 1e3 + 0.125])
def test_initialize_at_a_later_time(start: float) -> None:
    # At 1e3 + 0.9, pydrake misses the event by rounding.
    end = start + (0.8 if start != 1e3 + 0.1 else 0.79)

    def drive(lib: Any, simulator: Any, log: list[Any]) -> None:
        simulator.get_mutable_context().SetTime(start)
        simulator.Initialize()
        log.append("initialized")
        advance_to(end)(lib, simulator, log)

    events = [
        *ALL_TRIGGERS,
        *SAMPLED,
        Declared(PUBLISH, PERIODIC, 0.1, 0.0),
        Declared(PUBLISH, PERIODIC, 1 / 3),
    ]
    assert_same_history([("a", events, False)], drive)


def test_time_changed_behind_the_simulators_back_is_refused() -> None:
    def drive(lib: Any, simulator: Any, log: list[Any]) -> None:
        simulator.AdvanceTo(0.3)
        simulator.get_mutable_context().SetTime(0.4)
        simulator.AdvanceTo(0.6)

    assert_same_history([("a", SAMPLED, False)], drive)


def test_initialization_after_a_change_of_time_schedules_again() -> None:
    def drive(lib: Any, simulator: Any, log: list[Any]) -> None:
        simulator.AdvanceTo(0.3)
        for time in (0.1, 0.5):
            simulator.get_mutable_context().SetTime(time)
            simulator.Initialize(lib.analysis.InitializeParams(suppress_initialization_events=time > 0.3))
            simulator.AdvanceTo(time + 0.3)

    assert_same_history([("a", ALL_TRIGGERS + SAMPLED, False)], drive)


def test_adaptive_steps_are_the_same() -> None:
    times: list[list[float]] = [[], []]
    summaries = []
    for lib, seen in zip((OURS, THEIRS), times, strict=True):
        simulator = lib.analysis.Simulator(van_der_pol(lib.framework))
        simulator.get_mutable_context().SetContinuousState([2.0, 0.0])
        simulator.get_mutable_integrator().set_maximum_step_size(10.0)
        simulator.set_monitor(lambda context, seen=seen: seen.append(context.get_time()))
        simulator.AdvanceTo(8.0)
        summaries.append(dict(simulator.get_integrator().GetStatisticsSummary()))
    assert len(times[0]) > 50
    np.testing.assert_allclose(times[0], times[1], rtol=1e-9)  # the sums are rounded differently
    ours, theirs = summaries
    # A step that is repeated starts from the same derivatives: we do not compute them again.
    ours["integrator_num_derivative_evaluations"] += ours["integrator_num_step_shrinkages_from_error_control"]
    assert ours["integrator_num_step_shrinkages_from_error_control"] > 0
    assert list(ours) == list(theirs)
    np.testing.assert_allclose(list(ours.values()), list(theirs.values()), rtol=1e-9)


def van_der_pol(framework: Any) -> Any:
    class VanDerPol(framework.LeafSystem):
        def __init__(self) -> None:
            framework.LeafSystem.__init__(self)
            self.DeclareContinuousState(1, 1, 0)

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            q, v = context.get_continuous_state_vector().CopyToVector()
            derivatives.get_mutable_vector().SetFromVector([v, 5.0 * (1.0 - q * q) * v - q])

    return VanDerPol()


def pendulum_with_sampled_control(lib: Any) -> Any:
    """A pendulum, continuous, under a controller that samples at 20 Hz and holds."""

    class Pendulum(lib.framework.LeafSystem):
        def __init__(self) -> None:
            lib.framework.LeafSystem.__init__(self)
            self.DeclareVectorInputPort("u", 1)
            self.DeclareStateOutputPort("x", self.DeclareContinuousState(1, 1, 0))

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            q, v = context.get_continuous_state_vector().CopyToVector()
            u = self.get_input_port(0).Eval(context)[0]
            derivatives.get_mutable_vector().SetFromVector([v, -9.81 * np.sin(q) - 0.1 * v + u])

    class Controller(lib.framework.LeafSystem):
        def __init__(self) -> None:
            lib.framework.LeafSystem.__init__(self)
            self.DeclareVectorInputPort("x", 2)
            self.DeclareStateOutputPort("u", self.DeclareDiscreteState(1))
            self.DeclarePeriodicDiscreteUpdateEvent(0.05, 0.01, self._update)

        def _update(self, context: Any, discrete_state: Any) -> None:
            q, v = self.get_input_port(0).Eval(context)
            discrete_state.set_value(0, [9.81 * np.sin(q) - 4.0 * (q - 1.0) - 3.0 * v])

    builder = lib.framework.DiagramBuilder()
    pendulum, controller = builder.AddSystem(Pendulum()), builder.AddSystem(Controller())
    builder.Connect(pendulum.get_output_port(0), controller.get_input_port(0))
    builder.Connect(controller.get_output_port(0), pendulum.get_input_port(0))
    return builder.Build()


def test_sampled_control_of_a_continuous_plant() -> None:
    states = []
    for lib in (OURS, THEIRS):
        simulator = lib.analysis.Simulator(pendulum_with_sampled_control(lib))
        simulator.get_mutable_context().SetContinuousState([0.3, 0.0])
        simulator.AdvanceTo(2.0)
        states.append(simulator.get_context().get_continuous_state_vector().CopyToVector())
    assert abs(states[0][0] - 1.0) < 0.2  # it has swung up
    np.testing.assert_allclose(states[0], states[1], rtol=1e-12)


@pytest.mark.parametrize("accuracy", [1e-2, 1e-4, 1e-6])
def test_accuracy_costs_no_more_than_in_drake(accuracy: float) -> None:
    """Comparable error for no more than twice the evaluations, against a solution at accuracy 1e-10."""

    def solve(lib: Any, accuracy: float) -> tuple[np.ndarray, int]:
        simulator = lib.analysis.Simulator(van_der_pol(lib.framework))
        simulator.get_mutable_context().SetContinuousState([2.0, 0.0])
        integrator = simulator.get_mutable_integrator()
        integrator.set_target_accuracy(accuracy)
        simulator.AdvanceTo(3.0)
        state = simulator.get_context().get_continuous_state_vector().CopyToVector()
        return state, integrator.get_num_derivative_evaluations()

    exact, _ = solve(THEIRS, 1e-10)
    (x, cost), (x_drake, cost_drake) = solve(OURS, accuracy), solve(THEIRS, accuracy)
    assert np.abs(x - exact).max() <= 10.0 * np.abs(x_drake - exact).max()
    assert cost <= 2 * cost_drake


# ---------------------------------------------------------------------- linearization and regulators


def affine(lib: Any, rng: np.random.Generator, period: float = 0.0) -> Any:
    A, B, C, D = (rng.standard_normal(shape) for shape in ((3, 3), (3, 2), (2, 3), (2, 2)))
    return lib.primitives.AffineSystem(A, B, rng.standard_normal(3), C, D, rng.standard_normal(2), period)


@pytest.mark.parametrize("period", [0.0, 0.1])
def test_taylor_approximation_of_a_diagram_of_built_in_blocks(period: float) -> None:
    """An affine system behind a gain and with its output fed back through another gain."""

    def approximate(lib: Any) -> list[np.ndarray]:
        rng = np.random.default_rng(5)
        builder = lib.framework.DiagramBuilder()
        plant = builder.AddSystem(affine(lib, rng, period))
        adder = builder.AddSystem(lib.primitives.Adder(2, 2))
        gain = builder.AddSystem(lib.primitives.Gain(0.3, 2))
        D = np.array([[1.0, 0.0], [0.5, 2.0]])
        if period:  # pydrake takes one discrete group only
            other = builder.AddSystem(lib.primitives.Gain(0.5, 2))
        else:
            other = builder.AddSystem(lib.primitives.LinearSystem(-np.eye(2), np.eye(2), np.eye(2), D))
        builder.Connect(other.get_output_port(0), adder.get_input_port(0))
        builder.Connect(gain.get_output_port(0), adder.get_input_port(1))
        builder.Connect(adder.get_output_port(0), plant.get_input_port(0))
        builder.ExportInput(other.get_input_port(0), "u")
        builder.ExportInput(gain.get_input_port(0), "w")
        builder.ExportOutput(plant.get_output_port(0), "y")
        diagram = builder.Build()
        context = diagram.CreateDefaultContext()
        diagram.get_input_port(0).FixValue(context, [1.0, 2.0])
        diagram.get_input_port(1).FixValue(context, [-1.0, 0.5])
        found = lib.primitives.FirstOrderTaylorApproximation(
            diagram, context, diagram.get_input_port(1).get_index(), diagram.get_output_port(0).get_index()
        )
        return [
            found.A(),
            found.B(),
            found.f0(),
            found.C(),
            found.D(),
            found.y0(),
            np.array(found.time_period()),
        ]

    for ours, theirs in zip(approximate(OURS), approximate(THEIRS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-13)


def test_linearization_of_a_pendulum_plant() -> None:
    """The closed form of a pendulum, as a Python system here and as a multibody plant in pydrake."""
    from pydrake.examples import PendulumPlant

    class Pendulum(merganser.framework.LeafSystem):
        def __init__(self) -> None:
            super().__init__()
            self.DeclareVectorInputPort("tau", 1)
            self.DeclareStateOutputPort("state", self.DeclareContinuousState(1, 1, 0))

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            theta, omega = context.get_continuous_state_vector().CopyToVector()
            tau = self.get_input_port().Eval(context)[0]
            m, l, b, g = 1.0, 0.5, 0.1, 9.81
            alpha = (tau - m * g * l * np.sin(theta) - b * omega) / (m * l * l)
            derivatives.SetFromVector([omega, alpha])

    def linearize(lib: Any, plant: Any, u_port: Any) -> Any:
        context = plant.CreateDefaultContext()
        context.SetContinuousState([2.0, 0.0])
        u_port.FixValue(context, [9.81 * 0.5 * np.sin(2.0)])
        return lib.primitives.Linearize(plant, context)

    mine = Pendulum()
    theirs = PendulumPlant()
    ours_linear = linearize(OURS, mine, mine.get_input_port(0))
    theirs_linear = linearize(THEIRS, theirs, theirs.get_input_port(0))
    for matrix in "ABCD":
        expected = getattr(theirs_linear, matrix)()
        np.testing.assert_allclose(getattr(ours_linear, matrix)(), expected, atol=1e-13)


def random_problem(seed: int, discrete: bool = False) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((5, 5)) / (2.0 if discrete else 1.0)
    B, N = rng.standard_normal((5, 2)), 0.1 * rng.standard_normal((5, 2))
    return A, B, np.diag(rng.uniform(1, 2, 5)), np.diag(rng.uniform(1, 2, 2)), N


@pytest.mark.parametrize("seed", range(3))
def test_regulators_of_matrices(seed: int) -> None:
    A, B, Q, R, N = random_problem(seed)
    for keywords in ({}, {"N": N}, {"N": N, "F": np.array([[1.0, -1.0, 0.0, 0.0, 0.0]])}):
        ours = OURS.controllers.LinearQuadraticRegulator(A=A, B=B, Q=Q, R=R, **keywords)
        theirs = THEIRS.controllers.LinearQuadraticRegulator(A=A, B=B, Q=Q, R=R, **keywords)
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-9)
        np.testing.assert_allclose(ours[1], theirs[1], atol=1e-9)
    A, B, Q, R, N = random_problem(seed, discrete=True)
    ours = OURS.controllers.DiscreteTimeLinearQuadraticRegulator(A=A, B=B, Q=Q, R=R, N=N)
    theirs = THEIRS.controllers.DiscreteTimeLinearQuadraticRegulator(A=A, B=B, Q=Q, R=R, N=N)
    np.testing.assert_allclose(ours[0], theirs[0], atol=1e-9)
    np.testing.assert_allclose(ours[1], theirs[1], atol=1e-9)


@pytest.mark.parametrize("period", [0.0, 0.1])
def test_regulators_of_systems(period: float) -> None:
    A, B, Q, R, N = random_problem(7, discrete=True)

    def regulators(lib: Any) -> list[Any]:
        system = lib.primitives.LinearSystem(A, B, np.eye(5), np.zeros((5, 2)), period)
        context = system.CreateDefaultContext()
        equilibrium = np.linalg.solve(A - (np.eye(5) if period else 0.0), -B @ [1.0, -2.0])
        if period:
            context.SetDiscreteState(equilibrium)
        else:
            context.SetContinuousState(equilibrium)
        system.get_input_port(0).FixValue(context, [1.0, -2.0])
        make = lib.controllers.LinearQuadraticRegulator
        linear = make(system=system, Q=Q, R=R, N=N)
        affine = make(system=system, context=context, Q=Q, R=R, N=N, input_port_index=0)
        return [linear.D(), affine.D(), affine.y0(), linear.time_period(), affine.time_period()]

    for ours, theirs in zip(regulators(OURS), regulators(THEIRS), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("has_offsets", [False, True])
def test_discrete_time_approximation(has_offsets):
    rng = np.random.default_rng(8)
    A, B, C, D = (rng.normal(size=shape) for shape in ((3, 3), (3, 2), (1, 3), (1, 2)))
    f0, y0 = rng.normal(size=3), rng.normal(size=1)
    found = []
    for analyses, blocks in (
        (merganser.analysis, merganser.framework.primitives),
        (pydrake.systems.analysis, pydrake.systems.primitives),
    ):
        if has_offsets:
            system = blocks.AffineSystem(A, B, f0, C, D, y0)
        else:
            system = blocks.LinearSystem(A, B, C, D)
        result = analyses.DiscreteTimeApproximation(system, 0.3)
        assert type(result) is type(system) and result.time_period() == 0.3
        found.append([result.A(), result.B(), result.f0(), result.C(), result.D(), result.y0()])
    for mine, theirs in zip(*found):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-13)
