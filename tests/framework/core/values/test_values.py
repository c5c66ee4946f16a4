"""Vectors, boxes, vectors that share elements of others, and the structured views of state and parameters."""

import copy
import pickle

import numpy as np
import pytest

from merganser.framework import (
    AbstractValue,
    AbstractValues,
    BasicVector,
    ContinuousState,
    DiscreteValues,
    LeafSystem,
    Parameters,
    State,
    Subvector,
    Supervector,
    Value,
)
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.core.values.values import IndexedVector


class Named(BasicVector):
    """A vector type with something of its own."""

    def __init__(self, data, label="none"):
        super().__init__(data)
        self.label = label


def test_vector_of_a_size_is_not_a_number_until_set():
    vector = BasicVector(3)
    assert np.isnan(vector.value()).all()
    vector.SetFromVector([1.0, 2.0, 3.0])
    assert vector.CopyToVector().tolist() == [1.0, 2.0, 3.0]


def test_vector_copies_its_data_and_value_shares_them():
    data = np.array([1.0, 2.0])
    vector = BasicVector(data)
    data[0] = 9.0
    assert vector[0] == 1.0
    vector.get_mutable_value()[1] = 5.0
    assert vector.get_value()[1] == 5.0
    copied = vector.CopyToVector()
    copied[:] = 0.0
    assert vector[1] == 5.0


@pytest.mark.parametrize("data", [[[1.0, 2.0], [3.0, 4.0]], -1])
def test_vector_refuses_what_is_no_vector(data):
    with pytest.raises(ValueError):
        BasicVector(data)


def test_vector_takes_rows_and_columns_and_refuses_other_sizes_unchanged():
    vector = BasicVector([[1.0], [2.0]])
    assert vector.value().tolist() == BasicVector([[1.0, 2.0]]).value().tolist() == [1.0, 2.0]
    vector.SetFromVector([[3.0], [4.0]])
    vector.SetFromVector([[3.0, 4.0]])
    for wrong in ([1.0], [1.0, 2.0, 3.0], [[[1.0, 2.0]]], 7.0):
        with pytest.raises(ValueError, match="size 2"):
            vector.SetFromVector(wrong)
    assert vector.CopyToVector().tolist() == [3.0, 4.0]


def test_vector_arithmetic_and_indexing():
    vector = BasicVector([1.0, 2.0])
    assert vector.PlusEqScaled(2.0, BasicVector([10.0, 20.0])) is vector
    vector.SetAtIndex(0, 7.0)
    vector[1:] = -1.0
    assert list(vector) == [7.0, -1.0] and len(vector) == vector.size() == 2
    assert vector.GetAtIndex(0) == 7.0
    assert (np.asarray(vector) == [7.0, -1.0]).all()
    vector.SetZero()
    assert not vector.value().any()


