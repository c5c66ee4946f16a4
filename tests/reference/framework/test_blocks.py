"""Blocks and PID controllers have pydrake's ports and give its numbers."""

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="the extra `reference` is not installed")

import pydrake.common.value
import pydrake.systems.analysis as drake_analysis
import pydrake.systems.controllers as drake_controllers
import pydrake.systems.framework as drake_framework
import pydrake.systems.primitives as drake
import scipy.sparse
from pydrake.autodiffutils import AutoDiffXd as DrakeAutoDiffXd

from merganser import analysis, framework
from merganser.analysis import controllers
from merganser.framework import primitives
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math.element_functions import clamp

pytestmark = pytest.mark.reference
RANDOM = np.random.default_rng(11)
MATRIX, SELECTION, SPREAD = (RANDOM.normal(size=shape) for shape in ((3, 2), (4, 7), (3, 2)))
GAINS = RANDOM.uniform(0.1, 3.0, size=(3, 2))
RANDOM_WAVE = RANDOM.normal(size=(3, 4))


def wrapping(blocks):
    system = blocks.WrapToSystem(3)
    system.set_interval(0, -0.3, 0.2)
    system.set_interval(2, 1.0, 1.5)
    return system


def selecting(blocks):
    params = blocks.SelectorParams
    pick = [params.OutputSelection(input_port_index=n, input_offset=j) for n, j in ((1, 0), (0, 1), (1, 0))]
    inputs = [params.InputPortParams(size=2), params.InputPortParams(name="b", size=1)]
    outputs = [params.OutputPortParams(selections=pick), params.OutputPortParams(name="o", selections=pick[1:2])]
    return blocks.Selector(params(inputs=inputs, outputs=outputs))


BLOCKS = {
    "Sine": lambda b, c: b.Sine(*RANDOM_WAVE),
    "Sine, one for all": lambda b, c: b.Sine(1.5, 2.5, 0.3, 2),
    "Sine of an input": lambda b, c: b.Sine(amplitudes=[2.0], frequencies=[0.7], phases=[0.3], is_time_based=False),
    "Saturation": lambda b, c: b.Saturation([-0.3, -np.inf], [0.2, 0.1]),
    "MatrixGain": lambda b, c: b.MatrixGain(MATRIX),
    "MatrixGain of zeros": lambda b, c: b.MatrixGain(0.0 * MATRIX),
    "SparseMatrixGain": lambda b, c: b.SparseMatrixGain(scipy.sparse.csc_matrix(MATRIX)),
    "DiscreteTimeIntegrator": lambda b, c: b.DiscreteTimeIntegrator(2, 0.1),
    "DiscreteTimeDelay": lambda b, c: b.DiscreteTimeDelay(0.1, 2, 2),
    "DiscreteDerivative": lambda b, c: b.DiscreteDerivative(2, 0.1),
    "DiscreteDerivative, unsuppressed": lambda b, c: b.DiscreteDerivative(2, 0.1, False),
    "StateInterpolator": lambda b, c: b.StateInterpolatorWithDiscreteDerivative(2, 0.1),
    "ZeroOrderHold": lambda b, c: b.ZeroOrderHold(0.1, 2, 0.25),
    "FirstOrderLowPassFilter": lambda b, c: b.FirstOrderLowPassFilter([0.5, 2.0]),
    "FirstOrderLowPassFilter, one for all": lambda b, c: b.FirstOrderLowPassFilter(0.5),
    "WrapToSystem": lambda b, c: wrapping(b),
    "Selector": lambda b, c: selecting(b),
    "PidController": lambda b, c: c.PidController(*GAINS),
    "PidController with a projection": lambda b, c: c.PidController(SELECTION, *GAINS),
    "PidController with two projections": lambda b, c: c.PidController(SELECTION, SPREAD, *GAINS),
}


@pytest.fixture(params=BLOCKS, ids=lambda name: name.replace(" ", "-"))
def pair(request):
    make = BLOCKS[request.param]
    return make(primitives, controllers), make(drake, drake_controllers)


def ports(system):
    inputs = [system.get_input_port(i) for i in range(system.num_input_ports())]
    outputs = [system.get_output_port(i) for i in range(system.num_output_ports())]
    return [[(port.get_name(), port.size()) for port in side] for side in (inputs, outputs)]


