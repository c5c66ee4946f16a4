"""The plants of textbooks against pydrake's."""

from __future__ import annotations

import numpy as np
import pytest

theirs = pytest.importorskip("pydrake.examples")

import merganser.examples as ours  # noqa: E402


@pytest.mark.parametrize(("name", "num_inputs"), [("PendulumPlant", 1), ("AcrobotPlant", 1), ("QuadrotorPlant", 4)])
def test_derivatives_of_random_states(name: str, num_inputs: int) -> None:
    rng = np.random.default_rng(0)
    plants = [getattr(package, name)() for package in (theirs, ours)]
    contexts = [plant.CreateDefaultContext() for plant in plants]
    for _ in range(20):
        x, u = rng.uniform(-1.2, 1.2, contexts[0].num_continuous_states()), rng.normal(size=num_inputs)
        for plant, context in zip(plants, contexts):
            context.SetContinuousState(x)
            plant.get_input_port(0).FixValue(context, u)
        there, here = (p.EvalTimeDerivatives(c).CopyToVector() for p, c in zip(plants, contexts))
        np.testing.assert_allclose(here, there, rtol=1e-12, atol=1e-11)


def test_torques_of_the_swing_up_controller() -> None:
    rng = np.random.default_rng(1)
    blocks = [package.AcrobotSpongController() for package in (theirs, ours)]
    contexts = [block.CreateDefaultContext() for block in blocks]
    for n in range(60):
        x = rng.normal(size=4) * 2.0 if n < 30 else np.array([np.pi, 0.0, 0.0, 0.0]) + 0.03 * rng.normal(size=4)
        for block, context in zip(blocks, contexts):
            block.get_input_port(0).FixValue(context, x)
        there, here = (block.get_output_port(0).Eval(context)[0] for block, context in zip(blocks, contexts))
        assert here == pytest.approx(there, abs=1e-8)


@pytest.mark.parametrize(
    "name", [name for name in ours.__all__ if name.endswith(("Params", "State", "Input"))]
)
def test_elements_of_vectors(name: str) -> None:
    there, here = getattr(theirs, name)(), getattr(ours, name)()
    assert here.CopyToVector().tolist() == pytest.approx(there.CopyToVector().tolist())
    for index, element in enumerate(here.GetCoordinateNames()):
        getattr(here, f"set_{element}")(0.5)
        there[index] = 0.5
        assert here[index] == getattr(here, element)() == 0.5
        assert not hasattr(there, element) or getattr(there, element)() == 0.5  # pydrake forgot one of them


def test_the_limit_cycle() -> None:
    there, here = (package.VanDerPolOscillator.CalcLimitCycle() for package in (theirs, ours))
    distances = np.linalg.norm(here[:, :, None] - there[:, None, :], axis=0)
    assert distances.min(axis=0).max() < 0.05  # half of what our points are apart, and the step of pydrake's integrator
