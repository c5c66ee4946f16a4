"""Simulations of diagrams of signal blocks run compiled, with the results of Python to the last bit."""

import functools

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.core.inside import slot_of
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.primitives import (
    AffineSystem,
    DiscreteDerivative,
    DiscreteTimeDelay,
    DiscreteTimeIntegrator,
    FirstOrderLowPassFilter,
    Integrator,
    LogVectorOutput,
    Selector,
    SelectorParams,
    SparseMatrixGain,
    TrajectorySource,
    WrapToSystem,
)
from merganser.framework.trajectories import PiecewisePolynomial

BREAKS = [0.1, 0.4, 0.7, 1.3]
SAMPLES = np.random.default_rng(9).normal(size=(2, 4))


def reference(scale=1.0):
    return PiecewisePolynomial.CubicWithContinuousSecondDerivatives(BREAKS, scale * SAMPLES)


def swapping():
    pick = [SelectorParams.OutputSelection(input_offset=j) for j in (3, 0)]
    inputs, outputs = [SelectorParams.InputPortParams(size=4)], [SelectorParams.OutputPortParams(selections=pick)]
    return Selector(SelectorParams(inputs=inputs, outputs=outputs))


BLOCKS = {
    "low-pass filter": lambda: FirstOrderLowPassFilter([0.1, 0.3]),
    "discrete integrator": lambda: DiscreteTimeIntegrator(2, 0.05),
    "delay": lambda: DiscreteTimeDelay(0.05, 3, 2),
    "no delay": lambda: DiscreteTimeDelay(0.05, 0, 2),
    "derivative": lambda: DiscreteDerivative(2, 0.05),
    "derivative from the start": lambda: DiscreteDerivative(2, 0.05, False),
    "integrator": lambda: Integrator(2),
}


@pytest.mark.parametrize("kind", ["sparse", "wrapped"])
def test_new_constants_take_effect_in_compiled_code(kind):
    if kind == "sparse":
        block = SparseMatrixGain(np.eye(2))
        change = functools.partial(block.set_D, np.array([[0.0, 2.0], [3.0, 0.0]]))
    else:
        block = WrapToSystem(2)
        change = functools.partial(block.set_interval, 1, 0.0, 1.0)
    context = block.CreateDefaultContext()
    block.get_input_port().FixValue(context, [5.0, 1.75])
    slot = slot_of(block.get_output_port(), context)
    tape = Tape(context, [slot])
    tape.run()
    assert slot.value.value().tolist() == [5.0, 1.75]
    change()
    block.get_input_port().FixValue(context, [5.0, 1.75])
    assert tape.is_allowed() and tape.num_operations() == 1
    tape.run()
    assert slot.value.value().tolist() == ([3.5, 15.0] if kind == "sparse" else [5.0, 0.75])


def test_compiled_code_leaves_it_to_python_to_say_what_cannot_be_wrapped():
    block = WrapToSystem(1)
    block.set_interval(0, 0.0, 1.0)
    context = block.CreateDefaultContext()
    block.get_input_port().FixValue(context, [np.nan])
    with pytest.raises(ValueError, match="expected finite value"):
        Tape(context, [slot_of(block.get_output_port(), context)]).run()


def logged(block, uses_plan):
    """The samples of a block behind a trajectory and a selector."""
    builder = DiagramBuilder()
    source, selector, block = (builder.AddSystem(s) for s in (TrajectorySource(reference(), 1), swapping(), block))
    builder.Connect(source.get_output_port(), selector.get_input_port())
    builder.Connect(selector.get_output_port(), block.get_input_port())
    logs = [LogVectorOutput(s.get_output_port(), builder, 0.025) for s in (block, source)]
    simulator = Simulator(builder.Build())
    simulator.set_use_native_plan(uses_plan, at_once=True)
    simulator.AdvanceTo(1.6)
    return np.concatenate([log.FindLog(simulator.get_context()).data() for log in logs])


@pytest.mark.parametrize("name", BLOCKS)
def test_a_compiled_simulation_has_the_same_results(name):
    compiled, interpreted = (logged(BLOCKS[name](), uses_plan) for uses_plan in (True, False))
    np.testing.assert_array_equal(compiled, interpreted)
    assert compiled.any()


def test_a_compiled_derivative_is_zero_until_two_samples_are_taken():
    system = DiscreteDerivative(2, 0.05)
    context = system.CreateDefaultContext()
    slot = slot_of(system.get_output_port(), context)
    tape = Tape(context, [slot])
    assert tape.num_operations() == 1
    for count, expected in ((1.0, [0.0, 0.0]), (2.0, [np.inf, 20.0])):
        context.SetDiscreteState(0, [np.inf, 1.0])
        context.SetDiscreteState(2, [count])
        tape.run()
        np.testing.assert_array_equal(slot.value.value(), expected)


@pytest.mark.parametrize("make", [*BLOCKS.values(), swapping], ids=[*BLOCKS, "selector"])
def test_outputs_derivatives_and_updates_are_operations(make):
    system = make()
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, np.zeros(system.get_input_port().size()))
    entries = [system.get_output_port()._entry_number]
    entries += [system._sys_xcdot_entry] if context.num_continuous_states() else []
    assert Tape(context, [context.slots[entry] for entry in entries]).num_operations() == len(entries)
    assert all(event.native is not None for event in system._sys_events if event.period)


@pytest.mark.parametrize("time", [-1.0, *BREAKS, 0.25, 0.55, 1.0, 2.0])
@pytest.mark.parametrize("clamps", [True, False])
def test_trajectories_are_compiled_and_equal_to_the_last_bit(time, clamps):
    system = TrajectorySource(reference(), 4, clamps)
    contexts = [system.CreateDefaultContext() for _ in range(2)]
    for context in contexts:
        context.SetTime(time)
    tape = Tape(contexts[0], contexts[0].slots)
    assert tape.num_operations() == 1
    tape.run()
    compiled, interpreted = (system.get_output_port().Eval(context) for context in contexts)
    np.testing.assert_array_equal(compiled, interpreted)


def test_constants_that_are_replaced_reach_a_simulation_that_is_under_way():
    for uses_plan in (True, False):
        builder = DiagramBuilder()
        source = builder.AddSystem(TrajectorySource(PiecewisePolynomial(np.ones((1, 1)))))
        affine = builder.AddSystem(AffineSystem(A=[[0.0]], B=[[1.0]], C=[[1.0]]))
        builder.Connect(source.get_output_port(), affine.get_input_port())
        simulator = Simulator(builder.Build())
        simulator.set_use_native_plan(uses_plan, at_once=True)
        x = simulator.get_context().get_continuous_state_vector
        simulator.AdvanceTo(1.0)
        assert x()[0] == pytest.approx(1.0)
        source.UpdateTrajectory(PiecewisePolynomial(3.0 * np.ones((1, 1))))
        simulator.AdvanceTo(2.0)
        assert x()[0] == pytest.approx(4.0, abs=2e-3)  # the value at 1 s was that before
        affine.UpdateCoefficients(A=[[0.0]], B=[[-1.0]], f0=[0.0], C=[[1.0]], D=[[0.0]], y0=[0.0])
        simulator.AdvanceTo(3.0)
        assert x()[0] == pytest.approx(1.0, abs=1e-2)
        with pytest.raises(ValueError, match="must keep its 1 rows, got one of 2"):
            source.UpdateTrajectory(PiecewisePolynomial(np.ones((2, 1))))
