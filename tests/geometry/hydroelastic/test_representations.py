"""What geometries are in hydroelastic contact: meshes, pressures, and what cannot be one."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hydroelastic_scenes import SHAPES, Scene, make_properties, make_shape

import merganser.geometry as geometry
from merganser.geometry import (
    Box,
    CalcVolume,
    Capsule,
    ConvertVolumeToSurfaceMesh,
    Convex,
    Cylinder,
    DefaultProximityProperties,
    Ellipsoid,
    HalfSpace,
    HydroelasticContactRepresentation,
    Mesh,
    MeshcatCone,
    ProximityProperties,
    SceneGraphConfig,
    Sphere,
)
from merganser.geometry.hydroelastic.layout import make_layout
from merganser.geometry.hydroelastic.representation import (
    CompliantHalfSpace,
    CompliantVolume,
    RigidHalfSpace,
    RigidSurface,
    make_representation,
)
from merganser.geometry.meshes.volume_mesh import boundary_triangles
from merganser.geometry.proximity.mesh_distance import MeshDistance


def compliant(shape: Any, modulus: float = 1e5, hint: float = 0.05) -> CompliantVolume:
    found = make_representation(shape, make_properties_of(shape, "compliant", modulus, hint), "Geometry 'g'")
    assert isinstance(found, CompliantVolume)
    return found


def make_properties_of(shape: Any, kind: str, modulus: float = 1e5, hint: float = 0.05) -> ProximityProperties:

    properties: ProximityProperties = make_properties(geometry, shape, kind, modulus, hint)
    return properties


def shape_of(name: str, folder: Path) -> Any:

    return make_shape(geometry, name, folder)


@pytest.mark.parametrize("name", SHAPES)
def test_volumes_are_filled_once_and_closed(name: str, tmp_path: Path) -> None:
    shape = shape_of(name, tmp_path)
    mesh = compliant(shape, hint=0.01).volume.mesh
    volumes = [mesh.CalcTetrahedronVolume(e) for e in range(mesh.num_elements())]
    assert min(volumes) > 0.0
    assert mesh.CalcVolume() == pytest.approx(CalcVolume(shape), rel=0.02)
    surface = ConvertVolumeToSurfaceMesh(mesh)
    # The divergence theorem: what is within the surface is what the tetrahedra fill.
    enclosed = np.linalg.det(surface.vertex_array()[surface.triangle_array()]).sum() / 6.0
    assert enclosed == pytest.approx(mesh.CalcVolume(), rel=1e-12)


@pytest.mark.parametrize("name", [name for name in SHAPES if name not in ("vtk", "ellipsoid", "convex", "obj")])
def test_pressure_grows_with_the_distance_from_the_surface(name: str, tmp_path: Path) -> None:
    """At the surface it is zero, at the deepest points it is the modulus; within a cell it is linear."""
    body = compliant(shape_of(name, tmp_path), modulus=2.0, hint=0.005)
    mesh, extent = body.volume.mesh, body.volume.extent
    assert (extent.min(), extent.max()) == (0.0, 1.0)
    distance = MeshDistance(mesh.vertex_array(), boundary_triangles(mesh))
    depths = np.array([-distance(p)[0] for p in mesh.vertex_array()])
    np.testing.assert_allclose(extent, depths / depths.max(), rtol=0, atol=0.01)


def with_margin(shape: Any, margin: float) -> CompliantVolume:
    properties = make_properties_of(shape, "compliant", hint=0.01)
    properties.AddProperty("hydroelastic", "margin", margin)
    inflated = make_representation(shape, properties, "g")
    assert isinstance(inflated, CompliantVolume)
    return inflated


@pytest.mark.parametrize("name", ["sphere", "box", "rod", "capsule", "ellipsoid", "convex", "obj", "vtk"])
def test_a_margin_inflates_the_volume(name: str, tmp_path: Path) -> None:
    shape, margin = shape_of(name, tmp_path), 0.001
    plain, inflated = compliant(shape, hint=0.01).volume, with_margin(shape, margin).volume
    area = ConvertVolumeToSurfaceMesh(plain.mesh).total_area()
    assert inflated.mesh.CalcVolume() - plain.mesh.CalcVolume() == pytest.approx(margin * area, rel=0.1)
    assert inflated.extent.max() == 1.0
    is_outer = np.isin(np.arange(inflated.mesh.num_vertices()), boundary_triangles(inflated.mesh))
    assert (inflated.extent[is_outer] < 0.0).all() and (inflated.extent[~is_outer] > 0.0).all()


@pytest.mark.parametrize("name", ["sphere", "box", "rod", "disk", "capsule"])
def test_with_a_margin_the_pressure_is_zero_where_the_surface_was(name: str, tmp_path: Path) -> None:
    margin = 0.003
    inflated = with_margin(shape_of(name, tmp_path), margin)
    _, meshes = make_layout([inflated])
    extent, depths = inflated.volume.extent, []
    for corners, planes in zip(meshes.elements, meshes.planes):
        outer = np.flatnonzero(extent[corners] < 0.0)
        if len(outer) == 3:
            face = int(np.setdiff1d(np.arange(4), outer)[0])
            height = meshes.vertices[corners[face]] @ planes[face, :3] + planes[face, 3]
            low, high = extent[corners[outer[0]]], extent[corners[face]]
            depths.append(height * -low / (high - low))
    assert len(depths) >= 12
    np.testing.assert_allclose(depths, margin, rtol=0.02)


def test_meshes_are_made_once_for_all_geometries_of_a_shape(tmp_path: Path) -> None:
    assert compliant(Sphere(0.2), 1e5).volume is compliant(Sphere(0.2), 3e6).volume
    assert compliant(Sphere(0.2), hint=0.01).volume is not compliant(Sphere(0.2)).volume
    mesh = shape_of("vtk", tmp_path)
    assert compliant(mesh).volume is compliant(mesh, 7.0).volume
    bodies, meshes = make_layout([compliant(Box(1, 2, 3)), compliant(Box(1, 2, 3), 5.0), None])
    assert bodies["root"][0] == bodies["root"][1]
    assert bodies["stiffness"].tolist() == [1e5, 5.0, 0.0]
    assert len(meshes.elements) == 44


def test_contexts_share_what_geometries_are() -> None:
    box = Box(1, 1, 1)
    scene = Scene([(box, make_properties_of(box, "rigid"))])
    other = scene.scene_graph.CreateDefaultContext()
    queries = [scene.scene_graph.get_query_output_port().Eval(context) for context in (scene.context, other)]
    states = [query._source.state() for query in queries]
    assert states[0].proximity_layout().hydroelastic is states[1].proximity_layout().hydroelastic


def test_half_spaces_have_a_layer_or_are_rigid() -> None:
    half_space = HalfSpace()
    layer = make_representation(half_space, make_properties_of(half_space, "compliant", 3e5), "g")
    assert isinstance(layer, CompliantHalfSpace) and layer.pressure_per_depth == 3e5 / 0.1
    assert isinstance(make_representation(half_space, make_properties_of(half_space, "rigid"), "g"), RigidHalfSpace)


def test_rigid_files_are_their_surface_and_compliant_ones_their_hull_or_tetrahedra(tmp_path: Path) -> None:
    """A mirrored mesh is not inside out."""
    path = tmp_path / "corner.obj"
    path.write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv .2 .2 .2\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 5\nf 3 4 5\nf 4 2 5\n"
    )
    for scale in (1.0, -1.0):
        mesh = Mesh(str(path), scale)
        surface = make_representation(mesh, make_properties_of(mesh, "rigid"), "g")
        assert isinstance(surface, RigidSurface)
        inside = np.linalg.det(surface.mesh.vertex_array()[surface.mesh.triangle_array()]).sum() / 6.0
        assert inside == pytest.approx(CalcVolume(mesh), rel=1e-12)
        assert compliant(mesh).volume.mesh.CalcVolume() == pytest.approx(1.0 / 6.0, rel=1e-12)
        convex = Convex(str(path), scale)
        hull = make_representation(convex, make_properties_of(convex, "rigid"), "g")
        assert isinstance(hull, RigidSurface) and hull.mesh.num_triangles() == 4


def test_tetrahedra_with_all_vertices_on_the_surface_are_refined_with_a_message(tmp_path: Path, caplog: Any) -> None:
    path = tmp_path / "one.vtk"
    path.write_text(VTK.format(points="0 0 0 1 0 0 0 1 0 0 0 1", cells="4 0 1 2 3"))
    with caplog.at_level(logging.WARNING, logger="merganser.geometry"):
        body = compliant(Mesh(str(path)))
    assert len(caplog.records) == 1
    assert str(path) in caplog.text and "1 of 1 tetrahedra" in caplog.text and "RefineVolumeMesh" in caplog.text
    assert body.volume.mesh.num_elements() == 4
    assert body.volume.extent.max() == 1.0
    assert body.volume.mesh.CalcVolume() == pytest.approx(1.0 / 6.0, rel=1e-12)


VTK = (
    "# vtk DataFile Version 3.0\nmesh\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n{points}\n"
    "CELLS 1 5\n{cells}\nCELL_TYPES 1\n10\n"
)
FILES = {
    "open.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\n",
    "dented.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv .2 .2 .2\nf 1 3 2\nf 1 2 4\nf 1 4 3\n"
    "f 2 3 5\nf 3 4 5\nf 4 2 5\n",
    "plane.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 3 2\n",
    "flat.vtk": VTK.format(points="0 0 0 1 0 0 0 1 0 1 1 0", cells="4 0 1 2 3"),
    "inside_out.vtk": VTK.format(points="0 0 0 1 0 0 0 1 0 0 0 1", cells="4 0 2 1 3"),
}


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("open.obj", "compliant", ["not closed", "Close it", "Convex"]),
        ("plane.obj", "compliant", ["no volume", "Make it rigid"]),
        ("flat.vtk", "compliant", ["tetrahedron 0", "[0, 1, 2, 3]", "is flat", "Remove it"]),
        ("flat.vtk", "rigid", ["tetrahedron 0", "is flat"]),
        ("inside_out.vtk", "compliant", ["tetrahedron 0", "is inside out", "exchange two"]),
    ],
)
def test_unfit_files_are_refused_by_the_name_of_the_geometry(
    name: str, kind: str, words: list[str], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(FILES[name])
    mesh = Mesh(str(path))
    scene = Scene([(mesh, make_properties_of(mesh, kind))])
    with pytest.raises(RuntimeError) as error:
        scene.surfaces([np.eye(4)])
    for word in ["Geometry 'body0'", str(path), f"a {kind} Mesh", *words]:
        assert word in str(error.value)


def test_a_file_that_has_gone_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gone.vtk"
    path.write_text(FILES["flat.vtk"])
    mesh = Mesh(str(path))
    properties = make_properties_of(mesh, "compliant")
    path.unlink()
    with pytest.raises(RuntimeError, match=r"Geometry 'g', a compliant Mesh, cannot .*gone.vtk' does not exist"):
        make_representation(mesh, properties, "Geometry 'g'")


@pytest.mark.parametrize(
    ("shape", "kind", "changes", "words"),
    [
        (
            Sphere(1.0),
            "compliant",
            {"hydroelastic_modulus": -1.0},
            ["hydroelastic_modulus", "-1.0", "UpdateProperty"],
        ),
        (Sphere(1.0), "compliant", {"resolution_hint": -0.5}, ["'resolution_hint'", "-0.5", "UpdateProperty"]),
        (Sphere(1.0), "rigid", {"resolution_hint": np.nan}, ["'resolution_hint'", "nan", "UpdateProperty"]),
        (Box(1, 1, 1), "compliant", {"margin": -1.0}, ["'margin'", "-1.0", "UpdateProperty"]),
        (HalfSpace(), "compliant", {"slab_thickness": 0.0}, ["'slab_thickness'", "0.0", "UpdateProperty"]),
        (Sphere(0.0), "rigid", {}, ["radius is zero", "Give it a radius"]),
        (MeshcatCone(1.0), "rigid", {}, ["MeshcatCone", "one of these shapes", "Box, Capsule, Convex"]),
    ],
)
def test_unfit_properties_are_refused_by_the_name_of_the_geometry(
    shape: Any, kind: str, changes: dict[str, float], words: list[str]
) -> None:
    properties = make_properties_of(shape, kind)
    for name, value in changes.items():
        properties.UpdateProperty("hydroelastic", name, value)
    with pytest.raises(RuntimeError) as error:
        Scene([(shape, properties)]).surfaces([np.eye(4)])
    for word in ["Geometry 'body0'", *words]:
        assert word in str(error.value)


@pytest.mark.parametrize("missing", ["resolution_hint", "hydroelastic_modulus"])
def test_missing_properties_are_named_with_what_adds_them(missing: str) -> None:
    properties = make_properties_of(Sphere(1.0), "compliant")
    properties.RemoveProperty("hydroelastic", missing)
    with pytest.raises(RuntimeError, match=rf"'g', a compliant Sphere, lacks .*{missing}.*AddCompliantHydro"):
        make_representation(Sphere(1.0), properties, "Geometry 'g'")
    half_space = HalfSpace()
    properties = make_properties_of(half_space, "compliant")
    properties.RemoveProperty("hydroelastic", "slab_thickness")
    with pytest.raises(RuntimeError, match=r"slab_thickness.*AddCompliantHydroelasticPropertiesForHalfSpace"):
        make_representation(half_space, properties, "Geometry 'g'")


def test_defaults_of_the_scene_graph_make_geometries_compliant() -> None:
    scene = Scene([(Sphere(0.1), ProximityProperties()), (Box(1, 1, 1), make_properties_of(Box(1, 1, 1), "rigid"))])
    polygons = HydroelasticContactRepresentation.kPolygon
    low = np.eye(4)
    low[2, 3] = -0.59
    assert scene.place([np.eye(4), low]).ComputeContactSurfacesWithFallback(polygons)[0] == []
    defaults = DefaultProximityProperties(compliance_type="compliant", hydroelastic_modulus=1e6, resolution_hint=0.05)
    scene.scene_graph.set_config(SceneGraphConfig(default_proximity_properties=defaults))
    scene.context = scene.scene_graph.CreateDefaultContext()
    scene.query = scene.scene_graph.get_query_output_port().Eval(scene.context)
    (surface,) = scene.surfaces([np.eye(4), low])
    assert (surface.HasGradE_M(), surface.HasGradE_N()) == (True, False)
    assert np.linalg.norm(surface.EvaluateGradE_M_W(0)) == pytest.approx(1e6 / 0.1, rel=0.1)


def test_resolution_is_as_fine_as_the_hint() -> None:
    for hint in (0.05, 0.01):
        for shape in (Sphere(0.1), Cylinder(0.1, 0.1), Ellipsoid(0.1, 0.05, 0.02)):
            points = compliant(shape, hint=hint).volume.mesh.vertex_array()
            around = points[np.isclose(points[:, 2], 0.0 if not isinstance(shape, Cylinder) else 0.05)]
            rim = around[np.hypot(*around[:, :2].T) > 0.04]
            gaps = np.linalg.norm(rim[:, None] - rim, axis=2) + np.eye(len(rim))
            assert gaps.min(axis=1).max() <= hint * (1.0 + 1e-12)
    assert compliant(Capsule(0.1, 0.2), hint=0.01).volume.mesh.num_elements() > 1000


@pytest.mark.parametrize("hint", [1e-6, 1e-9, 1e-320])
@pytest.mark.parametrize("kind", ["compliant", "rigid"])
@pytest.mark.parametrize("shape", [Cylinder(0.1, 0.2), Cylinder(0.1, 0.05), Cylinder(0.1, 0.1), Capsule(0.1, 0.2)])
def test_too_fine_resolution_hints_are_refused_with_a_feasible_one(
    shape: Any, kind: str, hint: float
) -> None:
    properties = make_properties_of(shape, kind, hint=hint)
    with pytest.raises(RuntimeError) as error:
        make_representation(shape, properties, "Geometry 'g'")
    for word in ["Geometry 'g'", f"a {kind}", f"hint of {hint:g} m", "more than 524288", "Take a hint of at least"]:
        assert word in str(error.value)
    assert float(str(error.value).split("at least ")[1].split(" m")[0]) > hint


def test_margins_that_ask_for_too_many_elements_are_refused() -> None:
    properties = make_properties_of(Capsule(0.1, 0.2), "compliant")
    properties.AddProperty("hydroelastic", "margin", 1e3)
    with pytest.raises(RuntimeError, match=r"'g'.*tetrahedra, more than 524288.*a smaller margin"):
        make_representation(Capsule(0.1, 0.2), properties, "Geometry 'g'")


@pytest.mark.parametrize("size", [1e-300, 1e-100, 1e100, 1e300])
def test_shapes_whose_areas_cannot_be_computed_are_refused(size: float) -> None:
    shapes = Sphere(size), Box(size, size, size), Cylinder(size, size), Capsule(size, size), Ellipsoid(size, size, size)
    for shape in shapes:
        for kind in ("compliant", "rigid"):
            properties = make_properties_of(shape, kind, hint=size)
            with pytest.raises(RuntimeError, match=r"'g', a .*must be between 1e-75 and 1e\+75 m"):
                make_representation(shape, properties, "Geometry 'g'")


@pytest.mark.parametrize("modulus", [1e-300, 1e300])
def test_moduli_whose_pressures_cannot_be_compared_are_refused(modulus: float) -> None:
    for shape in (Box(0.1, 0.1, 0.1), HalfSpace()):
        properties = make_properties_of(shape, "compliant", modulus)
        with pytest.raises(RuntimeError, match=r"'g', a compliant .*grows by .* Pa/m.*1e-150 to 1e\+150 Pa/m"):
            make_representation(shape, properties, "Geometry 'g'")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.0, -1.0, "stiff", None])
def test_hints_and_moduli_that_are_no_positive_numbers_are_refused_by_the_call(value: Any) -> None:
    calls = [
        lambda properties: geometry.AddRigidHydroelasticProperties(-1.0 if value is None else value, properties),
        lambda properties: geometry.AddCompliantHydroelasticProperties(value, 1e5, properties),
        lambda properties: geometry.AddCompliantHydroelasticProperties(0.1, value, properties),
        lambda properties: geometry.AddCompliantHydroelasticPropertiesForHalfSpace(value, 1e5, properties),
        lambda properties: geometry.AddCompliantHydroelasticPropertiesForHalfSpace(0.1, value, properties),
    ]
    for call in calls:
        properties = ProximityProperties()
        with pytest.raises((RuntimeError, TypeError), match=r"Add.*\(\).*(hint|modulus|thickness)"):
            call(properties)
        assert not properties.HasGroup("hydroelastic")
