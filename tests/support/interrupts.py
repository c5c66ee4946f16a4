"""Interrupts at random moments: what comes of a simulation that is cut short and goes on, against one that is not.

    python tests/support/interrupts.py --number 1000 --seed 0

strikes each of the scenes below in turn, by signals and by errors at random lines of the package, and prints what
differs.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

from bouncing_ball import make_ball
from contact_scenes import add_free_body, add_ground, contact_library, hydroelastic, material

from merganser import analysis, framework, geometry, multibody
from merganser.analysis import Simulator
from merganser.framework import BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import (
    Backlash,
    Gain,
    Guard,
    Integrator,
    LogVectorOutput,
    Relay,
    StateMachine,
    TrajectorySource,
    TransportDelay,
    ZeroOrderHold,
)
from merganser.framework.symbolic import Variable
from merganser.framework.trajectories import PiecewisePolynomial

LIB = contact_library("ours")
_PACKAGES = (framework, analysis, geometry, multibody)
Trace = Callable[[Any, str, Any], Any]

# What runs while an interrupt is being dealt with: nothing comes to rest where that is interrupted once more.
_DEALS_WITH_INTERRUPTS = {
    "AdvanceTo", "Initialize", "initialize", "keep_first", "_note_what_is_done", "_return_to", "return_to",
    "forget_since", "undo_step", "release", "_look", "_begin_slice", "may_be_lowered_further",
    # Where no signal is looked at, but in what is called: in handlers, and attempts of steps.
    "note_step", "_hand_over", "call_handler", "_take_step",
}  # fmt: skip


class Run(NamedTuple):
    """A simulation that has not begun.

    Attributes:
        simulator: of it.
        logs: sinks whose samples count.
        end: where it is to come to, when no event is due, since an advance from there would make what is left [s].
    """

    simulator: Simulator
    logs: list[Any]
    end: float

    def is_unfinished(self) -> bool:
        """Whether anything is left to do."""
        due = getattr(self.simulator, "_due", None)  # unset before Initialize()
        return due is None or bool(due.owed) or self.simulator.get_context().get_time() < self.end


# ---------------------------------------------------------------------- scenes


def _plant(time_step: float, is_soft: bool) -> Run:
    """Two balls and a box that fall on the ground, and logs of their state and their contact forces."""
    builder = DiagramBuilder()
    plant, _ = LIB.AddMultibodyPlantSceneGraph(builder, time_step)
    soft = hydroelastic(LIB, 1e5, 0.06, dissipation=5.0) if is_soft else material(LIB)
    if not is_soft:
        plant.set_contact_model(LIB.ContactModel.kPoint)
    for i, shape in enumerate((LIB.Sphere(0.1), LIB.Sphere(0.1), LIB.Box(0.1, 0.1, 0.1))):
        add_free_body(LIB, plant, f"body{i}", shape, soft)
    add_ground(LIB, plant, hydroelastic(LIB, None) if is_soft else soft)
    plant.Finalize()
    hold = builder.AddSystem(ZeroOrderHold(0.004, plant.num_multibody_states()))
    builder.Connect(plant.get_state_output_port(), hold.get_input_port())
    forces = plant.get_generalized_contact_forces_output_port(LIB.default_model_instance())
    logs = [LogVectorOutput(hold.get_output_port(), builder), LogVectorOutput(forces, builder, 0.003)]
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    for i, p_WB in enumerate(([0.0, 0.0, 0.097], [0.03, 0.0, 0.288], [0.5, 0.0, 0.049])):
        plant.SetFreeBodyPose(context, plant.GetBodyByName(f"body{i}"), RigidTransform(p_WB))
    if not time_step:
        simulator.get_mutable_integrator().set_maximum_step_size(0.002)
        simulator.get_mutable_integrator().set_fixed_step_mode(True)
    return Run(simulator, logs, 0.0115)


class Walker(LeafSystem):
    """All kinds of state and events in Python; each reads its input."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareContinuousState(2)
        group = self.DeclareDiscreteState(BasicVector([0.5]))
        self.DeclareAbstractState(framework.Value([0]))
        self.DeclareStateOutputPort("y", group)
        self.DeclareVectorOutputPort("x", 1, self._calc_output)
        self.DeclarePeriodicDiscreteUpdateEvent(0.05, 0.0, self._count)
        self.DeclarePeriodicDiscreteUpdateEvent(0.03, 0.01, self._count)
        self.DeclarePeriodicUnrestrictedUpdateEvent(0.04, 0.0, self._note)
        self.DeclarePerStepUnrestrictedUpdateEvent(self._note)
        self.DeclarePerStepPublishEvent(lambda context: self.EvalVectorInput(context, 0) and None)
        event = framework.UnrestrictedUpdateEvent(lambda context, event, state: self._note(context, state))
        kind = framework.WitnessFunctionDirection.kCrossesZero
        self._witness = self.MakeWitnessFunction("turns", kind, self._calc_witness, event)

    def _u(self, context: Any) -> float:
        return float(self.get_input_port().Eval(context)[0])

    def _count(self, context: Any, values: Any) -> None:
        values.set_value(0, 0.9 * values.value(0) + 1.0 + 0.1 * self._u(context))

    def _note(self, context: Any, state: Any) -> None:
        state.get_mutable_abstract_state().get_mutable_value(0).get_mutable_value().append(context.get_time())
        state.get_mutable_discrete_state().get_mutable_vector(0)[0] += 0.01 * self._u(context)

    def _calc_output(self, context: Any, output: Any) -> None:
        output.SetFromVector(context.get_continuous_state_vector().value()[:1])

    def _calc_witness(self, context: Any) -> float:
        return float(context.get_continuous_state_vector()[0]) - 0.1

    def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
        return [self._witness]

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        x = context.get_continuous_state_vector().value()
        derivatives.get_mutable_vector().SetFromVector([x[1] + 1.0, self._u(context) - 9.0 * x[0]])


