"""Configurations of deformable geometries, and classes of geometry whose numbers have derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.math import RotationMatrix
from merganser.geometry import (
    DrakeVisualizerParams,
    GeometryConfigurationVector,
    GeometryConfigurationVector_,
    GeometryId,
    MeshcatVisualizerParams,
    Plane,
    Plane_,
    PolygonSurfaceMesh_,
    PolygonSurfaceMeshFieldLinear_,
    TriangleSurfaceMesh_,
    TriangleSurfaceMeshFieldLinear_,
    VolumeElement,
    VolumeMesh,
    VolumeMesh_,
)


def test_configurations_are_kept_by_geometry() -> None:
    a, b, other = GeometryId.get_new_id(), GeometryId.get_new_id(), GeometryId.get_new_id()
    configurations = GeometryConfigurationVector()
    q = np.arange(6.0)
    configurations.set_value(a, q)
    configurations.set_value(id=b, value=q[:3, np.newaxis])
    q[0] = 9.0
    assert configurations.value(a).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert configurations.value(b).shape == (3,) and configurations.ids() == [a, b] and configurations.size() == 2
    assert configurations.has_id(a) and not configurations.has_id(other)
    with pytest.raises(RuntimeError, match="no configuration for"):
        configurations.value(other)
    configurations.clear()
    assert configurations.size() == 0


def test_configurations_that_cannot_be_are_refused() -> None:
    configurations, id = GeometryConfigurationVector(), GeometryId.get_new_id()
    with pytest.raises(TypeError, match="takes a GeometryId"):
        configurations.set_value(3, [0.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be a vector"):
        configurations.set_value(id, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="could not convert"):
        configurations.set_value(id, ["x"])
    assert configurations.size() == 0


def test_configurations_may_have_derivatives() -> None:
    configurations, id = GeometryConfigurationVector_[AutoDiffXd](), GeometryId.get_new_id()
    configurations.set_value(id, InitializeAutoDiff([1.0, 2.0, 3.0]))
    assert ExtractGradient(configurations.value(id)).tolist() == np.eye(3).tolist()


VERTICES = np.random.default_rng(0).normal(size=(4, 3))
POINT = np.array([0.1, 0.2, 0.3])


def measure(p: Any) -> Any:
    """All that depends on the vertices of a tetrahedron, shape [4 + 1 + 12]."""
    mesh = (VolumeMesh_[AutoDiffXd] if p.dtype == object else VolumeMesh)([VolumeElement(0, 1, 2, 3)], p)
    normals = [mesh.inward_normal(0, f) for f in range(4)]
    return np.concatenate([mesh.CalcBarycentric(POINT, 0), [mesh.CalcVolume()], *normals])


def height(p: Any) -> Any:
    """Of a point above the plane of two of the vertices, and what the plane is."""
    plane = Plane_[AutoDiffXd](p[0], p[1]) if p.dtype == object else Plane(p[0], p[1])
    return np.concatenate([[plane.CalcHeight(POINT)], plane.unit_normal(), plane.reference_point()])


@pytest.mark.parametrize("function", [measure, height])
def test_derivatives_are_those_of_differences(function: Callable[[Any], Any]) -> None:
    found = function(InitializeAutoDiff(VERTICES.ravel()).reshape(4, 3))
    assert ExtractValue(found).ravel() == pytest.approx(function(VERTICES), abs=1e-14)
    h, steps = 1e-6, np.eye(12).reshape(12, 4, 3)
    differences = [(function(VERTICES + h * step) - function(VERTICES - h * step)) / (2.0 * h) for step in steps]
    np.testing.assert_allclose(ExtractGradient(found), np.transpose(differences), rtol=1e-6, atol=1e-6)


def test_barycentric_coordinates_are_those_of_the_point() -> None:
    mesh = VolumeMesh([VolumeElement(0, 1, 2, 3)], VERTICES)
    b = mesh.CalcBarycentric(POINT, 0)
    assert b @ VERTICES == pytest.approx(POINT, abs=1e-13) and b.sum() == pytest.approx(1.0)
    assert mesh.CalcTetrahedronVolume(0) == pytest.approx(np.linalg.det(VERTICES[1:] - VERTICES[0]) / 6.0)
    assert isinstance(mesh.CalcVolume(), float)


def test_a_plane_with_derivatives_still_meets_boxes() -> None:
    plane = Plane_[AutoDiffXd](InitializeAutoDiff([0.0, 0.0, 2.0]).ravel(), [0.0, 0.0, 1.0])
    for z, meets in ((1.4, True), (1.6, False)):
        assert plane.BoxOverlaps([0.5, 0.5, 0.5], [0.0, 0.0, z], RotationMatrix()) is meets


def test_templates_know_their_scalar_types() -> None:
    for template in (Plane_, PolygonSurfaceMesh_, TriangleSurfaceMesh_, VolumeMesh_):
        assert template.param_list == [(float,), (AutoDiffXd,)]
    for template in (PolygonSurfaceMeshFieldLinear_, TriangleSurfaceMeshFieldLinear_):
        assert template[AutoDiffXd, AutoDiffXd] is template[AutoDiffXd] and template[float, float] is template[float]
        with pytest.raises((RuntimeError, TypeError)):
            template[float, AutoDiffXd]


@pytest.mark.parametrize("settings", [MeshcatVisualizerParams, DrakeVisualizerParams])
def test_settings_leave_out_unknown_names_with_a_warning(settings: Any) -> None:
    """Programs for Drake may give any: there it is set, and never read."""
    with pytest.warns(UserWarning, match=rf"{settings.__name__} has no setting 'publish_perod', .* 'publish_period'\?"):
        made = settings(publish_perod=1.0, show_hydroelastic=True)
    assert made == settings(show_hydroelastic=True)
    with pytest.raises(AttributeError):
        made.publish_perod = 1.0
