"""Kernels that run another one for each derivative."""

from __future__ import annotations

import numpy as np

from merganser.multibody.contact.penalty import friction_forces
from merganser.multibody.contact.plant_layout import friction_dtype
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.lanes import over_lanes


def test_a_kernel_that_is_no_helper_of_others_is_compiled_over_lanes() -> None:
    """Dry friction of a joint is the law of one kernel alone."""
    frictions, parameters = np.zeros(1, friction_dtype), np.zeros((2, 2), layout.parameter_dtype(np.complex128))
    frictions["mobod"] = 1
    parameters["friction"][:, 1, 0] = 0.3
    v = np.array([[0.01 + 1e-20j], [0.01 + 2e-20j]])
    compiled, interpreted = np.zeros((2, 1), complex), np.zeros((2, 1), complex)
    lanes = over_lanes(friction_forces)
    lanes(2, frictions, parameters, 0.1, v, compiled)
    lanes.interpreted(2, frictions, parameters, 0.1, v, interpreted)
    assert interpreted[0, 0].real < 0.0 and interpreted[0, 0].imag != 0.0
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-14)
