"""Fluids, equalities, cameras and textures of MJCF files are those of MuJoCo."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from merganser.framework import DiagramBuilder
from merganser.multibody.parsing import Parser
from merganser.multibody.parsing.mjcf.texture import read_texture
from merganser.multibody.parsing.xml_reader import read_xml
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.sensors import AddMjcfCameras, GetMjcfCameraConfigs
from merganser.multibody.tree import FluidForceOnEllipsoid, MultibodyForces
from tests.support.mujoco_models import ModelPair

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra `reference`)")

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore::DeprecationWarning:mujoco.*")]

IMMERSED = """<mujoco><option gravity="0 0 0" {}/><worldbody>
<body name="a" euler="10 20 30"><freejoint/><geom type="box" size=".1 .2 .3"/><geom size=".1" pos=".3 0 .2"/>
<body name="b" pos="1 0 0"><joint axis="0 1 1"/><geom type="capsule" fromto="0 0 0 .5 .2 .1" size=".1"/>
<body name="c" pos=".5 0 0" euler="40 0 0"><geom type="cylinder" size=".1 .3" euler="0 30 0"/>
<body name="d"><joint type="slide" axis="1 0 0"/>
<inertial pos=".1 .2 .3" mass="2" fullinertia=".5 .5 .4 .1 .05 -.1"/></body></body></body></body>
<body name="e" pos="0 0 3"><freejoint/><geom size=".1" type="ellipsoid" fluidshape="ellipsoid" size=".3 .2 .5"
pos=".1 .2 0" euler="10 0 50"/><geom type="capsule" size=".1 .2" fluidshape="ellipsoid" fluidcoef="1 .3 .2 .4 .7"/>
<body name="f"><joint/><geom fluidshape="ellipsoid" type="box" size=".1 .2 .15" fluidcoef=".9"/>
<geom fluidshape="ellipsoid" type="cylinder" size=".1 .2"/><geom size=".4"/></body></body>
<body name="g"><joint/><geom size=".3"/><geom fluidshape="ellipsoid" size=".2" pos=".2 0 0"/></body>
</worldbody></mujoco>""".replace('<geom size=".1" type="ellipsoid"', '<geom type="ellipsoid"')
OPTIONS = ['density="1.3" viscosity="0.7" wind=".3 -.2 .5"', 'density="1000"', 'viscosity="1.5" wind="1 0 0"']


def take_over_added_mass(pair: ModelPair) -> None:
    """Gives the plant MuJoCo's numbers of added mass, which come from a quadrature with errors of 1e-7."""
    plant = pair.plant
    elements = plant._tree.force_elements
    elements = [element for element in elements if isinstance(element, FluidForceOnEllipsoid)]
    wet = [numbers[6:] for numbers in pair.model.geom_fluid if numbers[0] > 0.0]
    assert len(elements) == len(wet) == 5
    for element, numbers in zip(elements, wet):
        constants = element._constants(pair.context)["X_L1C"]
        np.testing.assert_allclose(constants[:, 1:3].T.ravel(), numbers, atol=1e-7)
        plant._views.mutable_constants(pair.context)["X_L1C"][element.index() - 1, :, 1:3] = numbers.reshape(2, 3).T


@pytest.mark.parametrize("option", OPTIONS)
def test_forces_of_the_fluid_are_those_of_mujoco(option):
    text = IMMERSED.format(option)
    plant = MultibodyPlant(0.0)
    (instance,) = Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    pair = ModelPair(mujoco, mujoco.MjModel.from_xml_string(text), plant, instance)
    take_over_added_mass(pair)
    rng = np.random.default_rng(0)
    for _ in range(20):
        pair.random_state(rng)
        assert np.abs(pair.data.qfrc_fluid).max() > 0.1
        assert pair.passive_error() < 1e-9


@pytest.mark.parametrize("flags", ['spring="disable" damper="disable"', 'spring="disable"'])
def test_flags_switch_the_fluid_off_as_in_mujoco(flags):
    text = IMMERSED.format(OPTIONS[0]).replace("<worldbody>", f"<option><flag {flags}/></option><worldbody>")
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[:] = 1.0
    mujoco.mj_forward(model, data)
    context = plant.CreateDefaultContext()
    plant.SetVelocities(context, np.ones(plant.num_velocities()))
    forces = MultibodyForces(plant)
    plant.CalcForceElementsContribution(context, forces)
    bodies = [plant.GetBodyByName(name) for name in "abde"]
    forces_on_bodies = [body.GetForceInWorld(context, forces).get_coeffs() for body in bodies]
    assert bool(np.abs(forces_on_bodies).max() > 0.0) == (np.abs(data.qfrc_fluid).max() > 0.0)


LINKAGE = """<mujoco><option gravity="1 2 -9"/><compiler angle="radian"/><worldbody>
<body name="a"><joint name="j" axis="0 1 0" ref=".2"/><geom size=".1" pos=".5 0 .1"/>
<body name="b" pos="1 0 0"><joint name="k" axis="0 1 .2" ref="-.1"/><geom size=".1" pos=".3 .1 0"/>
<body name="c" pos="1 0 0"><joint name="l" type="slide" axis="1 0 1"/><geom size=".1" pos=".3 .1 0"/></body></body>
</body><body name="d" pos="0 3 0"><joint name="m" axis="1 0 0"/><geom size=".1" pos="0 .2 .1"/></body>
</worldbody><tendon>
<fixed name="t3"><joint joint="j" coef="2"/><joint joint="k" coef="-3"/><joint joint="l" coef="1.5"/></fixed>
<fixed name="t4"><joint joint="j" coef="2"/><joint joint="k" coef="-3"/><joint joint="m" coef="1"/>
<joint joint="l" coef="-1"/></fixed><fixed name="t1"><joint joint="j" coef="2"/></fixed>
<fixed name="t2"><joint joint="m" coef="-3"/></fixed></tendon>
<equality>{}</equality></mujoco>"""
STABILIZATION_TIME = 0.1  # [s]


