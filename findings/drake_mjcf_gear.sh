#!/usr/bin/env bash
# drake 1.51.1 and mujoco 4.0.0: what a motor of MJCF with a gear can do.
#
# In MuJoCo the torque on a joint is gear * ctrl, so that gear="50" ctrlrange="-1 1" reaches 50 N m. Drake's actuation
# port takes the torque itself (the gear is not in it), and its effort limit is the 1 of the control range: the motor
# has a fiftieth of its torque. One would guess that the limit is in the units of the port that it limits, 50 N m. A
# forcerange (before the gear in MuJoCo) is taken in the same way. There is no warning.
#
# Seen (torque at full control): MuJoCo 50 N m; Drake's effort limit 1 N m, and 1 N m with 50 N m at the port.
#
# Instead: multiply effort limits by the gear (JointActuator.set_effort_limit) before Finalize(), and feed gear * ctrl.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6 mujoco==4.0.0
cd "$work" && venv/bin/python - <<'PROGRAM'
import mujoco
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

MODEL = '''<mujoco model="m"><option gravity="0 0 0"/><worldbody><body name="b"><joint name="j" axis="0 0 1"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody>
<actuator><motor name="m" joint="j" gear="50" {}="-1 1"/></actuator></mujoco>'''

for limit in ("ctrlrange", "forcerange"):
    model = mujoco.MjModel.from_xml_string(MODEL.format(limit))
    data = mujoco.MjData(model)
    data.ctrl[:] = 50.0  # clamped
    mujoco.mj_forward(model, data)

    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(MODEL.format(limit), "xml")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [50.0])
    torque = plant.EvalTimeDerivatives(context).CopyToVector()[1]  # on an inertia of 1 kg m^2
    effort = plant.GetJointActuatorByName("m").effort_limit()
    print(f"{limit}: MuJoCo {data.qfrc_actuator[0]:g} N m, Drake {torque:g} N m with an effort limit of {effort:g}")
    assert data.qfrc_actuator[0] == 50.0 and effort == 1.0 and abs(torque - 1.0) < 1e-9
PROGRAM
