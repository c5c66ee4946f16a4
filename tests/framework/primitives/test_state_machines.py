"""State machines: which transitions happen when, and in what order actions run."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from merganser.analysis import Simulator, SimulatorStatus
from merganser.framework import DiagramBuilder, LoadContext
from merganser.framework.primitives import (
    ConstantVectorSource,
    Guard,
    LogVectorOutput,
    Sine,
    StateMachine,
    Step,
    ZeroOrderHold,
)

ZENO = SimulatorStatus.ReturnReason.kZenoBehavior


def note(digit: int) -> dict[str, Any]:
    """An action that appends a digit to the variable `log`."""
    return {"log": lambda log: 10.0 * log + digit}


def simulated(machine: StateMachine, end: float, **inputs: float) -> tuple[Simulator, Any]:
    """Advances a machine whose inputs are constants; returns the simulator and the machine's context."""
    builder = DiagramBuilder()
    builder.AddSystem(machine)
    for name, value in inputs.items():
        builder.Connect(builder.AddSystem(ConstantVectorSource([value])).get_output_port(), machine.GetInputPort(name))
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(end)
    return simulator, machine.GetMyContextFromRoot(simulator.get_context())


def value_of(machine: StateMachine, name: str, context: Any) -> Any:
    return machine.GetOutputPort(name).Eval(context).tolist()


def nested() -> StateMachine:
    """States a(a1, a2(b1, b2)) and c, whose actions write down 1, 2, ..., as they run."""
    machine = StateMachine("nested", inputs={"u": 1}, variables={"log": 0.0})
    machine.AddState("a", initial=True, exit=note(2), entry=note(5))
    machine.AddState("a1", parent="a", initial=True, exit=note(1), entry=note(6))
    machine.AddState("a2", parent="a", entry=note(7))
    machine.AddState("b1", parent="a2", initial=True, entry=note(8))
    machine.AddState("b2", parent="a2", entry=note(9))
    machine.AddState("c", entry=note(4))
    return machine


def test_actions_run_from_inside_out_and_from_outside_in() -> None:
    machine = nested()
    machine.AddTransition("a", "c", when=Guard.after(0.25), action=note(3))
    machine.AddTransition("c", "b2", when=Guard.after(0.5))
    machine.AddTransition("b2", "b1", when=Guard.after(5.0))
    machine.AddTransition("a1", "a2", when=Guard.after(5.0))
    machine.Finalize()
    simulator, context = simulated(machine, 0.5, u=0.0)
    assert value_of(machine, "log", context) == [561234.0] and machine.GetActiveStates(context) == ["c"]
    simulator.AdvanceTo(0.9)
    assert value_of(machine, "log", context) == [561234579.0]
    assert machine.GetActiveStates(context) == ["a", "a2", "b2"]
    assert value_of(machine, "active", context) == [1.0, 0.0, 1.0, 0.0, 1.0, 0.0]
    assert machine.GetTimeInState(context, "b2") == pytest.approx(0.15, abs=1e-15)


def test_outer_transitions_come_before_inner_ones() -> None:
    machine = nested()
    machine.AddTransition("a1", "a2", when=Guard.after(0.25))
    machine.AddTransition("a", "c", when=Guard.after(0.25))
    machine.AddTransition("c", "b2", when=Guard.after(9.0))
    machine.Finalize()
    _, context = simulated(machine, 1.0, u=0.0)
    assert machine.GetActiveStates(context) == ["c"] and value_of(machine, "log", context) == [56124.0]


@pytest.mark.parametrize(
    "history, expected", [(None, ["a", "a1"]), ("shallow", ["a", "a2", "b1"]), ("deep", ["a", "a2", "b2"])]
)
def test_history_enters_where_a_state_was_left(history: str | None, expected: list[str]) -> None:
    machine = nested()
    machine.AddTransition("a1", "b2", when=Guard.after(0.25), provided=lambda log: log < 100.0)
    machine.AddTransition("b2", "b1", when=Guard.after(9.0))
    machine.AddTransition("a", "c", when=Guard.after(0.5), provided=lambda log: log < 1e5)
    machine.AddTransition("c", "a", when=Guard.after(0.125), history=history)
    machine.Finalize()
    simulator, context = simulated(machine, 0.6, u=0.0)
    assert machine.GetActiveStates(context) == ["c"]
    simulator.AdvanceTo(0.7)
    assert machine.GetActiveStates(context) == expected


