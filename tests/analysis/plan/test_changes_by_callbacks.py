"""Changes by Python callbacks during the compiled loop have the same effect as in steps in Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from interrupts import SCENES

from merganser.analysis import Radau3Integrator, RungeKutta3Integrator, Simulator
from merganser.analysis.plan.plan import Plan
from merganser.framework import BasicVector, DiagramBuilder, LeafSystem
from merganser.framework.core.declarations.events import TriggerType
from merganser.framework.native.compiler.when_to_compile import OptionalCode
from merganser.framework.native.memory.addresses import address_of_array
from merganser.framework.native.memory.tape import SUCCEEDED
from merganser.framework.primitives import (
    ConstantVectorSource,
    Gain,
    Integrator,
    LogVectorOutput,
    VectorLog,
    VectorLogSink,
    ZeroOrderHold,
)
from merganser.multibody.plant import MultibodyPlant, sampling
from merganser.multibody.plant.step import native_code
from merganser.multibody.tree import PrismaticJoint, SpatialInertia

CALLBACKS = ["derivatives", "output", "logged output", "update", "publish"]


class Actor(LeafSystem):
    """Does something once, in one of its callbacks, when a given time has come."""

    def __init__(self, where: str, time: float) -> None:
        super().__init__()
        self._where, self._time = where, time
        self.action: Callable[[Any], Any] = lambda _: None
        self.DeclareVectorInputPort("u", 1)
        self.DeclareContinuousState(BasicVector([1.0]))
        self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(0.05, 0.0, self._update)
        self.DeclarePeriodicPublishEvent(0.05, 0.0, lambda context: self._publish(context))
        self.DeclareVectorOutputPort("y", 1, self._output)
        self.DeclareVectorOutputPort("logged", 1, self._logged_output)

    def _act(self, where: str, context: Any) -> None:
        if where == self._where and context.get_time() >= self._time:
            self._where = "nowhere"
            self.action(context)

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        self._act("derivatives", context)
        derivatives.SetFromVector([self.GetInputPort("u").Eval(context)[0] - context.get_continuous_state_vector()[0]])

    def _update(self, context: Any, values: Any) -> None:
        self._act("update", context)
        values.set_value(0, values.value(0) + context.get_continuous_state_vector()[0])

    def _publish(self, context: Any) -> None:
        self._act("publish", context)

    def _output(self, context: Any, output: Any) -> None:
        self._act("output", context)
        output.SetFromVector(context.get_continuous_state_vector().CopyToVector())

    def _logged_output(self, context: Any, output: Any) -> None:
        self._act("logged output", context)
        output.SetFromVector(context.get_continuous_state_vector().CopyToVector())


class World:
    """An actor in a loop with compiled blocks, with logs of both.

    Attributes:
        log: of a compiled block, with room for a few more samples.
    """

    def __init__(self, use_plan: bool, where: str, time: float = 0.42) -> None:
        builder = DiagramBuilder()
        self.actor = builder.AddNamedSystem("actor", Actor(where, time))
        self.source = builder.AddSystem(ConstantVectorSource([2.0]))
        gain, hold = builder.AddSystem(Gain(0.5, 1)), builder.AddSystem(ZeroOrderHold(0.05, 1))
        scaled, self.total = builder.AddSystem(Gain(3.0, 1)), builder.AddSystem(Integrator(1))
        builder.Connect(self.actor.GetOutputPort("y"), gain.get_input_port())
        builder.Connect(gain.get_output_port(), hold.get_input_port())
        builder.Connect(hold.get_output_port(), self.actor.get_input_port())
        builder.Connect(self.source.get_output_port(), scaled.get_input_port())
        builder.Connect(scaled.get_output_port(), self.total.get_input_port())
        sink = builder.AddSystem(VectorLogSink(1, {TriggerType.kPerStep, TriggerType.kPeriodic}, 0.05))
        builder.Connect(self.total.get_output_port(), sink.get_input_port())
        sinks = [sink, LogVectorOutput(self.actor.GetOutputPort("logged"), builder, 0.05)]
        self.simulator = Simulator(builder.Build())
        self.simulator.set_use_native_plan(use_plan)
        self.simulator.set_use_native_plan(True, at_once=True)
        integrator = self.simulator.get_mutable_integrator()
        integrator.set_fixed_step_mode(True)
        integrator.set_maximum_step_size(0.01)
        self.root = self.simulator.get_mutable_context()
        self.logs = [sink.FindMutableLog(self.root) for sink in sinks]
        self.log = self.logs[0]
        self.log._take_arrays(32, np.float64)

    def run(self, action: Callable[[Any], Any], end: float = 1.0) -> list[Any]:
        """All that can be seen after a simulation in which the actor does something."""
        self.actor.action = action
        self.simulator.AdvanceTo(end)
        root = self.root
        return [
            root.get_time(), root.get_continuous_state_vector().CopyToVector().tolist(),
            [root.get_discrete_state(n).CopyToVector().tolist() for n in range(root.num_discrete_state_groups())],
            *[(log.sample_times().real.tolist(), log.data().tolist()) for log in self.logs],
            self.simulator.get_num_steps_taken(), self.simulator.get_num_publishes(),
        ]  # fmt: skip


def with_and_without_plan(where: str, action: Callable[[World], Any], **options: Any) -> list[Any]:
    """Results with the plan, which must equal those without it."""
    seen = []
    for use_plan in (True, False):
        world = World(use_plan, where, **options)
        seen.append(world.run(lambda _, world=world: action(world)))
    assert seen[0] == seen[1]
    return seen[0]


LOG_ACTIONS: dict[str, Callable[[VectorLog], Any]] = {
    "reserves": lambda log: log.Reserve(5000),
    "clears": lambda log: log.Clear(),
    "adds one": lambda log: log.AddData(0.5, [7.0]),
    "adds up to the brim": lambda log: [log.AddData(0.5, [7.0]) for _ in range(len(log._times) - log.num_samples())],
    "adds until it moves": lambda log: [log.AddData(0.5, [7.0]) for _ in range(300)],
    "adds a complex number": lambda log: log.AddData(0.5, [1.0 + 2.0j]),
    "adds an object": lambda log: log.AddData(0.5, np.array([7.0], dtype=object)),
}


@pytest.mark.parametrize("action", LOG_ACTIONS)
@pytest.mark.parametrize("where", CALLBACKS)
def test_a_log_that_any_callback_changes_goes_on_from_there(where: str, action: str) -> None:
    both = []
    for use_plan in (True, False):
        world = World(use_plan, where)
        seen = world.run(lambda _, world=world: LOG_ACTIONS[action](world.log))
        if action == "adds up to the brim":  # which is not at the same place with and without plan
            seen[3] = [(time, x) for time, x in zip(seen[3][0], seen[3][1][0]) if x != 7.0]
        elif where == "logged output":  # when that is computed, before others are logged or after, is not said
            seen[3] = len(seen[3][0]) > 60
        both.append(seen)
    assert both[0] == both[1]


@pytest.mark.parametrize("sample", [[1.0 + 2.0j], np.array([7.0], dtype=object)])
def test_a_log_of_other_numbers_than_floats_is_written_to_as_it_should_be(sample: Any) -> None:
    both = []
    for use_plan in (True, False):
        world = World(use_plan, "nowhere")
        world.log.AddData(-1.0, sample)
        both.append(world.run(lambda _: None))
        assert world.log.data().dtype == np.asarray(sample).dtype
        world.log.Clear()
        world.simulator.AdvanceTo(1.3)
        assert world.log.num_samples() > 30
    assert both[0] == both[1]
    assert both[0][3][1][0][0] == np.asarray(sample)[0] and both[0][3][1][0][-1] == pytest.approx(6.0)


def test_samples_that_are_no_numbers_are_refused() -> None:
    log = VectorLog(1)
    with pytest.raises(TypeError, match="VectorLog: samples are numbers, got elements of type <U1"):
        log.AddData(0.0, ["a"])
    assert log.num_samples() == 0


@pytest.mark.parametrize("where", ["publish", "update"])
@pytest.mark.parametrize("what", ["parameter", "continuous state", "discrete state", "cache", "declarations", "log"])
def test_a_context_or_system_that_a_handler_changes_is_heeded(where: str, what: str) -> None:
    def act(world: World) -> None:
        root = world.root
        if what == "parameter":
            context = world.source.GetMyMutableContextFromRoot(root)
            world.source.get_mutable_source_value(context).SetFromVector([5.0])
        elif what == "continuous state":
            root.SetContinuousState([3.0, 4.0])
        elif what == "discrete state":
            context = world.actor.GetMyMutableContextFromRoot(root)
            context.SetDiscreteState([9.0])
        elif what == "cache":
            root.DisableCaching()
        elif what == "log":
            world.log.Clear()
            root.SetAllCacheEntriesOutOfDate()
        else:
            world.actor.DeclareVectorInputPort("another", 3)
            world.actor.DeclarePeriodicPublishEvent(0.02, 0.0, lambda context: None)

    with_and_without_plan(where, act)


@pytest.mark.parametrize("use_plan", [True, False])
@pytest.mark.parametrize("where", ["publish", "monitor"])
def test_parts_of_a_simulation_are_not_exchanged_while_it_advances(where: str, use_plan: bool) -> None:
    for what in ("reset_integrator", "reset_context"):
        world = World(use_plan, where)
        simulator, root = world.simulator, world.root
        part = root if what == "reset_context" else RungeKutta3Integrator(simulator.get_system(), root)
        reset = functools.partial(getattr(simulator, what), part)
        if where == "monitor":
            simulator.Initialize()
            simulator.set_monitor(lambda _, reset=reset: reset())
        with pytest.raises(RuntimeError, match=f"{what} was called by a callback or monitor of this simulation"):
            world.run(lambda _, reset=reset: reset())
        simulator.clear_monitor()
        simulator.AdvanceTo(1.0)
        assert root.get_time() == 1.0


@pytest.mark.parametrize("where", CALLBACKS)
@pytest.mark.parametrize("use_plan", [True, False])
def test_a_callback_cannot_advance_the_simulation_that_it_is_part_of(where: str, use_plan: bool) -> None:
    world = World(use_plan, where)
    with pytest.raises(RuntimeError, match="AdvanceTo was called by a callback or monitor of this simulation"):
        world.run(lambda _: world.simulator.AdvanceTo(2.0))
    world.simulator.AdvanceTo(1.0)
    assert world.root.get_time() == 1.0


@pytest.mark.parametrize("where", ["publish", "monitor"])
def test_an_integrator_that_is_given_its_context_again_is_found_by_the_loop(where: str) -> None:
    both = []
    for use_plan in (True, False):
        world = World(use_plan, where)
        integrator = world.simulator.get_mutable_integrator()
        times = []

        def reset(root: Any, integrator: Any = integrator, times: list[float] = times) -> None:
            if root.get_time() > 0.4 and not times:
                times.append(root.get_time())
                integrator.reset_context(integrator.get_context())
                integrator.Initialize()

        if where == "monitor":
            world.simulator.set_monitor(reset)
            world.simulator.AdvanceTo(0.5)
            world.simulator.clear_monitor()
        both.append(world.run(lambda _, world=world: reset(world.root)))
        if use_plan:
            for name, array in (("x_start", integrator._x_start), ("xdot_start", integrator._xdot_start)):
                assert list(getattr(integrator._problem, name)) == [address_of_array(array), len(array)]
        assert len(times) == 1
    assert both[0] == both[1]


@pytest.mark.parametrize("use_plan", [True, False])
@pytest.mark.parametrize("integrator_type", [RungeKutta3Integrator, Radau3Integrator])
def test_an_integrator_is_not_changed_within_a_step(integrator_type: Any, use_plan: bool) -> None:
    world = World(use_plan, "derivatives")
    integrator = world.simulator.reset_integrator(integrator_type(world.simulator.get_system(), world.root))
    with pytest.raises(RuntimeError, match=r"reset_context was called by a callback, within a step"):
        world.run(lambda _: integrator.reset_context(world.root))
    world.simulator.AdvanceTo(1.0)
    assert world.root.get_time() == 1.0


def test_what_a_handler_lets_the_integrator_do_hides_no_later_exception() -> None:
    """Steps that a handler asks for compute derivatives in another way than the loop."""

    def fail(_: Any) -> None:
        raise ValueError("the real reason")

    seen = []
    for use_plan in (True, False):
        world = World(use_plan, "derivatives", time=0.62)
        integrator, done = world.simulator.get_mutable_integrator(), []

        def integrate(context: Any, integrator: Any = integrator, done: list[bool] = done) -> None:
            if context.get_time() > 0.4 and not done:
                done.append(True)
                integrator.IntegrateWithMultipleStepsToTime(context.get_time() + 0.001)

        world.actor._publish = integrate
        with pytest.raises(ValueError, match="the real reason"):
            world.run(fail)
        seen.append([world.root.get_time(), world.root.get_continuous_state_vector().CopyToVector().tolist(), done])
    assert seen[0] == seen[1]


def test_a_sink_with_two_triggers_loses_no_sample_where_its_log_is_full() -> None:
    both = []
    for use_plan in (True, False):
        world = World(use_plan, "nowhere")
        both.append(world.run(lambda _: None, end=20.0)[3])
    assert both[0] == both[1]
    times = np.array(both[0][0])
    assert np.count_nonzero(np.diff(times) == 0.0) >= 400  # twice at once where a period ends


class Rewiring(LeafSystem):
    """Gives another block a new input now and then, while events of both are due; counts its calls."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.num_calls = 0
        self.target: Any = None  # port and context of the other block
        if kind == "update":
            self.DeclareDiscreteState(1)
            self.DeclarePeriodicDiscreteUpdateEvent(0.1, 0.0, lambda context, values: self._act(context))
        else:
            self.DeclarePeriodicPublishEvent(0.1, 0.0, self._act)

    def _act(self, context: Any) -> None:
        self.num_calls += 1
        if self.target is not None and self.num_calls % 3 == 0:
            port, other = self.target
            port.FixValue(other, [float(self.num_calls)])


