"""Vectors that see through to the elements of others."""

import numpy as np
import pytest

from merganser.framework import BasicVector, Subvector, Supervector
from merganser.framework.autodiff import AutoDiffXd


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
