"""Our own models load, and are the physical objects that their geometry shows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.geometry import Box, Role, Sphere
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.tree import SpatialInertia

MODELS = Path(__file__).parents[3] / "examples" / "models"
FILES = sorted(path.name for path in MODELS.iterdir() if path.suffix in (".urdf", ".sdf"))


def load(name: str):
    plant, scene_graph = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
    parser = Parser(plant)
    parser.SetStrictParsing()
    parser.AddModels(MODELS / name)
    plant.Finalize()
    return plant, scene_graph


@pytest.mark.parametrize(
    ("name", "num_positions", "num_actuators"),
    [("arm7.urdf", 7, 7), ("cart_pole.sdf", 2, 1), ("double_pendulum.urdf", 2, 0), ("free_box.sdf", 7, 0)],
)
def test_model_has_the_coordinates_its_comment_promises(name, num_positions, num_actuators):
    plant, _ = load(name)
    assert (plant.num_positions(), plant.num_actuators()) == (num_positions, num_actuators)


def test_cart_pole_is_pushed_at_its_cart():
    plant, _ = load("cart_pole.sdf")
    assert plant.GetJointActuatorByName("CartSlider").effort_limit() == 50
    assert plant.GetJointByName("PolePin").position_start() == 1


def inertia_of(shape, mass):
    """That of a solid about its centre."""
    if isinstance(shape, Box):
        return SpatialInertia.SolidBoxWithMass(mass, *shape.size())
    if isinstance(shape, Sphere):
        return SpatialInertia.SolidSphereWithMass(mass, shape.radius())
    return SpatialInertia.SolidCylinderWithMass(mass, shape.radius(), shape.length(), [0, 0, 1])


@pytest.mark.parametrize("name", FILES)
def test_inertia_of_every_link_is_that_of_its_first_visual(name):
    plant, scene_graph = load(name)
    inspector = scene_graph.model_inspector()
    checked = set()
    for visual in inspector.GetAllGeometryIds(Role.kIllustration):
        body = plant.GetBodyFromFrameId(inspector.GetFrameId(visual))
        if body in checked:
            continue
        M_GGo_G = inertia_of(inspector.GetShape(visual), body.default_mass())
        X_BG = inspector.GetPoseInFrame(visual)
        M_BBo_B = M_GGo_G.ReExpress(X_BG.rotation()).Shift(-X_BG.translation())
        np.testing.assert_allclose(
            body.default_spatial_inertia().CopyToFullMatrix6(),
            M_BBo_B.CopyToFullMatrix6(),
            rtol=1e-5,  # the files have six digits
            atol=1e-12,
        )
        checked.add(body)
    assert len(checked) == plant.num_bodies() - 1
