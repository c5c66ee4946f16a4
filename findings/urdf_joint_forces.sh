#!/usr/bin/env bash
# drake 1.51.1, mujoco 4.0.0 and pinocchio (pin) 4.1.0: which of three libraries feels what a URDF says of its joints.
#
# <dynamics damping friction> and <mimic> of one file, at the same positions and velocities. One would guess that
# forward dynamics has them all, or that what is left out is named: pinocchio keeps damping in the model
# (model.damping), and its aba does not use it. Drake names the friction that it leaves out; pinocchio names nothing.
#
# Seen (accelerations as they are without the attribute, or not):
#     damping="2":           Drake and MuJoCo feel it, pinocchio does not
#     friction="2":          MuJoCo feels it; Drake and pinocchio do not
#     <mimic>:               MuJoCo has an equality, Drake a constraint (in discrete time; in continuous time it
#                            raises), pinocchio leaves it out
#
# Instead: subtract damping * v and friction from the torque before pinocchio.aba, buildModelFromUrdf(..., mimic=True)
# for mimicking joints; friction as a torque in Drake.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 mujoco==4.0.0 pin==4.1.0 numpy==2.4.6
cd "$work" && venv/bin/python - <<'PROGRAM'
import mujoco
import numpy as np
import pinocchio
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

LINK = '''<link name="{}"><inertial><origin xyz=".1 0 0"/><mass value="1"/>
<inertia ixx=".01" iyy=".02" izz=".02" ixy="0" ixz="0" iyz="0"/></inertial></link>'''
JOINT = '''<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/><origin xyz=".2 0 0"/>
<axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="5" velocity="2"/>{3}</joint>'''
Q, V = np.array([0.3, 0.6]), np.array([0.5, 1.0])


def accelerations(on_first, on_second=""):
    urdf = f'<robot name="r"><link name="base"/>{LINK.format("a")}{LINK.format("b")}'
    urdf += JOINT.format("i", "base", "a", on_first) + JOINT.format("j", "a", "b", on_second) + "</robot>"
    plant = MultibodyPlant(1e-4)
    Parser(plant).AddModelsFromString(urdf, "urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"))
    plant.SetUseSampledOutputPorts(False)
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, [*Q, *V])
    drakes = plant.get_generalized_acceleration_output_port().Eval(context)
    model = mujoco.MjModel.from_xml_string(urdf)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = Q, V
    mujoco.mj_forward(model, data)
    robot = pinocchio.buildModelFromXML(urdf)
    return drakes, data.qacc.copy(), pinocchio.aba(robot, robot.createData(), Q, V, np.zeros(2))


plain = accelerations("")
np.testing.assert_allclose(plain[0], plain[2], rtol=1e-2)  # at the end of a step of 1e-4 s
np.testing.assert_allclose(plain[1], plain[2], rtol=1e-9)
expected = {"damping": (True, True, False), "friction": (False, True, False), "mimic": (True, True, False)}
for name, feels in expected.items():
    is_mimic = name == "mimic"
    changed = accelerations(
        "" if is_mimic else f'<dynamics {name}="2"/>', '<mimic joint="i" multiplier="2"/>' if is_mimic else ""
    )
    found = tuple(bool(np.abs(a - b).max() > 0.5) for a, b in zip(plain, changed))
    print(f"{name:8}", dict(zip(("Drake", "MuJoCo", "pinocchio"), found)))
    assert found == feels
PROGRAM