def structure(system):
    context = system.CreateDefaultContext()
    groups = [context.get_discrete_state(i).size() for i in range(context.num_discrete_state_groups())]
    timing = system.GetUniquePeriodicDiscreteUpdateAttribute()
    direct = [
        system.HasDirectFeedthrough(i, o)
        for i in range(system.num_input_ports())
        for o in range(system.num_output_ports())
    ]
    state = context.get_continuous_state()
    return (
        ports(system), direct, groups, (state.num_q(), state.num_v(), state.num_z()),
        timing and (timing.period_sec(), timing.offset_sec()),
    )  # fmt: skip


def test_structure(pair):
    assert structure(pair[0]) == structure(pair[1])


def values(system, seed):
    """Outputs, derivatives, periodic and forced updates, for random time, inputs and state."""
    rng = np.random.default_rng(seed)
    context = system.CreateDefaultContext()
    context.SetTime(rng.uniform(0.0, 5.0))
    for i in range(system.num_input_ports()):
        system.get_input_port(i).FixValue(context, rng.normal(size=system.get_input_port(i).size()))
    for i in range(context.num_discrete_state_groups()):
        context.SetDiscreteState(i, rng.normal(scale=3.0, size=context.get_discrete_state(i).size()))
    if context.num_continuous_states():
        context.SetContinuousState(rng.normal(size=context.num_continuous_states()))
    found = [system.get_output_port(i).Eval(context) for i in range(system.num_output_ports())]
    found.append(system.EvalTimeDerivatives(context).CopyToVector())
    if context.num_discrete_state_groups():
        forced = system.AllocateDiscreteVariables()
        forced.SetFrom(context.get_discrete_state())
        system.CalcForcedDiscreteVariableUpdate(context, forced)
        for update in (forced, system.EvalUniquePeriodicDiscreteUpdate(context)):
            found += [update.get_vector(i).CopyToVector() for i in range(update.num_groups())]
    return np.concatenate(found)


def test_numbers(pair):
    for seed in range(5):
        np.testing.assert_allclose(values(pair[0], seed), values(pair[1], seed), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("value", [-2.0, -1.0, 0.5, 2.0, 3.0])
def test_derivatives_of_saturation(value):
    reference = drake.Saturation_[DrakeAutoDiffXd]([-1.0], [2.0])
    context = reference.CreateDefaultContext()
    reference.get_input_port(0).FixValue(context, [DrakeAutoDiffXd(value, [1.0])])
    (expected,) = reference.get_output_port().Eval(context)
    (actual,) = clamp(np.array([AutoDiffXd(value, [1.0])]), np.array([-1.0]), np.array([2.0]))
    assert (actual.value(), actual.derivatives().sum()) == (expected.value(), expected.derivatives().sum())


PYDRAKE = (drake_framework, drake, drake_controllers, drake_analysis, pydrake.common.value.Value)
MERGANSER = (framework, primitives, controllers, analysis, framework.Value)
BOTH = pytest.mark.parametrize("modules", [PYDRAKE, MERGANSER], ids=["pydrake", "merganser"])


def history_of(modules, block, source, times):
    fw, _, _, analyses, _ = modules
    builder = fw.DiagramBuilder()
    builder.AddSystem(source)
    builder.AddSystem(block)
    builder.Connect(source.get_output_port(0), block.get_input_port(0))
    simulator = analyses.Simulator(builder.Build())
    outputs = []
    for time in times:
        simulator.AdvanceTo(time)
        value = block.get_output_port().Eval(block.GetMyContextFromRoot(simulator.get_context()))
        outputs.append(value if isinstance(value, str) else value.tolist())
    return outputs


def test_sampled_blocks_in_a_simulation():
    """At sample times as well as between them, from before the first sample."""
    times = [0.0, 0.05, 0.1, 0.15, 0.25, 0.3, 0.4, 0.55]
    for name in (
        "DiscreteTimeDelay",
        "DiscreteTimeIntegrator",
        "DiscreteDerivative",
        "StateInterpolator",
        "ZeroOrderHold",
    ):
        ours, theirs = (
            history_of(modules, BLOCKS[name](modules[1], modules[2]), modules[1].Sine(1.0, 2.0, 0.3, 2), times)
            for modules in (MERGANSER, PYDRAKE)
        )
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-13, err_msg=name)


