"""Models with known numbers beside pydrake's."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pydrake.multibody.benchmarks", reason="compares with pydrake, extra `reference`")
import pydrake.multibody.benchmarks as drake
import pydrake.multibody.benchmarks.acrobot as drake_acrobot

import merganser.multibody.benchmarks as ours

pytestmark = pytest.mark.reference


def test_acrobots_are_alike() -> None:
    plants = [module.MakeAcrobotPlant(module.AcrobotParameters(), True) for module in (ours, drake_acrobot)]
    contexts = [plant.CreateDefaultContext() for plant in plants]
    for seed in range(3):
        x = np.random.default_rng(seed).normal(size=4)
        results = []
        for plant, context in zip(plants, contexts):
            plant.SetPositionsAndVelocities(context, x)
            gravity = plant.CalcGravityGeneralizedForces(context)
            results.append(
                np.concatenate([plant.CalcMassMatrix(context).ravel(), plant.CalcBiasTerm(context), gravity])
            )
        np.testing.assert_allclose(results[0], results[1], atol=1e-12)
    names = [
        sorted(plant.get_joint(j).name() for j in plant.GetJointIndices())
        + [plant.get_joint_actuator(j).name() for j in plant.GetJointActuatorIndices()]
        for plant in plants
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize("damping", [0.0, 0.2, 5.0])
def test_motions_on_springs_are_alike(damping: float) -> None:
    motions = [module.MassDamperSpringAnalyticalSolution(1.5, damping, 3.0) for module in (ours, drake)]
    for motion in motions:
        motion.SetInitialValue(0.3, -0.2)
    for name in ("get_x", "get_xDt", "get_xDtDt"):
        for t in (0.0, 0.5, 2.0):
            assert getattr(motions[0], name)(t) == pytest.approx(getattr(motions[1], name)(t), abs=1e-12)
