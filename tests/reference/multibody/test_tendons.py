"""Tendons, muscles and other actuators beside MuJoCo: lengths, moment arms, forces and accelerations."""

from __future__ import annotations

import re

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.autodiff import AutoDiffXd, ExtractValue
from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant

mujoco = pytest.importorskip("mujoco")

MODEL = """<mujoco><worldbody><site name="a" pos="-.3 0 .05"/><site name="side" pos="{side}"/>
<geom name="w" {shape} contype="0" conaffinity="0"/><site name="slider" pos="0 0 -.2" euler="10 20 0"/>
<body name="b1"><joint name="j1" axis="0 1 0" damping=".1"/>
<geom type="capsule" fromto="0 0 0 .4 0 0" size=".02" mass="1"/>
<site name="s1" pos=".35 .02 .05"/><geom name="pin" type="sphere" size=".03" pos=".3 0 .05" contype="0" conaffinity="0"
mass="0"/>
<body name="b2" pos=".4 0 0"><joint name="j2" axis=".6 0 .8" range="-90 90"/>
<geom type="box" size=".1 .05 .05" mass=".5"/>
<site name="s2" pos=".1 .05 0" euler="0 30 40"/>
<body name="b3"><joint name="j3" type="slide" axis="1 0 0"/><geom type="box" size=".02 .03 .04" mass=".2"/>
<site name="s3" pos="0 0 .1"/></body></body></body></worldbody>
<tendon><fixed name="f" stiffness="20" springlength=".1 .2" damping=".7"><joint joint="j1" coef=".5"/>
<joint joint="j3" coef="-2"/></fixed>
<spatial name="t" stiffness="50" springlength=".3" damping="3">
<site site="a"/><geom geom="w" {of_side}/><site site="s1"/>
</spatial>
<spatial name="u" stiffness="5">
<site site="a"/><site site="s2"/><pulley divisor="2"/><site site="s1"/><geom geom="pin"/>
<site site="s3"/><pulley divisor="3"/><site site="a"/><site site="s3"/></spatial></tendon>
<actuator><motor name="m" tendon="t" gear="2"/><general name="g" tendon="u" gaintype="affine" gainprm="1 2 3" gear="-2"
biastype="affine" biasprm=".5 1 .2" ctrlrange="-.5 .5"/><damper name="d" joint="j1" kv="2" ctrlrange="0 1"/>
<cylinder name="c" tendon="f" area="2" timeconst=".3" bias=".1 -.2 .3"/>
<muscle name="k" tendon="t" lengthrange=".2 .8" force="40" timeconst=".02 .05" tausmooth="{smooth}"/>
<muscle name="l" joint="j2" scale="30" lengthrange="-1.5 1.5" range=".6 1.2"/>
<general name="i" joint="j3" dyntype="integrator" gainprm="3"/><motor name="s" site="s3" gear="1 -2 .5 .3 .2 -.1"/>
<motor name="r" site="s3" refsite="a" gear="1 2 -1 0 0 0"/>
<motor name="x" cranksite="s1" slidersite="slider" cranklength=".6" gear="1.5"/></actuator></mujoco>"""
SHAPES = {
    "sphere": 'type="sphere" size=".1"',
    "cylinder": 'type="cylinder" size=".08 .2" euler="70 20 0" pos=".02 0 .01"',
}
SIDES = {"none": ".3 .3 .3", "above": "0 0 .3", "below": "0 0 -.3", "inside": "0.02 0 .04"}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("shape", SHAPES)
def test_tendons_and_actuators_are_those_of_mujoco(shape, side):
    of_side = "" if side == "none" else 'sidesite="side"'
    smooth = "0.2" if side == "above" else "0"
    text = MODEL.format(side=SIDES[side], shape=SHAPES[shape], of_side=of_side, smooth=smooth)
    model = mujoco.MjModel.from_xml_string(text)
    data, plant = mujoco.MjData(model), MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    context, rng = plant.CreateDefaultContext(), np.random.default_rng(0)
    joints = [plant.GetJointByName(name) for name in ("j1", "j2", "j3")]
    q_of, v_of = ([getattr(j, f"{what}_start")() for j in joints] for what in ("position", "velocity"))
    names = [model.actuator(i).name for i in range(model.nu)]
    actuators = [plant.GetJointActuatorByName(name) for name in names]
    # MuJoCo's point where a line touches a surface from inside is that far from where the length is stationary.
    tolerance = 1e-5 if side == "inside" else 1e-9
    for _ in range(50):
        data.qpos[:], data.qvel[:] = rng.uniform(-1.4, 1.4, 3), rng.uniform(-1.0, 1.0, 3)
        data.ctrl[:], data.act[:] = rng.uniform(0.0, 1.0, model.nu), rng.uniform(0.0, 1.0, model.na)
        mujoco.mj_forward(model, data)
        q, v, u = np.zeros(3), np.zeros(3), np.zeros(model.nu)
        q[q_of], v[v_of] = data.qpos, data.qvel
        plant.SetPositionsAndVelocities(context, np.concatenate([q, v]))
        for i, actuator in enumerate(actuators):
            gear = model.actuator_gear[i, 0] if names[i] == "m" else 1.0  # of the force that comes
            u[actuator.input_start()] = gear * data.ctrl[i]
            if model.actuator_actadr[i] >= 0:
                actuator.SetActivation(context, data.act[model.actuator_actadr[i]])
        plant.get_actuation_input_port().FixValue(context, u)
        for name, length, rate in zip("ftu", data.ten_length, data.ten_velocity):
            tendon = plant.GetTransmissionByName(name)
            assert tendon.CalcLength(context) == pytest.approx(length, abs=1e-9)
            assert tendon.CalcRate(context) == pytest.approx(rate, abs=tolerance)
        efforts = plant.get_net_actuation_output_port().Eval(context)
        for i, (name, actuator) in enumerate(zip(names, actuators)):
            scale = model.actuator_gear[i, 0] if name in "mgdckli" else 1.0  # other gears are in their transmissions
            expected = data.actuator_force[i] * scale
            assert efforts[actuator.input_start()] == pytest.approx(expected, abs=100 * tolerance, rel=tolerance)
        rates = plant.EvalTimeDerivatives(context).CopyToVector()
        for i, actuator in enumerate(actuators):
            if model.actuator_actadr[i] >= 0:
                found = rates[6 + actuator._activation_place.start]
                assert found == pytest.approx(data.act_dot[model.actuator_actadr[i]], abs=1e-9)
        expected, found = data.qacc_smooth, rates[3:6][v_of]
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=100 * tolerance * max(1.0, np.abs(expected).max()))