def test_history_without_a_past_enters_the_initial_state() -> None:
    machine = StateMachine("m")
    machine.AddState("off", initial=True)
    machine.AddState("on")
    machine.AddState("low", parent="on", initial=True)
    machine.AddTransition("off", "on", when=Guard.after(0.1), history="deep")
    machine.Finalize()
    _, context = simulated(machine, 0.2)
    assert machine.GetActiveStates(context) == ["on", "low"]


def test_transitions_go_on_at_the_same_time_until_no_guard_is_true() -> None:
    machine = StateMachine("chain", inputs={"u": 1}, variables={"log": 0.0})
    for number, name in enumerate("abcd", start=1):
        machine.AddState(name, initial=name == "a", entry=note(number))
    machine.AddTransition("a", "b", when=Guard.after(0.3))
    machine.AddTransition("b", "c")
    machine.AddTransition("c", "d", when=Guard.at_least("u", 2.0))
    machine.Finalize()
    _, context = simulated(machine, 1.0, u=2.0)
    assert value_of(machine, "log", context) == [1234.0]
    assert machine.GetTimeInState(context, "d") == pytest.approx(0.7, abs=1e-15)


def test_parts_of_a_parallel_state_are_active_together() -> None:
    machine = StateMachine("m", inputs={"u": 1}, variables={"left": 0.0, "right": 0.0}, outputs={"y": 2})
    machine.AddState("both", initial=True, parallel=True, outputs={"y": [5.0, 6.0]})
    for side, wait in (("left", 0.25), ("right", 0.5)):
        machine.AddState(side, parent="both")
        machine.AddState(f"{side} 0", parent=side, initial=True)
        machine.AddState(f"{side} 1", parent=side, entry={side: lambda t: t})
        machine.AddTransition(f"{side} 0", f"{side} 1", when=Guard.after(wait))
    machine.AddState("end", entry={"left": "right"})
    machine.AddTransition("both", "end", when=Guard.after(1.0))
    machine.Finalize()
    simulator, context = simulated(machine, 0.75, u=0.0)
    assert machine.GetActiveStates(context) == ["both", "left", "left 1", "right", "right 1"]
    assert value_of(machine, "left", context) == [0.25] and value_of(machine, "right", context) == [0.5]
    assert value_of(machine, "y", context) == [5.0, 6.0]
    simulator.AdvanceTo(1.5)
    assert machine.GetActiveStates(context) == ["end"] and value_of(machine, "left", context) == [0.5]
    assert value_of(machine, "y", context) == [0.0, 0.0]


def test_during_actions_run_once_a_step_where_no_transition_does() -> None:
    machine = StateMachine("m", variables={"a": 0.0, "b": 0.0})
    machine.AddState("a", initial=True, during={"a": lambda a: a + 1.0})
    machine.AddState("b", during={"b": lambda b: b + 1.0})
    machine.AddTransition("a", "b", when=lambda a: a >= 3.0)
    machine.Finalize()
    simulator, context = simulated(machine, 0.0)
    for k in range(8):
        simulator.AdvanceTo(0.01 * (k + 1))
    # In the third step the action makes the condition true, and b is entered; its first `during` comes in the fourth.
    assert value_of(machine, "a", context) == [3.0] and value_of(machine, "b", context) == [5.0]