@pytest.mark.parametrize("kind", ["update", "publish"])
def test_an_input_that_a_handler_fixes_counts_for_compiled_events_of_the_same_time(kind: str) -> None:
    both = []
    for use_plan in (True, False):
        builder = DiagramBuilder()
        gains = [builder.AddSystem(Gain(k=1.0, size=1)) for _ in range(2)]
        feeds = builder.AddSystem(ConstantVectorSource([0.5]))
        builder.Connect(feeds.get_output_port(), gains[1].get_input_port())
        rewiring = builder.AddSystem(Rewiring(kind))
        other = builder.AddSystem(Rewiring(kind))  # one more handler, after the first and before what is compiled
        holds = [builder.AddSystem(ZeroOrderHold(0.1, 1)) for _ in gains]
        for gain, hold in zip(gains, holds):
            builder.Connect(gain.get_output_port(), hold.get_input_port())
        sinks = [LogVectorOutput(block.get_output_port(), builder, 0.1) for block in (*gains, *holds)]
        diagram = builder.Build()
        simulator = Simulator(diagram)
        simulator.set_use_native_plan(use_plan, at_once=True)
        root = simulator.get_mutable_context()
        contexts = [gain.GetMyMutableContextFromRoot(root) for gain in gains]
        gains[0].get_input_port().FixValue(contexts[0], [0.0])
        rewiring.target = gains[0].get_input_port(), contexts[0]
        other.target = gains[1].get_input_port(), contexts[1]
        simulator.AdvanceTo(2.05)
        logs = [sink.FindLog(root).data().tolist() for sink in sinks]
        counts = [simulator.get_num_discrete_updates(), simulator.get_num_publishes(), simulator.get_num_steps_taken()]
        both.append([logs, counts, rewiring.num_calls, other.num_calls])
        assert (simulator._plan is not None) == use_plan
    assert both[0] == both[1]
    assert both[0][0][2][0][-1] > 10.0  # it has come through


