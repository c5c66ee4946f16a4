"""Small programs, run on pydrake.systems.framework and on merganser.framework."""

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="the extra `reference` is not installed")

import pydrake.common
import pydrake.common.value
import pydrake.systems.framework as pydrake_framework
import pydrake.systems.primitives as pydrake_primitives

from merganser import framework
from merganser.framework import primitives

pytestmark = pytest.mark.reference

BOTH = pytest.mark.parametrize(
    ("fw", "blocks"),
    [(pydrake_framework, pydrake_primitives), (framework, primitives)],
    ids=["pydrake", "merganser"],
)


def value_of(fw):
    return pydrake.common.value.Value if fw is pydrake_framework else framework.Value


def vector_system(fw, is_discrete):
    class Recorder(fw.VectorSystem):
        def __init__(self):
            fw.VectorSystem.__init__(self, 1, 3, None)
            self.called = []
            self.DeclareDiscreteState(2) if is_discrete else self.DeclareContinuousState(2)

        def DoCalcVectorOutput(self, context, u, x, y):
            self.called.append("output")
            y[:] = np.hstack([u, x])

        def DoCalcVectorTimeDerivatives(self, context, u, x, x_dot):
            self.called.append("continuous")
            x_dot[:] = x + u

        def DoCalcVectorDiscreteVariableUpdates(self, context, u, x, x_n):
            self.called.append("discrete")
            x_n[:] = x + 2 * u

    return Recorder()


@BOTH
@pytest.mark.parametrize("is_discrete", [False, True])
def test_vector_system_calls_its_overrides(fw, blocks, is_discrete):
    system = vector_system(fw, is_discrete)
    context = system.CreateDefaultContext()
    system.get_input_port(0).FixValue(context, [3.0])
    if is_discrete:
        context.SetDiscreteState([1.0, 2.0])
        update = system.AllocateContext().get_discrete_state()
        system.CalcForcedDiscreteVariableUpdate(context, update)
        assert update.get_vector(0).CopyToVector().tolist() == [7.0, 8.0]
    else:
        context.SetContinuousState([1.0, 2.0])
        derivatives = system.AllocateTimeDerivatives()
        system.CalcTimeDerivatives(context, derivatives)
        assert derivatives.CopyToVector().tolist() == [4.0, 5.0]
    output = system.AllocateOutput()
    system.CalcOutput(context, output)
    assert output.num_ports() == 1 and output.get_vector_data(0).CopyToVector().tolist() == [3.0, 1.0, 2.0]
    assert system.HasAnyDirectFeedthrough()
    assert system.called == ["discrete" if is_discrete else "continuous", "output"]


@BOTH
def test_kind_of_equation_of_primitives(fw, blocks):
    systems = [
        blocks.Gain(1.0, 1), blocks.Integrator(1), blocks.ZeroOrderHold(0.1, 1),
        blocks.LinearSystem([[1.0]], [[1.0]], [[1.0]], [[0.0]], 0.2), blocks.PassThrough(value_of(fw)(3)),
    ]  # fmt: skip
    assert [s.IsDifferentialEquationSystem() for s in systems] == [True, True, False, False, False]
    answers = [(False, 0.0), (False, 0.0), (True, 0.1), (True, 0.2), (False, 0.0)]
    assert [tuple(s.IsDifferenceEquationSystem()) for s in systems] == answers
    assert [s.implicit_time_derivatives_residual_size() for s in systems] == [0, 1, 0, 0, 0]
    timing = systems[3].GetUniquePeriodicDiscreteUpdateAttribute()
    assert (timing.period_sec(), timing.offset_sec()) == (0.2, 0.0)
    assert systems[1].GetUniquePeriodicDiscreteUpdateAttribute() is None
    with pytest.raises(RuntimeError):
        systems[1].EvalUniquePeriodicDiscreteUpdate(systems[1].CreateDefaultContext())


