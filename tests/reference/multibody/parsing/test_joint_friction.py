"""Dry friction of joints against MuJoCo's frictionloss."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra `reference`)")

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore::DeprecationWarning:mujoco.*")]

# A double pendulum whose upper joint is held by friction at first, and a body that slides on a rail.
MODEL = """<mujoco><option timestep="0.0005" integrator="Euler"/><compiler angle="radian"/><worldbody>
<body><joint name="upper" axis="0 1 0" frictionloss="6" solimpfriction="0.999 0.9999 0.001"/>
  <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.03" mass="1" contype="0" conaffinity="0"/>
  <body pos="0 0 -0.5"><joint name="lower" axis="0 1 0" frictionloss="0.2"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.03" mass="1" contype="0" conaffinity="0"/></body></body>
<body pos="2 0 0"><joint name="rail" type="slide" axis="1 0 0" frictionloss="3"/>
  <geom size="0.1" mass="2" contype="0" conaffinity="0"/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("approximation", ["kTamsi", "kLagged"])
def test_friction_loss_moves_and_stops_joints_as_in_mujoco(approximation: str, tmp_path, monkeypatch) -> None:
    from merganser.multibody.plant import DiscreteContactApproximation

    monkeypatch.chdir(tmp_path)
    model = mujoco.MjModel.from_xml_string(MODEL)
    data = mujoco.MjData(model)
    plant = MultibodyPlant(model.opt.timestep)
    plant.set_discrete_contact_approximation(getattr(DiscreteContactApproximation, approximation))
    Parser(plant).AddModelsFromString(MODEL, "xml")
    plant.Finalize()
    simulator = Simulator(plant)
    context = simulator.get_mutable_context()
    q, v = np.array([0.3, 0.8, 0.0]), np.array([0.0, 0.0, 1.0])
    data.qpos[:], data.qvel[:] = q, v
    plant.SetPositionsAndVelocities(context, np.concatenate([q, v]))
    for k in range(1, 6):
        for _ in range(200):
            mujoco.mj_step(model, data)
        simulator.AdvanceTo(0.1 * k)
        # MuJoCo's friction is a soft constraint, by which joints creep.
        np.testing.assert_allclose(plant.GetPositions(context), data.qpos, atol=1e-2)
        np.testing.assert_allclose(plant.GetVelocities(context), data.qvel, atol=0.1)
    assert plant.GetPositions(context)[2] == pytest.approx(0.5 - 0.5 * 1.5 * 0.5**2, abs=1e-3)
