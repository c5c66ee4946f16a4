#!/usr/bin/env bash
# drake 1.51.1: Toppra exceeds limits beside breaks of a path, on the grid that it proposes itself.
#
# Toppra keeps limits at grid points, and by its default discretization (kInterpolation) at both ends of each segment.
# One would guess errors of some percent between them. Where the path's derivatives jump, at the breaks of a
# CubicShapePreserving or of a FirstOrderHold, the limits are exceeded by far: CalcGridPoints puts no points at breaks,
# and a point at a break sees one side of the jump only.
#
# Seen (one joint, velocity 1 m/s, acceleration 2 m/s^2):
#     cubic through 0, 1, 1.2, 3, the grid of CalcGridPoints:     6.9 m/s^2
#     the same with the breaks in the grid:                       4.4 m/s^2
#     the same with points 1e-4 on both sides of each break, too: 2.004 m/s^2
#     straight lines through 0, 1, 1.2:                           1.031 m/s
#
# Instead: add to the grid each break of the path and a point close to it on either side; check the result on a fine
# grid.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import numpy as np
from pydrake.multibody.optimization import CalcGridPointsOptions, Toppra
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import PrismaticJoint, SpatialInertia
from pydrake.trajectories import PathParameterizedTrajectory, PiecewisePolynomial

plant = MultibodyPlant(0.0)
ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
plant.AddJoint(PrismaticJoint("rail", plant.world_frame(), ball.body_frame(), [1, 0, 0]))
plant.Finalize()


def largest(path, *more):
    grid = np.union1d(Toppra.CalcGridPoints(path, CalcGridPointsOptions()), more)
    toppra = Toppra(path, plant, grid)
    toppra.AddJointVelocityLimit([-1.0], [1.0])
    toppra.AddJointAccelerationLimit([-2.0], [2.0])
    timing = toppra.SolvePathParameterization()
    motion = PathParameterizedTrajectory(path, timing)
    times = np.linspace(timing.start_time(), timing.end_time(), 20001)
    return [max(abs(motion.EvalDerivative(t, order)[0, 0]) for t in times) for order in (1, 2)]


cubic = PiecewisePolynomial.CubicShapePreserving([0.0, 1.0, 2.0, 3.0], [[0.0, 1.0, 1.2, 3.0]], True)
given, with_breaks = largest(cubic)[1], largest(cubic, 1.0, 2.0)[1]
on_both_sides = largest(cubic, *(b + e for b in (1.0, 2.0) for e in (-1e-4, 0.0, 1e-4)))[1]
speed = largest(PiecewisePolynomial.FirstOrderHold([0.0, 1.0, 2.0], [[0.0, 1.0, 1.2]]))[0]
print(f"accelerations for a limit of 2: {given:.3f}, with breaks {with_breaks:.3f}, on both sides {on_both_sides:.3f}")
print(f"velocity for a limit of 1: {speed:.3f}")
assert given > 5.0 and with_breaks > 3.0 and on_both_sides < 2.02 and speed > 1.02
PROGRAM
