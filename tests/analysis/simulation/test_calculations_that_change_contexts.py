"""Blocks that change the context of the diagram when their outputs are computed, in the loop as in Python."""

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.primitives import Gain, Integrator, LogVectorOutput, Sine, ZeroOrderHold


class Setter(LeafSystem):
    """y = u, and sets the state of another block to it; a discrete or a continuous one."""

    def __init__(self):
        super().__init__()
        u = self.DeclareVectorInputPort("u", 1)
        self.target = None

        def calc(context, output):
            values = u.Eval(context)
            if self.target.num_continuous_states():
                self.target.SetContinuousState(values)
            else:
                self.target.SetDiscreteState(values)
            output.SetFromVector(values)

        self.DeclareVectorOutputPort("y", 1, calc)


class Reader(LeafSystem):
    """Counts in Python, and reads its input to do so."""

    def __init__(self):
        super().__init__()
        self.DeclareVectorInputPort("u", 1)
        self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(0.03, 0.01, self._count)

    def _count(self, context, values):
        values.set_value(0, values.value(0) + 1.0 + self.get_input_port().Eval(context)[0])


def run(use_plan, is_continuous, reader="integrator"):
    """A wave through the setter, integrated together with what the other block makes of its state.

    Args:
        use_plan: whether the compiled loop takes the steps.
        is_continuous: whether the state that is set is one.
        reader: what reads the setter beside a log: an integrator, an event handler, or nothing.
    """
    builder = DiagramBuilder()
    wave = builder.AddSystem(Sine(1.0, 3.0, 0.5, 1))
    setter = builder.AddNamedSystem("setter", Setter())
    other = builder.AddSystem(Integrator(1) if is_continuous else ZeroOrderHold(0.05, 1))
    gain = builder.AddSystem(Gain(2.0, 1))
    sums = [builder.AddSystem(Integrator(1)) for _ in range(2)]
    builder.Connect(wave.get_output_port(0), setter.get_input_port())
    builder.Connect(wave.get_output_port(1), other.get_input_port())
    builder.Cascade(other, gain)
    builder.Cascade(gain, sums[0])
    if reader != "nothing":
        builder.Cascade(setter, sums[1] if reader == "integrator" else builder.AddSystem(Reader()))
    if reader != "integrator":
        builder.Connect(wave.get_output_port(0), sums[1].get_input_port())
    logs = [LogVectorOutput(block.get_output_port(), builder, 0.02) for block in (setter, gain, sums[0])]
    diagram = builder.Build()
    simulator = Simulator(diagram)
    simulator.get_mutable_integrator().set_fixed_step_mode(True)
    simulator.get_mutable_integrator().set_maximum_step_size(0.01)
    simulator.set_use_native_plan(use_plan, at_once=True)
    root = simulator.get_mutable_context()
    setter.target = other.GetMyMutableContextFromRoot(root)
    for time in (0.1, 0.31):
        simulator.AdvanceTo(time)
    groups = [root.get_discrete_state(n).CopyToVector() for n in range(root.num_discrete_state_groups())]
    states = [root.get_continuous_state_vector().CopyToVector(), *groups, *(log.FindLog(root).data() for log in logs)]
    return [np.ravel(values).tolist() for values in states]


@pytest.mark.parametrize("reader", ["integrator", "handler", "nothing"])
@pytest.mark.parametrize("is_continuous", [True, False])
def test_states_that_a_calculation_sets_are_the_same_in_the_compiled_loop(is_continuous, reader, caplog):
    never, always = run(False, is_continuous, reader), run(True, is_continuous, reader)
    assert always == never
    assert all(np.isfinite(values).all() for values in never)
    gains = np.array(never[-2])
    assert np.abs(gains).max() > 1.0, "the state that was set has an effect"


class Restless(LeafSystem):
    """Its output counts how often it was computed, late in the simulation; an event reads it."""

    def __init__(self):
        super().__init__()
        self.DeclareContinuousState(1)
        self.DeclareDiscreteState(1)
        self.DeclareVectorOutputPort("y", 1, self._calc)
        self.DeclarePeriodicPublishEvent(0.1, 0.0, self._look)

    def _look(self, context):
        self.get_output_port().Eval(context)

    def _calc(self, context, output):
        if context.get_time() > 0.35:
            context.get_mutable_discrete_state_vector()[0] += 1.0
        output[0] = context.get_discrete_state_vector()[0]

    def DoCalcTimeDerivatives(self, context, derivatives):
        derivatives.get_mutable_vector().SetFromVector([context.get_discrete_state_vector()[0]])


def test_a_handler_that_has_changed_the_state_by_reading_does_not_end_the_advance():
    outcomes = []
    for use_plan in (False, True):
        simulator = Simulator(Restless())
        simulator.set_use_native_plan(use_plan, at_once=True)
        simulator.AdvanceTo(1.0)
        context = simulator.get_context()
        x = context.get_continuous_state_vector()[0]
        outcomes.append((context.get_time(), x, simulator.get_num_steps_taken()))
    assert outcomes[0] == outcomes[1] and outcomes[0][0] == 1.0
