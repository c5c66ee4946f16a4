"""Laws of every block of tests/support/block_cases.py and system_cases.py."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from block_cases import numbers, split
from system_cases import BLOCKS, CASES

import merganser.analysis.controllers as analysis_controllers
import merganser.multibody.controllers as multibody_controllers
from merganser.analysis import Simulator, estimators
from merganser.framework import DiagramBuilder, System, primitives
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.core.declarations.events import PublishEvent, TriggerType
from merganser.framework.core.inside import slot_of
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.primitives import ConstantVectorSource, PassThrough

pytest_plugins = ["compile_policy"]
pytestmark = pytest.mark.usefixtures("compile_at_once")

ABSTRACT = {
    "ConstantValueSource": (lambda b: b.ConstantValueSource(b.Value("a")), [], ["y0"], []),
    "PassThrough": (lambda b: b.PassThrough(b.Value("a")), ["u"], ["y"], [(0, 0)]),
    "ZeroOrderHold": (lambda b: b.ZeroOrderHold(0.1, b.Value("a")), ["u"], ["y"], []),
    "DiscreteTimeDelay": (lambda b: b.DiscreteTimeDelay(0.1, 2, b.Value("a")), ["u"], ["delayed_u"], []),
    "AbstractLogSink": (lambda b: b.AbstractLogSink(b.Value("a")), ["data"], [], []),
}


NOT_CONNECTED = r"Input port .* of system '::block.*' is not connected|'::block::BusSelector': there is no signal of"


@pytest.fixture(params=CASES, ids=lambda name: name.replace(" ", "-"))
def case(request):
    return CASES[request.param]


def prepare(case, context):
    """Sets the time and the parameters for which a law holds."""
    context.SetTime(case.time)
    if case.parameters is not None:
        context.get_mutable_numeric_parameter(0).SetFromVector(case.parameters)


def set_discrete_state(context, x):
    for index, part in enumerate(split(context, x)):
        context.SetDiscreteState(index, part)


def discrete_state(context):
    return np.concatenate([group.value() for group in context.get_discrete_state()._items])


def leaves(system, context):
    """All leaf systems in a system, and their contexts."""
    if system._sys_subsystems() is None:
        return [(system, context)]
    inside = [(s, s.GetMyContextFromRoot(context)) for s in system._sys_subsystems()]
    return [pair for s, mine in inside for pair in leaves(s, mine)]


def output_slots(system, context):
    """Where the values of all vector outputs are kept, those inside of a diagram too."""
    pairs = [(leaf, mine, port) for leaf, mine in leaves(system, context) for port in leaf._sys_output_ports]
    return [slot_of(port, mine) for _, mine, port in pairs if port.size()]


def random_values(case, rng, dtype=np.float64):
    """Random inputs and state."""
    u = [numbers(rng, size, dtype) for size in case.inputs.values()]
    return case.admissible(u, numbers(rng, case.num_continuous + case.num_discrete, dtype))


def filled(case, system, rng, dtype=np.float64):
    """A context with random inputs and state; returns it with both, output values poisoned."""
    context = system._make_context(dtype)
    system.SetDefaultContext(context)
    prepare(case, context)
    u, x = random_values(case, rng, dtype)
    for port, value in zip(system._sys_input_ports, u):
        port.FixValue(context, value)
    if case.num_continuous:
        context.SetContinuousState(x)
    set_discrete_state(context, x)
    for slot in output_slots(system, context):
        slot.value.SetFromVector(np.full(slot.value.size(), np.nan))
    return context, u, x


def test_ports_state_and_defaults(case):
    system = case.make(BLOCKS)
    assert {p.get_name(): p.size() for p in system._sys_input_ports} == case.inputs
    assert {p.get_name(): p.size() for p in system._sys_output_ports} == case.outputs
    context = system.CreateDefaultContext()
    assert context.num_continuous_states() == case.num_continuous
    assert sum(group.size() for group in context.get_discrete_state()._items) == case.num_discrete
    state = context.get_continuous_state_vector() if case.num_continuous else context.get_state().get_discrete_state()
    if case.defaults:
        assert state.value().tolist() == case.defaults


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_outputs_are_those_of_plain_numpy(case, dtype):
    if dtype is np.complex128 and not case.is_complex:
        pytest.skip("computes with floats only")
    system = case.make(BLOCKS)
    context, u, x = filled(case, system, np.random.default_rng(1), dtype)
    for port, expected in zip(system._sys_output_ports, case.calc(u, x), strict=True):
        values = port.Eval(context)
        assert values.dtype == dtype
        np.testing.assert_allclose(values, expected, rtol=case.tolerance, atol=case.tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_dynamics_are_those_of_plain_numpy(case, dtype):
    if dtype is np.complex128 and not case.is_complex:
        pytest.skip("computes with floats only")
    system = case.make(BLOCKS)
    context, u, x = filled(case, system, np.random.default_rng(2), dtype)
    if case.derivatives is not None:
        rates = system.EvalTimeDerivatives(context).CopyToVector()
        np.testing.assert_allclose(rates, case.derivatives(u, x), rtol=case.tolerance, atol=case.tolerance)
    if case.periodic is not None:
        updated = system.EvalUniquePeriodicDiscreteUpdate(context)
        after = np.concatenate([group.value() for group in updated._items])
        np.testing.assert_allclose(after, case.periodic(u, x), rtol=case.tolerance, atol=case.tolerance)
    system.ExecuteForcedEvents(context, publish=False)
    if case.num_discrete:
        expected = x if case.update is None else case.update(u, x)
        np.testing.assert_allclose(discrete_state(context), expected, rtol=case.tolerance, atol=case.tolerance)


def test_direct_feedthrough(case):
    assert sorted(case.make(BLOCKS).GetDirectFeedthroughs()) == sorted(case.feedthrough)


def test_outputs_change_only_with_inputs_that_feed_through(case):
    """The declared prerequisites are right."""
    system = case.make(BLOCKS)
    rng = np.random.default_rng(3)
    context, u, x = filled(case, system, rng)
    for index, port in enumerate(system._sys_input_ports):
        before = [y.Eval(context) for y in system._sys_output_ports]
        u[index] = numbers(rng, port.size(), np.float64)
        u, _ = case.admissible(u, x)
        for other, value in zip(system._sys_input_ports, u):
            other.FixValue(context, value)
        for number, (y, expected) in enumerate(zip(system._sys_output_ports, case.calc(u, x))):
            np.testing.assert_allclose(y.Eval(context), expected, rtol=case.tolerance, atol=case.tolerance)
            if (index, number) not in case.feedthrough:
                assert (y.Eval(context) == before[number]).all()


def test_inputs_of_the_wrong_size_are_refused_by_name(case):
    system = case.make(BLOCKS)
    system.set_name("block")
    context = system.CreateDefaultContext()
    for index, (name, size) in enumerate(case.inputs.items()):
        with pytest.raises(
            ValueError, match=rf"Input port '{name}' \(index {index}\) of system '::block' has size {size}"
        ):
            system.get_input_port(index).FixValue(context, np.zeros(size + 1))
        builder = DiagramBuilder()
        builder.AddSystem(case.make(BLOCKS))
        wrong = builder.AddNamedSystem("wrong", ConstantVectorSource(np.zeros(size + 1)))
        with pytest.raises(ValueError, match=rf"'::wrong' \(vector of size {size + 1}\) to Input port '{name}'"):
            builder.Connect(wrong.get_output_port(), builder.GetSystems()[0].get_input_port(index))


def test_unconnected_inputs_are_named(case):
    system = case.make(BLOCKS)
    system.set_name("block")
    context = system.CreateDefaultContext()
    for i, o in case.feedthrough[:1]:
        if isinstance(system, PassThrough):
            assert system.get_output_port(o).Eval(context) is not None
        elif system.get_input_port(i).size():
            with pytest.raises(RuntimeError, match=NOT_CONNECTED):
                system.get_output_port(o).Eval(context)


def test_clone_of_the_context_is_equal_and_independent(case):
    system = case.make(BLOCKS)
    rng = np.random.default_rng(4)
    context, u, x = filled(case, system, rng)
    clone = context.Clone()
    for port, expected in zip(system._sys_output_ports, case.calc(u, x)):
        np.testing.assert_allclose(port.Eval(clone), expected, rtol=case.tolerance, atol=case.tolerance)
    for port in system._sys_input_ports:
        port.FixValue(clone, numbers(rng, port.size(), np.float64))
    if case.num_continuous:
        clone.SetContinuousState(x + 1.0)
    for port, expected in zip(system._sys_output_ports, case.calc(u, x)):
        np.testing.assert_allclose(port.Eval(context), expected, rtol=case.tolerance, atol=case.tolerance)


@pytest.mark.parametrize("name", ABSTRACT)
def test_abstract_blocks(name):
    make, inputs, outputs, feedthrough = ABSTRACT[name]
    system = make(BLOCKS)
    assert [p.get_name() for p in system._sys_input_ports] == inputs
    assert [p.get_name() for p in system._sys_output_ports] == outputs
    assert system.GetDirectFeedthroughs() == feedthrough
    context = system.CreateDefaultContext()
    assert all(port.Eval(context) == "a" for port in system._sys_output_ports)
    for port in system._sys_input_ports:
        port.FixValue(context, "b")
        with pytest.raises(TypeError, match="takes values of type str; got float"):
            port.FixValue(context, 1.0)
    assert all(port.Eval(context.Clone()) == ("b" if feedthrough else "a") for port in system._sys_output_ports)


def stacked(case, system, context, z):
    """Outputs, derivatives and update as one vector, for inputs and state z; shape [m]."""
    prepare(case, context)
    sizes = list(case.inputs.values())
    *inputs, x = np.split(z, np.cumsum(sizes, dtype=int))
    for port, value in zip(system._sys_input_ports, inputs):
        port.FixValue(context, value)
    if case.num_continuous:
        context.SetContinuousState(x)
    set_discrete_state(context, x)
    parts = [port.Eval(context) for port in system._sys_output_ports]
    parts += [system.EvalTimeDerivatives(context).CopyToVector()] if case.num_continuous else []
    if case.num_discrete and (case.periodic or case.update):
        parts += [group.value() for group in system.EvalUniquePeriodicDiscreteUpdate(context)._items]
    return np.concatenate([np.asarray(part) for part in (*parts, [])])


def test_converted_block_has_the_derivatives_that_the_complex_step_gives(case):
    system = case.make(BLOCKS)
    if "AutoDiffXd" in case.without:
        with pytest.raises(RuntimeError, match="does not support scalar conversion to type AutoDiffXd"):
            system.ToAutoDiffXd()
        return
    u, x = random_values(case, np.random.default_rng(5))
    z = np.concatenate([*u, x])
    expected = stacked(case, system, system.CreateDefaultContext(), z)
    converted = system.ToAutoDiffXd()
    assert isinstance(converted, type(system)) and type(converted.ToScalarType[float]()) is type(system)
    variables = InitializeAutoDiff(z).ravel()
    result = stacked(case, converted, converted.CreateDefaultContext(), variables)
    assert all(type(element) is AutoDiffXd for element in result)
    if len(result) == 0:
        return
    np.testing.assert_allclose(ExtractValue(result).ravel(), expected, rtol=2e-16, atol=0)
    if not case.is_complex:
        return
    gradient = ExtractGradient(result)
    if gradient.shape[1] == 0:  # results that are constant by steps have no derivatives at all
        gradient = np.zeros((len(result), z.size))
    complex_context = system._make_context(np.complex128)
    system.SetDefaultContext(complex_context)
    for j in range(z.size):
        step = z + 1e-100j * np.eye(z.size)[j]
        slopes = stacked(case, system, complex_context, step).imag / 1e-100
        np.testing.assert_allclose(gradient[:, j], slopes, rtol=1e-13, atol=1e-14)


def test_converted_block_has_the_expressions_whose_values_are_its_results(case):
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra", exc_type=ImportError)
    system = case.make(BLOCKS)
    if "Expression" in case.without:
        pytest.skip("not for expressions")
    converted = system.ToSymbolic()
    u, x = random_values(case, np.random.default_rng(6))
    z = np.concatenate([*u, x])
    variables = [symbolic.Variable(f"z{i}") for i in range(z.size)]
    result = stacked(case, converted, converted.CreateDefaultContext(), np.array(variables, dtype=object))
    values = [expression.Evaluate(dict(zip(variables, z))) for expression in result]
    expected = stacked(case, system, system.CreateDefaultContext(), z)
    np.testing.assert_allclose(values, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ABSTRACT)
def test_abstract_blocks_convert_too(name):
    make, inputs, outputs, _ = ABSTRACT[name]
    system = make(BLOCKS).ToAutoDiffXd()
    context = system.CreateDefaultContext()
    for index in range(len(inputs)):
        system.get_input_port(index).FixValue(context, "b")
    assert all(system.get_output_port(i).Eval(context) in ("a", "b") for i in range(len(outputs)))


def results(system, context):
    """All outputs and derivatives."""
    values = [port.Eval(context) for port in system._sys_output_ports]
    return np.concatenate([*values, system.EvalTimeDerivatives(context).CopyToVector(), []])


def test_a_pickled_block_computes_the_same(case):
    system = case.make(BLOCKS)
    copy = pickle.loads(pickle.dumps(system))
    expected, actual = (results(s, filled(case, s, np.random.default_rng(7))[0]) for s in (system, copy))
    np.testing.assert_array_equal(actual, expected)


def test_compiled_operations_compute_the_same_to_the_last_bit(case):
    system = case.make(BLOCKS)
    for seed in range(3):
        context, *_ = filled(case, system, np.random.default_rng(seed))
        expected = results(system, context)
        context, *_ = filled(case, system, np.random.default_rng(seed))
        dynamics = [(leaf, mine) for leaf, mine in leaves(system, context) if mine.num_continuous_states()]
        rates = [mine.slots[leaf._sys_xcdot_entry] for leaf, mine in dynamics]
        Tape(context, output_slots(system, context) + rates).run()
        np.testing.assert_array_equal(results(system, context), expected)


def test_every_exported_system_has_an_entry():
    """A block that is added to a package gets an entry here."""
    modules = [primitives, analysis_controllers, estimators, multibody_controllers]
    exported = {getattr(module, name) for module in modules for name in module.__all__}
    systems = {thing for thing in exported if isinstance(thing, type) and issubclass(thing, System)}
    made = [case.make(BLOCKS) for case in CASES.values()] + [make(BLOCKS) for make, *_ in ABSTRACT.values()]
    covered = {type(part) for system in made for part in [system, *(system._sys_subsystems() or [])]}
    # What they compute is the solution of a program, or what a file says.
    others = {"LinearModelPredictiveController", "OnnxPolicy"}
    assert {block.__name__ for block in systems - covered} == others


def is_update(event):
    """Whether an event changes the state as simulations advance."""
    return event.kind is not PublishEvent and event.trigger not in (TriggerType.kForced, TriggerType.kInitialization)


def test_every_block_runs_compiled(case):
    system = case.make(BLOCKS)
    context, *_ = filled(case, system, np.random.default_rng(9))
    slots = output_slots(system, context)
    slots += [
        mine.slots[leaf._sys_xcdot_entry] for leaf, mine in leaves(system, context) if mine.num_continuous_states()
    ]
    are_operations = [slot.entry.native is not None and slot.entry.native.resolve(slot.context) for slot in slots]
    updates = [(e.native, mine) for leaf, mine in leaves(system, context) for e in leaf._sys_events if is_update(e)]
    periodic = [native is not None and native.resolve(mine) for native, mine in updates]
    assert all(are_operations + periodic)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.num_discrete])
def test_compiled_updates_do_the_same_to_the_last_bit(name):
    case, ends = CASES[name], []
    for is_compiled in (False, True):
        system = case.make(BLOCKS)
        if name == "RandomSource":
            system.set_fixed_seed(4)
        context, *_ = filled(case, system, np.random.default_rng(8))
        simulator = Simulator(system, context)
        simulator.set_use_native_plan(is_compiled, at_once=True)
        simulator.AdvanceTo(case.time + 0.35)
        ends.append(discrete_state(context))
    np.testing.assert_array_equal(*ends)