@pytest.mark.parametrize(
    "equality",
    [
        '<joint joint1="k" polycoef="0.3"/>',
        '<joint joint1="k" polycoef="0.3 7 8"/>',  # of one joint the first number counts
        '<joint joint1="j" joint2="k"/>',
        '<joint joint1="j" joint2="k" polycoef="0.1 .5 .3 -.2 .4"/>',
        '<tendon tendon1="t3" polycoef=".2"/>',
        '<tendon tendon1="t4" polycoef=".2"/>',
        '<tendon tendon1="t1" polycoef=".2"/>',
        '<tendon tendon1="t1" tendon2="t2" polycoef="0.1 .5 .3 -.2 .4"/>',
        '<tendon tendon1="t3" tendon2="t2" polycoef="0.1 .5"/>',
    ],
)
def test_accelerations_follow_the_equation_of_mujoco(equality):
    text = LINKAGE.format(equality)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    rng = np.random.default_rng(1)
    q, v = rng.normal(size=(2, 4))

    def error_and_slopes(q):
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_forward(model, data)
        return data.efc_pos[0], data.efc_J.reshape(-1, 4)[0].copy()

    h = 1e-4
    bias = (error_and_slopes(q + h * v)[1] - error_and_slopes(q - h * v)[1]) @ v / (2 * h)
    g, J = error_and_slopes(q)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    vdot = plant.get_generalized_acceleration_output_port().Eval(context)
    # gddot = J vdot + k = -2/T gdot - g/T^2, and M vdot - free forces is a multiple of J.
    wanted = -2.0 / STABILIZATION_TIME * (J @ v) - g / STABILIZATION_TIME**2
    assert J @ vdot + bias == pytest.approx(wanted, abs=1e-5)  # differences of J, of degree three
    force = plant.CalcMassMatrix(context) @ vdot + data.qfrc_bias
    np.testing.assert_allclose(force, J * (force @ J) / (J @ J), atol=1e-11)


MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
CAMERAS = "".join(
    f'<camera name="{mode}-{{0}}" mode="{mode}" pos="1 -2 {height}" euler="10 -20 30"'
    + (' target="b"/>' if "target" in mode else "/>")
    for mode, height in zip(MODES, (0.1, 0.5, 0.3, 0.7, 2.0))
)
FILMED = f"""<mujoco model="m"><option><flag contact="disable"/></option><worldbody>{CAMERAS.format("w")}
<camera name="above" mode="targetbody" target="world" pos="0 0 3"/><camera name="alone" mode="targetbody" pos="0 0 3"/>
<body name="a" pos="0 0 1" euler="10 20 30"><freejoint/><geom size=".2"/>{CAMERAS.format("a")}
<body name="b" pos="1 0 0"><joint axis="0 1 1" ref="20"/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/>
<body name="c" pos="0 1 0" euler="0 40 0"><joint type="slide" axis="1 0 0"/>{CAMERAS.format("c")}
<geom type="capsule" fromto="0 0 0 .3 .2 .1" size=".1"/></body></body></body></worldbody></mujoco>"""


def test_cameras_are_where_those_of_mujoco_are(caplog):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    parser = Parser(plant)
    (instance,) = parser.AddModelsFromString(FILMED, "xml")
    plant.Finalize()
    sensors = AddMjcfCameras(builder, parser)
    assert not caplog.records
    assert list(GetMjcfCameraConfigs(parser)) == ["fixed-w", "alone", "fixed-a", "fixed-c"]
    context = builder.Build().CreateDefaultContext()
    model = mujoco.MjModel.from_xml_string(FILMED)
    pair = ModelPair(mujoco, model, plant, instance)
    pair.context = plant.GetMyMutableContextFromRoot(context)
    assert len(sensors) == model.ncam
    rng = np.random.default_rng(0)
    for _ in range(4):
        pair.random_state(rng)
        for name, sensor in sensors.items():
            X_WC = sensor.body_pose_in_world_output_port().Eval(sensor.GetMyContextFromRoot(context))
            camera = pair.data.camera(name)
            np.testing.assert_allclose(X_WC.translation(), camera.xpos, atol=1e-9, err_msg=name)
            R_WE = X_WC.rotation().matrix() @ np.diag([1.0, -1.0, -1.0])
            np.testing.assert_allclose(R_WE, camera.xmat.reshape(3, 3), atol=1e-9, err_msg=name)


TEXTURE = '<texture name="t" type="{}" builtin="{}" mark="{}" rgb1=".2 .4 1" rgb2="0 1 0" markrgb="0 0 1" {}/>'
SIZES = {"2d": 'width="9" height="6"', "cube": 'width="7" height="42"'}


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("builtin", ["checker", "flat"])
@pytest.mark.parametrize("mark", ["none", "edge", "cross"])
def test_patterns_and_marks_are_those_of_mujoco(kind, builtin, mark):
    text = TEXTURE.format(kind, builtin, mark, SIZES[kind])
    model = mujoco.MjModel.from_xml_string(f"<mujoco><asset>{text}</asset><worldbody/></mujoco>")
    width, height = model.tex_width[0], model.tex_height[0]
    expected = model.tex_data.reshape(height, width, 3)[: height if kind == "2d" else width].astype(int)
    texture = read_texture(read_xml(text, "<string>"), None)
    with Image.open(io.BytesIO(texture.file.contents())) as image:
        found = np.array(image.convert("RGB")).astype(int)
    np.testing.assert_allclose(found, expected, atol=1)  # colours are rounded there towards zero
