#!/usr/bin/env bash
# drake 1.51.1: a vector of damping on a ball joint, of which the first number counts for all.
#
# BallRpyJoint.SetDampingVector takes three numbers and GetDampingVector gives them back, but the torque is the first
# one times the whole angular velocity. One would guess one number for each velocity, as the name, the check of the size
# and the other joints with several velocities (planar, universal) have it. There is no warning.
#
# Seen (ball of moments 0.4 kg m^2 at 1 rad/s about each axis, damping 1, 2, 3): torques -1, -1, -1 N m.
#
# Instead: damp a ball joint by one number, or by a LinearBushingRollPitchYaw where axes differ.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import numpy as np
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import BallRpyJoint, SpatialInertia

plant = MultibodyPlant(0.0)
ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 1.0))
joint = plant.AddJoint(BallRpyJoint("j", plant.world_frame(), ball.body_frame()))
plant.Finalize()
context = plant.CreateDefaultContext()
joint.SetDampingVector(context, [1.0, 2.0, 3.0])
plant.SetVelocities(context, [1.0, 1.0, 1.0])
torques = 0.4 * plant.EvalTimeDerivatives(context).CopyToVector()[3:]
print("damping", joint.GetDampingVector(context), "gives torques", torques)
np.testing.assert_allclose(joint.GetDampingVector(context), [1.0, 2.0, 3.0])
np.testing.assert_allclose(torques, [-1.0, -1.0, -1.0])
PROGRAM