LAWS = """<mujoco><option gravity="0 0 0" timestep="{step}"/><worldbody><site name="here" euler="20 30 40"/>
<body><joint name="j" axis="0 1 0"/><geom type="box" size=".1 .05 .05" mass=".5"/><site name="s" euler="0 30 40"/>
<body pos=".3 0 0"><joint name="ball" type="ball"/><geom type="box" size=".02 .03 .04" mass=".2"/>
<site name="t" euler="50 0 10"/></body></body></worldbody>
<tendon><fixed name="f"><joint joint="j" coef="-1.5"/></fixed></tendon><actuator>{actuators}</actuator></mujoco>"""
ACTUATORS = {
    "pid": '<pid name="a" joint="j" kp="3" kv=".2" ki="4" gear="-2" forcerange="-5 5" input="pos vel ff"/>',
    "windup": '<pid name="a" tendon="f" kp="3" ki="4" imax=".3" gear="2" input="pos"/>',
    "slew": '<pid name="a" joint="j" kp="3" kv=".1" ki=".2" slewmax=".5" gear="3"/>',
    "voltage": '<dcmotor name="a" joint="j" motorconst=".3 .2" resistance="2" gear="3" saturation=".05"/>',
    "nominal": '<dcmotor name="a" tendon="f" nominal="12 3 40" damping=".001" saturation="0 .3"/>',
    "damped": '<dcmotor name="a" joint="j" nominal="12 3 40" damping=".001" resistance="1.5"/>',
    "inductance": '<dcmotor name="a" joint="j" motorconst=".3" resistance="2" inductance=".01" saturation=".1 0 9"/>',
    "cogging": '<dcmotor name="a" joint="j" motorconst=".3" resistance="2" cogging=".02 7 .3" gear="2" '
    'saturation=".1"/>',
    "friction": '<dcmotor name="a" joint="j" motorconst=".3" resistance="2" lugre="50 .3 .1 .15 .2" saturation=".1"/>',
    "heat": '<dcmotor name="a" joint="j" motorconst=".3" resistance="2" thermal="2 0 50 .004 25 20"/>',
    "all": '<dcmotor name="a" joint="j" motorconst=".3" resistance="2" thermal="2 30 0 .004 25 20" inductance="0 .02" '
    'lugre="50 .3 .1 .15 .2" cogging=".02 7 .3" controller="2 .5 .1 3 .4 5" input="pos" gear=".5"/>',
    "speed": '<dcmotor name="a" joint="j" motorconst=".3" resistance="2" controller="0 0 .5" input="vel"/>',
    "torque": '<dcmotor name="a" joint="j" motorconst=".3" resistance="2" controller="0 0 0 0 0 1" input="ff"/>',
    "passive": '<dcmotor name="a" joint="j" motorconst="0" resistance="1" cogging=".02 7 .3" lugre="50 .3 .1 .15 .2" '
    'input="none"/>',
    "ball": '<orientation name="a" joint="ball" kp="3" kv=".2" forcerange="0 4"/>',
    "sites": '<orientation name="a" site="t" refsite="s" kp="3" kv=".2" ctrlrange="-1 1"/>',
    "turning": '<orientation name="a" site="t" refsite="here" kp="3"/>',
    "integrated": '<general name="a" joint="ball" gaintype="so3" biastype="so3" dyntype="integrator" gainprm="3" '
    'biasprm=".2 -3 -.3" actrange="-1.5 2.5"/>',
    "early": '<general name="a" joint="j" dyntype="filter" dynprm=".05" gainprm="3" actearly="true"/>',
}  # fmt: skip


