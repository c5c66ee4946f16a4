"""A user adds a block: one function and a class, which runs in every mode."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import BatchSimulator, Simulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, InitializeAutoDiff
from merganser.framework.core.inside import slot_of
from merganser.framework.native import elements, native
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.primitives import FirstOrderTaylorApproximation, Integrator, SymbolicVectorSystem
from merganser.framework.symbolic import Variable

# ---------------------------------------------------------------------- a new block, in less than 30 lines


@native
def sprung(q, k, cubic, force):
    for i in elements(force):
        force[i] = -k[i] * q[i] - cubic * q[i] * q[i] * q[i]


class Springs(LeafSystem):
    """Forces of springs that get stiffer."""

    def __init__(self, k, cubic):
        super().__init__()
        q = self.DeclareVectorInputPort("positions", len(k))
        self.DeclareVectorOutputPort("force", len(k), sprung.given(q=q, k=k, cubic=cubic))


# ---------------------------------------------------------------------- the ways to run it

STIFFNESS, CUBIC, POSITIONS = [2.0, 0.3], 0.7, [0.4, -1.1]


def forces(q):
    return [-k * x - CUBIC * x * x * x for k, x in zip(STIFFNESS, q)]


def block_in(dtype, value):
    block = Springs(STIFFNESS, CUBIC)
    context = block._make_context(dtype)
    block.get_input_port().FixValue(context, np.array(value, dtype))
    return block, context


def test_the_new_block_evaluates_and_has_feedthrough():
    block, context = block_in(np.float64, POSITIONS)
    assert block.get_output_port().Eval(context).tolist() == forces(POSITIONS)
    assert block.GetDirectFeedthroughs() == [(0, 0)]


def test_the_new_block_is_a_compiled_operation_to_the_last_bit():
    block, context = block_in(np.float64, POSITIONS)
    slot = slot_of(block.get_output_port(), context)
    tape = Tape(context, [slot])
    assert tape.num_operations() == 1
    tape.run()
    assert slot.value.value().tolist() == forces(POSITIONS)


def oscillator():
    builder = DiagramBuilder()
    springs = builder.AddSystem(Springs(STIFFNESS, CUBIC))
    v, q = builder.AddSystem(Integrator(2)), builder.AddSystem(Integrator(2))
    builder.Connect(springs.get_output_port(), v.get_input_port())
    builder.Connect(v.get_output_port(), q.get_input_port())
    builder.Connect(q.get_output_port(), springs.get_input_port())
    return builder.Build()


def final_state(use_plan, start=(0.0, 0.0, *POSITIONS)):
    simulator = Simulator(oscillator())
    simulator.set_use_native_plan(use_plan, at_once=use_plan)
    simulator.get_mutable_context().SetContinuousState(start)
    simulator.AdvanceTo(0.5)
    return simulator.get_context().get_continuous_state_vector().CopyToVector().tolist()


def test_the_new_block_runs_in_the_plan_as_in_python():
    assert final_state(True) == final_state(False)


def test_the_new_block_runs_in_a_batch_as_alone():
    starts = np.random.default_rng(4).normal(size=(3, 4))
    result = BatchSimulator(oscillator()).simulate(starts.T, 0.5)
    assert result.states.T.tolist() == [final_state(True, start) for start in starts]


def test_the_new_block_has_derivatives():
    block = Springs(STIFFNESS, CUBIC).ToAutoDiffXd()
    context = block.CreateDefaultContext()
    block.get_input_port().FixValue(context, InitializeAutoDiff(POSITIONS).ravel())
    slope = ExtractGradient(block.get_output_port().Eval(context))
    expected = np.diag([-k - 3.0 * CUBIC * q * q for k, q in zip(STIFFNESS, POSITIONS)])
    np.testing.assert_allclose(slope, expected, rtol=1e-15)
    assert isinstance(block.get_output_port().Eval(context)[0], AutoDiffXd)


def test_the_new_block_takes_complex_numbers_interpreted_and_compiled():
    value = [complex(q, 1e-100) for q in POSITIONS]
    block, context = block_in(np.complex128, value)
    interpreted = block.get_output_port().Eval(context)
    slopes = [-k - 3.0 * CUBIC * q * q for k, q in zip(STIFFNESS, POSITIONS)]
    np.testing.assert_allclose(interpreted.imag / 1e-100, slopes, rtol=1e-14)
    other, context = block_in(np.complex128, value)
    slot = slot_of(other.get_output_port(), context)
    Tape(context, [slot]).run()
    np.testing.assert_allclose(slot.value.value().imag / 1e-100, slopes, rtol=1e-14)


def test_the_new_block_takes_expressions():
    symbolic = pytest.importorskip("merganser.framework.symbolic")
    block = Springs(STIFFNESS, CUBIC).ToSymbolic()
    context = block.CreateDefaultContext()
    q = [symbolic.Variable("a"), symbolic.Variable("b")]
    block.get_input_port().FixValue(context, [symbolic.Expression(x) for x in q])
    result = block.get_output_port().Eval(context)
    env = dict(zip(q, POSITIONS))
    np.testing.assert_allclose([e.Evaluate(env) for e in result], forces(POSITIONS), rtol=1e-14)


def test_the_new_block_can_be_linearized():
    block, context = block_in(np.float64, POSITIONS)
    D = FirstOrderTaylorApproximation(block, context).D()
    np.testing.assert_allclose(np.diag(D), [-k - 3.0 * CUBIC * q * q for k, q in zip(STIFFNESS, POSITIONS)], rtol=1e-14)


# ---------------------------------------------------------------------- blocks derived from those that are there


U, X = Variable("u"), Variable("x")


class Leaky(Integrator):
    def DoCalcTimeDerivatives(self, context, derivatives):
        super().DoCalcTimeDerivatives(context, derivatives)
        x = context.get_continuous_state_vector().CopyToVector()
        derivatives.SetFromVector(derivatives.CopyToVector() - 2.0 * x)


class Doubled(SymbolicVectorSystem):
    def DoCalcTimeDerivatives(self, context, derivatives):
        super().DoCalcTimeDerivatives(context, derivatives)
        derivatives.SetFromVector(2.0 * derivatives.CopyToVector())


@pytest.mark.parametrize("use_plan", [False, True])
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: Leaky(1), 0.5 * (1.0 - np.exp(-2.0))),
        (lambda: Doubled(input=[U], state=[X], dynamics=[U - X], output=[X]), 1.0 - np.exp(-2.0)),
    ],
    ids=["native function", "expressions"],
)
def test_an_override_of_a_block_that_is_there_counts_in_every_way_to_simulate(make, expected, use_plan):
    block = make()
    context = block.CreateDefaultContext()
    block.get_input_port().FixValue(context, [1.0])
    simulator = Simulator(block, context)
    simulator.set_use_native_plan(use_plan, at_once=True)
    simulator.get_mutable_integrator().set_target_accuracy(1e-9)
    simulator.AdvanceTo(1.0)
    assert context.get_continuous_state_vector().GetAtIndex(0) == pytest.approx(expected, abs=1e-7)