@pytest.mark.parametrize("use_plan", [False, True])
def test_jumps_of_sampled_inputs_are_noticed_at_their_time(use_plan: bool) -> None:
    machine = StateMachine("m", inputs={"u": 1, "v": 1}, variables={"when": [0.0, 0.0]})
    machine.AddState("low", initial=True)
    machine.AddState("high", entry={"when": lambda when, t: [t, when[1]]})
    machine.AddState("changed", entry={"when": lambda when, t: [when[0], t]})
    machine.AddTransition("low", "high", when=Guard.at_least("u", 0.5))
    machine.AddTransition("high", "changed", when=Guard.changes("v"))
    machine.Finalize()
    builder = DiagramBuilder()
    wave, hold = builder.AddSystem(Sine(1.0, 1.0, 0.0, 1)), builder.AddSystem(ZeroOrderHold(0.07, 1))
    step, slow = builder.AddSystem(Step(0.61)), builder.AddSystem(ZeroOrderHold(0.9, 1))
    builder.AddSystem(machine)
    builder.Connect(wave.get_output_port(0), hold.get_input_port())
    builder.Connect(step.get_output_port(), slow.get_input_port())
    builder.Connect(hold.get_output_port(), machine.GetInputPort("u"))
    builder.Connect(slow.get_output_port(), machine.GetInputPort("v"))
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(use_plan, at_once=use_plan)
    simulator.AdvanceTo(2.0)
    # sin(0.49) < 0.5 <= sin(0.56): the hold takes that over at 0.56, and the other one the step at 0.9.
    when = value_of(machine, "when", machine.GetMyContextFromRoot(simulator.get_context()))
    assert when == pytest.approx([0.56, 0.9], abs=1e-15)


def test_machines_react_to_each_other_at_the_same_time() -> None:
    first, second = (StateMachine(name, inputs={"u": 1}, variables={"done": 0.0}) for name in ("first", "second"))
    for machine, when in ((first, Guard.after(0.65)), (second, Guard.rises_through("u", 0.5))):
        machine.AddState("waiting", initial=True)
        machine.AddState("done", entry={"done": lambda t: t})
        machine.AddTransition("waiting", "done", when=when)
        machine.Finalize()
    builder = DiagramBuilder()
    builder.AddSystem(second)  # asked before the one whose output it reads
    builder.AddSystem(first)
    builder.Connect(first.GetOutputPort("done"), second.GetInputPort("u"))
    builder.Connect(builder.AddSystem(ConstantVectorSource([0.0])).get_output_port(), first.GetInputPort("u"))
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    assert value_of(second, "done", second.GetMyContextFromRoot(simulator.get_context())) == [0.65]


def ringing() -> StateMachine:
    """Two states that follow each other while the input is at least 1."""
    machine = StateMachine("ring", inputs={"u": 1})
    machine.AddState("a", initial=True)
    machine.AddState("b")
    machine.AddTransition("a", "b", when=Guard.at_least("u", 1.0))
    machine.AddTransition("b", "a", when=Guard.at_least("u", 1.0))
    machine.Finalize()
    return machine


def test_transitions_without_end_at_one_time_end_the_simulation() -> None:
    builder = DiagramBuilder()
    machine, step = builder.AddSystem(ringing()), builder.AddSystem(Step(0.4, 0.0, 2.0))
    builder.Connect(step.get_output_port(), machine.get_input_port())
    simulator = Simulator(builder.Build())
    for _ in range(2):
        status = simulator.AdvanceTo(1.0)
        assert status.reason() is ZENO and status.return_time() == pytest.approx(0.4, abs=1e-12)
        message = status.FormatMessage()
        assert "::ring' takes the transitions" in message and "'a' -> 'b'" in message and "'b' -> 'a'" in message
        assert machine.GetActiveStates(machine.GetMyContextFromRoot(simulator.get_context())) == ["a"]


def test_transitions_that_follow_ever_faster_end_the_simulation() -> None:
    machine = StateMachine("chattering", continuous={"x": 1.0})
    machine.AddState("up", initial=True, flow={"x": 1.0})
    machine.AddState("down", flow={"x": -1.0})
    machine.AddTransition("up", "down", when=Guard.at_least("x", 1.5))
    machine.AddTransition("down", "up", when=Guard.at_most("x", 1.5 - 1e-12))
    machine.Finalize()
    status = Simulator(machine).AdvanceTo(3.0)
    assert status.reason() is ZENO and "'::chattering'" in status.FormatMessage()
    assert status.return_time() == pytest.approx(0.5, abs=1e-8)


