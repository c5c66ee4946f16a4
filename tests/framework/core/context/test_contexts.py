"""Contexts: views into one array, copies, and the way from the root to a subsystem and back."""

import copy

import numpy as np
import pytest
from framework_blocks import Accumulator, EachSource, Scaled

from merganser.framework import BasicVector, DiagramBuilder, LeafSystem, Value


def nested(depth):
    """An Accumulator inside `depth` diagrams, with its input exported all the way."""
    inner = system = Accumulator(2, start=1.0)
    inner.set_name("inner")
    for level in range(depth):
        builder = DiagramBuilder()
        before = builder.AddNamedSystem(f"before{level}", Accumulator(1, start=10.0 + level))
        builder.AddSystem(system)
        builder.ExportInput(system.get_input_port(0), "u")
        builder.ExportInput(before.get_input_port(), "other")
        builder.ExportOutput(system.get_output_port(0), "y")
        system = builder.Build()
        system.set_name(f"level{level}")
    return system, inner


def test_continuous_state_of_a_diagram_is_that_of_its_subsystems_one_after_the_other():
    diagram, inner = nested(2)
    context = diagram.CreateDefaultContext()
    assert context.get_continuous_state_vector().CopyToVector().tolist() == [11.0, 10.0, 1.0, 1.0]
    mine = inner.GetMyContextFromRoot(context)
    context.SetContinuousState([1.0, 2.0, 3.0, 4.0])
    assert mine.get_continuous_state_vector().CopyToVector().tolist() == [3.0, 4.0]
    mine.SetContinuousState([5.0, 6.0])
    assert context.get_continuous_state_vector().CopyToVector().tolist() == [1.0, 2.0, 5.0, 6.0]


def test_every_number_of_a_diagram_is_a_view_of_one_array():
    diagram, inner = nested(3)
    context = diagram.CreateDefaultContext()
    diagram.get_output_port().Eval(context)
    flat = context.store.flat
    for part in (context, inner.GetMyContextFromRoot(context)):
        assert np.shares_memory(part.get_continuous_state_vector().value(), flat)
        assert np.shares_memory(part.system.get_output_port(0).EvalBasicVector(part).value(), flat)


def test_positions_and_velocities_of_a_diagram_are_gathered_from_its_subsystems():
    builder = DiagramBuilder()
    for name in "ab":
        system = builder.AddNamedSystem(name, LeafSystem())
        system.DeclareContinuousState(2, 1, 1)
    context = builder.Build().CreateDefaultContext()
    context.SetContinuousState(np.arange(8.0))
    state = context.get_mutable_continuous_state()
    assert state.get_generalized_position().CopyToVector().tolist() == [0.0, 1.0, 4.0, 5.0]
    assert state.get_generalized_velocity().CopyToVector().tolist() == [2.0, 6.0]
    state.get_mutable_misc_continuous_state().SetFromVector([-3.0, -7.0])
    assert (
        context.get_continuous_state_vector()[3] == -3.0 and context.get_continuous_state_vector()[7] == -7.0
    )


def test_clone_is_independent_in_everything():
    system = EachSource(declared=False)
    context = system.default_context()
    context.SetTime(1.0)
    context.SetAccuracy(1e-3)
    context.SetAbstractState(0, ["list"])
    for clone in (context.Clone(), copy.copy(context), copy.deepcopy(context)):
        clone.SetTime(2.0)
        clone.SetAccuracy(None)
        clone.SetContinuousState([1.0, 2.0, 3.0, 4.0])
        clone.SetDiscreteState(1, [7.0, 8.0])
        clone.get_mutable_abstract_state(0).get_mutable_value().append("more")
        clone.get_mutable_numeric_parameter(0)[0] = 50.0
        clone.get_mutable_abstract_parameter(0).set_value("new")
        system.GetInputPort("u").FixValue(clone, 9.0)
        assert context.get_time() == 1.0 and context.get_accuracy() == 1e-3
        assert not context.get_continuous_state_vector().value().any()
        assert context.get_discrete_state(1).value().tolist() == [2.0, 3.0]
        assert context.get_abstract_state(0).get_value() == ["list"]
        assert context.get_numeric_parameter(0)[0] == 5.0
        assert context.get_abstract_parameter(0).get_value() == "q0"
        assert system.GetOutputPort("u").Eval(context).tolist() == [0.0]
        assert system.GetOutputPort("u").Eval(clone).tolist() == [9.0]