def test_simulations_of_python_blocks_alone_run_in_the_compiled_loop_too() -> None:
    both = []
    for use_plan in (True, False):
        builder = DiagramBuilder()
        blocks = [builder.AddSystem(Rewiring(kind)) for kind in ("update", "publish", "publish")]
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(use_plan, at_once=True)
        simulator.AdvanceTo(1.0)
        assert (simulator._plan is not None) == use_plan
        counts = [simulator.get_num_discrete_updates(), simulator.get_num_publishes(), simulator.get_num_steps_taken()]
        both.append([block.num_calls for block in blocks] + counts)
    assert both[0] == both[1]


class Meddling(LeafSystem):
    """Calls a function of the user in one kind of event."""

    def __init__(self, where: str, act: Any) -> None:
        super().__init__()
        self.DeclareContinuousState(1)
        self.DeclareDiscreteState(1)
        handler = functools.partial(self._handle, act)
        if where == "initialization":
            self.DeclareInitializationDiscreteUpdateEvent(handler)
        elif where == "update":
            self.DeclarePeriodicDiscreteUpdateEvent(0.25, 0.25, handler)
        else:
            self.DeclarePeriodicPublishEvent(0.25, 0.25, handler)

    def _handle(self, act: Any, context: Any, *values: Any) -> None:
        act()

    def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
        derivatives.SetFromVector([1.0])


