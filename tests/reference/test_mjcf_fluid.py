"""Forces of the fluid around the bodies of MJCF files are those of MuJoCo."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FluidForceOnEllipsoid, MultibodyForces
from tests.support.mujoco_models import ModelPair

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra `reference`)")

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore::DeprecationWarning:mujoco.*")]

MODEL = """<mujoco><option gravity="0 0 0" {}/><worldbody>
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
    text = MODEL.format(option)
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
    text = MODEL.format(OPTIONS[0]).replace("<worldbody>", f"<option><flag {flags}/></option><worldbody>")
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
