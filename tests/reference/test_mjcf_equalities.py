"""Equalities between joints and tendons of MJCF files are the equations that MuJoCo makes of them."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant

mujoco = pytest.importorskip("mujoco", reason="mujoco is not installed (extra `reference`)")

pytestmark = [pytest.mark.reference, pytest.mark.filterwarnings("ignore::DeprecationWarning:mujoco.*")]

MODEL = """<mujoco><option gravity="1 2 -9"/><compiler angle="radian"/><worldbody>
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
    text = MODEL.format(equality)
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
