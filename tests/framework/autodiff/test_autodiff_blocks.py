"""Scalars that were made together are taken apart together, and only they."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from merganser.framework.autodiff import (
    AutoDiffXd,
    ExtractGradient,
    ExtractValue,
    InitializeAutoDiff,
    InitializeAutoDiffTuple,
)
from merganser.framework.autodiff.blocks import find_block, make_block, pack, values_and_gradient, values_of


def one_by_one(items):
    width = max(len(x.derivatives()) for x in items)
    rows = [x.derivatives() if len(x.derivatives()) else np.zeros(width) for x in items]
    return np.array([x.value() for x in items]), np.array(rows)


def block(seed, size=5, width=3):
    rng = np.random.default_rng(seed)
    return make_block(rng.normal(size=size), rng.normal(size=(size, width)))


ARRANGEMENTS = {
    "all": lambda a, b: a,
    "the middle": lambda a, b: a[1:4],
    "one": lambda a, b: a[2:3],
    "the end and the start of the next block": lambda a, b: a[3:] + b[:2],
    "both blocks": lambda a, b: a + b,
    "reversed": lambda a, b: a[::-1],
    "every second": lambda a, b: a[::2],
    "one twice": lambda a, b: [a[0], a[1], a[1], a[3]],
    "one replaced": lambda a, b: [a[0], AutoDiffXd(7.0, [1.0, 2.0, 3.0]), a[2]],
    "one replaced at the start": lambda a, b: [AutoDiffXd(7.0, [1.0, 2.0, 3.0]), *a[1:]],
    "one computed": lambda a, b: [a[0], a[1] * 1.0, a[2]],
    "a constant between": lambda a, b: [a[0], AutoDiffXd(7.0), a[2]],
    "copies": lambda a, b: copy.deepcopy(a),
    "from a pickle": lambda a, b: pickle.loads(pickle.dumps(a)),
}


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_values_and_derivatives_are_those_of_every_scalar(name):
    items = ARRANGEMENTS[name](block(1), block(2))
    for ours, expected in zip(values_and_gradient(items), one_by_one(items)):
        np.testing.assert_array_equal(ours, expected)
    array = pack(items, (len(items),))
    np.testing.assert_array_equal(ExtractValue(array).ravel(), one_by_one(items)[0])
    np.testing.assert_array_equal(ExtractGradient(array), one_by_one(items)[1])


def test_parts_of_blocks_in_order_are_found_and_nothing_else():
    found = {name for name, arrange in ARRANGEMENTS.items() if find_block(arrange(block(1), block(2))) is not None}
    assert found == {"all", "the middle", "one", "copies"}  # scalars never change, so that their copies are themselves
    assert find_block([]) is None and find_block([1.0, 2.0]) is None


def test_scalars_of_a_block_are_found_after_others_were_freed():
    """New scalars may get the addresses of freed ones."""
    for seed in range(50):
        array = pack(block(seed), (5,))
        array[3] = None
        array[3] = AutoDiffXd(7.0, [1.0, 2.0, 3.0])
        values, gradient = values_and_gradient(array.tolist())
        assert values[3] == 7.0 and gradient[3].tolist() == [1.0, 2.0, 3.0]


def test_matrices_of_a_tuple_are_one_block():
    a, b = InitializeAutoDiffTuple([[1.0, 2.0], [3.0, 4.0]], [5.0])
    assert find_block([*a.ravel(order="F"), *b.ravel()]) is not None
    assert ExtractValue(a).tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_what_was_given_can_be_changed_afterwards():
    values, rows = np.array([1.0, 2.0]), np.ones((2, 3))
    matrix = InitializeAutoDiff(values, rows)
    values[:], rows[:] = 9.0, 9.0
    extracted = ExtractGradient(matrix)
    extracted[:] = 8.0
    ExtractValue(matrix)[:] = 8.0
    assert ExtractValue(matrix).ravel().tolist() == [1.0, 2.0]
    assert ExtractGradient(matrix).tolist() == [[1.0] * 3] * 2


def test_plain_numbers_count_as_constants():
    values, gradient = values_and_gradient([1.0, AutoDiffXd(2.0, [1.0, 2.0]), 3])
    assert values.tolist() == [1.0, 2.0, 3.0] and gradient.tolist() == [[0, 0], [1, 2], [0, 0]]
    assert values_and_gradient([1.0, 2.0])[1] is None and values_and_gradient([])[1] is None
    assert values_of(np.array([[AutoDiffXd(2.0), 3.0]], object)).tolist() == [[2.0, 3.0]]
    with pytest.raises(TypeError, match="must be a number"):
        values_and_gradient(["a"])


def test_numbers_of_derivatives_must_agree():
    with pytest.raises(ValueError, match="some numbers have 2 derivatives and others 3"):
        values_and_gradient([AutoDiffXd(1.0, [1.0, 2.0]), AutoDiffXd(1.0, [1.0, 2.0, 3.0])])
