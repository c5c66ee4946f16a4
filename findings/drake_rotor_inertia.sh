#!/usr/bin/env bash
# drake 1.51.1 and mujoco 4.0.0: inertia of rotors belongs to motors, and of several on a joint only the last one
# counts.
#
# The armature of a <joint> of MJCF is an inertia of the joint, with a motor or without. Drake keeps it with the motor:
# the same joint without a motor loses it, without a warning, as joints do that are moved by applied forces or by a
# tendon. And where a joint has two actuators, the mass matrix has the rotor of the last one alone, though both act. One
# would guess that inertias are read wherever they are written, and that those of two rotors add.
#
# Seen (mass matrix of a joint with 0.4 kg m^2 behind it):
#     armature="2", a motor:     MuJoCo 2.4, Drake 2.4
#     armature="2", no motor:    MuJoCo 2.4, Drake 0.4
#     rotors of 1 and 10 kg m^2: Drake 10.4, not 11.4
#
# Instead: give joints with an armature a motor whose input stays 0; put the sum of all rotors on the last actuator.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6 mujoco==4.0.0
cd "$work" && venv/bin/python - <<'PROGRAM'
import mujoco
import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import RevoluteJoint, SpatialInertia

MODEL = '''<mujoco model="m"><worldbody><body name="b"><joint name="j" axis="0 0 1" armature="2"/>
<inertial pos="0 0 0" mass="1" diaginertia=".4 .4 .4"/></body></worldbody><actuator>{}</actuator></mujoco>'''


def inertia(plant):
    plant.Finalize()
    return plant.CalcMassMatrix(plant.CreateDefaultContext())[0, 0]


for motor in ('<motor joint="j"/>', ""):
    model = mujoco.MjModel.from_xml_string(MODEL.format(motor))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    data.qacc[:] = 1.0
    mujoco.mj_inverse(model, data)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(MODEL.format(motor), "xml")
    theirs, drakes = data.qfrc_inverse[0], inertia(plant)
    print(f"armature, {motor or 'no motor'}: MuJoCo {theirs:g}, Drake {drakes:g} kg m^2")
    np.testing.assert_allclose([theirs, drakes], [2.4, 2.4 if motor else 0.4])

plant = MultibodyPlant(0.0)
ball = plant.AddRigidBody("ball", SpatialInertia.SolidSphereWithMass(1.0, 1.0))  # 0.4 kg m^2
joint = plant.AddJoint(RevoluteJoint("j", plant.world_frame(), ball.body_frame(), [0, 0, 1]))
for name, rotor in (("first", 1.0), ("second", 10.0)):
    actuator = plant.AddJointActuator(name, joint)
    actuator.set_default_rotor_inertia(rotor)
    actuator.set_default_gear_ratio(1.0)
found = inertia(plant)
print(f"rotors of 1 and 10 kg m^2 on one joint: Drake {found:g} kg m^2")
np.testing.assert_allclose(found, 10.4)
PROGRAM