def test_guards_that_are_true_at_once_need_priorities() -> None:
    def forked(priorities: tuple[int | None, int | None]) -> StateMachine:
        machine = StateMachine("fork", inputs={"u": 1})
        machine.AddState("a", initial=True)
        for name, level, priority in zip("bc", (0.5, 0.6), priorities):
            machine.AddState(name)
            machine.AddTransition("a", name, when=Guard.at_least("u", level), priority=priority)
        machine.Finalize()
        return machine

    for priorities, expected in (((1, 2), "b"), ((2, 1), "c"), ((None, 7), "c")):
        machine = forked(priorities)
        _, context = simulated(machine, 1.0, u=2.0)
        assert machine.GetActiveStates(context) == [expected]
    with pytest.raises(RuntimeError, match=r"fork'.*'a' -> 'b' \('u >= 0.5'\) and 'a' -> 'c'.*0.0 s.*priority"):
        simulated(forked((None, None)), 1.0, u=2.0)


# ---------------------------------------------------------------------- machines that cannot work


def two_states() -> StateMachine:
    machine = StateMachine("bad", inputs={"u": 2}, variables={"n": 0.0}, continuous={"x": [0.0, 0.0]})
    machine.AddState("a", initial=True)
    machine.AddState("b")
    return machine


def unreachable() -> None:
    machine = two_states()
    machine.AddTransition("b", "a", when=Guard.after(1.0))
    machine.Finalize()


def circle() -> None:
    machine = two_states()
    machine.AddTransition("a", "b")
    machine.AddTransition("b", "a")
    machine.Finalize()


def same_guards() -> None:
    machine = two_states()
    machine.AddTransition("a", "b", when=Guard.after(1.0))
    machine.AddTransition("a", "a", when=Guard.after(1.0))
    machine.Finalize()


def no_initial_child() -> None:
    machine = two_states()
    machine.AddTransition("a", "b", when=Guard.after(1.0))
    machine.AddState("inner", parent="b")
    machine.Finalize()


def two_owners() -> None:
    machine = StateMachine("bad", outputs={"y": 1})
    machine.AddState("p", initial=True, parallel=True)
    for name in "ab":
        machine.AddState(name, parent="p", outputs={"y": 1.0})
    machine.Finalize()


def no_owner() -> None:
    machine = StateMachine("bad", outputs={"y": 1})
    machine.AddState("p", initial=True)
    machine.Finalize()


def used_before_finalize() -> None:
    two_states().CreateDefaultContext()


def added_after_finalize() -> None:
    machine = ringing()
    machine.AddState("late")