def _python() -> Run:
    builder = DiagramBuilder()
    walker, hold = builder.AddSystem(Walker()), builder.AddSystem(ZeroOrderHold(0.02, 1))
    builder.Connect(walker.GetOutputPort("x"), hold.get_input_port())
    builder.Connect(hold.get_output_port(), walker.get_input_port())
    logs = [
        LogVectorOutput(walker.GetOutputPort("x"), builder, 0.01),
        LogVectorOutput(walker.GetOutputPort("y"), builder),
    ]
    simulator = Simulator(builder.Build())
    simulator.get_mutable_integrator().set_maximum_step_size(0.02)
    return Run(simulator, logs, 0.249)


def _hybrid() -> Run:
    """A ball that bounces: witness functions and what they reset."""
    simulator = Simulator(make_ball(framework, 0.8))
    simulator.get_mutable_context().SetContinuousState([1.0, 0.0])
    return Run(simulator, [], 1.249)


def _corners() -> Run:
    """A loop of a relay, backlash and a delay: regions, margins and memories."""
    builder = DiagramBuilder()
    plant = builder.AddSystem(Integrator([0.05]))
    parts = [Gain(-1.0, 1), Backlash(0.02), TransportDelay(0.03), Relay(0.04, -0.04, 2.0, -2.0)]
    chain = [plant, *(builder.AddSystem(part) for part in parts)]
    for system, following in zip(chain, [*chain[1:], plant]):
        builder.Connect(system.get_output_port(), following.get_input_port())
    log = LogVectorOutput(plant.get_output_port(), builder, 0.02)
    return Run(Simulator(builder.Build()), [log], 0.249)


def _modes(is_native: bool = False) -> Run:
    """A state machine that goes up and down between two levels, and resets, counts and waits as it turns."""
    machine, x, n = StateMachine("modes", continuous={"x": 0.0}, variables={"n": 0.0}), Variable("x"), Variable("n")
    counted: Any = n + 1.0 if is_native else lambda n: n + 1.0
    machine.AddState("up", initial=True, flow={"x": 1.0}, entry={"n": counted})
    machine.AddState("down", flow={"x": -1.0 - x}, during={"n": n + 100.0})
    machine.AddState("wait")
    machine.AddTransition("up", "down", when=Guard.rises_through("x", 0.03), action={"x": x + 0.01})
    machine.AddTransition("down", "wait", when=Guard.at_most("x", 0.0))
    machine.AddTransition("wait", "up", when=Guard.after(0.01))
    machine.Finalize()
    builder = DiagramBuilder()
    builder.AddSystem(machine)
    log = LogVectorOutput(machine.GetOutputPort("x"), builder, 0.02)
    return Run(Simulator(builder.Build()), [log], 0.249)


