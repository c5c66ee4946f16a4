"""State machines without functions of Python run compiled, with the same bits as in Python."""

from __future__ import annotations

from typing import Any

import pytest

from merganser.analysis import Simulator
from merganser.analysis.simulation.witness_watch import WitnessWatch
from merganser.framework import DiagramBuilder
from merganser.framework.native import native
from merganser.framework.primitives import (
    AffineSystem,
    Gain,
    Guard,
    Integrator,
    LogVectorOutput,
    Sine,
    StateMachine,
    ZeroOrderHold,
)
from merganser.framework.symbolic import Variable

N, V, T, U = (Variable(name) for name in ("n", "v", "time_in_state", "u"))


@native
def pushed_off(v: Any, y: Any) -> None:
    y[0] = v[0] / 0.9


@native
def too_great(v: Any, y: Any) -> None:
    y[0] = 1e308 * (9.0 + v[0])


@native
def is_odd(n: Any, y: Any) -> None:
    y[0] = n[0] % 2.0


def thermostat(signal: Any = "temperature") -> tuple[Any, ...]:
    machine = StateMachine("thermostat", inputs={"temperature": 1}, variables={"n": 0.0}, outputs={"heater": 1})
    machine.AddState("heating", initial=True, outputs={"heater": 6.0}, entry={"n": N + 1})
    machine.AddState("idle", outputs={"heater": 0.0}, during={"n": N + 0.001})
    machine.AddTransition("heating", "idle", when=Guard.at_least(signal, 21.0), action={"n": N + T})
    machine.AddTransition("idle", "heating", when=Guard.at_most(signal, 19.0))
    machine.Finalize()
    room = AffineSystem(A=[[-0.2]], B=[[1.0]], f0=[1.0], C=[[1.0]])
    return (machine, room.get_output_port()), (room, machine.GetOutputPort("heater"))


def hopper(continuous: Any = ()) -> tuple[Any, ...]:
    machine = StateMachine("hopper", continuous={"y": 1.3, "v": 0.0}, variables={"n": 0.0})
    machine.AddState("flight", initial=True, flow={"y": "v", "v": -9.81})
    machine.AddState("stance", flow={"y": "v", "v": 900.0 * (1.0 - Variable("y")) - 9.81})
    machine.AddTransition("flight", "stance", when=Guard.falls_through("y", 1.0), action={"v": 0.9 * V})
    machine.AddTransition("stance", "flight", when=Guard.rises_through("y", 1.0), action={"v": pushed_off, "n": N + 1})
    machine.Finalize()
    return ((machine,),)


def gearbox() -> tuple[Any, ...]:
    """States in states, history, time-outs, parallel parts, an event of a sampled port."""
    wave, sampled = Sine(15.0, 1.0, 0.0, 1), ZeroOrderHold(0.31, 1)
    machine = StateMachine("gearbox", inputs={"u": 1, "slow": 1}, variables={"n": 0.0, "when": [0.0, 0.0]})
    machine.AddState("all", initial=True, parallel=True)
    machine.AddState("drive", parent="all", exit={"n": 10 * N + 1})
    machine.AddState("low", parent="drive", initial=True, exit={"n": N + 0.5})
    machine.AddState("high", parent="drive", entry={"when": [Variable("t"), Variable("when[0]")]})
    machine.AddState("watch", parent="all")
    machine.AddState("calm", parent="watch", initial=True, entry={"n": U + N})
    machine.AddState("alarm", parent="watch")
    machine.AddState("rest")
    machine.AddTransition("low", "high", when=Guard.rises_through("u", 5.0))
    machine.AddTransition("high", "low", when=U <= 2.0, provided=Guard.after(0.1), priority=2)
    machine.AddTransition("high", "low", when=Guard.falls_through("slow", 1.0), priority=1)
    machine.AddTransition("calm", "alarm", when=Guard.changes("slow"), provided=Guard.after(0.4))
    machine.AddTransition("alarm", "calm", when=Guard.after(0.25))
    machine.AddTransition("all", "rest", when=Guard.at_most("u", -14.0), action={"when": [T, N]})
    machine.AddTransition("rest", "all", when=Guard.after(0.5), history="deep")
    machine.AddTransition("rest", None, when=is_odd, action={"n": N + 1})
    machine.Finalize()
    motor = Integrator([0.0])
    return (wave,), (sampled, wave.get_output_port(0)), (
        machine, wave.get_output_port(0), sampled.get_output_port()
    ), (motor, machine.GetOutputPort("n"))  # fmt: skip


