"""Mass properties of SDF links that are computed from their shapes."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, MultibodyPlant
from merganser.multibody.tree import SpatialInertia
from tests.support.model_corners import CORNERS, in_link
from tests.support.odd_models import CUBE_OBJ

SPHERE = '<collision name="c"><geometry><sphere><radius>0.5</radius></sphere></geometry></collision>'


def inertia(text: str) -> np.ndarray:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(text, "sdf")
    return plant.GetBodyByName("a").default_spatial_inertia().CopyToFullMatrix6()


def test_shapes_are_summed_at_their_poses_with_their_densities():
    X_BG = RigidTransform(RollPitchYaw([0.4, 0.0, 0.0]), [0.1, 0.2, 0.3])
    box = SpatialInertia.SolidBoxWithDensity(500.0, 1.0, 2.0, 3.0)
    expected = box.ReExpress(X_BG.rotation()).Shift(-X_BG.translation())
    expected += SpatialInertia.SolidCylinderWithDensity(300.0, 0.5, 2.0, np.array([0.0, 0.0, 1.0]))
    text, _ = CORNERS["inertia of several densities"]
    np.testing.assert_allclose(inertia(text), expected.CopyToFullMatrix6(), rtol=1e-12, atol=1e-9)


def test_mass_scales_the_whole_and_water_is_the_default():
    of_water = inertia(in_link(f'<inertial auto="true"/>{SPHERE}'))
    expected = SpatialInertia.SolidSphereWithDensity(1000.0, 0.5).CopyToFullMatrix6()
    np.testing.assert_allclose(of_water, expected, rtol=1e-14)
    of_mass = inertia(in_link(f'<inertial auto="true"><mass>3</mass></inertial>{SPHERE}'))
    np.testing.assert_allclose(of_mass, expected * 3.0 / expected[3, 3], rtol=1e-14)


def test_cone_has_its_mass_near_its_base():
    """By integration of discs: radius r(z) = R (1/2 - z/L), z from -L/2 to L/2."""
    text, _ = CORNERS["inertia of a cone"]
    M = inertia(text)
    z = np.linspace(-1.0, 1.0, 20_001)
    area = np.pi * (0.5 - z / 2.0) ** 2

    def integral(values: np.ndarray) -> float:
        return 1000.0 * float(np.trapezoid(values, z))

    assert M[3, 3] == pytest.approx(integral(area), rel=1e-6)
    assert M[0, 4] == pytest.approx(-integral(area * z), rel=1e-6)  # -m p_z
    assert M[2, 2] == pytest.approx(integral(area**2) / (2.0 * np.pi), rel=1e-6)
    assert M[0, 0] == pytest.approx(M[2, 2] / 2.0 + integral(area * z**2), rel=1e-6)


def test_mesh_whose_faces_point_inwards_weighs_what_its_hull_does(tmp_path, caplog):
    lines = CUBE_OBJ.splitlines()
    turned = [" ".join(["f", *reversed(line.split()[1:])]) if line.startswith("f") else line for line in lines]
    (tmp_path / "inside_out.obj").write_text("\n".join(turned))
    mesh = f"<mesh><uri>file://{tmp_path}/inside_out.obj</uri></mesh>"
    text = in_link(f'<inertial auto="true"/><collision name="c"><geometry>{mesh}</geometry></collision>')
    expected = SpatialInertia.SolidBoxWithDensity(1000.0, 1.0, 2.0, 3.0).Shift(np.array([-0.5, -1.0, -1.5]))
    np.testing.assert_allclose(inertia(text), expected.CopyToFullMatrix6(), rtol=1e-9, atol=1e-6)
    assert "the mass is that of the convex hull" in caplog.text


def test_another_mesh_in_the_same_file_has_another_mass(tmp_path):
    path = tmp_path / "m.sdf"
    mesh = "<mesh><uri>cube.obj</uri></mesh>"
    path.write_text(in_link(f'<inertial auto="true"/><collision name="c"><geometry>{mesh}</geometry></collision>'))
    masses = []
    for scale in (1.0, 2.0):
        words = (line.split() for line in CUBE_OBJ.splitlines())
        scaled = [
            " ".join(["v", *(str(scale * float(w)) for w in line[1:])]) if line[0] == "v" else " ".join(line)
            for line in words
        ]
        (tmp_path / "cube.obj").write_text("\n".join(scaled))
        plant, _ = AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)
        Parser(plant).AddModels(path)
        masses.append(plant.GetBodyByName("a").default_mass())
    assert masses == pytest.approx([6000.0, 48000.0])


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ('<inertial auto="true"/>', "it has none"),
        (f'<inertial auto="true"><density>-1</density></inertial>{SPHERE}', "<density> is -1"),
        (f'<inertial auto="true"><mass>0</mass></inertial>{SPHERE}', "mass 0"),
        ('<inertial auto="true"/><collision name="c"><geometry><plane/></geometry></collision>', "from <plane>"),
        ('<inertial auto="true"/><collision name="c"><geometry><polyline/></geometry></collision>', "from <polyline>"),
        ('<inertial auto="perhaps"/>', "perhaps"),
        (
            '<inertial auto="true"/><collision name="c"><geometry><box><size>1e110 1e110 1e110</size></box></geometry>'
            "</collision>",
            "",
        ),
    ],
)
def test_what_has_no_mass_is_refused(inside, words):
    with pytest.raises(ParsingError, match=rf"^<literal-string>\.sdf:1: .*{words}"):
        inertia(in_link(inside))