def _pulses() -> Run:
    """An integral of pulses, at whose ends steps have to end."""
    builder, times = DiagramBuilder(), np.linspace(0.0, 0.25, 18)
    pulses = PiecewisePolynomial.ZeroOrderHold(times, np.sin(np.arange(18.0))[np.newaxis])
    source, integrator = builder.AddSystem(TrajectorySource(pulses)), builder.AddSystem(Integrator(1))
    builder.Connect(source.get_output_port(), integrator.get_input_port())
    log = LogVectorOutput(integrator.get_output_port(), builder, 0.02)
    return Run(Simulator(builder.Build()), [log], 0.249)


def _with_plan(make: Callable[[], Run], use: bool) -> Callable[[], Run]:
    def made() -> Run:
        run = make()
        run.simulator.set_use_native_plan(use, at_once=use)
        return run

    return made


_KINDS: dict[str, Callable[[], Run]] = {
    "points": lambda: _plant(0.001, False),
    "points in continuous time": lambda: _plant(0.0, False),
    "hydroelastic": lambda: _plant(0.001, True),
    "hydroelastic in continuous time": lambda: _plant(0.0, True),
    "hybrid": _hybrid,
    "corners": _corners,
    "modes": _modes,
    "native modes": lambda: _modes(True),
    "python": _python,
    "pulses": _pulses,
}
SCENES: dict[str, Callable[[], Run]] = {
    name + (", compiled" if use else ""): _with_plan(make, use)
    for name, make in _KINDS.items()
    for use in (False, True)
}

# ---------------------------------------------------------------------- what comes of them


class Outcome(NamedTuple):
    """Results that must be equal, to the last bit: states, counts of steps and updates, and what publish events did."""

    state: list[Any]
    counts: list[int]
    num_publishes: int
    logs: list[Any]


def outcome(run: Run) -> Outcome:
    context, simulator = run.simulator.get_context(), run.simulator
    groups = [context.get_discrete_state(n).CopyToVector().tolist() for n in range(context.num_discrete_state_groups())]
    boxes = [context.get_abstract_state().get_value(n).get_value() for n in range(context.num_abstract_states())]
    lists = [box for box in boxes if isinstance(box, list)]
    state = [context.get_time(), context.get_continuous_state_vector().CopyToVector().tolist(), groups, lists]
    logs = [(log.sample_times().tolist(), log.data().tolist()) for log in (of.FindLog(context) for of in run.logs)]
    counts = [
        simulator.get_num_steps_taken(), simulator.get_num_discrete_updates(),
        simulator.get_num_unrestricted_updates(), simulator.get_integrator().get_num_steps_taken(),
    ]  # fmt: skip
    return Outcome(state, counts, simulator.get_num_publishes(), logs)


def differences(where: str, found: Outcome, expected: Outcome) -> list[str]:
    """Differences of an outcome from the expected one; publish events that raised are not repeated."""
    count = len(Outcome._fields) if where.startswith(("SIG", "KeyboardInterrupt")) else 2
    return [field for field, a, b in zip(Outcome._fields[:count], found, expected) if a != b]


class Undisturbed(NamedTuple):
    """The outcome of an undisturbed scene, the time of its advance [s], and the number of lines run."""

    outcome: Outcome
    duration: float
    num_lines: int


class _Lines:
    """Sees the lines of the package as they are run, and raises an error before one of them."""

    def __init__(self, fatal: int = -1, error: BaseException | None = None) -> None:
        self._fatal, self._error, self.count = fatal, error, 0
        self._roots = tuple(str(Path(module.__file__ or "").parent) for module in _PACKAGES)
        self.where = ""

    def __call__(self, frame: Any, event: str, argument: Any) -> Any:
        code = frame.f_code
        if code.co_name in _DEALS_WITH_INTERRUPTS or not code.co_filename.startswith(self._roots):
            return None
        if event == "line":
            self.count += 1
            if self.count == self._fatal:
                self.where = f"{Path(code.co_filename).name}:{frame.f_lineno} ({code.co_name})"
                assert self._error is not None
                raise self._error
        return self


