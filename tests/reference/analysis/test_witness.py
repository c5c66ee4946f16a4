"""Witness functions in merganser and pydrake: the same events in the same order at the same times."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from bouncing_ball import bounce_times, make_ball

pytest.importorskip("pydrake", reason="compares with pydrake (extra `reference`)")
import pydrake.systems.analysis
import pydrake.systems.framework

import merganser.analysis
import merganser.framework

pytestmark = pytest.mark.reference

OURS = SimpleNamespace(framework=merganser.framework, analysis=merganser.analysis)
THEIRS = SimpleNamespace(framework=pydrake.systems.framework, analysis=pydrake.systems.analysis)
# pydrake isolates to a share of the accuracy of the context; it does not isolate at all if none is set.
ACCURACY = 1e-12
DIRECTIONS = ("kNone", "kPositiveThenNonPositive", "kNegativeThenNonNegative", "kCrossesZero")
KINDS = ("PublishEvent", "UnrestrictedUpdateEvent")  # pydrake cannot make discrete update events


def simulator_of(lib: Any, system: Any, x: list[float] | None = None) -> Any:
    simulator = lib.analysis.Simulator(system)
    context = simulator.get_mutable_context()
    context.SetAccuracy(ACCURACY)
    if x is not None:
        context.SetContinuousState(x)
    integrator = simulator.get_mutable_integrator()
    integrator.set_fixed_step_mode(True)
    integrator.set_maximum_step_size(0.01)
    simulator.Initialize()
    return simulator


def make_oscillator(lib: Any, log: list[Any], name: str, phase: float) -> Any:
    """x = sin(t + phase) by integration, watched in all directions for all kinds of events, besides periodic ones."""
    framework = lib.framework

    class Oscillator(framework.LeafSystem):
        def __init__(self) -> None:
            framework.LeafSystem.__init__(self)
            self.set_name(name)
            model = framework.BasicVector([math.sin(phase), math.cos(phase)])
            self.DeclareContinuousState(model, 1, 1, 0)
            self.DeclareDiscreteState(1)
            self.DeclarePeriodicDiscreteUpdateEvent(0.5, 0.0, self._count)
            self._witnesses = [self._make(direction, kind) for direction in DIRECTIONS for kind in KINDS]

        def _make(self, direction: str, kind: str) -> Any:
            def note(context: Any, event: Any, *changes: Any) -> None:
                count = context.get_discrete_state_vector().GetAtIndex(0)
                trigger = str(event.get_trigger_type()).split(".")[-1]
                log.append((name, direction, kind, trigger, count, context.get_time()))

            return self.MakeWitnessFunction(
                f"{direction} {kind}",
                getattr(framework.WitnessFunctionDirection, direction),
                lambda context: context.get_continuous_state_vector().GetAtIndex(0),
                getattr(framework, kind)(callback=note),
            )

        def _count(self, context: Any, values: Any) -> None:
            values.set_value(0, [context.get_discrete_state_vector().GetAtIndex(0) + 1.0])

        def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
            return self._witnesses

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            x = context.get_continuous_state_vector()
            derivatives.get_mutable_vector().SetFromVector([x.GetAtIndex(1), -x.GetAtIndex(0)])

    return Oscillator()


def oscillations(lib: Any, phases: dict[str, float]) -> tuple[list[Any], Any]:
    log: list[Any] = []
    builder = lib.framework.DiagramBuilder()
    for name, phase in phases.items():
        builder.AddSystem(make_oscillator(lib, log, name, phase))
    simulator = simulator_of(lib, builder.Build())
    simulator.AdvanceTo(10.0)
    return log, simulator


@pytest.mark.parametrize("phases", [{"a": 0.3}, {"a": 0.3, "b": 1.1}, {"late": 0.3, "early": 0.301}])
def test_events_of_all_kinds_and_directions_have_the_same_order_and_times(
    phases: dict[str, float],
) -> None:
    (ours, simulator), (theirs, reference) = oscillations(OURS, phases), oscillations(THEIRS, phases)
    assert len(ours) >= 12 * len(phases)
    assert [entry[:5] for entry in ours] == [entry[:5] for entry in theirs]
    np.testing.assert_allclose([e[5] for e in ours], [e[5] for e in theirs], rtol=0.0, atol=1e-10)
    for count in ("publishes", "discrete_updates", "unrestricted_updates"):
        name = f"get_num_{count}"
        assert getattr(simulator, name)() == getattr(reference, name)()


def test_simultaneous_witness_functions_of_two_systems_come_together_in_both() -> None:
    same = {"a": 0.3, "b": 0.3}
    (ours, simulator), (theirs, reference) = oscillations(OURS, same), oscillations(THEIRS, same)
    assert [entry[:5] for entry in ours] == [entry[:5] for entry in theirs]
    assert simulator.get_num_unrestricted_updates() == reference.get_num_unrestricted_updates() == 3


def test_a_ball_bounces_at_the_same_times() -> None:
    logs: list[list[float]] = [[], []]
    for lib, log in zip((OURS, THEIRS), logs, strict=True):
        simulator_of(lib, make_ball(lib.framework, 0.8, log=log), [10.0, 0.0]).AdvanceTo(10.0)
    np.testing.assert_allclose(logs[0], logs[1], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(logs[0], bounce_times(10.0, 0.8, 7), rtol=0.0, atol=1e-10)


def test_diagrams_collect_the_same_witness_functions() -> None:
    for lib in (OURS, THEIRS):
        builder = lib.framework.DiagramBuilder()
        builder.AddSystem(make_oscillator(lib, [], "a", 0.0))
        builder.AddSystem(make_ball(lib.framework))
        diagram = builder.Build()
        assert len(diagram.GetWitnessFunctions(diagram.CreateDefaultContext())) == 9


def described(config: Any) -> str:
    """The settings, without the one that only this package has."""
    return repr(config).replace(", use_native_plan=True", "")


def test_the_settings_of_a_simulator_are_the_same() -> None:
    for scheme in ("runge_kutta2", "runge_kutta3"):
        configs = []
        for lib in (OURS, THEIRS):
            simulator = lib.analysis.Simulator(make_ball(lib.framework))
            config = lib.analysis.SimulatorConfig(
                integration_scheme=scheme, max_step_size=0.02, accuracy=1e-5, start_time=2.0, target_realtime_rate=0.5
            )
            lib.analysis.ApplySimulatorConfig(config=config, simulator=simulator)
            configs.append(described(lib.analysis.ExtractSimulatorConfig(simulator=simulator)))
            assert simulator.get_context().get_time() == 2.0
        assert configs[0] == configs[1]
    assert described(OURS.analysis.SimulatorConfig()) == described(THEIRS.analysis.SimulatorConfig())
    assert set(THEIRS.analysis.GetIntegrationSchemes()) <= set(OURS.analysis.GetIntegrationSchemes())
