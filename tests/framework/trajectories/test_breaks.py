"""Breaks of any kind of number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from merganser.framework.trajectories import PiecewisePolynomial


@pytest.mark.parametrize("breaks", [[0, 1, 3], [0.0, 1.0, 3.0], np.array([0.0, 1.0, 3.0]), np.array([0, 1, 3])])
@pytest.mark.parametrize("method", ["ZeroOrderHold", "FirstOrderHold", "CubicShapePreserving"])
def test_breaks_of_any_kind_of_number_make_trajectories_of_floats(method: str, breaks: Any) -> None:
    trajectory = getattr(PiecewisePolynomial, method)(breaks, np.array([[0.0, 1.0, 4.0]]))
    assert trajectory.value(0.5).dtype == np.float64
    assert all(type(time) is float for time in trajectory.get_segment_times())