def _traced(trace: Trace, run: Run) -> None:
    previous = sys.gettrace()
    sys.settrace(trace)
    try:
        run.simulator.AdvanceTo(run.end)
    finally:
        sys.settrace(previous)


def undisturbed(make: Callable[[], Run]) -> Undisturbed:
    """Runs a scene until nothing is compiled any more, and then to see what must come of it."""
    for _ in range(2):
        run = make()
        run.simulator.AdvanceTo(run.end)
    run, start = make(), time.perf_counter()
    run.simulator.AdvanceTo(run.end)
    duration, lines, traced = time.perf_counter() - start, _Lines(), make()
    _traced(lines, traced)
    assert outcome(traced) == outcome(run)
    return Undisturbed(outcome(run), duration, lines.count)


# ---------------------------------------------------------------------- strikes


def strike_at_line(make: Callable[[], Run], known: Undisturbed, rng: Any) -> tuple[str, Outcome]:
    """Ctrl-C or a lack of memory at a random line of the package.

    Returns:
        Where, nothing if it was not reached, and what comes of it.
    """
    error = MemoryError() if rng.integers(2) else KeyboardInterrupt()
    lines, run = _Lines(int(rng.integers(1, known.num_lines + 1)), error), make()
    try:
        _traced(lines, run)
    except BaseException as caught:
        if not lines.where or not _comes_from(caught, error):
            raise
    if run.is_unfinished():
        run.simulator.AdvanceTo(run.end)
    return (f"{type(error).__name__} at {lines.where}" if lines.where else ""), outcome(run)


def _comes_from(caught: BaseException, error: BaseException) -> bool:
    """Whether an exception is the error, or says more of it."""
    cause: BaseException | None = caught
    while cause is not None:
        if cause is error:
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def strike_by_signal(make: Callable[[], Run], known: Undisturbed, rng: Any) -> tuple[str, Outcome]:
    """Ctrl-C after a random time, by a timer of the process or another thread; returns what strike_at_line() does."""
    run, delay = make(), float(rng.uniform(1e-5, known.duration))
    by_thread = bool(rng.integers(2))
    thread = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
    numbers = signal.SIGINT, signal.SIGALRM
    previous = [signal.signal(number, signal.default_int_handler) for number in numbers]
    where = ""
    try:
        try:
            if by_thread:
                thread.start()
            else:
                signal.setitimer(signal.ITIMER_REAL, delay)
            run.simulator.AdvanceTo(run.end)
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            if by_thread:
                thread.join()
        except KeyboardInterrupt:
            where = f"SIG{'INT' if by_thread else 'ALRM'} at {run.simulator.get_context().get_time()} s"
        if run.is_unfinished():
            run.simulator.AdvanceTo(run.end)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in zip(numbers, previous):
            signal.signal(number, handler)
    return where, outcome(run)


def _strikes(names: list[str], number: int, seed: int) -> Iterator[tuple[str, str, Outcome, Outcome]]:
    """So many strikes of scenes in turn, half of them by signals: the scene, where, and outcomes with and without."""
    rng = np.random.default_rng(seed)
    known = {name: undisturbed(SCENES[name]) for name in names}
    count = 0
    for name in itertools.cycle(names):
        for strike in (strike_at_line, strike_by_signal):
            if count >= number:
                return
            where, found = strike(SCENES[name], known[name], rng)
            if where:
                count += 1
                yield name, where, found, known[name].outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=1000, help="how many strikes that hit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scene", action="append", help="one of: " + "; ".join(SCENES))
    given = parser.parse_args()
    hits, wrong = Counter[str](), 0
    for name, where, found, expected in _strikes(given.scene or list(SCENES), given.number, given.seed):
        hits[f"{name}, by {'signals' if where.startswith('SIG') else 'errors'}"] += 1
        different = differences(where, found, expected)
        if different:
            wrong += 1
            print(
                f"DIFFERENT {', '.join(different)}: {name}, {where}: {found.counts} for {expected.counts}", flush=True
            )
    for what, count in sorted(hits.items()):
        print(f"{count:5d} {what}")
    print(f"{sum(hits.values())} interrupts, {wrong} with another outcome")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
