"""Sensors of MJCF files measure what MuJoCo's `sensordata` says."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.sensors import AddMjcfSensors
from tests.multibody.sensors.test_limit_forces import LIMITED as LIMITED_AT_REST
from tests.multibody.sensors.test_limit_forces import make as make_limited
from tests.support.mujoco_models import ModelPair

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra `reference`)")

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore::DeprecationWarning:mujoco.*")]

OF_SITES = "".join(
    f'<{kind} name="{kind}-{site}" site="{site}"/>'
    for kind in ("accelerometer", "velocimeter", "gyro", "magnetometer", "force", "torque")
    for site in ("s", "t", "u")
)
OBJECTS = ('objtype="site" objname="s"', 'objtype="body" objname="c"', 'objtype="xbody" objname="b"',
           'objtype="geom" objname="g"', 'objtype="camera" objname="eye"')  # fmt: skip
REFERENCES = ("", ' reftype="site" refname="u"', ' reftype="xbody" refname="a"')
OF_FRAMES = "".join(
    f"<frame{what} {of}{reference}/>"
    for what in ("pos", "quat", "xaxis", "yaxis", "zaxis", "linvel", "angvel")
    for of in OBJECTS
    for reference in REFERENCES
) + "".join(f"<frame{what} {of}/>" for what in ("linacc", "angacc") for of in OBJECTS)
OTHERS = """<jointpos joint="k"/><jointvel joint="k"/><jointpos joint="r"/><ballquat joint="ball"/>
<ballangvel joint="ball"/><actuatorpos actuator="m"/><actuatorvel actuator="m"/><actuatorfrc actuator="m"/>
<actuatorpos actuator="p"/><actuatorfrc actuator="n"/><tendonpos tendon="both"/><tendonvel tendon="both"/>
<subtreecom body="a"/><subtreelinvel body="b"/><subtreeangmom body="a"/><subtreeangmom body="world"/>
<subtreecom body="world"/><clock/><e_kinetic/><e_potential/><gyro site="s" cutoff=".3"/>
<jointvel joint="k" cutoff=".2"/>"""
MODEL = """<mujoco model="m"><option gravity="1 2 -9" magnetic=".1 .2 .3"><flag contact="disable"/></option><worldbody>
<body name="a" pos="0 0 1" euler="10 20 30"><freejoint/><geom size=".2"/><site name="u" pos=".1 0 .2" euler="0 30 0"/>
<body name="b" pos="1 0 0"><joint name="k" axis="0 1 1" armature=".1" damping=".3" stiffness="2"/>
<joint name="r" type="slide" axis="1 0 0" ref=".1"/>
<geom name="g" type="box" size=".1 .2 .3" pos=".1 0 0" euler="20 0 0"/>
<site name="s" pos=".1 .2 .3" euler="10 20 30"/><camera name="eye" pos="0 0 1" euler="30 0 10"/>
<body name="c" pos="0 1 0" euler="0 40 0"><joint name="ball" type="ball" pos=".1 0 0" damping=".2"/>
<geom type="capsule" fromto="0 0 0 .3 .2 .1" size=".1"/><site name="t" pos="0 .1 0"/></body></body></body></worldbody>
<tendon><fixed name="both"><joint joint="k" coef="2"/><joint joint="r" coef="-3"/></fixed></tendon>
<actuator><motor name="m" joint="k" gear="3"/><motor name="n" joint="r" gear="-2"/><motor name="p" joint="r" gear="5"/>
</actuator><sensor>{}</sensor></mujoco>"""


LIMITS = "".join(f'<jointlimit{what} joint="{joint}"/>' for what in ("pos", "vel") for joint in ("k", "r", "ball"))
LIMITS += '<tendonlimitpos tendon="both"/><tendonlimitvel tendon="both"/><jointactuatorfrc joint="r"/>'
LIMITS += '<jointactuatorfrc joint="k" cutoff=".5"/><camprojection site="t" camera="eye"/>'
LIMITS += '<camprojection site="u" camera="far"/>'
LIMITS += "".join(f'<insidesite site="{site}" {of}/>' for of in OBJECTS for site in ("s", "around"))
LIMITED = (
    MODEL.replace('name="k"', 'name="k" range="-20 30"').replace('name="r"', 'name="r" range="-.2 .3"')
    .replace('name="ball"', 'name="ball" range="0 40"').replace('name="both"', 'name="both" range="-1 2"')
    .replace('name="eye"', 'name="eye" resolution="80 60" fovy="50"')
    .replace("<geom size", '<camera name="far" pos="3 0 0" resolution="64 48" sensorsize=".01 .02" focal=".03 .05"/>'
             '<site name="around" type="box" size="1 1 .5"/><geom size')
)  # fmt: skip

TENDONS = (
    MODEL.replace("</tendon>", '<spatial name="path" range=".5 1.2" stiffness="7" springlength=".1 .6">'
                  '<site site="u"/><geom geom="knob" sidesite="s"/>'
                  '<site site="t"/></spatial></tendon>')
    .replace("</actuator>", '<motor name="along" tendon="path" gear="2"/><motor name="sum" tendon="both" gear="-4"/>'
             '<motor name="push" site="t" refsite="u" gear="1 0 2"/></actuator>')
    .replace('<geom name="g"', '<geom name="knob" size=".05" pos=".1 .1 0"/><geom name="g"')
)  # fmt: skip
OF_TENDONS = "".join(f'<tendon{what} tendon="path"/>' for what in ("pos", "vel", "actuatorfrc", "limitpos", "limitvel"))
OF_TENDONS += "".join(f'<actuator{what} actuator="{a}"/>' for what in ("pos", "vel", "frc") for a in ("along", "sum"))
OF_TENDONS += '<tendonactuatorfrc tendon="both"/><jointactuatorfrc joint="k"/><jointactuatorfrc joint="r"/>'
OF_TENDONS += '<e_potential/><e_kinetic/><actuatorfrc actuator="push"/><actuatorvel actuator="push"/>'


@pytest.mark.parametrize(
    ("model", "sensors"),
    [(MODEL, OF_SITES), (MODEL, OF_FRAMES), (MODEL, OTHERS), (LIMITED, LIMITS), (TENDONS, OF_TENDONS)],
    ids=["of sites", "of frames", "others", "limits and images", "of tendons"],
)  # fmt: skip
def test_sensors_measure_what_those_of_mujoco_do(model, sensors, caplog):
    text = model.format(sensors)
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    parser = Parser(plant)
    (instance,) = parser.AddModelsFromString(text, "xml")
    plant.Finalize()
    system = AddMjcfSensors(builder, parser)
    assert all("tendons make no forces here" in record.getMessage() for record in caplog.records)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    model = mujoco.MjModel.from_xml_string(text)
    pair = ModelPair(mujoco, model, plant, instance)
    pair.context = plant.GetMyMutableContextFromRoot(context)
    controls = np.linspace(-0.4, 0.5, model.nu)
    forces = {model.actuator(i).name: controls[i] * model.actuator_gear[i, 0] for i in range(model.nu)}
    actuators = [plant.get_joint_actuator(index) for index in plant.GetJointActuatorIndices()]
    tau = [forces[actuator.name()] for actuator in actuators]
    plant.get_actuation_input_port().FixValue(pair.context, tau)
    rng = np.random.default_rng(0)
    context.SetTime(0.7)
    pair.data.time, pair.data.ctrl[:] = 0.7, controls
    assert len(system.sensor_names()) == model.nsensor
    for _ in range(5):
        pair.random_state(rng)
        expected, own = pair.data.sensordata, system.GetMyContextFromRoot(context)
        for i, name in enumerate(system.sensor_names()):
            start, size = model.sensor_adr[i], model.sensor_dim[i]
            value, wanted = system.get_sensor_output_port(name).Eval(own), expected[start : start + size]
            if size == 4 and value @ wanted < 0.0:  # the same rotation
                wanted = -wanted
            np.testing.assert_allclose(value, wanted, rtol=1e-9, atol=1e-9, err_msg=f"{name} {model.sensor(i).name}")
        assert system.EvalSensors(own).shape == expected.shape


def test_forces_of_limits_are_those_of_mujoco_at_rest():
    limits = 'solreflimit=".004 1" solimplimit=".9999 .9999 .001"'  # as stiff as MuJoCo's limits get
    text = LIMITED_AT_REST.replace("<joint name", f"<joint {limits} name").replace("<fixed", f"<fixed {limits}")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 4000)
    mujoco.mj_forward(model, data)
    _, _, simulator, measure = make_limited(0.002)
    simulator.AdvanceTo(8.0)
    np.testing.assert_allclose(measure(), data.sensordata, rtol=2e-4)


RANGES = """<mujoco model="m"><asset><mesh name="wedge" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>
<geom type="plane" size="0 0 1" pos="0 0 -3"/><geom type="box" size=".4 .6 .5" pos="3 1 0" euler="10 20 30"/>
<geom type="capsule" fromto="-3 -1 0 -2 2 1" size=".5" contype="0" conaffinity="0"/>
<geom type="cylinder" size=".6 .8" pos="1 -3 .5" euler="40 0 0"/><geom type="ellipsoid" size=".5 .7 1" pos="0 3 0"/>
<geom type="mesh" mesh="wedge" pos="2 2 2"/><geom size=".5" pos="-1 0 2.5"/><geom size="9" rgba="1 1 1 0" contype="0"
conaffinity="0"/><body name="a"><freejoint/><geom size=".3"/>{}<body name="b" pos=".6 0 0"><joint/><geom type="box"
size=".1 .2 .1"/></body></body></worldbody><sensor>{}</sensor></mujoco>"""


def test_range_finders_see_what_those_of_mujoco_do(caplog):
    axes = np.random.default_rng(1).normal(size=(60, 3))
    sites = "".join(f'<site name="s{i}" pos="0 0 .1" zaxis="{x} {y} {z}"/>' for i, (x, y, z) in enumerate(axes))
    sensors = "".join(f'<rangefinder site="s{i}" cutoff="{4.0 * (i % 3)}"/>' for i in range(len(axes)))
    text = RANGES.format(sites, sensors)
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    parser = Parser(plant)
    (instance,) = parser.AddModelsFromString(text, "xml")
    plant.Finalize()
    system = AddMjcfSensors(builder, parser)
    context = builder.Build().CreateDefaultContext()
    model = mujoco.MjModel.from_xml_string(text)
    pair = ModelPair(mujoco, model, plant, instance)
    pair.context = plant.GetMyMutableContextFromRoot(context)
    rng, hits = np.random.default_rng(0), 0
    for _ in range(5):
        qpos = np.array([*rng.uniform(-0.5, 0.5, 3), *rng.normal(size=4), 0.3])
        pair.set_state(qpos, np.zeros(model.nv))
        found = system.EvalSensors(system.GetMyContextFromRoot(context))
        np.testing.assert_allclose(found, pair.data.sensordata, atol=1e-6)  # meshes are of single precision
        hits += int((found > 0.0).sum())
    assert 100 < hits < 300
    assert not caplog.records


DELAYS = (
    'nsample="5" delay=".004"', 'nsample="5" delay=".005"', 'nsample="5" delay=".005" interp="linear"',
    'nsample="2" delay=".006"', 'nsample="1" delay=".02"', 'nsample="5" delay=".001" interp="linear"',
    'nsample="5" interval=".006" delay=".004"', 'nsample="9" interval=".006 -.004" delay=".003" interp="linear"',
)  # fmt: skip


@pytest.mark.parametrize("delay", DELAYS)
def test_delayed_sensors_say_what_mujoco_says(delay):
    text = (
        '<mujoco><option timestep=".002" gravity="0 0 0"/><worldbody><body><joint name="j" type="slide" axis="1 0 0"/>'
        f'<geom size=".1"/><site name="s"/></body></worldbody><sensor><jointpos joint="j" {delay}/><clock {delay}/>'
        f'<framepos objtype="site" objname="s" {delay}/></sensor></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[0], data.qvel[0] = 0.3, 5.0
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    parser = Parser(plant)
    parser.AddModelsFromString(text, "xml")
    plant.Finalize()
    sensors = AddMjcfSensors(builder, parser)
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetPositionsAndVelocities(context, [0.3, 5.0])
    mujoco.mj_step(model, data)
    for k in range(1, 20):
        mujoco.mj_step(model, data)
        simulator.AdvanceTo(0.002 * k)
        found = sensors.EvalSensors(sensors.GetMyContextFromRoot(simulator.get_context()))
        np.testing.assert_allclose(found, data.sensordata, atol=1e-12)
