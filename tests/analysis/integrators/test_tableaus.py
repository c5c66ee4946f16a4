"""Butcher tableaus are checked when they are made: sizes, sums of rows, and order conditions."""

import dataclasses

import pytest

from merganser.analysis import ButcherTableau
from merganser.analysis.integrators.tableaus import (
    BOGACKI_SHAMPINE3,
    DORMAND_PRINCE5,
    EULER,
    HEUN2,
    RK3,
    _trees,
)


def test_there_is_one_order_condition_for_each_rooted_tree():
    """Their numbers are those of Butcher 2016, table 301."""
    trees = [_trees(num_nodes) for num_nodes in range(1, 9)]
    assert [len(set(found)) for found in trees] == [1, 1, 2, 4, 9, 20, 48, 115]


def classical(**changed):
    """The classical method of order 4, with changes."""
    values = {
        "name": "RK4", "a": ((), (1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)), "b": (1 / 6, 1 / 3, 1 / 3, 1 / 6),
        "c": (0.0, 1 / 2, 1 / 2, 1.0), "b_hat": (), "order": 4, "error_order": 0,
    }  # fmt: skip
    return ButcherTableau(**{**values, **changed})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"order": 5}, r"condition of order 5 on b, .* must be 0\.\d+; got"),
        ({"b": (1 / 2, 0.0, 0.0, 0.0)}, "condition of order 1 on b, sum_i b_i 1_i, must be 1; got 0.5"),
        ({"b": (1 / 6, 1 / 3, 1 / 6, 1 / 3)}, "condition of order 2 on b, sum_i b_i c_i, must be 0.5; got 0.58"),
        ({"c": (0.0, 1 / 2, 1 / 3, 1.0)}, r"sum of a\[2\], which is c\[2\], must be 0.3333.*; got 0.5"),
        ({"c": (0.0, 1 / 2, 1.0)}, "as many rows of a as elements .* got 4 rows, 4 elements of b and 3 of c"),
        ({"a": ((), (1 / 2,), (0.0, 1 / 2, 0.0), (0.0, 0.0, 1.0))}, "row 2 of a must have 2 elements"),
        ({"b_hat": (0.0, 1.0, 0.0, 0.0), "error_order": 4}, r"order 3 on b_hat, sum_i b_hat_i"),
        ({"b_hat": (0.0, 1.0, 0.0, 0.0)}, "b_hat is empty, and error_order 0. Got 4 elements and error_order 0"),
        ({"order": 0}, "the order must be positive"),
        ({"b": (float("nan"),) * 4}, "must be 1; got nan"),
    ],
)
def test_a_wrong_tableau_is_refused_by_the_condition_that_it_violates(changed, message):
    classical()
    with pytest.raises(ValueError, match=f"Butcher tableau 'RK4': .*{message}"):
        classical(**changed)


@pytest.mark.parametrize("tableau", [EULER, HEUN2, RK3, BOGACKI_SHAMPINE3, DORMAND_PRINCE5], ids=lambda t: t.name)
def test_our_tableaus_have_no_higher_order_than_they_say(tableau):
    with pytest.raises(ValueError, match=f"condition of order {tableau.order + 1} on b"):
        dataclasses.replace(tableau, order=tableau.order + 1)