# In continuous time, setpoints of limited rate follow with 1 ms, and not with a time step.
CASES = [(which, h) for which, text in ACTUATORS.items() for h in (0.0, 0.002) if h or which not in ("slew", "all")]


@pytest.mark.parametrize(("which", "time_step"), CASES)
def test_motors_and_servos_are_those_of_mujoco(which, time_step):
    # Steps take servos at their end, so that their states alone are compared.
    is_servo, step = "<pid" in ACTUATORS[which], time_step or 1e-9
    model = mujoco.MjModel.from_xml_string(LAWS.format(step=step, actuators=ACTUATORS[which]))
    data, plant = mujoco.MjData(model), MultibodyPlant(time_step)
    plant.SetUseSampledOutputPorts(False)
    Parser(plant).AddModelsFromString(LAWS.format(step=step, actuators=ACTUATORS[which]), "xml")
    plant.Finalize()
    context, rng, is_empty = plant.CreateDefaultContext(), np.random.default_rng(1), model.nu == 0
    actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]
    for _ in range(40):
        data.qpos[:], data.qvel[:] = rng.normal(size=model.nq), rng.normal(size=model.nv)
        data.qpos[1:] /= np.linalg.norm(data.qpos[1:])
        data.ctrl[:], data.act[:] = rng.normal(size=model.nu), rng.normal(size=model.na)
        R = RotationMatrix(Quaternion(data.qpos[1:])).matrix()  # velocities of balls are in their parents here
        plant.SetPositionsAndVelocities(context, np.concatenate([data.qpos, data.qvel[:1], R @ data.qvel[1:]]))
        gear = model.actuator_gear[0, 0]
        if model.na:
            states = data.act / gear if is_servo else data.act
            actuators[0].SetActivation(context, states)
        u = np.zeros(len(actuators))
        if is_servo:
            given = np.zeros(3)
            given[: model.nu] = data.ctrl
            desired = given[:2] / gear
            plant.get_desired_state_input_port(actuators[0].model_instance()).FixValue(context, desired)
            u[0] = given[2] * gear
        elif not is_empty:
            u[:] = data.ctrl
        plant.get_actuation_input_port().FixValue(context, u)
        mujoco.mj_forward(model, data)
        efforts = plant.get_net_actuation_output_port().Eval(context)
        tolerance = {"rel": 1e-9, "abs": 1e-9 if time_step else 1e-6}
        if not (is_servo and time_step):
            expected = data.actuator_force * (1.0 if len(actuators) == 3 else gear)
            assert efforts == pytest.approx(expected, **tolerance)
        rates = data.act_dot / (gear if is_servo else 1.0)
        if time_step == 0.0 and model.na:
            found = plant.EvalTimeDerivatives(context).CopyToVector()[model.nq + model.nv :]
            assert found == pytest.approx(rates, **tolerance)
        elif model.na:
            mujoco.mj_step(model, data)
            found = plant.EvalUniquePeriodicDiscreteUpdate(context).get_vector(1).CopyToVector()
            assert found == pytest.approx(data.act / (gear if is_servo else 1.0), **tolerance)


