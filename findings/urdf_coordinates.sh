#!/usr/bin/env bash
# drake 1.51.1, mujoco 4.0.0 and pinocchio (pin) 4.1.0: one URDF, three vectors of positions.
#
# A torso with two arms, one of which ends in a continuous joint. One would guess that a file that names its joints in
# an order gives them in this order, with one number each, and a base that is free or fixed everywhere. - Drake: the
# base floats (7 numbers); the joints follow depth first, in the order of the file. - MuJoCo: the base is fixed, and its
# link is merged into the world, so that its mass is lost; depth first, as in Drake. - pinocchio: the base is fixed, but
# has its inertia (a free flyer is an argument, and its quaternion has w last); arms are   in the alphabetical order of
# their joints, not in that of the file; a continuous joint has two numbers, cos and sin.
#
# Seen (positions without the base): Drake z_arm, z_hand, a_arm (3); MuJoCo the same (3), of 4 kg it has 3; pinocchio
# a_arm, z_arm, z_hand (4).
#
# Instead: never copy vectors between libraries; go by the names of joints, and convert each joint by its type.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 mujoco==4.0.0 pin==4.1.0 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import mujoco
import pinocchio
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

LINK = '''<link name="{}"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'''
JOINT = '''<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="5" velocity="2"/></joint>'''
URDF = '<robot name="r">' + "".join(map(LINK.format, ("torso", "left", "right", "hand"))) + "".join((
    JOINT.format("z_arm", "revolute", "torso", "left"),
    JOINT.format("a_arm", "revolute", "torso", "right"),
    JOINT.format("z_hand", "continuous", "left", "hand"),
)) + "</robot>"

plant = MultibodyPlant(0.0)
Parser(plant).AddModelsFromString(URDF, "urdf")
plant.Finalize()
drakes = [name.removesuffix("_q") for name in plant.GetPositionNames(False)]
model = mujoco.MjModel.from_xml_string(URDF)
theirs = [model.joint(i).name for i in range(model.njnt)]
robot = pinocchio.buildModelFromXML(URDF)
names = list(robot.names)[1:]
masses = plant.CalcTotalMass(plant.CreateDefaultContext()), model.body_mass.sum(), sum(i.mass for i in robot.inertias)
print("Drake    ", drakes, plant.num_positions(), "positions,", masses[0], "kg")
print("MuJoCo   ", theirs, model.nq, "positions,", masses[1], "kg")
print("pinocchio", names, robot.nq, "positions,", masses[2], "kg")
free = pinocchio.buildModelFromXML(URDF, pinocchio.JointModelFreeFlyer())
print("pinocchio with a free flyer:", pinocchio.neutral(free))
assert drakes[-3:] == theirs == ["z_arm", "z_hand", "a_arm"] and names == ["a_arm", "z_arm", "z_hand"]
assert (plant.num_positions(), model.nq, robot.nq) == (10, 3, 4) and masses == (4.0, 3.0, 4.0)
PROGRAM
