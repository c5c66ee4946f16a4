"""What the order of the numbered fields of integrators has to be, as long as code counts from one to another."""

from __future__ import annotations

from merganser.analysis.integrators import step_fields as f

_NAMES = list(vars(f))
_INTEGERS = set(_NAMES[_NAMES.index("IS_FIXED_STEP") : _NAMES.index("MOST_ARRAYS")]) - {"NUM_COUNTED"}


def between(begin: int, end: int) -> set[str]:
    """The names of the fields of integers from one up to another; several may stand for one."""
    return {name for name in _INTEGERS if begin <= getattr(f, name) < end}


def test_fields_that_are_moved_together_stand_together() -> None:
    assert between(f.WAY, f.END_OF_WAY) == {"WAY", "EVALUATE", "EVALUATOR", "FAILURE", "CHANGING"}
    counts = {"COUNTED", "NUM_EVALUATIONS", "NUM_SHRINKAGES", "NUM_FAILURES", "COUNTS", "ERROR_COUNTS"}
    assert between(f.COUNTED, f.BEFORE) == counts
    assert f.ERROR_COUNTS - f.COUNTS == 1 + f.ITERATIONS  # the last of those that are counted twice
    assert f.BEFORE - f.COUNTED == f.NUM_COUNTED == 3 + 2 * (f.ERROR_COUNTS - f.COUNTS)


def test_what_batches_set_back_are_the_settings_the_step_in_progress_and_counts() -> None:
    """Fields before NUM_STATES; those from there on say what the problem and the method are."""
    assert f.NUM_STATES == f.BEFORE + f.NUM_COUNTED
    assert between(0, f.COUNTED) > {"IS_FIXED_STEP", "THROWS", "IS_SINGLE", "IS_RECORDED", "IS_CURRENT", "NUM_STEPS"}
    assert between(f.NUM_STATES, f.NUM_INTEGERS) > {"VALUES", "REALS", "ATTEMPT", "X_START", "MEMORY", "BULK", "STATE"}


def test_arrays_take_three_integers_each_and_come_last() -> None:
    assert (f.XDOT_END, f.ARRAYS) == (f.STATE + 3, f.STATE + 6)
    assert f.NUM_INTEGERS == f.ARRAYS + 3 * f.MOST_ARRAYS
