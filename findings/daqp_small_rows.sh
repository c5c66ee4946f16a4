#!/usr/bin/env bash
# daqp 0.11.0: a feasible quadratic program is infeasible where a row is in metres, and solved in micrometres.
#
# Two forces x [N] bend a plate by 1e-6 m/N each; it shall be bent by 2 to 3 um with the least squares of forces. One
# would guess that the answer does not depend on the unit of the row, or that a row as small as the tolerance
# (primal_tol, 1e-6) is left out. With 1e-6 as the coefficient the program is said to be infeasible (exit flag -1),
# with 1e-8 forces of 0 are optimal (exit flag 1).
#
# Seen: in um x = [1, 1]; in m infeasible; in 100 m x = [0, 0].
#
# Instead: bring the largest coefficient of each row to 1 before solving, and confirm what is found infeasible by another
# solver.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile daqp==0.11.0 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import daqp
import numpy as np


def solved(unit):
    """Forces and exit flag, with displacements in a unit [m]."""
    row, most, least = np.array([[1e-6, 1e-6]]) / unit, np.array([3e-6]) / unit, np.array([2e-6]) / unit
    x, _, flag, _ = daqp.solve(np.eye(2), np.zeros(2), row, most, least, np.zeros(1, np.intc))
    return x, flag


for unit, forces, expected in ((1e-6, [1.0, 1.0], 1), (1.0, None, -1), (100.0, [0.0, 0.0], 1)):
    x, flag = solved(unit)
    print(f"in units of {unit} m: exit flag {flag}, forces {x}")
    assert flag == expected
    if forces:
        np.testing.assert_allclose(x, forces, atol=1e-9)
PROGRAM