def _at(time: float, context: Any) -> Any:
    context.SetTime(time)
    return context


_REFUSED: dict[str, Any] = {
    "AdvanceTo": lambda s: s.AdvanceTo(2.0),
    "Initialize": lambda s: s.Initialize(),
    "reset_context": lambda s: s.reset_context(s.get_system().CreateDefaultContext()),
    "SetTime": lambda s: s.get_mutable_context().SetTime(0.7),
    "SetTimeAndContinuousState": lambda s: s.get_mutable_context().SetTimeAndContinuousState(0.7, [0.0]),
    "SetTimeStateAndParametersFrom": lambda s: s.get_mutable_context().SetTimeStateAndParametersFrom(
        _at(0.7, s.get_system().CreateDefaultContext())
    ),
    "Integrator.reset_context": lambda s: s.get_mutable_integrator().reset_context(
        s.get_system().CreateDefaultContext()
    ),
    "Integrator.Reset": lambda s: s.get_mutable_integrator().Reset(),
    "another Simulator's AdvanceTo": lambda s: Simulator(s.get_system(), s.get_mutable_context()).AdvanceTo(2.0),
}


@pytest.mark.parametrize("where", ["initialization", "update", "publish"])
@pytest.mark.parametrize("call", _REFUSED)
def test_what_would_break_a_simulation_is_refused_in_its_callbacks(call: str, where: str) -> None:
    is_meddling = True

    def act() -> None:
        if is_meddling:
            _REFUSED[call](simulator)

    simulator = Simulator(Meddling(where, act))
    simulator.set_use_native_plan(False)
    with pytest.raises(RuntimeError, match=rf"{call.split()[-1].split('.')[-1]}\b.* a callback or monitor of "):
        simulator.AdvanceTo(1.0)
    is_meddling = False
    simulator.set_monitor(lambda root: root.SetTime(root.get_time()))  # the same time has all computed again
    simulator.AdvanceTo(1.0)
    simulator.clear_monitor()
    context = simulator.get_mutable_context()
    assert context.get_time() == context.get_continuous_state_vector()[0] == pytest.approx(1.0)
    context.SetTime(0.0)  # which is possible between advances


