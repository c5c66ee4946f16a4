#!/usr/bin/env bash
# daqp 0.11.0: a linear program is solved less exactly the larger its cost is, whatever the tolerances are.
#
# Two rows meet in one corner, where x + y is greatest. One would guess that a factor of the cost changes nothing, as it
# does not change the corner, and that primal_tol (1e-6) and eta_prox bound the error. But without curvature DAQP adds a
# little of its own (eps_prox) and looks for the corner from far away: with a cost a million times as large x is off by
# 2e-4, with exit flag 1 (optimal). With tolerances of 1e-13 it is as far off and ends at the limit of iterations (-4).
#
# Seen: factor 1: 1e-10; 1e3: 2e-7; 1e6: 2e-4, and 1e-4 with flag -4 for tolerances of 1e-13; with eps_prox=1: 2e-10.
#
# Instead: give eps_prox the size of the cost, or solve the rows whose multipliers are not 0 as equations afterwards.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile daqp==0.11.0 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import daqp
import numpy as np

A, b = np.array([[1.0, 0.3], [0.2, 1.0]]), np.array([1.0 / 3.0, 2.0 / 3.0])
corner = np.linalg.solve(A, b)


def error(factor, **settings):
    """How far from the corner x is, and the exit flag."""
    cost, least, sense = np.full(2, -factor), np.full(2, -np.inf), np.zeros(2, np.intc)
    x, _, flag, _ = daqp.solve(np.zeros((2, 2)), cost, A, b, least, sense, **settings)
    return float(np.abs(x - corner).max()), flag


tight = {"primal_tol": 1e-13, "eta_prox": 1e-13}
for factor, settings, least, most, expected in (
    (1.0, {}, 0.0, 1e-8, 1),
    (1e3, {}, 1e-8, 1e-6, 1),
    (1e6, {}, 1e-5, 1e-3, 1),
    (1e6, tight, 1e-5, 1e-3, -4),
    (1e6, {"eps_prox": 1.0}, 0.0, 1e-8, 1),
):
    wrong, flag = error(factor, **settings)
    print(f"cost times {factor:.0e} {settings or ''}: off by {wrong:.0e}, exit flag {flag}")
    assert least <= wrong <= most and flag == expected
PROGRAM