def test_clone_takes_over_fixed_inputs_at_every_level():
    diagram, inner = nested(2)
    context = diagram.CreateDefaultContext()
    diagram.GetInputPort("u").FixValue(context, [1.0, 2.0])
    diagram.GetInputPort("other").FixValue(context, [3.0])
    clone = context.Clone()
    diagram.GetInputPort("u").FixValue(context, [0.0, 0.0])
    mine = inner.GetMyContextFromRoot(clone)
    assert inner.get_input_port().Eval(mine).tolist() == [1.0, 2.0]
    inner.get_input_port().FixValue(mine, [5.0, 6.0])
    clone = clone.Clone()
    assert inner.get_input_port().Eval(inner.GetMyContextFromRoot(clone)).tolist() == [5.0, 6.0]
    assert diagram.GetInputPort("u").Eval(clone).tolist() == [1.0, 2.0]


def test_time_state_and_parameters_come_over_without_fixed_inputs():
    system = EachSource(declared=False)
    source, target = system.default_context(), system.default_context()
    source.SetTime(3.0)
    source.SetAccuracy(0.1)
    source.SetContinuousState([1.0, 2.0, 3.0, 4.0])
    source.SetDiscreteState(0, [4.0])
    source.SetAbstractState(1, "changed")
    source.get_mutable_numeric_parameter(1)[0] = 60.0
    source.get_mutable_abstract_parameter(1).set_value("other")
    system.GetInputPort("u").FixValue(source, 9.0)
    target.SetTimeStateAndParametersFrom(source)
    assert (target.get_time(), target.get_accuracy()) == (3.0, 0.1)
    assert target.get_continuous_state_vector().value().tolist() == [1.0, 2.0, 3.0, 4.0]
    assert target.get_discrete_state(0)[0] == 4.0
    assert target.get_abstract_state(1).get_value() == "changed"
    assert target.get_numeric_parameter(1)[0] == 60.0
    assert target.get_abstract_parameter(1).get_value() == "other"
    assert system.GetOutputPort("u").Eval(target).tolist() == [0.0]
    assert system.GetOutputPort("xc").Eval(target).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_state_and_parameters_come_over_without_time():
    system = EachSource(declared=False)
    source, target = system.default_context(), system.default_context()
    source.SetTime(3.0)
    source.SetContinuousState([1.0, 2.0, 3.0, 4.0])
    target.SetStateAndParametersFrom(source)
    assert target.get_time() == 0.0 and target.get_continuous_state_vector()[3] == 4.0
    assert "time" not in system.recomputed(target)


def test_contexts_of_another_structure_are_refused():
    context = EachSource(declared=False).CreateDefaultContext()
    other = nested(1)[0].CreateDefaultContext()
    with pytest.raises(ValueError, match="another structure"):
        context.SetTimeStateAndParametersFrom(other)
    assert context.get_time() == 0.0


def test_root_only_operations_name_the_subsystem():
    diagram, inner = nested(1)
    mine = inner.GetMyContextFromRoot(diagram.CreateDefaultContext())
    for call in (lambda: mine.SetTime(1.0), mine.Clone, lambda: mine.SetAccuracy(0.1)):
        with pytest.raises(RuntimeError, match=r"'::level0::inner'.*whole diagram"):
            call()
    with pytest.raises(RuntimeError, match="SetTime"):
        mine.SetTimeAndContinuousState(1.0, [7.0, 7.0])
    assert mine.get_continuous_state_vector().value().tolist() == [1.0, 1.0]


def test_subcontexts_can_be_reached_from_every_level():
    diagram, inner = nested(3)
    root = diagram.CreateDefaultContext()
    mine = inner.GetMyContextFromRoot(root)
    assert mine is inner.GetMyMutableContextFromRoot(root)
    assert diagram.GetSubsystemContext(inner, root) is mine
    middle = diagram.GetSubsystemByName("level1")
    assert middle.GetSubsystemContext(inner, middle.GetMyContextFromRoot(root)) is mine
    assert diagram.GetMyContextFromRoot(root) is root
    assert diagram.GetSubsystemContext(diagram, root) is root
    diagram.GetMutableSubsystemState(inner, root).get_mutable_continuous_state().SetFromVector([8.0, 9.0])
    assert root.get_continuous_state_vector().value()[-2:].tolist() == [8.0, 9.0]


