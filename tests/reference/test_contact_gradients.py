"""Derivatives of steps with contact are those of pydrake, which has them for spheres."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="pydrake is not installed (extra `reference`)")

from contact_scenes import APPROXIMATIONS, Scene, add_free_body, add_ground, contact_library, material

from merganser.framework.autodiff import ExtractGradient, ExtractValue, InitializeAutoDiff

pytestmark = pytest.mark.reference

H = 2e-3
STATE = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.2, 0.0985, 0.1, 0.2, 0.3, 1.0, 0.5, -0.1])


def step(name: str, approximation: str) -> tuple[Any, Any]:
    """The next state of a ball on the ground, and its derivatives by the state."""

    def fill(lib: Any, plant: Any) -> None:
        properties = material(lib, 0.5, point_stiffness=1e4, dissipation=1.0)
        add_ground(lib, plant, properties)
        add_free_body(lib, plant, "ball", lib.Sphere(0.1), properties, mass=1.3)

    scene = Scene(contact_library(name), H, fill, approximation)
    diagram = scene.simulator.get_system().ToAutoDiffXd()
    plant = diagram.GetSubsystemByName("plant")
    context = diagram.CreateDefaultContext()
    mine = plant.GetMyMutableContextFromRoot(context)
    if name == "ours":
        plant.SetPositionsAndVelocities(mine, InitializeAutoDiff(STATE).ravel())
        diagram.ExecuteForcedEvents(context)
        found = plant.GetPositionsAndVelocities(mine)
        return ExtractValue(found).ravel(), ExtractGradient(found)
    from pydrake import autodiffutils

    plant.SetPositionsAndVelocities(mine, autodiffutils.InitializeAutoDiff(STATE)[:, 0])
    diagram.ExecuteForcedEvents(context)
    found = plant.GetPositionsAndVelocities(mine)
    return autodiffutils.ExtractValue(found).ravel(), autodiffutils.ExtractGradient(found)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
def test_a_ball_that_slides_has_the_derivatives_of_pydrake(approximation: str) -> None:
    x, gradient = step("ours", approximation)
    their_x, their_gradient = step("theirs", approximation)
    # Each solver ends within 1e-6 of the momentum, and pydrake takes derivatives at its last iterate.
    np.testing.assert_allclose(x, their_x, atol=1e-5)
    tolerance = 1e-9 if approximation == "kSap" else 1e-3
    np.testing.assert_allclose(gradient, their_gradient, atol=tolerance * np.abs(gradient).max())
