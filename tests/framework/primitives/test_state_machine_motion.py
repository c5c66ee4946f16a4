"""State machines with laws of motion in their states: closed forms, and all ways of computing them."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from merganser.analysis import RungeKutta5Integrator, Simulator, SimulatorStatus
from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.native import native
from merganser.framework.primitives import Guard, LogVectorOutput, Ramp, StateMachine, StateMachine_
from merganser.framework.symbolic import Variable

RATE, HOT, COLD, LOW, HIGH = 0.5, 40.0, 5.0, 19.0, 21.0


@native
def warming(T: Any, rate: Any) -> None:
    """dT/dt with the heater on."""
    rate[0] = -0.5 * (T[0] - 40.0)


@native
def cooling(T: Any, time_in_state: Any, rate: Any) -> None:
    """dT/dt with the heater off."""
    rate[0] = -0.5 * (T[0] - 5.0) + 0.0 * time_in_state[0]


def counted(count: Any) -> Any:
    return count + 1.0


def thermostat(kind: str) -> StateMachine:
    """A room with a heater, written in one of the forms of laws."""
    T = Variable("T")
    flows: dict[str, Any] = {
        "functions": (lambda T: -RATE * (T - HOT), lambda T: -RATE * (T - COLD)),
        "native functions": (warming, cooling),
        "expressions": (-RATE * (T - HOT), -RATE * (T - COLD) + 0.0 * Variable("time_in_state")),
    }
    guards = (T >= HIGH, T <= LOW) if kind == "expressions" else (Guard.at_least("T", HIGH), Guard.at_most("T", LOW))
    machine = StateMachine("room", continuous={"T": 15.0}, variables={"count": 0.0}, outputs={"heater": 1, "since": 1})
    warm = machine.AddState(
        "heating", initial=True, flow={"T": flows[kind][0]}, outputs={"heater": 1.0}, entry={"count": counted}
    )
    idle = machine.AddState("idle", flow={"T": flows[kind][1]}, outputs={"since": "time_in_state"})
    machine.AddTransition(warm, idle, when=guards[0])
    machine.AddTransition(idle, warm, when=guards[1])
    machine.Finalize()
    return machine


KINDS = ("functions", "native functions", "expressions")


@pytest.mark.parametrize("kind", KINDS)
def test_a_thermostat_has_the_period_of_its_exponentials(kind: str) -> None:
    machine = thermostat(kind)
    simulator = Simulator(machine)
    context = simulator.get_mutable_context()
    simulator.reset_integrator(RungeKutta5Integrator(machine, context)).set_target_accuracy(1e-12)
    start = math.log((HOT - 15.0) / (HOT - HIGH)) / RATE
    up, down = math.log((HOT - LOW) / (HOT - HIGH)) / RATE, math.log((HIGH - COLD) / (LOW - COLD)) / RATE
    simulator.AdvanceTo(6.0)
    rounds, rest = divmod(6.0 - start, up + down)
    assert context.get_discrete_state(0)[0] == 1.0 + rounds + (rest > down)
    state, expected = ("idle", rest) if rest <= down else ("heating", rest - down)
    assert machine.GetActiveStates(context) == [state]
    assert machine.GetTimeInState(context, state) == pytest.approx(expected, abs=1e-9)
    begin, towards = (HIGH, COLD) if rest <= down else (LOW, HOT)
    T = towards + (begin - towards) * math.exp(-RATE * expected)
    assert machine.GetOutputPort("T").Eval(context)[0] == pytest.approx(T, abs=1e-9)


def test_all_forms_of_laws_give_the_same_compiled_and_interpreted() -> None:
    found = []
    for kind in KINDS:
        for use_plan in (False, True):
            builder = DiagramBuilder()
            machine = builder.AddSystem(thermostat(kind))
            names = ("active", "T", "count", "heater", "since")
            logs = [LogVectorOutput(machine.GetOutputPort(name), builder) for name in names]
            logs.append(LogVectorOutput(machine.GetOutputPort("T"), builder, 0.03))
            simulator = Simulator(builder.Build())
            simulator.set_use_native_plan(use_plan, at_once=use_plan)
            simulator.AdvanceTo(2.5)
            samples = [log.FindLog(simulator.get_context()) for log in logs]
            found.append([(each.sample_times().tolist(), each.data().tolist()) for each in samples])
    assert all(each == found[0] for each in found[1:])
    assert found[0][2][1][0][-1] > 3.0


def test_other_scalars_compute_the_flow_of_the_active_state() -> None:
    for kind in KINDS:
        machine = thermostat(kind)
        machine_ad = machine.ToAutoDiffXd()
        assert isinstance(machine_ad, StateMachine_[AutoDiffXd])
        context = machine_ad.CreateDefaultContext()
        context.SetContinuousState([AutoDiffXd(20.0, [1.0])])
        for state, equilibrium in (("idle", COLD), ("heating", HOT)):
            machine_ad.SetActiveState(context, state)
            (rate,) = machine_ad.EvalTimeDerivatives(context).get_vector().value()
            assert (rate.value(), rate.derivatives().tolist()) == (-RATE * (20.0 - equilibrium), [-RATE])
        machine_symbolic = machine.ToSymbolic()
        context = machine_symbolic.CreateDefaultContext()
        context.SetContinuousState([Variable("T")])
        (rate,) = machine_symbolic.EvalTimeDerivatives(context).get_vector().value()
        (variable,) = rate.GetVariables()
        assert rate.Evaluate({variable: 17.0}) == -RATE * (17.0 - HOT)


def test_gradients_go_through_a_transition_by_a_time_out() -> None:
    machine = StateMachine("m", continuous={"x": 1.0})
    machine.AddState("a", initial=True, flow={"x": lambda x: -x})
    machine.AddState("b", flow={"x": lambda x: 2.0 * x})
    machine.AddTransition("a", "b", when=Guard.after(0.5), action={"x": lambda x: x * x})
    machine.Finalize()
    simulator = Simulator(machine.ToAutoDiffXd())
    simulator.get_mutable_integrator().set_target_accuracy(1e-7)
    simulator.get_mutable_context().SetContinuousState([AutoDiffXd(3.0, [1.0])])
    simulator.AdvanceTo(0.8)
    (x,) = simulator.get_context().get_continuous_state_vector().value()
    # x = (3 exp(-0.5))^2 exp(0.6), and dx/dx0 = 2 x / x0.
    assert x.value() == pytest.approx(9.0 * math.exp(-0.4), rel=1e-6)
    assert x.derivatives()[0] == pytest.approx(6.0 * math.exp(-0.4), rel=1e-6)


# ---------------------------------------------------------------------- a hopper: flight and stance

GRAVITY, LEG, MASS, STIFFNESS = 9.81, 1.0, 2.0, 4000.0


def hopper(push: float = 0.0) -> StateMachine:
    """A mass on a massless leg with a spring, hopping upright; `push` is added to its speed as it takes off [m/s]."""
    machine = StateMachine("hopper", continuous={"y": 1.3, "v": 0.0}, variables={"hops": 0.0})
    stance_rate = STIFFNESS / MASS
    flight = machine.AddState("flight", initial=True, flow={"y": "v", "v": -GRAVITY})
    stance = machine.AddState("stance", flow={"y": "v", "v": lambda y: stance_rate * (LEG - y) - GRAVITY})
    machine.AddTransition(flight, stance, when=Guard.falls_through("y", LEG))
    machine.AddTransition(
        stance, flight, when=Guard.rises_through("y", LEG),
        action={"hops": lambda hops: hops + 1.0, "v": lambda v: v + push},
    )  # fmt: skip
    machine.Finalize()
    return machine


def energy(y: Any, v: Any) -> Any:
    return MASS * (0.5 * v * v + GRAVITY * y) + 0.5 * STIFFNESS * np.clip(LEG - y, 0.0, None) ** 2


def test_a_hopper_keeps_its_energy_and_has_the_period_of_its_parabola_and_its_sine() -> None:
    machine = hopper()
    simulator = Simulator(machine)
    context = simulator.get_mutable_context()
    simulator.reset_integrator(RungeKutta5Integrator(machine, context)).set_target_accuracy(1e-12)
    speed, omega = math.sqrt(2.0 * GRAVITY * 0.3), math.sqrt(STIFFNESS / MASS)
    fall = speed / GRAVITY
    # In stance y - rest = -(g / w^2) is the middle of a sine; it takes off where it has touched down.
    contact = (math.pi + 2.0 * math.atan(GRAVITY / (omega * speed))) / omega
    period = 2.0 * fall + contact
    simulator.AdvanceTo(3.0 * period)
    y, v = context.get_continuous_state_vector().value()
    assert context.get_discrete_state(0)[0] == 3.0 and machine.GetActiveStates(context) == ["flight"]
    assert y == pytest.approx(1.3, abs=1e-9) and v == pytest.approx(0.0, abs=2e-8)
    assert energy(y, v) == pytest.approx(energy(1.3, 0.0), rel=1e-9)
    assert machine.GetTimeInState(context, "flight") == pytest.approx(fall, abs=2e-9)


def test_a_push_at_take_off_is_the_work_that_the_energy_rises_by() -> None:
    machine = hopper(0.5)
    simulator = Simulator(machine)
    simulator.get_mutable_integrator().set_target_accuracy(1e-7)
    simulator.AdvanceTo(0.9)
    y, v = simulator.get_context().get_continuous_state_vector().value()
    speed = math.sqrt(2.0 * GRAVITY * 0.3)
    assert energy(y, v) == pytest.approx(energy(1.0, speed + 0.5), rel=1e-6)


def bouncing_ball() -> StateMachine:
    machine = StateMachine("ball", continuous={"y": 1.0, "v": 0.0}, variables={"bounces": 0.0})
    air = machine.AddState("air", initial=True, flow={"y": "v", "v": -GRAVITY})
    bounce = {"v": lambda v: -0.5 * v, "bounces": lambda bounces: bounces + 1.0}
    machine.AddTransition(air, None, when=Guard.falls_through("y"), action=bounce)
    machine.Finalize()
    return machine


def test_an_action_without_target_keeps_the_state_and_its_time() -> None:
    machine = bouncing_ball()
    simulator = Simulator(machine)
    first = math.sqrt(2.0 / GRAVITY)
    simulator.AdvanceTo(1.5 * first)  # at the top of the first bounce, of half the time up
    context = simulator.get_context()
    y, v = context.get_continuous_state_vector().value()
    assert y == pytest.approx(0.25, abs=1e-9) and v == pytest.approx(0.0, abs=1e-8)
    assert machine.GetTimeInState(context, "air") == context.get_time()
    assert context.get_discrete_state(0)[0] == 1.0


@pytest.mark.parametrize("use_plan", [False, True])
def test_bounces_that_accumulate_end_the_simulation_and_name_the_block(use_plan: bool) -> None:
    machine = bouncing_ball()
    simulator = Simulator(machine)
    simulator.set_use_native_plan(use_plan, at_once=use_plan)
    status = simulator.AdvanceTo(5.0)
    assert status.reason() is SimulatorStatus.ReturnReason.kZenoBehavior
    # The time of all bounces: T (1 + 2 e / (1 - e)) for T = sqrt(2 h / g), e = 1 / 2.
    assert status.return_time() == pytest.approx(3.0 * math.sqrt(2.0 / GRAVITY), abs=1e-7)
    assert "'y falls through 0, of 'air' -> 'air''" in status.FormatMessage() and "'::ball'" in status.FormatMessage()


def test_inner_states_give_the_flow_and_outer_ones_the_rest() -> None:
    machine = StateMachine("car", continuous={"s": 0.0, "v": 0.0}, outputs={"power": 1, "gear": 1})
    machine.AddState("drive", initial=True, flow={"s": "v", "v": 1.0}, outputs={"power": lambda v: 3.0 * v})
    machine.AddState("first", parent="drive", initial=True, flow={"v": 2.0}, outputs={"gear": 1.0})
    machine.AddState("second", parent="drive", outputs={"gear": 2.0, "power": 7.0})
    machine.AddState("stop")
    machine.AddTransition("first", "second", when=Guard.at_least("v", 1.0))
    machine.AddTransition("drive", "stop", when=Guard.at_least("s", 1.0))
    machine.Finalize()
    simulator = Simulator(machine)
    simulator.AdvanceTo(0.25)
    context = simulator.get_context()

    def seen() -> list[float]:
        return [machine.GetOutputPort(name).Eval(context)[0] for name in ("s", "v", "power", "gear")]

    assert seen() == pytest.approx([0.0625, 0.5, 1.5, 1.0])
    simulator.AdvanceTo(1.0)
    # v = 1 after half a second; then with half the acceleration.
    assert seen() == pytest.approx([0.25 + 0.5 + 0.125, 1.5, 7.0, 2.0])
    simulator.AdvanceTo(3.0)
    s, _, *given = seen()
    assert s == pytest.approx(1.0, abs=1e-12) and given == [0.0, 0.0] and machine.GetActiveStates(context) == ["stop"]


def test_a_gearbox_shifts_where_a_ramp_of_speed_passes_its_levels() -> None:
    machine = StateMachine("gearbox", inputs={"speed": 1}, variables={"gear": 0.0, "shifts": np.full(3, -1.0)})
    gears = [machine.AddState(f"gear {n}", initial=n == 1, entry={"gear": float(n)}) for n in (1, 2, 3)]
    for n, (low, high) in enumerate(itertools.pairwise(gears)):
        note = {"shifts": lambda shifts, t, n=n: np.where(np.arange(3) == n, t, shifts)}
        machine.AddTransition(low, high, when=Guard.at_least("speed", 10.0 * n + 12.0), action=note)
        machine.AddTransition(high, low, when=Guard.at_most("speed", 10.0 * n + 8.0))
    machine.Finalize()
    builder = DiagramBuilder()
    builder.AddSystem(machine)
    builder.Connect(builder.AddSystem(Ramp(7.0, 0.5)).get_output_port(), machine.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(5.0)
    context = machine.GetMyContextFromRoot(simulator.get_context())
    assert machine.GetOutputPort("gear").Eval(context)[0] == 3.0
    shifts = machine.GetOutputPort("shifts").Eval(context)
    assert shifts == pytest.approx([0.5 + 12.0 / 7.0, 0.5 + 22.0 / 7.0, -1.0], abs=1e-11)


def test_direct_feedthrough_is_that_of_the_laws() -> None:
    machine = StateMachine("m", inputs={"u": 1, "w": 1}, outputs={"y": 1, "z": 1})
    machine.AddState("a", initial=True, outputs={"y": lambda u: 2.0 * u, "z": 1.0})
    machine.AddState("b", outputs={"y": "w"})
    machine.AddTransition("a", "b", when=Guard.at_least("u", 1.0))
    machine.Finalize()
    ports = [port.get_name() for port in (machine.get_output_port(i) for i in range(machine.num_output_ports()))]
    assert ports == ["active", "y", "z"]
    y, z = ports.index("y"), ports.index("z")
    assert sorted(machine.GetDirectFeedthroughs()) == [(0, y), (1, y)] and z not in (y, 0)