def test_context_of_another_system_is_refused_by_name():
    diagram, inner = nested(2)
    root = diagram.CreateDefaultContext()
    stranger = Scaled()
    stranger.set_name("stranger")
    message = r"context of system '::level1'.*GetMyContextFromRoot"
    with pytest.raises(
        ValueError, match=r"Output port 'y' .*'::level1::level0::inner' was given the " + message
    ):
        inner.get_output_port().Eval(root)
    with pytest.raises(ValueError, match=message):
        inner.get_input_port().FixValue(root, [1.0, 2.0])
    with pytest.raises(ValueError, match=message):
        inner.EvalVectorInput(root, 0)
    with pytest.raises(ValueError, match=message):
        inner.EvalTimeDerivatives(root)
    with pytest.raises(ValueError, match="'::stranger' is not part of system '::level1'"):
        stranger.GetMyContextFromRoot(root)
    with pytest.raises(ValueError, match="root context"):
        inner.GetMyContextFromRoot(inner.GetMyContextFromRoot(root))
    with pytest.raises(ValueError, match="'::stranger' is not inside"):
        diagram.GetSubsystemContext(stranger, root)
    with pytest.raises(TypeError, match="needs a Context; got NoneType"):
        inner.get_output_port().Eval(None)


def test_context_of_another_instance_of_the_same_diagram_is_refused():
    diagram, twin = nested(1)[0], nested(1)[0]
    context = twin.CreateDefaultContext()
    for wrong in (lambda: diagram.get_output_port().Eval(context), lambda: diagram.ValidateContext(context)):
        with pytest.raises(ValueError, match=r"was given the context of system '::.*, another one of the same path"):
            wrong()


def test_wrong_sizes_name_the_system_and_change_nothing():
    diagram, _ = nested(1)
    context = diagram.CreateDefaultContext()
    before = context.store.flat.copy()
    for wrong in ([1.0], np.zeros((3, 2)), np.zeros(4)):
        with pytest.raises(ValueError, match="continuous state of system '::level0' has size 3"):
            context.SetContinuousState(wrong)
    with pytest.raises(ValueError, match="must be a number"):
        context.SetTime(np.nan)
    assert (context.store.flat == before).all()


def test_discrete_state_setters():
    system = LeafSystem()
    system.set_name("relay")
    system.DeclareDiscreteState([1.0, 2.0])
    context = system.CreateDefaultContext()
    context.SetDiscreteState([3.0, 4.0])
    assert context.get_discrete_state_vector().value().tolist() == [3.0, 4.0]
    with pytest.raises(ValueError, match="discrete state of system '::relay' has size 2"):
        context.SetDiscreteState(0, [1.0])
    other = context.Clone()
    other.SetDiscreteState(0, [5.0, 6.0])
    context.SetDiscreteState(other.get_discrete_state())
    assert context.get_discrete_state_vector().value().tolist() == [5.0, 6.0]
    with pytest.raises(IndexError, match="no discrete state group 1"):
        context.get_mutable_discrete_state(1)


def test_discrete_groups_of_a_diagram_are_numbered_through():
    builder = DiagramBuilder()
    for name in "ab":
        system = builder.AddNamedSystem(name, LeafSystem())
        system.DeclareDiscreteState([1.0])
        system.DeclareDiscreteState([2.0])
    context = builder.Build().CreateDefaultContext()
    context.get_mutable_discrete_state(2)[0] = 7.0
    assert system.GetMyContextFromRoot(context).get_discrete_state(0)[0] == 7.0
    with pytest.raises(RuntimeError, match="4 discrete state groups"):
        context.get_discrete_state_vector()


def test_what_kind_of_state_there_is():
    continuous, discrete, both = LeafSystem(), LeafSystem(), EachSource(declared=True)
    continuous.DeclareContinuousState(2)
    discrete.DeclareDiscreteState(3)
    contexts = [system.CreateDefaultContext() for system in (continuous, discrete, both, Scaled())]
    assert [c.has_only_continuous_state() for c in contexts] == [True, False, False, False]
    assert [c.has_only_discrete_state() for c in contexts] == [False, True, False, False]
    assert [c.is_stateless() for c in contexts] == [False, False, False, True]
    assert [c.num_total_states() for c in contexts] == [2, 3, 9, 0]
    assert contexts[2].num_discrete_state_groups() == contexts[2].num_abstract_states() == 2
    assert contexts[2].num_numeric_parameter_groups() == contexts[2].num_abstract_parameters() == 2


