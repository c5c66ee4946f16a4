#!/usr/bin/env bash
# scipy 1.17.1: SLSQP reports success beside the greatest value on a line.
#
# Problem 55 of Hock and Schittkowski: six linear equations, of which five are independent, so that what is feasible is
# a line; the least cost, 6.333, is at its end. From the problem's own starting point minimize(method="SLSQP") gives
# success=True at a cost of 6.806, beside the maximum on this line: the cost falls to both sides, to one of them at
# once, with a slope of 0.015 per unit of length. A tolerance of 1e-14 changes nothing. One would guess that success
# means a small gradient along the constraints. It means that the last change of the cost was below the tolerance, which
# a step that the line search has cut short is, too.
#
# Seen: success True, cost 6.8056 (6.333 is possible), slope -0.0147 at ftol 1e-6 and -0.0148 at 1e-14.
#
# Instead: project the gradient at the result on the active constraints before you trust it; leave out equations that
# depend on others.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile numpy==2.4.6 scipy==1.17.1
cd "$work" && venv/bin/python - <<'PROGRAM'
import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize


def cost(x):
    return x[0] + 2.0 * x[1] + 4.0 * x[4] + np.exp(x[0] * x[3])


def slopes(x):
    e = np.exp(x[0] * x[3])
    return np.array([1.0 + x[3] * e, 2.0, 0.0, x[0] * e, 4.0, 0.0])


A = np.array([
    [1, 2, 0, 0, 5, 0], [1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1],
    [1, 0, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0], [0, 0, 1, 0, 0, 1],
], float)
b = np.array([6.0, 3.0, 2.0, 1.0, 2.0, 2.0])
line = null_space(A)[:, 0]
equations = {"type": "eq", "fun": lambda x: A @ x - b, "jac": lambda x: A}
bounds = [(0, 1), (0, None), (0, None), (0, 1), (0, None), (0, None)]
best = np.array([0.0, 4 / 3, 5 / 3, 1.0, 2 / 3, 1 / 3])
assert np.allclose(A @ best, b)
for tolerance in (1e-6, 1e-14):
    found = minimize(
        cost, [1.0, 2.0, 0.0, 0.0, 0.0, 2.0], jac=slopes, method="SLSQP", bounds=bounds, constraints=[equations],
        options={"ftol": tolerance, "maxiter": 1000},
    )
    slope = line @ slopes(found.x)
    around = [cost(found.x + d * line) for d in (-0.3, 0.3)]
    print(f"{tolerance:g}: success {found.success}, cost {found.fun:.4f} (best {cost(best):.4f}), slope {slope:.4f}")
    print("   costs at 0.3 to both sides:", *np.round(around, 4))
    assert found.success and np.allclose(A @ found.x, b, atol=1e-8) and (found.x > 0.05).all()
    assert found.fun > 6.8 and abs(slope) > 0.01 and max(around) < found.fun
PROGRAM
