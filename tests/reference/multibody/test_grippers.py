"""Grippers whose fingers one actuator drives along a tendon close on a box, lift it and hold it, beside MuJoCo.

They are built as the grippers of MuJoCo's models are: one with two sliding fingers and an equality of both, and one
with two four-bar linkages, each closed by a <connect>.
"""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.math import RollPitchYaw
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph

mujoco = pytest.importorskip("mujoco")

SLIDES = """<body name="{name}" pos="0 0 .06" {turn}><joint name="{name}" type="slide" axis="0 1 0" range="0 .04"
armature=".1" damping="1"/><geom type="box" size=".008 .004 .012" pos="0 .004 .045" mass=".02"/></body>"""
# The link is as long as the driver and parallel to it, and so the pad stays parallel to the base.
LINKAGES = """<body name="{name}_driver" pos="0 .025 .05" {turn}><joint name="{name}" axis="1 0 0" range="0 .8"
armature=".005" damping=".1"/><inertial mass=".02" pos="0 .015 .015" diaginertia="5e-6 5e-6 2e-6"/></body>
<body name="{name}_link" pos="0 {y} .06" {turn}><joint axis="1 0 0" stiffness=".05" springref="1" damping=".001"/>
<inertial mass=".02" pos="0 .015 .015" diaginertia="5e-6 5e-6 2e-6"/>
<body name="{name}_follower" pos="0 .055 .02"><joint axis="1 0 0" pos="0 -.02 .01"/>
<geom type="box" size=".01 .004 .02" pos="0 -.02 .03" mass=".02"/></body></body>"""
CONNECT = '<connect anchor="0 0 0" body1="{0}_follower" body2="{0}_driver" solref=".005 1" solimp=".95 .99 .001"/>'
GRIPPERS = {  # fingers, what closes loops, gain and bias of the actuator, controls that open and close, mass of the box
    "slides": (SLIDES, "", f"{0.04 * 100 / 255}", 255.0, 0.0, 0.03),
    "linkages": (LINKAGES, CONNECT, f"{0.8 * 100 / 255}", 0.0, 200.0, 0.1),
}
MODEL = """<mujoco><compiler angle="radian" autolimits="true"/><option timestep=".001" impratio="100"
cone="elliptic"/><default><geom solref=".004 1" solimp=".95 .99 .001"/></default><worldbody>
<geom type="plane" size="1 1 .1"/><body name="base" pos="0 0 .135" quat="0 1 0 0"><joint name="lift" type="slide"
axis="0 0 -1"/><inertial mass="1" pos="0 0 0" diaginertia=".01 .01 .01"/>{fingers}</body>
<body name="box" pos="0 0 .03"><freejoint/><geom type="box" size=".015 .015 .03" mass="{mass}"/></body></worldbody>
<tendon><fixed name="split"><joint joint="right" coef=".5"/><joint joint="left" coef=".5"/></fixed></tendon>
<equality>{closed}<joint joint1="right" joint2="left" solref=".005 1" solimp=".95 .99 .001"/></equality><actuator>
<general name="fingers" tendon="split" biastype="affine" ctrlrange="0 255" gainprm="{gain}" biasprm="0 -100 -10"
forcerange="-5 5"/><position name="lift" joint="lift" kp="5000" kv="300"/></actuator></mujoco>"""


def text_of(kind: str) -> str:
    finger, closed, gain, _, _, mass = GRIPPERS[kind]
    sides = (("right", 'quat="1 0 0 0"', ".005"), ("left", 'quat="0 0 0 1"', "-.005"))
    fingers = "".join(finger.format(name=name, turn=turn, y=y) for name, turn, y in sides)
    if kind == "linkages":
        fingers = fingers.replace('left_driver" pos="0 .025', 'left_driver" pos="0 -.025')
    loops = "".join(closed.format(name) for name, _, _ in sides)
    return MODEL.format(fingers=fingers, closed=loops, gain=gain, mass=mass)


@pytest.mark.parametrize("kind", GRIPPERS)
def test_a_gripper_closes_on_a_box_lifts_it_and_holds_it_as_in_mujoco(kind: str) -> None:
    text, (_, _, gain, opened, closed, _) = text_of(kind), GRIPPERS[kind]
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.001)
    (instance,) = Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    wanted = plant.get_desired_state_input_port(instance)
    names = [plant.get_joint_actuator(index).name() for index in plant.GetJointActuatorIndices(instance)]
    heights = []
    for until, control, lift in ((0.4, opened, 0.0), (1.1, closed, 0.0), (2.0, closed, 0.1), (3.0, closed, 0.1)):
        data.ctrl[:] = control, lift
        while data.time < until - 1e-9:
            mujoco.mj_step(model, data)
        lengths = {"fingers": control * float(gain) / 100.0, "lift": lift}
        wanted.FixValue(context, [*(lengths[name] for name in names), 0.0, 0.0])
        simulator.AdvanceTo(until)
        X_WB = plant.EvalBodyPoseInWorld(context, plant.GetBodyByName("box"))
        heights.append((X_WB.translation()[2], data.body("box").xpos[2]))
    ours, expected = np.array(heights).T
    np.testing.assert_allclose(ours, expected, atol=1e-3)
    assert ours[2] > 0.11 and ours[3] == pytest.approx(ours[2], abs=1e-3)
    np.testing.assert_allclose(RollPitchYaw(X_WB.rotation()).vector(), 0.0, atol=0.02)
