#!/usr/bin/env bash
# drake 1.51.1: a quadratic program whose costs are in small units is "solved" wrong, by every one of six solvers.
#
# Minimize k (x^2 - 2 x + 2 y^2 - y) with x + y <= 1. The factor k changes nothing in the optimum (5/6, 1/6), and one
# would guess that it changes nothing in the answer: the program has two variables, is well conditioned, and solvers
# scale their problems. Their tolerances for gradients or gaps are absolute, 1e-6 to 1e-9, and squares of millimetres,
# energies of small robots or weights of 1e-6 come below these. is_success() is True all the same.
#
# Seen (greatest error of x, with is_success() True throughout):
#     k             1       1e-4    1e-6    1e-9
#     OSQP          0       3e-17   0.7     0.8
#     Clarabel      2e-9    4e-5    1e-3    6e-2
#     SCS           5e-8    2e-8    1e-8    0.3
#     IPOPT         6e-10   1e-6    1e-2    1
#     SNOPT         6e-8    2e-5    0.8     0.8
#     NLopt         1e-16   1e-16   0.2     0.8
#
# Instead: bring the costs to about 1 at the guess (divide by the largest entry of their gradient there); never judge by
# is_success() alone where costs are below 1e-3.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import numpy as np
from pydrake.solvers import (
    ClarabelSolver, IpoptSolver, MathematicalProgram, NloptSolver, OsqpSolver, ScsSolver, SnoptSolver,
)

for solver in (OsqpSolver(), ClarabelSolver(), ScsSolver(), IpoptSolver(), SnoptSolver(), NloptSolver()):
    errors = []
    for scale in (1.0, 1e-4, 1e-6, 1e-9):
        program = MathematicalProgram()
        x = program.NewContinuousVariables(2)
        program.AddQuadraticCost(scale * np.diag([2.0, 4.0]), scale * np.array([-2.0, -1.0]), x)
        program.AddLinearConstraint(np.ones((1, 2)), [-np.inf], [1.0], x)
        result = solver.Solve(program)
        assert result.is_success()
        errors.append(np.abs(result.get_x_val() - [5 / 6, 1 / 6]).max())
    print(f"{solver.solver_id().name():9}", *(f"{error:.0e}" for error in errors))
    assert errors[0] < 1e-6 and errors[-1] > 0.01
PROGRAM