def test_default_context_can_be_restored():
    system = EachSource(declared=False)
    context = system.default_context()
    context.SetDiscreteState(0, [9.0])
    context.SetAbstractState(0, "z")
    context.get_mutable_numeric_parameter(0)[0] = 9.0
    context.get_mutable_abstract_parameter(0).set_value("z")
    system.SetDefaultContext(context)
    assert context.get_discrete_state(0)[0] == 1.0 and context.get_abstract_state(0).get_value() == "a0"
    assert (
        context.get_numeric_parameter(0)[0] == 5.0 and context.get_abstract_parameter(0).get_value() == "q0"
    )


def test_vector_types_survive_in_the_context():
    class Pair(BasicVector):
        def first(self):
            return self[0]

    system = LeafSystem()
    system.DeclareNumericParameter(Pair([1.0, 2.0]))
    system.DeclareDiscreteState(Pair([3.0, 4.0]))
    system.DeclareContinuousState(Pair([5.0, 6.0]), 1, 1, 0)
    system.DeclareAbstractParameter(Value([]))
    contexts = [system.CreateDefaultContext() for _ in range(2)]
    assert contexts[0].get_numeric_parameter(0).first() == 1.0
    assert contexts[0].Clone().get_discrete_state(0).first() == 3.0
    contexts[0].get_mutable_continuous_state_vector()[0] = 7.0
    assert contexts[0].Clone().get_continuous_state_vector().first() == 7.0
    assert contexts[1].get_continuous_state().get_generalized_position()[0] == 5.0
    assert system.ToAutoDiffXd().CreateDefaultContext().get_continuous_state_vector().first().value() == 5.0
    contexts[0].get_mutable_abstract_parameter(0).get_mutable_value().append(1)
    assert contexts[1].get_abstract_parameter(0).get_value() == []


def test_context_of_complex_numbers():
    diagram, _ = nested(1)
    context = diagram._make_context(np.complex128)
    diagram.SetDefaultContext(context)
    diagram.GetInputPort("u").FixValue(context, [1.0 + 2.0j, 0.0])
    diagram.GetInputPort("other").FixValue(context, [0.0])
    assert diagram.EvalTimeDerivatives(context).CopyToVector().tolist() == [0.0, 1.0 + 2.0j, 0.0]
    assert context.Clone().get_continuous_state_vector().value().dtype == np.complex128


def test_contexts_are_printed_with_times_states_and_parameters():
    class Block(LeafSystem):
        def __init__(self):
            super().__init__()
            self.DeclareContinuousState(2)
            self.DeclareDiscreteState([1.0, 1.0 / 3.0])
            self.DeclareAbstractState(Value(3))
            self.DeclareNumericParameter(BasicVector([1e-9]))
            self.DeclareAbstractParameter(Value({}))

    builder = DiagramBuilder()
    block = builder.AddNamedSystem("block", Block())
    builder.AddNamedSystem("nothing", LeafSystem())
    diagram = builder.Build()
    diagram.set_name("all")
    context = diagram.CreateDefaultContext()
    context.SetTime(1.25)
    mine = """::all::block Context
---------------------
Time: 1.25
States:
  2 continuous states
    0 0
  1 discrete state groups with
     2 states
                        1 0.3333333333333333
  1 abstract states

Parameters:
  1 numeric parameter groups with
     1 parameters
       1e-09
  1 abstract parameters
"""
    assert str(block.GetMyContextFromRoot(context)) == mine
    assert str(context) == (
        "::all Context (of a Diagram)\n-----------------------------\n2 total continuous states\n"
        "2 total discrete states in 1 groups\n1 total abstract states\n1 total numeric parameters in 1 groups\n"
        f"1 total abstract parameters\n\n{mine}"
    )


def test_a_lone_system_gets_the_context_to_change_with_a_warning(caplog):
    diagram = nested(1)[0]
    root = diagram.CreateDefaultContext()
    loner = Scaled()
    loner.set_name("loner")
    assert loner.GetMyMutableContextFromRoot(root) is root
    assert "'::loner' is in no diagram" in caplog.text and "system '::level0'" in caplog.text
    own = loner.CreateDefaultContext()
    assert loner.GetMyMutableContextFromRoot(own) is own
    with pytest.raises(TypeError, match="needs a Context"):
        loner.GetMyMutableContextFromRoot(None)


def test_types_of_user_classes_have_their_module():
    assert Scaled().GetSystemType() == "framework_blocks.Scaled"
