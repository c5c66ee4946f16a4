"""Native functions with constants, wires of other names, several results, and arguments that they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import BasicVector, LeafSystem
from merganser.framework.core.inside import slot_of
from merganser.framework.native import Changing, InputOr, MatrixOf, PartOf, native
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.primitives import Gain


def bound_to(function, num_groups=0):
    class Block(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareVectorInputPort("u", 2)
            for _ in range(num_groups):
                self.DeclareDiscreteState([1.0, 2.0])
            if num_groups:
                self.DeclarePeriodicDiscreteUpdateEvent(0.5, 0.0, function)
            else:
                self.DeclareVectorOutputPort("y", 2, function)

    return Block()


@native
def doubled(v, factor, y):
    for i in range(len(y)):
        y[i] = factor * v[i]


def test_what_is_given_and_cannot_be_used_is_refused_by_name():
    with pytest.raises(TypeError, match="does not read a parameter 'gain'; those that it reads are v, factor"):
        doubled.given(gain=2.0)
    with pytest.raises(TypeError, match="what is given for 'factor' cannot be used: expected real numbers"):
        bound_to(doubled.given(v=[1.0, 2.0], factor="two"))
    with pytest.raises(ValueError, match=r"parameter 'v' is neither .* nor given"):
        bound_to(doubled.given(factor=2.0))
    other = Gain(1.0, 2)
    with pytest.raises(ValueError, match="what is given for 'v' cannot be used: it is of system '::Gain'"):
        bound_to(doubled.given(v=other.get_input_port(), factor=2.0))


def test_given_arrays_are_copied():
    v = np.array([1.0, 2.0])
    block = bound_to(doubled.given(v=v, factor=2.0))
    v[:] = 0.0
    assert block.get_output_port().Eval(block.CreateDefaultContext()).tolist() == [2.0, 4.0]


def test_part_of_a_wire_must_be_in_it():
    class Block(LeafSystem):
        def __init__(self, first):
            super().__init__()
            u = self.DeclareVectorInputPort("u", 3)
            self.DeclareVectorOutputPort("y", 2, doubled.given(v=PartOf(u, first, 2), factor=3.0))

    block = Block(1)
    context = block.CreateDefaultContext()
    block.get_input_port().FixValue(context, [1.0, 2.0, 3.0])
    assert block.get_output_port().Eval(context).tolist() == [6.0, 9.0]
    with pytest.raises(ValueError, match="elements 2 to 4 of a vector of 3"):
        Block(2)


@native
def swapped(u, xd0, xd1, next_xd0, next_xd1):
    for i in range(2):
        next_xd0[i] = xd1[i] + u[i]
        next_xd1[i] = xd0[i]


@pytest.mark.parametrize("use_plan", [False, True])
def test_an_update_may_have_several_results(use_plan):
    block = bound_to(swapped, num_groups=2)
    simulator = Simulator(block)
    simulator.set_use_native_plan(use_plan, at_once=use_plan)
    block.get_input_port().FixValue(simulator.get_mutable_context(), [10.0, 20.0])
    simulator.AdvanceTo(0.25)
    groups = [simulator.get_context().get_discrete_state(i).value().tolist() for i in range(2)]
    assert groups == [[11.0, 22.0], [1.0, 2.0]]


@native
def roots(u, y):
    for i in range(len(y)):
        if u[i] < 0.0:
            return True
        y[i] = np.sqrt(u[i])
    return False


def explain(context):
    raise ValueError(f"no root at {context.get_time()} s")


@pytest.mark.parametrize("is_tape", [False, True])
def test_a_function_may_refuse_its_arguments(is_tape):
    block = bound_to(roots.or_raise(explain))
    context = block.CreateDefaultContext()
    block.get_input_port().FixValue(context, [4.0, -1.0])
    slot = slot_of(block.get_output_port(), context)
    with pytest.raises(ValueError, match="no root at 0"):
        (Tape(context, [slot]).run if is_tape else slot.compute)()
    block.get_input_port().FixValue(context, [4.0, 9.0])
    assert block.get_output_port().Eval(context).tolist() == [2.0, 3.0]


@native
def weighted(u, low, weights, y):
    for i in range(len(y)):
        y[i] = weights[0, i] * (u[0][i] - u[1][i]) + (low[i] if len(low) > 0 else 0.0)


class Weighted(LeafSystem):
    """Lists, an input that may stay open, and a matrix that can be replaced."""

    def __init__(self, default=(5.0, 6.0)):
        super().__init__()
        u = [self.DeclareVectorInputPort(f"u{i}", 2) for i in range(2)]
        low = self.DeclareVectorInputPort("low", 2)
        self.weights = Changing(np.array([[1.0, 2.0]]))
        calc = weighted.given(u=u, low=InputOr(low, default), weights=self.weights)
        self.DeclareVectorOutputPort("y", 2, calc)


@pytest.mark.parametrize("is_tape", [False, True])
def test_lists_open_inputs_and_changing_constants(is_tape):
    block = Weighted()
    context = block.CreateDefaultContext()
    for i, value in enumerate(([3.0, 4.0], [1.0, 1.0])):
        block.get_input_port(i).FixValue(context, value)
    slot = slot_of(block.get_output_port(), context)
    compute = Tape(context, [slot])

    def result():
        block.get_input_port(0).FixValue(context, [3.0, 4.0])  # out of date
        if is_tape:
            assert compute.is_allowed()
            compute.run()
        return block.get_output_port().Eval(context).tolist()

    assert result() == [7.0, 12.0]
    block.weights.set(np.array([[10.0, 20.0]]))
    assert result() == [25.0, 66.0]
    block.GetInputPort("low").FixValue(context, [0.0, 1.0])
    assert result() == [20.0, 61.0]
    copied = block.Clone()
    block.weights.set(np.zeros((1, 2)))
    other = copied.CreateDefaultContext()
    for i, value in enumerate(([3.0, 4.0], [1.0, 1.0])):
        copied.get_input_port(i).FixValue(other, value)
    assert copied.get_output_port().Eval(other).tolist() == [25.0, 66.0]


def test_default_of_an_open_input_has_the_size_of_the_port():
    with pytest.raises(ValueError, match="the default of low must have 2 elements, or none"):
        Weighted(default=[1.0])


@native
def times(M, v, y):
    for i in range(len(y)):
        y[i] = 0.0
        for j in range(len(v)):
            y[i] += M[i, j] * v[j]


@pytest.mark.parametrize("by_columns", [False, True])
def test_a_wire_can_be_a_matrix(by_columns):
    class Block(LeafSystem):
        def __init__(self, shape=(2, 3)):
            super().__init__()
            M = MatrixOf(PartOf(self.DeclareVectorInputPort("M", 7), 1, 6), shape, by_columns)
            self.DeclareVectorOutputPort("y", 2, times.given(M=M, v=self.DeclareVectorInputPort("v", 3)))

    M, v = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0, 0.5])
    block = Block()
    interpreted, compiled = block.CreateDefaultContext(), block.CreateDefaultContext()
    for context in (interpreted, compiled):
        block.get_input_port(0).FixValue(context, [9.0, *M.ravel(order="F" if by_columns else "C")])
        block.get_input_port(1).FixValue(context, v)
    assert block.get_output_port().Eval(interpreted).tolist() == (M @ v).tolist()
    tape = Tape(compiled, [slot_of(block.get_output_port(), compiled)])
    assert tape.num_operations() == 1
    tape.run()
    assert block.get_output_port().Eval(compiled).tolist() == (M @ v).tolist()
    with pytest.raises(ValueError, match=r"given for 'M' cannot be used: a matrix of shape \(3, 3\) of a vector of 6"):
        Block((3, 3))


def test_updates_find_the_entries_that_they_read_up_to_date():
    @native
    def sampled(entry, next_x):
        next_x[0] = entry[0]

    class Block(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareDiscreteState(1)
            time = {self.time_ticket()}
            entry = self._sys_declare_entry("square of the time", BasicVector([0.0]), self.calc_square, time)
            self.DeclarePeriodicDiscreteUpdateEvent(1.0, 0.0, sampled.given(entry=entry))

        def calc_square(self, context, y):
            y.SetAtIndex(0, context.get_time() ** 2)

    for uses_plan in (False, True):
        simulator = Simulator(Block())
        simulator.set_use_native_plan(uses_plan, at_once=True)
        simulator.AdvanceTo(3.5)
        assert simulator.get_context().get_discrete_state(0).value().tolist() == [9.0]
