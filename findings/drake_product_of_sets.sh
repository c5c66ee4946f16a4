#!/usr/bin/env bash
# drake 1.51.1: CartesianProduct with A and b says that an empty set has points.
#
# CartesianProduct(sets, A, b) is the set of all x for which A x + b is in the product. Where no x has that, one would
# guess that IsEmpty() is true, as it is for an Intersection, and that MaybeGetFeasiblePoint() gives none, or a point in
# the set. IsEmpty() asks the factors alone, and the point is A's least-squares answer to a point of the product.
#
# Seen (x in [0, 1], and x + 3 in [0, 1]): IsEmpty() False; MaybeGetFeasiblePoint() -1, which PointInSet() refuses.
#
# Instead: check points that the set gives with PointInSet(), and emptiness by a program with
# AddPointInSetConstraints().
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import numpy as np
from pydrake.geometry.optimization import CartesianProduct, Hyperrectangle
from pydrake.solvers import MathematicalProgram, Solve

unit = Hyperrectangle([0.0], [1.0])
product = CartesianProduct([unit, unit], np.array([[1.0], [1.0]]), np.array([0.0, 3.0]))
point = product.MaybeGetFeasiblePoint()
program = MathematicalProgram()
product.AddPointInSetConstraints(program, program.NewContinuousVariables(1))
result = Solve(program)
print("IsEmpty", product.IsEmpty(), "point", point, "in the set", product.PointInSet(point))
print("a program with the set's constraints:", result.get_solution_result())
assert not product.IsEmpty() and not product.PointInSet(point) and not result.is_success()
PROGRAM