@pytest.mark.parametrize("interpolation", ["zoh", "linear"])
@pytest.mark.parametrize("delay", [0.002, 0.005, 0.0061, 0.02])
def test_controls_act_as_late_as_in_mujoco(delay, interpolation):
    late = f'delay="{delay}" nsample="8" interp="{interpolation}"'
    actuators = f'<motor name="m" joint="j" gear="2" ctrlrange="-1 1" {late}/><orientation joint="ball" {late}/>'
    text = LAWS.format(step=0.002, actuators=actuators)
    model, plant = mujoco.MjModel.from_xml_string(text), MultibodyPlant(0.002)
    plant.SetUseSampledOutputPorts(False)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    data, context, rng = mujoco.MjData(model), plant.CreateDefaultContext(), np.random.default_rng(2)
    for _ in range(25):
        data.ctrl[:] = rng.normal(size=4)
        plant.get_actuation_input_port().FixValue(context, data.ctrl)
        data.qpos[:], data.qvel[:] = [0.0, 1.0, 0.0, 0.0, 0.0], 0.0
        plant.SetPositionsAndVelocities(context, np.concatenate([data.qpos, data.qvel]))
        mujoco.mj_forward(model, data)
        expected = data.actuator_force * [2.0, 1.0, 1.0, 1.0]
        assert plant.get_net_actuation_output_port().Eval(context) == pytest.approx(expected, abs=1e-9)
        mujoco.mj_step(model, data)
        waiting = plant.EvalUniquePeriodicDiscreteUpdate(context).get_vector(1).CopyToVector()
        context.get_mutable_discrete_state(1).SetFromVector(waiting)


ADHESION = """<mujoco><worldbody><geom type="plane" size="2 2 1" adhesion="1"/>
<geom type="plane" size="2 2 1" pos=".4 0 0" zaxis="-1 0 0"/>
<body name="arm" pos="0 0 .2"><joint name="shoulder" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" contype="0"
conaffinity="0"/>
<body name="hand" pos=".3 0 0"><joint name="elbow" axis="0 1 0"/><geom size=".05" pos=".06 0 0" adhesion="2"/>
<body name="pad" pos="0 0 -.05"><geom size=".04"/><geom size=".03" pos="0 0 -.05"/></body></body></body>
<body name="box"><freejoint/><geom type="box" size=".1 .1 .1" adhesion=".5"/></body></worldbody>
<actuator><adhesion name="h" body="hand" ctrlrange="0 9"/><adhesion name="p" body="pad" ctrlrange="0 9"/>
<general name="b" body="box" gear="2" biastype="affine" biasprm="1 0 0"/></actuator></mujoco>"""


