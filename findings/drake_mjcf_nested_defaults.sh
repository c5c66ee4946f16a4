#!/usr/bin/env bash
# drake 1.51.1 and mujoco 4.0.0: defaults of a class of MJCF that Drake loses, without a warning.
#
# A class of <default> inherits from the class around it. In Drake it does so only for the kinds of elements that it
# mentions itself: a class with a <geom> and no <joint> has no defaults of joints at all, though the class around it
# says damping="5". MuJoCo applies them. One would guess otherwise, since the same class inherits the damping as soon as
# it has any <joint>, and since Drake warns of each attribute that it does not read.
#
# Seen (acceleration of the joint at q = 0.3, v = 0.7):
#     a class with a geom alone:       MuJoCo -36.33, Drake 22.80 (as without damping)
#     the same, and an empty <joint/>: MuJoCo -36.33, Drake -36.33
#
# Instead: mention in each inner class every kind of element that its elements have (an empty <joint/> will do), or
# compare accelerations with MuJoCo's once for each new model.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile drake==1.51.1 numpy==2.4.6 mujoco==4.0.0
cd "$work" && venv/bin/python - <<'PROGRAM'
import mujoco
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

MODEL = '''<mujoco model="m"><default><joint damping="5"/><default class="light"><geom density="10"/>{}</default>
</default><worldbody><body name="b" childclass="light"><joint name="j" axis="0 1 0"/>
<geom type="box" size=".1 .2 .3" pos=".3 0 0"/></body></worldbody></mujoco>'''


def accelerations(text):
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = 0.3, 0.7
    mujoco.mj_forward(model, data)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositionsAndVelocities(context, [0.3, 0.7])
    return data.qacc[0], plant.EvalTimeDerivatives(context).CopyToVector()[1]


for inner in ("", "<joint/>"):
    theirs, drakes = accelerations(MODEL.format(inner))
    print(f"inner class with <geom> {inner}: MuJoCo {theirs:.2f}, Drake {drakes:.2f} rad/s^2")
    assert (abs(theirs - drakes) < 1e-6) == bool(inner) and abs(theirs + 36.33) < 0.01
PROGRAM
