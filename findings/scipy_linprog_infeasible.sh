#!/usr/bin/env bash
# scipy 1.17.1 (HiGHS): linprog calls a program infeasible that x = 0 satisfies.
#
# Two rows, six free variables, and a cost that falls without end: status 3, "unbounded", one would guess, as milp says
# of the same numbers, since x = 0 is within all bounds. linprog says status 2, "infeasible", by each of its three
# methods, and status 3 without presolving, which may stop at the knowledge that one of the two holds. With a cost of 0
# the same rows are solved.
#
# Seen: linprog(c) status 2, infeasible; linprog(0) status 0; milp(c) status 3, unbounded.
#
# Instead: take status 2 for "infeasible or unbounded", and solve once more with options={"presolve": False} to know
# which.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile numpy==2.4.6 scipy==1.17.1
cd "$work" && venv/bin/python - <<'PROGRAM'
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

A = np.array([[0.841, 0.188, 0.331, 0.411, -1.011, 0.783], [2.057, -1.638, -1.729, -1.505, 0.841, 0.129]])
c = np.array([-0.2, 0.6, 0.1, 0.5, -0.4, 0.7])
A_ub, b_ub = np.vstack([A[:1], -A]), np.array([0.0, 1.3, 1.8])  # -1.3 <= a1 x <= 0, a2 x >= -1.8
assert (A_ub @ np.zeros(6) <= b_ub).all()
for method in ("highs", "highs-ds", "highs-ipm"):
    found = linprog(c, A_ub=A_ub, b_ub=b_ub, bounds=(None, None), method=method)
    print(f"linprog by {method}:", found.status, found.message)
    assert found.status == 2
feasible = linprog(0 * c, A_ub=A_ub, b_ub=b_ub, bounds=(None, None))
other = milp(c, constraints=LinearConstraint(A, [-1.3, -1.8], [0.0, np.inf]), bounds=Bounds(-np.inf, np.inf))
print("without a cost:", feasible.status, "by milp:", other.status, other.message)
assert feasible.status == 0 and other.status == 3
PROGRAM
