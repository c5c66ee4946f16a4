"""Simulations of all kinds, struck by Ctrl-C or a lack of memory at random moments, go on as if nothing had happened.

`python tests/support/interrupts.py` strikes a thousand times.
"""

from __future__ import annotations

import numpy as np
import pytest
from interrupts import SCENES, differences, strike_at_line, strike_by_signal, undisturbed

_NUM_STRIKES = 3  # of each kind


@pytest.mark.parametrize("name", SCENES)
def test_what_comes_after_an_interrupt_is_what_comes_without(name: str) -> None:
    """States to the last bit, counts of steps, updates and publish events, and logs."""
    make, rng = SCENES[name], np.random.default_rng(sorted(SCENES).index(name))
    expected = undisturbed(make)
    num_struck = 0
    for strike in (strike_at_line, strike_by_signal):
        for _ in range(_NUM_STRIKES):
            where, found = strike(make, expected, rng)
            num_struck += bool(where)
            assert not differences(where, found, expected.outcome), f"{where}: {found.counts}"
    assert num_struck >= _NUM_STRIKES
