"""Records of settings: what is assigned to their fields."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.records import settings


@settings
@dataclass(kw_only=True)
class Growth:
    """A record with an array that may be missing."""

    points: NDArray[np.float64] | None = None
    places: NDArray[np.int64] | None = None


def test_arrays_of_integers_become_floats_where_a_field_has_floats() -> None:
    record = Growth(points=np.array([[0, 1]]), places=np.array([1]))
    assert record.points is not None and record.points.dtype == np.float64
    record.points[0, 0] = 0.5
    assert record.points.tolist() == [[0.5, 1.0]]
    assert record.places is not None and record.places.dtype.kind == "i"
    shared = np.zeros(2)
    record.points = shared
    assert record.points is shared