@BOTH
def test_unique_periodic_update_and_residual(fw, blocks):
    system = blocks.LinearSystem([[2.0]], [[3.0]], [[1.0]], [[0.0]], 0.2)
    context = system.CreateDefaultContext()
    context.SetDiscreteState([5.0])
    system.get_input_port().FixValue(context, [1.0])
    assert system.EvalUniquePeriodicDiscreteUpdate(context).get_vector().CopyToVector().tolist() == [13.0]
    assert context.get_discrete_state_vector().CopyToVector().tolist() == [5.0]
    continuous = blocks.LinearSystem(np.eye(2), np.ones((2, 1)), np.eye(2), np.zeros((2, 1)))
    context = continuous.CreateDefaultContext()
    context.SetContinuousState([1.0, 2.0])
    continuous.get_input_port().FixValue(context, [1.0])
    proposed = continuous.AllocateTimeDerivatives()
    proposed.SetFromVector([10.0, 20.0])
    residual = continuous.CalcImplicitTimeDerivativesResidual(context=context, proposed_derivatives=proposed)
    assert residual.tolist() == [8.0, 17.0]
    assert continuous.EvalPotentialEnergy(context) == continuous.CalcNonConservativePower(context) == 0.0


@BOTH
def test_bus_values(fw, blocks):
    bus, value = fw.BusValue(), value_of(fw)
    bus.Set("a", value(1))
    bus.Set("b", value("text"))
    assert list(bus) == ["a", "b"] and bus["b"] == "text" and bus.Find("z") is None
    with pytest.raises(KeyError):
        bus["z"]
    bus.Clear()
    assert list(bus) == []


@BOTH
def test_frozen_cache(fw, blocks):
    gain = blocks.Gain(2.0, 1)
    context = gain.CreateDefaultContext()
    gain.get_input_port().FixValue(context, [1.0])
    assert gain.get_output_port().Eval(context) == [2.0]
    context.FreezeCache()
    assert context.is_cache_frozen() and gain.get_output_port().Eval(context) == [2.0]
    gain.get_input_port().FixValue(context, [3.0])
    with pytest.raises(Exception, match="frozen"):
        gain.get_output_port().Eval(context)
    context.UnfreezeCache()
    assert gain.get_output_port().Eval(context) == [6.0]
    context.DisableCaching()
    context.SetAllCacheEntriesOutOfDate()
    context.EnableCaching()
    assert gain.get_output_port().Eval(context) == [6.0]
    assert (context.num_input_ports(), context.num_output_ports()) == (1, 1)


@BOTH
def test_visitors_see_diagrams_and_leaf_systems(fw, blocks):
    builder = fw.DiagramBuilder()
    builder.AddNamedSystem("gain", blocks.Gain(2.0, 1))
    diagram, visited = builder.Build(), []

    class Visitor(fw.SystemVisitor):
        def VisitSystem(self, system):
            visited.append(system.get_name())

        def VisitDiagram(self, diagram):
            visited.append("diagram")
            for system in diagram.GetSystems():
                system.Accept(self)

    diagram.Accept(Visitor())
    assert visited == ["diagram", "gain"]


@BOTH
def test_held_object_is_found_again(fw, blocks):
    builder, held = fw.DiagramBuilder(), ["object"]
    assert blocks.SharedPointerSystem.AddToBuilder(builder=builder, value_to_hold=held) is held
    assert builder.Build().GetSystems()[0].get() is held


@pytest.mark.parametrize("seed", [None, 0, 3, 2**32 - 1])
def test_generators_with_the_same_seed_give_the_same_words(seed):
    arguments = () if seed is None else (seed,)
    theirs, mine = pydrake.common.RandomGenerator(*arguments), framework.RandomGenerator(*arguments)
    assert [mine() for _ in range(700)] == [theirs() for _ in range(700)]


def test_random_distributions_have_the_same_members():
    theirs = {name: int(member.value) for name, member in pydrake.common.RandomDistribution.__members__.items()}
    assert {member.name: member.value for member in framework.RandomDistribution} == theirs
