"""Pressure laws of users' own, in place of the linear one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydroelastic_scenes import SHAPES, Scene, make_properties, make_shape, resultant
from scipy.integrate import quad

import merganser.geometry as geometry
from merganser.geometry import AddHydroelasticPressureLaw, Box, HalfSpace, Sphere

E, RADIUS = 1e5, 0.1


def stiffening(e: float, modulus: float) -> float:
    return modulus * e * e


def scene_of(shape: Any, law: Any, num_layers: int = 8, other: Any = None, hint: float = 0.02, margin: float = 0.0):
    properties = make_properties(geometry, shape, "compliant", E, hint)
    if law is not None:
        AddHydroelasticPressureLaw(law, properties, num_layers)
    if margin:
        properties.AddProperty("hydroelastic", "margin", margin)
    other = HalfSpace() if other is None else other
    return Scene([(shape, properties), (other, make_properties(geometry, other, "rigid"))])


def at_height(z: float) -> Any:
    X = np.eye(4)
    X[2, 3] = z
    return X


def force(scene: Scene, height: float) -> float:
    (surface,) = scene.surfaces([at_height(height), np.eye(4)])
    return float(np.linalg.norm(resultant(surface)[0]))


def test_a_ball_has_the_force_of_the_integral_of_its_law() -> None:
    h = 0.7 * RADIUS
    a = math.sqrt(RADIUS**2 - h**2)
    expected = quad(lambda s: 2 * math.pi * s * stiffening(1 - math.hypot(s, h) / RADIUS, E), 0.0, a)[0]
    errors = [
        abs(force(scene_of(Sphere(RADIUS), stiffening, n, hint=RADIUS / 20), h) / expected - 1.0) for n in (2, 8, 24)
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.03


def test_a_box_has_the_pressure_of_its_law_at_the_ends_of_layers() -> None:
    """A cube of side 2 c: at the depth d, e = d / c on its bottom, less towards its sides."""
    c = 0.1
    scene = scene_of(Box(2 * c, 2 * c, 2 * c), stiffening, 4)
    (surface,) = scene.surfaces([at_height(c - 0.5 * c), np.eye(4)])
    assert max(surface.poly_e_MN().EvaluateAtVertex(v) for v in range(surface.num_vertices())) == pytest.approx(
        stiffening(0.5, E), rel=1e-9
    )


@pytest.mark.parametrize("name", SHAPES)
def test_layers_of_the_linear_law_change_nothing(name: str, tmp_path: Path) -> None:
    shape = make_shape(geometry, name, tmp_path)
    X_WF = [at_height(0.49 if name == "obj" else 0.53), np.eye(4)]
    found = [
        scene_of(shape, law, 3, Box(1, 1, 1), margin=0.005).surfaces(X_WF)[0]
        for law in (None, lambda e, modulus: modulus * e)
    ]
    results = [resultant(surface) for surface in found]
    for i in (0, 2, 3):  # force, area and centroid; moments of finer faces are others
        np.testing.assert_allclose(results[1][i], results[0][i], rtol=1e-9, atol=1e-9)
    assert found[1].num_faces() >= found[0].num_faces()


def test_two_geometries_with_laws_meet_where_their_pressures_are_the_same() -> None:
    items = []
    for law in (stiffening, lambda e, modulus: 3.0 * modulus * e**1.5):
        shape = Sphere(RADIUS)
        properties = make_properties(geometry, shape, "compliant", E, 0.05)
        AddHydroelasticPressureLaw(law, properties, 4)
        items.append((shape, properties))
    scene = Scene(items)
    X_WF = [np.eye(4), at_height(0.16)]
    forces = []
    for order in ([0, 1], [1, 0]):
        scene = Scene([items[i] for i in order])
        (surface,) = scene.surfaces([X_WF[i] for i in order])
        f, _, area, _ = resultant(surface)
        forces.append([abs(f[2]), area])
    np.testing.assert_allclose(forces[0], forces[1], rtol=1e-9)


def test_layers_have_no_gaps() -> None:
    for shape in (Sphere(0.1), Box(0.2, 0.15, 0.25)):
        scenes = [scene_of(shape, law) for law in (None, stiffening)]
        meshes = [scene.query.inspector().maybe_get_hydroelastic_mesh(scene.ids[0]) for scene in scenes]
        surfaces = [geometry.ConvertVolumeToSurfaceMesh(mesh) for mesh in meshes]
        assert meshes[1].num_elements() > 3 * meshes[0].num_elements()
        assert surfaces[1].total_area() == pytest.approx(surfaces[0].total_area(), rel=1e-12)
        assert meshes[1].CalcTetrahedronVolume(0) > 0.0


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (lambda e, modulus: 1.0 + e, r"must be 0 on the surface, at the depth 0; it is 1.0 Pa there"),
        (lambda e, modulus: e * (1.0 - e), r"must grow with the depth; between 0.5 and 0.625 .* from 0.25 to"),
        (lambda e, modulus: math.inf * e if e else 0.0, r"values that are no finite numbers: \[0.0, inf"),
        (lambda e, modulus: e / 0.0, r"failed at \(0, 100000\): ZeroDivisionError"),
        (lambda e: e, r"failed at .*TypeError"),
    ],
)
def test_unfit_laws_are_refused_with_the_name_of_the_geometry(law: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=r"Geometry 'body0'.*compliant Sphere.*" + message):
        scene_of(Sphere(0.1), law).surfaces([np.eye(4), np.eye(4)])


def test_laws_are_refused_where_they_have_no_meaning() -> None:
    properties = geometry.ProximityProperties()
    with pytest.raises(TypeError, match="a function of depth and modulus; given 3"):
        AddHydroelasticPressureLaw(3, properties)
    with pytest.raises(RuntimeError, match="num_layers must be a whole number of at least 1; given 0"):
        AddHydroelasticPressureLaw(stiffening, properties, 0)
    AddHydroelasticPressureLaw(stiffening, properties)
    with pytest.raises(RuntimeError, match=r"pressure_law.*exists already"):
        AddHydroelasticPressureLaw(stiffening, properties)
    geometry.AddCompliantHydroelasticPropertiesForHalfSpace(0.1, E, properties)
    scene = Scene([(HalfSpace(), properties), (Sphere(0.1), make_properties(geometry, Sphere(0.1), "rigid"))])
    with pytest.raises(RuntimeError, match=r"body0.*the pressure of half spaces is linear\. Take a Box"):
        scene.surfaces([np.eye(4), np.eye(4)])