def test_the_loop_does_not_run_on_with_arrays_that_looking_for_code_has_replaced(monkeypatch):
    """A plant that shows the contacts of its last step to Python makes the arrays of its steps again."""

    class NotCompiled:
        def is_usable(self):
            return False

    look, seen = Plan._look, []

    def watched_look(plan):
        result = look(plan)
        seen.append((result, plan._program.is_current()))
        return result

    monkeypatch.setattr(sampling, "_CONTACT_FORCES", NotCompiled())
    monkeypatch.setattr(Plan, "_look", watched_look)
    simulator, _, end = SCENES["hydroelastic, compiled"]()
    simulator.AdvanceTo(0.5 * end)
    simulator._plan._look()
    simulator.AdvanceTo(end)
    simulator._plan._look()
    assert (SUCCEEDED, True) in seen and (SUCCEEDED, False) not in seen


def test_a_step_that_becomes_an_operation_while_the_loop_runs_is_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A falling body, whose step is compiled somewhere between two steps that Python takes for the loop."""
    plant = MultibodyPlant(0.01)
    body = plant.AddRigidBody("body", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
    plant.AddJoint(PrismaticJoint("fall", plant.world_frame(), body.body_frame(), [0.0, 0.0, 1.0]))
    plant.Finalize()
    is_usable, num_asked = OptionalCode.is_usable, 0

    def is_usable_later(code: OptionalCode) -> bool:
        nonlocal num_asked
        num_asked += code is native_code.STEP
        return is_usable(code) and not (code is native_code.STEP and num_asked == 1)

    monkeypatch.setattr(OptionalCode, "is_usable", is_usable_later)
    simulator = Simulator(plant)
    simulator.set_use_native_plan(True, at_once=True)
    simulator.AdvanceTo(20.0)
    assert num_asked > 1
    assert plant.GetVelocities(simulator.get_context()) == pytest.approx([-9.81 * 20.0], rel=1e-12)