@BOTH
def test_abstract_delay_and_hold(modules):
    _, blocks, _, _, value = modules
    times = [0.0, 0.1, 0.15, 0.25, 0.35]

    def run(block):
        return history_of(modules, block, blocks.ConstantValueSource(value("new")), times)

    assert run(blocks.DiscreteTimeDelay(0.1, 1, value("old"))) == ["old", "old", "new", "new", "new"]
    assert run(blocks.ZeroOrderHold(0.1, value("old"), 0.12)) == ["old", "old", "new", "new", "new"]
    assert run(blocks.ZeroOrderHold(period_sec=0.1, abstract_model_value=value("old"))) == ["new"] * 5


@BOTH
def test_port_switch(modules):
    fw, blocks, *_ = modules
    system = blocks.PortSwitch(vector_size=2)
    first, second = system.DeclareInputPort(name="first"), system.DeclareInputPort("second")
    assert ports(system) == [[("port_selector", 0), ("first", 2), ("second", 2)], [("value", 2)]]
    context = system.CreateDefaultContext()
    second.FixValue(context, [1.0, 2.0])
    system.get_port_selector_input_port().FixValue(context, second.get_index())
    assert system.get_output_port().Eval(context).tolist() == [1.0, 2.0]
    system.get_port_selector_input_port().FixValue(context, fw.InputPortIndex(1))
    with pytest.raises(RuntimeError, match=r"first.* is not connected"):
        system.get_output_port().Eval(context)
    first.FixValue(context, [3.0, 4.0])
    assert system.get_output_port().Eval(context).tolist() == [3.0, 4.0]


@BOTH
def test_buses(modules):
    fw, blocks, _, _, value = modules
    creator, selector = blocks.BusCreator(), blocks.BusSelector(input_port_name="bus")
    creator.DeclareVectorInputPort(name="a", size=2)
    creator.DeclareAbstractInputPort("b", value(""))
    creator.DeclareVectorInputPort(fw.kUseDefaultName, 1)
    selector.DeclareVectorOutputPort("a", 2)
    selector.DeclareAbstractOutputPort("b", value(""))
    selector.DeclareVectorOutputPort(name="c", size=2)
    assert ports(creator) == [[("a", 2), ("b", 0), ("u2", 1)], [("y0", 0)]]
    assert ports(selector) == [[("bus", 0)], [("a", 2), ("b", 0), ("c", 2)]]
    context = creator.CreateDefaultContext()
    creator.get_input_port(0).FixValue(context, [1.0, 2.0])
    creator.get_input_port(1).FixValue(context, "text")
    bus = creator.get_output_port().Eval(context)
    assert list(bus) == ["a", "b"] and isinstance(bus["a"], fw.BasicVector)
    context = selector.CreateDefaultContext()
    selector.get_input_port().FixValue(context, bus)
    assert selector.get_output_port(0).Eval(context).tolist() == [1.0, 2.0]
    assert selector.get_output_port(1).Eval(context) == "text"
    with pytest.raises(RuntimeError, match="signal"):
        selector.get_output_port(2).Eval(context)


def controlled_motion(modules):
    _, blocks, pids, analyses, _ = modules
    plant = blocks.LinearSystem([[0.0, 1.0], [-2.0, -0.1]], [[0.0], [1.0]], np.eye(2), np.zeros((2, 1)))
    system = pids.PidControlledSystem(plant, np.eye(2), 3.0, 0.2, 1.0)
    assert ports(system) == [[("feedforward_control", 1), ("desired_state", 2)], [("y0", 2)]]
    simulator = analyses.Simulator(system)
    context = simulator.get_mutable_context()
    system.get_control_input_port().FixValue(context, [0.1])
    system.get_state_input_port().FixValue(context, [1.0, 0.0])
    simulator.get_mutable_integrator().set_target_accuracy(1e-11)
    simulator.AdvanceTo(1.0)
    return system.get_state_output_port().Eval(context)


def test_pid_controlled_system():
    np.testing.assert_allclose(controlled_motion(MERGANSER), controlled_motion(PYDRAKE), rtol=0, atol=1e-9)


