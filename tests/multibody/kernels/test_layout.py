"""The record types of the kernels."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.multibody.kernels.layout import parameter_dtype, position_dtype, scratch_dtype, velocity_dtype

DTYPES = [parameter_dtype, position_dtype, velocity_dtype, scratch_dtype]


@pytest.mark.parametrize("dtype_of", DTYPES)
def test_equal_dtypes_are_one_object(dtype_of: object) -> None:
    """Numba compares dtypes that are equal but not the same field by field, at every call."""
    assert dtype_of(float) is dtype_of(np.float64)  # type: ignore[operator]
    assert dtype_of(complex) is not dtype_of(float)  # type: ignore[operator]


@pytest.mark.parametrize("scalar", [float, complex])
@pytest.mark.parametrize("dtype_of", DTYPES)
def test_records_are_views_into_flat_arrays_of_their_scalar(dtype_of: object, scalar: type) -> None:
    dtype = dtype_of(scalar)  # type: ignore[operator]
    flat = np.zeros(3 * dtype.itemsize // np.dtype(scalar).itemsize, dtype=scalar)
    assert flat.view(dtype).shape == (3,)
