"""Ball joints of MJCF files against MuJoCo's, which have quaternions too."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework.math import Quaternion, RotationMatrix
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant

mujoco = pytest.importorskip("mujoco", reason="compares with MuJoCo")

TEXT = """<mujoco><option gravity='0.3 -0.2 -9.81'/><worldbody>
<body name='a' pos='0 0 1' euler='10 20 30'><joint name='j' type='ball' pos='.1 0 .2' damping='.1'/>
<geom type='box' size='.1 .2 .3' pos='.05 .1 -.2' mass='1.3'/>
<body name='b' pos='.1 .2 -.4'><joint name='k' type='ball'/><geom type='box' size='.2 .1 .15' pos='.1 0 -.2' mass='.6'/>
</body></body></worldbody></mujoco>"""


SPRINGS = TEXT.replace("type='ball'/>", "type='ball' stiffness='3' springref='40' armature='.05'/>").replace(
    "damping='.1'", "springdamper='.2 .7' armature='.02'"
)


@pytest.mark.parametrize("text", [TEXT, SPRINGS], ids=["bare", "with springs and armature"])
def test_mass_matrix_and_accelerations_are_those_of_mujoco(text: str) -> None:
    """Velocities there are w_FM_M: w_FM_F = R_FM w_FM_M."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(2)
    for _ in range(4):
        q, v = rng.normal(size=8), rng.normal(size=6)
        q[:4] /= np.linalg.norm(q[:4])
        q[4:] /= np.linalg.norm(q[4:])
        data.qpos, data.qvel = q, v
        mujoco.mj_forward(model, data)
        R = np.zeros((6, 6))
        for k in range(2):
            R[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = RotationMatrix(Quaternion(q[4 * k : 4 * k + 4])).matrix()
        plant.SetPositionsAndVelocities(context, np.concatenate([q, R @ v]))
        theirs = np.zeros((6, 6))
        mujoco.mj_fullM(model, theirs, data.qM) if hasattr(data, "qM") else mujoco.mj_fullM(model, data, theirs)
        np.testing.assert_allclose(R.T @ plant.CalcMassMatrix(context) @ R, theirs, atol=1e-12)
        # d/dt (R w) = R wdot + w x R w = R wdot
        vdot = plant.EvalTimeDerivatives(context).CopyToVector()[8:]
        np.testing.assert_allclose(R.T @ vdot, data.qacc, rtol=1e-6, atol=1e-6)


def test_potential_energy_of_springs_is_that_of_mujoco() -> None:
    with_energy = SPRINGS.replace("<worldbody>", "<option><flag energy='enable'/></option><worldbody>")
    model = mujoco.MjModel.from_xml_string(with_energy)
    data = mujoco.MjData(model)
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(SPRINGS, "xml")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    rng = np.random.default_rng(2)
    for _ in range(6):
        q = rng.normal(size=8)
        data.qpos = np.concatenate([q[:4] / np.linalg.norm(q[:4]), q[4:] / np.linalg.norm(q[4:])])
        mujoco.mj_forward(model, data)
        plant.SetPositions(context, q)
        assert plant.CalcPotentialEnergy(context) == pytest.approx(data.energy[0])


def test_a_ball_on_its_limit_rests_where_that_of_mujoco_does() -> None:
    text = """<mujoco><option gravity='2 1 -9.81' timestep='.001'/><worldbody><body name='a' pos='0 0 1'>
    <joint name='j' type='ball' damping='.5' range='0 35' solimplimit='.99 .999 .001'/>
    <geom type='box' size='.1 .2 .3' pos='.05 .1 .3' mass='1.3'/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    plant = MultibodyPlant(1e-3)
    Parser(plant).AddModelsFromString(text, "xml")
    plant.Finalize()
    joint = plant.GetJointByName("j")
    assert joint.rotation_limit() == pytest.approx(model.jnt_range[0, 1])
    simulator = Simulator(plant)
    simulator.AdvanceTo(6.0)
    while data.time < 6.0:
        mujoco.mj_step(model, data)
    q = joint.get_quaternion(simulator.get_context()).wxyz()
    np.testing.assert_allclose(q * np.sign(q[0]), data.qpos * np.sign(data.qpos[0]), atol=3e-3)  # it is softer there