def plant_of(text):
    """A continuous plant with its SceneGraph, and a Context of it."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    return plant, plant.GetMyMutableContextFromRoot(builder.Build().CreateDefaultContext())


def test_adhesion_pulls_as_in_mujoco():
    model = mujoco.MjModel.from_xml_string(ADHESION)
    data, rng, num_pulls = mujoco.MjData(model), np.random.default_rng(4), np.zeros(3, int)
    sticky, smooth = plant_of(ADHESION), plant_of(re.sub('adhesion="[^"]*"', "", ADHESION))
    order = [sticky[0].GetJointActuatorByName(model.actuator(i).name).input_start() for i in range(3)]
    for _ in range(60):
        # The hand and the pad press on the wall and the ground, and the box on the ground, with a side or an edge.
        tilt, (q_arm, q_hand) = rng.choice([0.0, 0.05, -0.2]), rng.uniform(-0.6, 0.6, 2)
        height = 0.1 * (np.cos(tilt) + abs(np.sin(tilt))) - 1e-4
        data.qpos[:] = [q_arm, q_hand, rng.uniform(-0.3, 0.1), 1.0, height, np.cos(tilt / 2), 0, np.sin(tilt / 2), 0]
        data.qvel[:], data.ctrl[:] = 0.0, rng.uniform(0.0, 5.0, 3)
        mujoco.mj_forward(model, data)
        accelerations, pulls = [], np.zeros(3)
        for (plant, context), share in ((sticky, 1.0), (smooth, 0.0)):
            joints = [plant.GetJointByName(name) for name in ("shoulder", "elbow")]
            box = plant.GetBodyByName("box")
            plant.SetFreeBodyPose(context, box, RigidTransform(Quaternion(data.qpos[5:]), data.qpos[2:5]))
            for joint, q in zip(joints, data.qpos):
                joint.set_angle(context, q)
            pulls[order] = share * data.actuator_force
            plant.get_actuation_input_port().FixValue(context, pulls)
            accelerations.append(plant.EvalTimeDerivatives(context).CopyToVector()[plant.num_positions() :])
        pull = plant.CalcMassMatrix(context) @ (accelerations[0] - accelerations[1])
        w = box.floating_velocities_start_in_v()
        found = [*(pull[joint.velocity_start()] for joint in joints), *pull[w + 3 : w + 6], *pull[w : w + 3]]
        R_WB, forces = RotationMatrix(Quaternion(data.qpos[5:])).matrix(), data.qfrc_actuator + data.qfrc_adhesion
        np.testing.assert_allclose(found, [*forces[:5], *(R_WB @ forces[5:])], rtol=1e-8, atol=1e-8)
        touching = model.geom_bodyid[data.contact.geom]
        num_pulls += [model.body(name).id in touching for name in ("hand", "pad", "box")]
    assert num_pulls.min() > 5


ARMATURE = """<mujoco><worldbody><site name="w" pos="-.1 .2 .4"/><body><joint name="j1" axis="0 1 0"/>
<geom type="box" size=".2 .05 .05" pos=".2 0 0" mass="1"/><site name="a" pos=".2 .1 .1"/>
<body pos=".4 0 0"><joint name="j2" axis=".6 0 .8"/><geom type="box" size=".1 .05 .05" mass=".5"/><site name="b"
pos=".3 0 .05"/></body></body></worldbody><tendon><fixed name="f" armature=".3"><joint joint="j1" coef=".5"/><joint
joint="j2" coef="-2"/></fixed><spatial name="t" armature="2" stiffness="7" springlength=".2"><site site="w"/><site
site="a"/><site site="b"/><pulley divisor="2"/><site site="b"/><site site="w"/></spatial></tendon>
<actuator><motor name="m" tendon="t" gear="3" armature=".1"/></actuator></mujoco>"""


@pytest.mark.parametrize("time_step", [0.0, 1e-7])
@pytest.mark.parametrize("scalar", [float, AutoDiffXd])
def test_armature_of_tendons_is_that_of_mujoco(scalar, time_step):
    """In a chain; between branches MuJoCo 4.0 leaves the entries of M out that its tree does not have."""
    model, plant = mujoco.MjModel.from_xml_string(ARMATURE), MultibodyPlant(time_step)
    data, M, rng = mujoco.MjData(model), np.zeros((2, 2)), np.random.default_rng(0)
    Parser(plant).AddModelsFromString(ARMATURE, "xml")
    plant.SetUseSampledOutputPorts(False)
    plant.Finalize()
    plant = plant if scalar is float else plant.ToAutoDiffXd()
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [6.0])
    for _ in range(5):
        data.qpos[:], data.qvel[:], data.ctrl[0] = rng.uniform(-1.4, 1.4, 2), rng.uniform(-1.0, 1.0, 2), 2.0
        mujoco.mj_forward(model, data)
        mujoco.mj_fullM(model, data, M)
        plant.SetPositionsAndVelocities(context, [*data.qpos, *data.qvel])
        np.testing.assert_allclose(ExtractValue(plant.CalcMassMatrix(context)), M, atol=1e-12)
        if time_step:
            v_next = ExtractValue(plant.EvalUniquePeriodicDiscreteUpdate(context).value()).ravel()[2:]
            acceleration = (v_next - data.qvel) / time_step
        else:
            rates = plant.EvalTimeDerivatives(context).get_generalized_velocity().CopyToVector()
            acceleration = ExtractValue(rates).ravel()
        np.testing.assert_allclose(acceleration, data.qacc, rtol=1e-6 if time_step else 1e-10, atol=1e-7)