@pytest.mark.parametrize(
    "make_copy", [BasicVector.Clone, copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_copies_of_a_vector_keep_type_and_attributes(make_copy):
    vector = Named([1.0, 2.0], label="left")
    copied = make_copy(vector)
    assert type(copied) is Named and copied.label == "left"
    assert copied.CopyToVector().tolist() == [1.0, 2.0]


def test_clone_of_a_vector_is_independent():
    vector = BasicVector([1.0])
    clone = vector.Clone()
    clone[0] = 5.0
    assert vector[0] == 1.0


def test_indexed_vector_writes_through():
    base = np.arange(6.0)
    vector = IndexedVector(base, np.array([4, 0]))
    vector.SetFromVector([40.0, 0.5])
    vector[0] = 41.0
    assert base.tolist() == [0.5, 1.0, 2.0, 3.0, 41.0, 5.0]


def test_boxes_hold_and_clone_values():
    box = Value([1, [2]])
    clone = box.Clone()
    clone.get_mutable_value()[1].append(3)
    assert box.get_value() == [1, [2]] and clone.get_value() == [1, [2, 3]]
    box.SetFrom(clone)
    clone.get_mutable_value().clear()
    assert box.get_value() == [1, [2, 3]]
    assert isinstance(AbstractValue.Make({}), Value)


def test_typed_boxes():
    assert Value[int]().get_value() == 0
    assert Value[str]("a").get_value() == "a"
    assert Value[object](None).get_value() is None


def test_continuous_state_is_split_into_q_v_z():
    state = ContinuousState(BasicVector([1.0, 2.0, 3.0, 4.0]), 2, 1, 1)
    assert (state.size(), state.num_q(), state.num_v(), state.num_z()) == (4, 2, 1, 1)
    assert state.get_generalized_position().CopyToVector().tolist() == [1.0, 2.0]
    assert state.get_generalized_velocity().CopyToVector().tolist() == [3.0]
    state.get_mutable_misc_continuous_state()[0] = -4.0
    assert state.CopyToVector().tolist() == [1.0, 2.0, 3.0, -4.0]


@pytest.mark.parametrize("sizes", [(1, 2, 0), (1, 1, 0), (2, -1, 2), (4, 0, 0)])
def test_continuous_state_refuses_numbers_that_do_not_fit(sizes):
    with pytest.raises(ValueError, match="cannot be split"):
        ContinuousState(BasicVector(np.zeros(3)), *sizes)


def test_discrete_values_by_group():
    values = DiscreteValues([BasicVector([1.0]), BasicVector([2.0, 3.0])])
    values.set_value(1, [4.0, 5.0])
    clone = values.Clone()
    values.get_mutable_vector(0)[0] = 9.0
    assert clone.get_vector(0)[0] == 1.0 and clone.value(1).tolist() == [4.0, 5.0]
    clone.SetFrom(values)
    assert clone.get_value(0).tolist() == [9.0]
    with pytest.raises(RuntimeError, match="2 discrete state groups"):
        values.set_value([1.0])
    with pytest.raises(IndexError, match="no discrete state group 2"):
        values.get_vector(2)
    with pytest.raises(ValueError, match=r"groups of sizes \[1, 2\], got \[1\]"):
        values.SetFrom(DiscreteValues([BasicVector([1.0])]))


def test_only_discrete_group_needs_no_index():
    values = DiscreteValues([BasicVector([1.0, 2.0])])
    values.set_value([3.0, 4.0])
    values[0] = 7.0
    assert values.size() == 2 and values[0] == 7.0 and values.value().tolist() == [7.0, 4.0]


def test_abstract_values():
    values = AbstractValues([Value("a"), Value([1])])
    clone = values.Clone()
    values.get_mutable_value(1).get_mutable_value().append(2)
    assert clone.get_value(1).get_value() == [1]
    clone.SetFrom(values)
    assert clone.get_value(1).get_value() == [1, 2]
    with pytest.raises(ValueError, match="Expected 2 abstract values, got 0"):
        values.SetFrom(AbstractValues([]))


def test_clone_of_a_state_shares_nothing():
    state = State(
        ContinuousState(BasicVector([1.0, 2.0]), 1, 1, 0),
        DiscreteValues([BasicVector([3.0])]),
        AbstractValues([Value([4])]),
    )
    clone = state.Clone()
    clone.get_mutable_continuous_state().get_mutable_generalized_velocity()[0] = 20.0
    clone.get_mutable_discrete_state(0)[0] = 30.0
    clone.get_mutable_abstract_state(0).get_mutable_value().append(5)
    assert state.get_continuous_state().CopyToVector().tolist() == [1.0, 2.0]
    assert state.get_discrete_state().value(0).tolist() == [3.0]
    assert state.get_abstract_state(0).get_value() == [4]
    state.SetFrom(clone)
    assert state.get_continuous_state()[1] == 20.0 and state.get_abstract_state(0).get_value() == [4, 5]


def test_parameters():
    parameters = Parameters([BasicVector([1.0])], [Value("a")])
    assert (parameters.num_numeric_parameter_groups(), parameters.num_abstract_parameters()) == (1, 1)
    other = Parameters([BasicVector([2.0])], [Value("b")])
    parameters.SetFrom(other)
    assert parameters.get_numeric_parameter(0)[0] == 2.0
    assert parameters.get_mutable_abstract_parameter(0).get_value() == "b"
    with pytest.raises(IndexError, match="no numeric parameter group 1"):
        parameters.get_mutable_numeric_parameter(1)


@pytest.mark.parametrize(
    "given",
    [
        np.ma.array([1.0, 2.0], mask=[False, True]),
        np.zeros(2, [("x", float)]),
        np.array([1.0, 2.0j]),
        np.array(["1", "2"]),
        np.zeros(2, "M8[s]"),
    ],
    ids=["masked", "structured", "complex", "text", "dates"],
)
def test_arrays_that_hold_no_numbers_are_refused_at_every_door(given):
    system = LeafSystem()
    system.DeclareVectorInputPort("u", 2)
    system.DeclareContinuousState(2)
    system.DeclareDiscreteState([0.0, 0.0])
    system.DeclareNumericParameter(BasicVector([0.0, 0.0]))
    context = system.CreateDefaultContext()
    vector = BasicVector([0.0, 0.0])
    entries = [
        vector.SetFromVector,
        vector.set_value,
        context.SetContinuousState,
        lambda values: context.SetDiscreteState(0, values),
        context.get_mutable_numeric_parameter(0).SetFromVector,
        lambda values: system.get_input_port().FixValue(context, values),
    ]
    if given.dtype != complex:
        entries.append(BasicVector)
    for entry in entries:
        with pytest.raises(TypeError):
            entry(given)
    assert vector.value().tolist() == context.get_continuous_state_vector().value().tolist() == [0.0, 0.0]
    vector.SetFromVector(np.ma.array([1.0, 2.0], mask=False))
    assert vector.value().tolist() == [1.0, 2.0]


def test_subvector_shares_its_elements():
    whole = BasicVector([0.0, 1.0, 2.0, 3.0])
    part = Subvector(whole, 1, 2)
    assert part.size() == 2 and part.CopyToVector().tolist() == [1.0, 2.0]
    part.SetFromVector([10.0, 20.0])
    part[0] = 11.0
    part.PlusEqScaled(2.0, BasicVector([1.0, 0.0]))
    assert whole.value().tolist() == [0.0, 13.0, 20.0, 3.0]
    whole[2] = 7.0
    assert part.GetAtIndex(1) == 7.0 and Subvector(whole, 3).CopyToVector().tolist() == [3.0]
    part.SetZero()
    assert whole.value().tolist() == [0.0, 0.0, 0.0, 3.0]
    with pytest.raises(ValueError, match="Expected a vector of size 2"):
        part.SetFromVector([1.0])


@pytest.mark.parametrize(("first", "count"), [(-1, 2), (3, 2), (5, None), (1, -1)])
def test_subvector_must_lie_within(first, count):
    with pytest.raises(ValueError, match="not within a vector of size 4"):
        Subvector(BasicVector(np.zeros(4)), first, count)


def test_supervector_shares_all_elements():
    first, second = BasicVector([1.0, 2.0]), BasicVector([3.0])
    both = Supervector([first, Subvector(second), Supervector([])])
    assert both.size() == len(both) == 3 and list(both) == [1.0, 2.0, 3.0]
    both.SetFromVector([4.0, 5.0, 6.0])
    both.SetAtIndex(2, 7.0)
    assert (first.value().tolist(), second.value().tolist()) == ([4.0, 5.0], [7.0])
    both.SetFrom(BasicVector([1.0, 1.0, 1.0]))
    assert (first.value().tolist(), second.value().tolist()) == ([1.0, 1.0], [1.0])
    for make in (lambda: Supervector([[1.0]]), lambda: Subvector([1.0])):
        with pytest.raises(TypeError, match="got list"):
            make()


def test_views_of_other_scalars():
    x = BasicVector([AutoDiffXd(1.0, [1.0]), AutoDiffXd(2.0, [0.0])])
    both = Supervector([Subvector(x, 1), x])
    assert [entry.value() for entry in both] == [2.0, 1.0, 2.0]
    both.SetFromVector([AutoDiffXd(v) for v in (5.0, 6.0, 7.0)])
    assert [entry.value() for entry in x] == [6.0, 7.0]