@BOTH
def test_interpolator_can_start_at_rest(modules):
    _, blocks, *_ = modules
    system = blocks.StateInterpolatorWithDiscreteDerivative(2, 0.1)
    context = system.CreateDefaultContext()
    system.get_input_port().FixValue(context, [3.0, 4.0])
    system.set_initial_position(context=context, position=[1.0, 2.0])
    assert [context.get_discrete_state(i).value().tolist() for i in range(3)] == [[1.0, 2.0], [1.0, 2.0], [2.0]]
    system.set_initial_position(state=context.get_mutable_state(), position=[5.0, 6.0])
    assert context.get_discrete_state(0).value().tolist() == [5.0, 6.0]
    assert system.get_output_port().Eval(context).tolist() == [3.0, 4.0, 0.0, 0.0]


def test_controllability():
    rng = np.random.default_rng(2)
    T = rng.normal(size=(3, 3))
    for modes in ([2.0, 3.0, -0.5], [2.0, 3.0, 0.5], [-0.2, -0.3, -0.4]):
        A = T @ np.diag(modes) @ np.linalg.inv(T)
        B = T @ np.array([[1.0], [1.0], [0.0]])
        for arguments in ((A, B, np.ones((1, 3)), np.zeros((1, 1))), (A.T, np.ones((3, 1)), B.T, np.zeros((1, 1)))):
            mine, theirs = primitives.LinearSystem(*arguments), drake.LinearSystem(*arguments)
            for name in ("ControllabilityMatrix", "ObservabilityMatrix"):
                np.testing.assert_allclose(
                    getattr(primitives, name)(mine), getattr(drake, name)(theirs), rtol=0, atol=1e-12
                )
            for name in ("IsControllable", "IsObservable", "IsStabilizable", "IsDetectable"):
                assert getattr(primitives, name)(mine, 1e-8) == getattr(drake, name)(theirs, 1e-8)


def values_with_derivatives(system, scalar):
    """Outputs, derivatives and updates, each with its gradient by time, inputs and state."""
    rng, count = np.random.default_rng(3), 24
    seeds = iter(np.eye(count))

    def variables(size):
        return np.array([scalar(rng.normal(), next(seeds)) for _ in range(size)], dtype=object)

    context = system.CreateDefaultContext()
    context.SetTime(variables(1)[0])
    for i in range(system.num_input_ports()):
        system.get_input_port(i).FixValue(context, variables(system.get_input_port(i).size()))
    for i in range(context.num_discrete_state_groups()):
        context.SetDiscreteState(i, variables(context.get_discrete_state(i).size()))
    if context.num_continuous_states():
        context.SetContinuousState(variables(context.num_continuous_states()))
    found = [entry for i in range(system.num_output_ports()) for entry in system.get_output_port(i).Eval(context)]
    found += list(system.EvalTimeDerivatives(context).CopyToVector())
    if context.num_discrete_state_groups():
        update = system.EvalUniquePeriodicDiscreteUpdate(context)
        found += [entry for i in range(update.num_groups()) for entry in update.get_vector(i).CopyToVector()]
    gradients = [e.derivatives() if e.derivatives().size else np.zeros(count) for e in found]
    return np.array([np.append(gradient, e.value()) for e, gradient in zip(found, gradients)])


def test_derivatives(pair):
    if isinstance(pair[0], primitives.WrapToSystem):
        pytest.skip("pydrake's WrapToSystem does not convert to AutoDiffXd")
    mine = values_with_derivatives(pair[0].ToAutoDiffXd(), AutoDiffXd)
    theirs = values_with_derivatives(pair[1].ToAutoDiffXd(), DrakeAutoDiffXd)
    np.testing.assert_allclose(mine, theirs, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("distribution", ["kUniform", "kGaussian", "kExponential"])
def test_random_sources_give_the_same_numbers(distribution, size):
    def samples(blocks, lib, values):
        source = blocks.RandomSource(getattr(values.RandomDistribution, distribution), size, 0.1)
        context = source.CreateDefaultContext()
        source.SetRandomContext(context, values.RandomGenerator(3))
        simulator = lib.Simulator(source, context)
        drawn = []
        for t in np.arange(0.0, 1.0, 0.1):
            simulator.AdvanceTo(t + 0.05)
            drawn.append(source.get_output_port(0).Eval(context))
        return np.array(drawn)

    ours = samples(primitives, analysis, framework)
    np.testing.assert_allclose(ours, samples(drake, drake_analysis, pydrake.common), rtol=1e-15)
