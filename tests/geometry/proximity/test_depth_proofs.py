"""Depths are proven by a search of all directions; the long form is trial.py."""

import itertools
import sys
from pathlib import Path

import pytest
from proximity_shapes import KINDS

sys.path.insert(0, str(Path(__file__).resolve().parent))
from trial import TOLERANCE, trial

PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))


@pytest.mark.parametrize("how", ["random", "aligned"])
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
def test_no_direction_leads_out_earlier_than_the_depth(kinds, how, tmp_path):
    found = trial(kinds, 20, 3.0, 7, tmp_path, how)
    assert found.excess <= TOLERANCE
    assert found.unproven <= TOLERANCE
    assert found.aside <= 1e-6
    if how == "random":  # along each other, round shapes have whole circles of least directions
        assert found.undecided == found.unsolved == 0
