#!/usr/bin/env bash
# numba 0.68.1 and numpy 2.4.6: integer powers of complex numbers lose complex steps at negative numbers.
#
# The complex step gives exact derivatives: f'(x) = imag(f(x + ih)) / h with h = 1e-30. numpy and Python multiply for
# z**3. numba multiplies for z**2 only, and takes other powers by angle and length, so that rounding of the angle times
# the length, 1e-16, comes into the imaginary part: divided by h that is 1e14 in place of the derivative. At positive
# numbers the angle is 0, and all is exact: tests with positive numbers pass. One would guess that a literal power is
# multiplied out, as numba does for float64.
#
# Seen (derivative of x**3 at -0.7, which is 1.47): numpy 1.47, numba 1.3e14; of x**2: both -1.4; at +0.7: both 1.47.
#
# Instead: write products in compiled code that takes complex steps, and test derivatives at negative numbers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile numba==0.68.1 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import numba
import numpy as np

H = 1e-30


@numba.njit
def cube(x):
    return x**3


@numba.njit
def square(x):
    return x**2


@numba.njit
def product(x):
    return x * x * x


def slope(function, x):
    return function(np.complex128(complex(x, H))).imag / H


for x in (0.7, -0.7):
    found = [slope(f, x) for f in (cube.py_func, cube, product, square)]
    print(f"at {x}: x**3 by numpy {found[0]:.4g}, by numba {found[1]:.4g}; x*x*x {found[2]:.4g}; x**2 {found[3]:.4g}")
    np.testing.assert_allclose([found[0], *found[2:]], [1.47, 1.47, 2.0 * x])
    assert abs(found[1] - 1.47) < 1e-12 if x > 0.0 else abs(found[1]) > 1e10
print("(-2+0j)**3 by numba:", cube(np.complex128(-2.0)))
PROGRAM
