"""Models with known numbers and known motions."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.geometry import SceneGraph
from merganser.multibody.benchmarks import AcrobotParameters, MakeAcrobotPlant, MassDamperSpringAnalyticalSolution


def test_an_acrobot_moves_by_the_equations_of_its_textbook() -> None:
    given = AcrobotParameters()
    plant = MakeAcrobotPlant(given, finalize=True)
    context = plant.CreateDefaultContext()
    theta, rates = np.array([0.3, -0.7]), np.array([0.5, 1.1])
    plant.SetPositions(context, theta)
    plant.SetVelocities(context, rates)
    # M of Tedrake, Underactuated Robotics, the acrobot
    I1, I2 = given.Ic1 + given.m1 * given.lc1**2, given.Ic2 + given.m2 * given.lc2**2
    coupling = given.m2 * given.l1 * given.lc2 * np.cos(theta[1])
    M = np.array([[I1 + I2 + given.m2 * given.l1**2 + 2 * coupling, I2 + coupling], [I2 + coupling, I2]])
    np.testing.assert_allclose(plant.CalcMassMatrix(context), M, atol=1e-12)

    fall = given.m2 * given.lc2 * np.sin(theta.sum())
    wanted = -given.g * np.array([(given.m1 * given.lc1 + given.m2 * given.l1) * np.sin(theta[0]) + fall, fall])
    np.testing.assert_allclose(plant.CalcGravityGeneralizedForces(context), wanted, atol=1e-12)


def test_an_acrobot_is_drawn_with_a_scene_graph() -> None:
    scene_graph = SceneGraph()
    plant = MakeAcrobotPlant(AcrobotParameters(), False, scene_graph)
    assert not plant.is_finalized() and plant.geometry_source_is_registered()
    assert len(scene_graph.model_inspector().GetAllGeometryIds()) == 3


@pytest.mark.parametrize("damping", [0.0, 0.2, 2.0 * np.sqrt(3.0), 5.0])
def test_a_mass_on_a_spring_satisfies_its_equation(damping: float) -> None:
    motion = MassDamperSpringAnalyticalSolution(1.0, damping, 3.0)
    motion.SetInitialValue(0.3, -0.2)
    assert motion.get_x(0.0) == pytest.approx(0.3) and motion.get_xDt(0.0) == pytest.approx(-0.2)
    for t in (0.4, 1.3):
        h = 1e-5
        assert (motion.get_x(t + h) - motion.get_x(t - h)) / (2 * h) == pytest.approx(motion.get_xDt(t), abs=1e-8)
        assert (motion.get_xDt(t + h) - motion.get_xDt(t - h)) / (2 * h) == pytest.approx(motion.get_xDtDt(t), abs=1e-8)
    with pytest.raises(ValueError, match="expected mass > 0"):
        MassDamperSpringAnalyticalSolution(0.0, damping, 3.0)