def pair() -> tuple[Any, ...]:
    """Each waits for what the other does, in both orders."""
    wave = Sine(1.0, 3.0, 0.0, 1)
    one, two = (StateMachine(name, inputs={"u": 1, "w": 1}, variables={"n": 0.0}) for name in ("one", "two"))
    for machine, level, when in ((two, -0.5, Guard.changes("w")), (one, 0.5, Guard.after(0.2))):
        machine.AddState("a", initial=True, entry={"n": N + 1})
        machine.AddState("b", entry={"n": N + 2})
        machine.AddTransition("a", "b", when=when)
        machine.AddTransition("b", "a", when=Guard.crosses("u", level), provided=Guard.after(0.05))
        machine.Finalize()
    half = [Gain(0.5, 1), Gain(0.5, 1)]
    return (wave,), (one, wave.get_output_port(0), half[1].get_output_port()), (
        two, wave.get_output_port(0), half[0].get_output_port()
    ), (half[0], one.GetOutputPort("n")), (half[1], two.GetOutputPort("n"))  # fmt: skip


SCENES = {"thermostat": thermostat, "hopper": hopper, "gearbox": gearbox, "pair": pair}


def run(links: Any, use_plan: bool, end: float = 7.0) -> tuple[list[Any], Simulator]:
    ports = [port for system, *_ in links for port in map(system.get_output_port, range(system.num_output_ports()))]
    builder = DiagramBuilder()
    for system, *_ in links:
        builder.AddSystem(system)
    for system, *sources in links:
        for number, source in enumerate(sources):
            builder.Connect(source, system.get_input_port(number))
    logs = [LogVectorOutput(port, builder) for port in ports]
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_maximum_step_size(0.05)
    simulator.set_use_native_plan(use_plan, at_once=use_plan)
    for time in (0.3 * end, 0.3 * end, 0.3 * end + 1e-3, end):
        simulator.AdvanceTo(time)
    context = simulator.get_context()
    found = [log.FindLog(context) for log in logs]
    return [
        [(log.sample_times().tolist(), log.data().tolist()) for log in found],
        [context.get_discrete_state(n).value().tolist() for n in range(context.num_discrete_state_groups())],
        simulator.get_num_steps_taken(),
        simulator.get_integrator().get_num_steps_taken(),
    ], simulator