BAD = {
    "unreachable": (unreachable, ValueError, r"'::bad': no transitions lead to \['b'\]"),
    "circle": (circle, ValueError, r"without guard lead in a circle through \['[ab]', '[ab]'\]"),
    "same guards": (same_guards, ValueError, "'a' -> 'b' and 'a' -> 'a' have the same guard, 'after 1 s'"),
    "no initial child": (no_initial_child, ValueError, r"state 'b' needs one initial child.*\['inner'\]"),
    "two owners": (two_owners, ValueError, "states 'a' and 'b' can be active at once, and both give outputs of 'y'"),
    "no owner": (no_owner, ValueError, "no state gives the output 'y'"),
    "no Finalize": (used_before_finalize, RuntimeError, "'::bad', making a Context: call Finalize before"),
    "late": (added_after_finalize, RuntimeError, "'::ring', AddState: this must come before Finalize"),
    "unknown state": (
        lambda: two_states().AddTransition("a", "z"), ValueError, r"'z' is no state of this machine; .*\['a', 'b'\]"
    ),
    "state of another machine": (
        lambda: two_states().AddTransition("a", nested().AddState("d")), ValueError, "<State 'd'> is no state"
    ),
    "unknown parent": (lambda: two_states().AddState("d", parent="z"), ValueError, "parent of state 'd': 'z'"),
    "name twice": (lambda: two_states().AddState("a"), ValueError, "must be new and not empty, got 'a'"),
    "unknown name in a law": (
        lambda: two_states().AddState("d", flow={"x": lambda y: y}), ValueError,
        "flow of 'x', state 'd': 'y' is neither an input nor a variable nor a part.*u, x, n",
    ),
    "unknown quantity": (lambda: two_states().AddState("d", entry={"u": 1.0}), ValueError, r"'u', but.*\['x', 'n'\]"),
    "size of a constant": (
        lambda: two_states().AddState("d", flow={"x": 1.0}), ValueError,
        "flow of 'x', state 'd': expected 2 numbers, got 1",
    ),
    "size of a guard": (
        lambda: two_states().AddTransition("a", "b", when=Guard.at_least("u", 1.0)), ValueError,
        "guard 'u >= 1' of .*transition 'a' -> 'b': expected one number, got 2",
    ),
    "element": (
        lambda: two_states().AddTransition("a", "b", when=Guard.at_least("u[2]", 1.0)), ValueError, "'u' has 2 elements"
    ),
    "not a number": (lambda: two_states().AddState("d", entry={"n": np.nan}), ValueError, "not a number"),
    "infinite": (lambda: two_states().AddState("d", entry={"n": np.inf}), ValueError, "must be finite"),
    "no port": (
        lambda: two_states().AddTransition("a", "b", when=Guard.changes("n")), ValueError, "'n' is no input port.* u"
    ),
    "no guard": (lambda: two_states().AddTransition("a", "b", when=3.0), TypeError, "expected a Guard.*got 3.0"),
    "two events": (
        lambda: two_states().AddTransition("a", "b", when=[Guard.changes("u"), Guard.crosses("n")]), ValueError,
        "at most one guard can be an event",
    ),
    "priority": (lambda: two_states().AddTransition("a", "b", priority=0), ValueError, "priority must be an integer"),
    "history": (lambda: two_states().AddTransition("a", "b", history="long"), ValueError, "history must be.*'long'"),
    "time": (lambda: Guard.after(-1.0), ValueError, "Guard.after: expected a finite time.*-1.0"),
    "level": (lambda: Guard.at_least("u", float("nan")), ValueError, "Guard.at_least: the level must be finite"),
    "names": (lambda: StateMachine("bad", inputs={"t": 1}), ValueError, "'t' occurs twice, is no identifier"),
    "nothing": (lambda: StateMachine("bad").Finalize(), ValueError, "'::bad' has no states"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_machines_that_cannot_work_are_refused_by_name(name: str) -> None:
    make, error, match = BAD[name]
    with pytest.raises(error, match=match):
        make()


@pytest.mark.parametrize(
    "action, match",
    [
        (lambda n: [1.0, 2.0], "action of 'n', transition 'a' -> 'b': expected one number, got"),
        (lambda n: np.nan * n, "action of 'n', transition 'a' -> 'b': the value must be finite"),
        (lambda n: "one", "action of 'n', transition 'a' -> 'b': expected one number, got"),
        (lambda n: 1 / 0, "division by zero"),
    ],
)
def test_actions_that_fail_are_named_and_leave_the_context_as_it_was(action: Any, match: str) -> None:
    machine = two_states()
    machine.AddTransition("a", "b", when=Guard.after(0.25), action={"x": [1.0, 2.0], "n": action})
    machine.Finalize()
    builder = DiagramBuilder()
    builder.AddSystem(machine)
    source = builder.AddSystem(ConstantVectorSource([0.0, 0.0]))
    builder.Connect(source.get_output_port(), machine.get_input_port())
    simulator = Simulator(builder.Build())
    for _ in range(2):
        with pytest.raises((ValueError, ZeroDivisionError), match=match) as caught:
            simulator.AdvanceTo(1.0)
        named = [str(caught.value), *getattr(caught.value, "__notes__", [])]
        assert any("action of 'n', transition 'a' -> 'b'" in text for text in named)
        context = machine.GetMyContextFromRoot(simulator.get_context())
        assert context.get_time() == 0.25 and machine.GetActiveStates(context) == ["a"]
        assert context.get_continuous_state_vector().value().tolist() == [0.0, 0.0]


# ---------------------------------------------------------------------- copies and files


def counter() -> StateMachine:
    """Goes round three states, a third of a second in each, and counts."""
    machine = StateMachine("counter", continuous={"x": 0.0}, variables={"n": 0.0})
    for k in range(3):
        machine.AddState(f"s{k}", initial=k == 0, flow={"x": [k - 0.5]}, entry={"n": increased})
    for k in range(3):
        machine.AddTransition(f"s{k}", f"s{(k + 1) % 3}", when=Guard.after(0.3 + 0.1 * k))
    machine.Finalize()
    return machine


def increased(n: Any) -> Any:
    return n + 1.0


def end_of(simulator: Simulator, end: float) -> list[Any]:
    simulator.AdvanceTo(end)
    context = simulator.get_context()
    groups = [context.get_discrete_state(i).value().tolist() for i in range(context.num_discrete_state_groups())]
    return [context.get_time(), context.get_continuous_state_vector().value().tolist(), groups]


def test_a_machine_goes_on_in_copies_and_from_files(tmp_path: Any) -> None:
    expected = end_of(Simulator(counter()), 5.0)
    assert expected[2][0] == [13.0]
    machine = counter()
    simulator = Simulator(machine)
    simulator.AdvanceTo(2.3)
    simulator.get_context().Save(tmp_path / "half.npz")
    for other in (copy.copy(simulator), simulator):
        assert end_of(other, 5.0) == expected
    for made in (machine, machine.Clone(), pickle.loads(pickle.dumps(machine))):
        resumed = Simulator(made, LoadContext(made, tmp_path / "half.npz"))
        found = end_of(resumed, 5.0)
        assert found[2] == expected[2] and np.allclose(found[1], expected[1], rtol=0.0, atol=1e-14)
        assert end_of(Simulator(made), 5.0) == expected


def test_a_machine_can_be_put_into_a_state() -> None:
    machine = nested()
    machine.AddTransition("a1", "a2", when=Guard.after(0.25))
    machine.AddTransition("a", "c", when=Guard.after(0.5))
    machine.AddTransition("b1", "b2", when=Guard.after(0.25))
    machine.Finalize()
    simulator, context = simulated(machine, 0.0, u=0.0)
    machine.SetActiveState(context, "a2")
    assert machine.GetActiveStates(context) == ["a", "a2", "b1"]
    assert machine.IsActive(context, "b1") and not machine.IsActive(context, "c")
    with pytest.raises(RuntimeError, match="state 'c' is not active"):
        machine.GetTimeInState(context, "c")
    simulator.AdvanceTo(0.3)
    assert machine.GetActiveStates(context) == ["a", "a2", "b2"] and value_of(machine, "log", context) == [569.0]


@pytest.mark.parametrize("use_plan", [False, True])
def test_logs_have_the_state_from_before_a_transition(use_plan: bool) -> None:
    builder = DiagramBuilder()
    machine = builder.AddSystem(counter())
    logs = [LogVectorOutput(machine.GetOutputPort(name), builder) for name in ("active", "n", "x")]
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(use_plan, at_once=use_plan)
    simulator.AdvanceTo(1.25)
    active, n, x = (log.FindLog(simulator.get_context()) for log in logs)
    at = [int(np.flatnonzero(np.abs(active.sample_times() - time) < 1e-12)[0]) for time in (0.3, 0.7, 1.2)]
    assert active.data()[:, at].T.tolist() == np.eye(3).tolist() and n.data()[0, at].tolist() == [1.0, 2.0, 3.0]
    assert active.data()[1, at[0] + 1] == 1.0 and n.data()[0, -1] == 4.0
    assert np.allclose(x.data()[0, at], [-0.15, 0.05, 0.8], rtol=0.0, atol=1e-14)
