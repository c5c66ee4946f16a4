#!/usr/bin/env bash
# numba 0.68.1: error_model="numpy" does not hold for complex numbers.
#
# With error_model="numpy" a division by zero gives inf or NaN, as in numpy, in place of a ZeroDivisionError. For
# complex operands numba raises ZeroDivisionError all the same, in @njit and in @vectorize, whose functions replace
# numpy's. One would guess that the switch is of the function, not of its types: a kernel that is fine with float64
# raises when the same source is compiled for complex steps or for phasors.
#
# Seen: 1.0 / 0.0 gives inf; (1+0j) / 0j raises ZeroDivisionError; numpy gives (inf+nanj).
#
# Instead: divide a complex number by real and imaginary parts in code of your own, or test the divisor first.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile numba==0.68.1 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import numba
import numpy as np


@numba.njit(error_model="numpy")
def ratio(a, b):
    return a / b


@numba.vectorize
def ratios(a, b):
    return a / b


def outcome(function, *arguments):
    try:
        with np.errstate(all="ignore"):
            return str(function(*arguments))
    except ZeroDivisionError:
        return "ZeroDivisionError"


zero, one = np.array([0.0]), np.array([1.0])
rows = {
    "njit, float": outcome(ratio, 1.0, 0.0),
    "njit, complex": outcome(ratio, 1.0 + 0.0j, 0.0j),
    "vectorize, float": outcome(ratios, one, zero),
    "vectorize, complex": outcome(ratios, one + 0j, zero + 0j),
    "numpy, complex": outcome(np.divide, one + 0j, zero + 0j),
}
for name, result in rows.items():
    print(name, result)
assert [*rows.values()] == ["inf", "ZeroDivisionError", "[inf]", "ZeroDivisionError", "[inf+nanj]"]
PROGRAM