@pytest.mark.parametrize("scene", SCENES)
def test_compiled_machines_equal_those_in_python_to_the_bit(scene: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreted, _ = run(SCENES[scene](), False)

    def refuse(*arguments: Any) -> None:
        raise AssertionError("a step was taken in Python")

    monkeypatch.setattr(WitnessWatch, "step_towards", refuse)
    compiled, _ = run(SCENES[scene](), True)
    assert compiled == interpreted
    assert compiled[2] > 80 and compiled[1][0][0] > 4.0


def test_python_takes_only_the_steps_that_begin_with_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    def scene() -> tuple[Any, ...]:
        machine = StateMachine("saw", continuous={"v": 0.0}, variables={"n": 0.0})
        machine.AddState("up", initial=True, flow={"v": 1.0}, entry={"n": lambda n, v: n + v + 1.0})
        machine.AddTransition("up", "up", when=Guard.at_least("v", 1.0), action={"v": 0.0})
        machine.Finalize()
        return ((machine,),)

    interpreted, _ = run(scene(), False)
    steps, step = [0], WitnessWatch.step_towards

    def counted(watch: WitnessWatch, *arguments: Any) -> None:
        steps[0] += 1
        step(watch, *arguments)

    monkeypatch.setattr(WitnessWatch, "step_towards", counted)
    compiled, _ = run(scene(), True)
    assert compiled == interpreted and compiled[2] > 100
    assert steps[0] == 6  # as many as transitions


def forked(priority: int | None = None) -> tuple[Any, ...]:
    """Two transitions that become possible at 0.5 s, one of them a little later."""
    machine = StateMachine("fork", continuous={"v": 0.0}, variables={"n": 0.0})
    machine.AddState("a", initial=True, flow={"v": 1.0})
    for name, level in (("b", 0.5), ("c", 0.5 + 1e-15)):
        machine.AddState(name, entry={"n": N + 1})
        machine.AddTransition("a", name, when=Guard.at_least("v", level), priority=priority if name == "c" else None)
    machine.Finalize()
    return ((machine,),)


def ringing() -> tuple[Any, ...]:
    machine = StateMachine("ring", continuous={"v": 0.0})
    machine.AddState("a", initial=True, flow={"v": 1.0})
    machine.AddState("b")
    machine.AddTransition("a", "b", when=Guard.at_least("v", 0.5))
    machine.AddTransition("b", "a", when=Guard.at_least("v", 0.5))
    machine.Finalize()
    return ((machine,),)


def undefined() -> tuple[Any, ...]:
    """An action that gives infinity at 0.5 s, after another one has changed the state."""
    machine = StateMachine("undefined", continuous={"v": 0.0}, variables={"n": 0.0})
    machine.AddState("a", initial=True, flow={"v": 1.0}, exit={"n": N + 1, "v": 2.0 * V})
    machine.AddState("b", entry={"v": too_great})
    machine.AddTransition("a", "b", when=Guard.at_least("v", 0.5))
    machine.Finalize()
    return ((machine,),)


@pytest.mark.parametrize("scene", [forked, ringing, undefined])
def test_compiled_machines_end_as_those_in_python_and_leave_the_same_context(scene: Any) -> None:
    seen = []
    for use_plan in (False, True):
        ((machine,),) = scene()
        simulator = Simulator(machine)
        simulator.set_use_native_plan(use_plan, at_once=use_plan)
        for _ in range(2):
            try:
                end = simulator.AdvanceTo(2.0).FormatMessage()
            except (RuntimeError, ValueError, ArithmeticError) as error:
                end = f"{type(error).__name__}: {error}"
        context = simulator.get_context()
        groups = [context.get_discrete_state(n).value().tolist() for n in range(context.num_discrete_state_groups())]
        seen.append([end, context.get_time(), context.get_continuous_state_vector().value().tolist(), groups])
        assert machine.GetActiveStates(context) == ["a"] and context.get_time() == pytest.approx(0.5, abs=1e-12)
    assert seen[0] == seen[1]
    assert f"::{machine.get_name()}'" in seen[0][0]


def test_a_priority_decides_in_compiled_machines_too() -> None:
    ((machine,),) = forked(1)
    simulator = Simulator(machine)
    simulator.set_use_native_plan(True, at_once=True)
    simulator.AdvanceTo(1.0)
    assert machine.GetActiveStates(simulator.get_context()) == ["c"]


def test_a_machine_that_was_put_into_a_state_goes_on_there_compiled() -> None:
    ends = []
    for use_plan in (False, True):
        ((machine,),) = hopper()
        simulator = Simulator(machine)
        simulator.set_use_native_plan(use_plan, at_once=use_plan)
        simulator.AdvanceTo(0.1)
        machine.SetActiveState(simulator.get_mutable_context(), "stance")
        simulator.AdvanceTo(0.15)
        context = simulator.get_context()
        ends.append(context.get_continuous_state_vector().value().tolist())
        assert machine.GetActiveStates(context) == ["stance"]
    assert ends[0] == ends[1]
