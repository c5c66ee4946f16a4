"""Settings of simulators as data, integrators by name, and printed statistics."""

from __future__ import annotations

import json
import math

import pytest
from bouncing_ball import make_ball

import merganser.framework as framework
from merganser.analysis import (
    ApplySimulatorConfig,
    ExtractSimulatorConfig,
    GetIntegrationSchemes,
    PrintSimulatorStatistics,
    ResetIntegratorFromFlags,
    Simulator,
    SimulatorConfig,
)


def ball_simulator() -> Simulator:
    return Simulator(make_ball(framework))


def test_the_default_settings_are_those_of_a_new_simulator() -> None:
    assert ExtractSimulatorConfig(ball_simulator()) == SimulatorConfig()


@pytest.mark.parametrize("scheme", sorted(set(GetIntegrationSchemes()) - {"cenic"}))  # which moves plants
@pytest.mark.parametrize("use_error_control", [False, True])
def test_settings_come_back_as_they_were_applied(scheme: str, use_error_control: bool) -> None:
    simulator = ball_simulator()
    config = SimulatorConfig(
        integration_scheme=scheme,
        max_step_size=0.05,
        accuracy=1e-6,
        use_error_control=use_error_control,
        start_time=3.0,
        target_realtime_rate=0.5,
        publish_every_time_step=True,
    )
    ApplySimulatorConfig(config, simulator)
    extracted = ExtractSimulatorConfig(simulator)
    if not simulator.get_integrator().supports_error_estimation():
        config.accuracy, config.use_error_control = 0.0, False
    assert extracted == config
    assert simulator.get_context().get_time() == 3.0
    assert simulator.get_publish_every_time_step()


def test_a_configured_simulator_starts_at_its_start_time_and_keeps_to_its_steps() -> None:
    simulator = ball_simulator()
    config = SimulatorConfig(integration_scheme="runge_kutta2", max_step_size=0.25, start_time=1.0)
    ApplySimulatorConfig(config, simulator)
    simulator.get_mutable_context().SetContinuousState([100.0, 0.0])
    simulator.AdvanceTo(2.0)
    assert simulator.get_num_steps_taken() == 4
    assert simulator.get_context().get_continuous_state_vector()[0] == pytest.approx(100.0 - 0.5 * 9.81)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"integration_scheme": "runge_kuta3"}, "integration scheme 'runge_kuta3'.*runge_kutta3"),
        ({"max_step_size": 0.0}, "max_step_size must be positive"),
        ({"accuracy": math.nan}, "accuracy must be positive, got nan"),
        ({"accuracy": 0.0}, "accuracy must be positive, got 0.0"),
        ({"start_time": math.nan}, "start_time must be finite"),
        ({"target_realtime_rate": math.nan}, "target_realtime_rate"),
    ],
)
def test_settings_out_of_range_are_refused_and_change_nothing(change: dict[str, float], message: str) -> None:
    simulator = ball_simulator()
    integrator = simulator.get_integrator()
    with pytest.raises(ValueError, match=message):
        ApplySimulatorConfig(SimulatorConfig(**change), simulator)  # type: ignore[arg-type]
    assert simulator.get_integrator() is integrator
    assert ExtractSimulatorConfig(simulator) == SimulatorConfig()


def test_an_integrator_can_be_chosen_by_name() -> None:
    simulator = ball_simulator()
    integrator = ResetIntegratorFromFlags(simulator=simulator, scheme="runge_kutta2", max_step_size=0.01)
    assert simulator.get_integrator() is integrator
    assert type(integrator).__name__ == "RungeKutta2Integrator" and integrator.get_maximum_step_size() == 0.01


def test_statistics_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    simulator = ball_simulator()
    PrintSimulatorStatistics(simulator)
    assert "RungeKutta3Integrator with error control took no steps" in capsys.readouterr().out
    simulator.get_mutable_context().SetContinuousState([1.0, 0.0])
    simulator.AdvanceTo(0.5)
    PrintSimulatorStatistics(simulator)
    out = capsys.readouterr().out
    assert f"steps: {simulator.get_num_steps_taken()}\n" in out
    assert "unrestricted updates: 1\n" in out
    numbers = json.loads(out[out.index("{") :])
    assert numbers["integrator_num_steps_taken"] == simulator.get_integrator().get_num_steps_taken()
