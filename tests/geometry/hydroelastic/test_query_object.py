"""Contact surfaces as QueryObject and ContactSurface offer them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hydroelastic_scenes import Scene, make_properties, resultant

import merganser.geometry as geometry
from merganser.framework.autodiff import InitializeAutoDiff
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    CollisionFilterDeclaration,
    ContactSurface,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    GeometrySet,
    HalfSpace,
    HydroelasticContactRepresentation,
    SceneGraph_,
    Sphere,
)

POLYGONS, TRIANGLES = HydroelasticContactRepresentation.kPolygon, HydroelasticContactRepresentation.kTriangle


def scene_of(*items: tuple[Any, str]) -> Scene:
    return Scene([(shape, make_properties(geometry, shape, kind)) for shape, kind in items])


def at(*p: float) -> Any:
    X = np.eye(4)
    X[:3, 3] = p
    return X


def ball_on_box(kind: str = "rigid") -> tuple[Scene, list[Any]]:
    return scene_of((Sphere(0.1), "compliant"), (Box(1, 1, 1), kind)), [at(0.01, 0.02, 0.59), np.eye(4)]


def test_a_surface_names_its_two_geometries() -> None:
    scene, X_WF = ball_on_box()
    (surface,) = scene.surfaces(X_WF)
    assert isinstance(surface, ContactSurface)
    assert [surface.id_M(), surface.id_N()] == sorted(scene.ids)
    assert (surface.HasGradE_M(), surface.HasGradE_N()) == (True, False)
    # M is the ball: normals point out of the box into it.
    for f in range(surface.num_faces()):
        np.testing.assert_allclose(surface.face_normal(f), [0, 0, 1], atol=1e-15)
        assert surface.EvaluateGradE_M_W(f)[2] > 0.0
    with pytest.raises(RuntimeError, match=r"EvaluateGradE_N_W\(\): geometry N.* is rigid.*HasGradE_N"):
        surface.EvaluateGradE_N_W(0)


def test_polygons_and_triangles_are_two_views_of_one_surface() -> None:
    scene, X_WF = ball_on_box("compliant")
    (polygons,), (triangles,) = scene.surfaces(X_WF), scene.surfaces(X_WF, "kTriangle")
    assert not polygons.is_triangle() and polygons.representation() == POLYGONS
    assert triangles.is_triangle() and triangles.representation() == TRIANGLES
    mesh, tri_mesh = polygons.poly_mesh_W(), triangles.tri_mesh_W()
    assert mesh.num_faces() == polygons.num_faces() and tri_mesh.num_triangles() == triangles.num_faces()
    assert mesh.num_vertices() == polygons.num_vertices()
    assert tri_mesh.num_vertices() == triangles.num_vertices() == polygons.num_vertices() + polygons.num_faces()
    for surface, of in ((polygons, mesh), (triangles, tri_mesh)):
        assert surface.total_area() == pytest.approx(of.total_area(), rel=1e-12)
        assert surface.total_area() == pytest.approx(
            sum(surface.area(f) for f in range(surface.num_faces())), rel=1e-12
        )
        np.testing.assert_allclose(surface.centroid(), of.centroid(), rtol=0, atol=1e-15)
        for f in range(surface.num_faces()):
            np.testing.assert_allclose(surface.centroid(f), of.element_centroid(f), rtol=0, atol=1e-12)
            if of.area(f) > 1e-12:
                np.testing.assert_allclose(surface.face_normal(f), of.face_normal(f), rtol=0, atol=1e-6)
    forces = [resultant(surface)[0] for surface in (polygons, triangles)]
    np.testing.assert_allclose(*forces, rtol=1e-10, atol=1e-12)
    for surface, name in (
        (polygons, "tri_mesh_W"),
        (polygons, "tri_e_MN"),
        (triangles, "poly_mesh_W"),
        (triangles, "poly_e_MN"),
    ):
        with pytest.raises(RuntimeError, match=name):
            getattr(surface, name)()


def test_surfaces_are_equal_if_all_vertices_and_pressures_are() -> None:
    scene, X_WF = ball_on_box()
    (one,), (same,), (triangles,) = scene.surfaces(X_WF), scene.surfaces(X_WF), scene.surfaces(X_WF, "kTriangle")
    X_WF[0] = at(0.01, 0.02, 0.5901)
    (other,) = scene.surfaces(X_WF)
    assert one.Equal(same)
    assert not one.Equal(other)
    assert not one.Equal(triangles)


def test_faces_that_are_not_there_are_refused() -> None:
    scene, X_WF = ball_on_box()
    for surface in (*scene.surfaces(X_WF), *scene.surfaces(X_WF, "kTriangle")):
        n = surface.num_faces()
        for function in (surface.area, surface.centroid, surface.face_normal, surface.EvaluateGradE_M_W):
            for index in (n, -1):
                with pytest.raises(IndexError):
                    function(index)


def test_results_stay_when_the_next_query_is_asked() -> None:
    scene, X_WF = ball_on_box()
    (surface,) = scene.surfaces(X_WF)
    area, vertices = surface.total_area(), surface.poly_mesh_W().vertex_array().copy()
    scene.surfaces([at(0.3, 0.2, 0.56), np.eye(4)])
    assert surface.total_area() == area
    np.testing.assert_array_equal(surface.poly_mesh_W().vertex_array(), vertices)


def test_all_pairs_of_a_scene_are_answered_by_ids() -> None:
    balls = [(Sphere(0.1), kind) for kind in ("compliant", "rigid", "compliant")]
    scene = scene_of(*balls, (HalfSpace(), "rigid"))
    X_WF = [at(0, 0, 0.09), at(0.15, 0, 0.15), at(0.3, 0, 0.09), np.eye(4)]
    surfaces = scene.surfaces(X_WF)
    a, b, c, floor = scene.ids
    assert [(s.id_M(), s.id_N()) for s in surfaces] == [(a, b), (a, floor), (b, c), (c, floor)]
    assert surfaces[1].total_area() == pytest.approx(surfaces[3].total_area(), rel=1e-9)


def test_filtered_pairs_have_no_surface() -> None:
    scene, X_WF = ball_on_box()
    exclude = CollisionFilterDeclaration().ExcludeWithin(GeometrySet(scene.ids))
    scene.scene_graph.collision_filter_manager(scene.context).Apply(exclude)
    assert scene.surfaces(X_WF) == []


def test_pairs_without_a_surface_have_a_point_or_an_error_that_names_them() -> None:
    scene = scene_of(
        (Sphere(0.1), "rigid"), (Box(1, 1, 1), "rigid"), (Sphere(0.1), "compliant"), (Sphere(0.1), "undefined")
    )
    X_WF = [at(0, 0, 0.59), np.eye(4), at(0.3, 0, 0.59), at(-0.3, 0, 0.58)]
    query = scene.place(X_WF)
    surfaces, points = query.ComputeContactSurfacesWithFallback(POLYGONS)
    ball, box, soft, plain = scene.ids
    assert [(s.id_M(), s.id_N()) for s in surfaces] == [(box, soft)]
    assert [{p.id_A, p.id_B} for p in points] == [{ball, box}, {box, plain}]
    assert [p.depth for p in points] == pytest.approx([0.01, 0.02])
    with pytest.raises(RuntimeError) as error:
        query.ComputeContactSurfaces(POLYGONS)
    for word in ("'body0'", "a rigid Sphere", "'body1'", "a rigid Box", "both are rigid", "WithFallback"):
        assert word in str(error.value)


def test_rigid_geometries_that_do_not_touch_are_no_error() -> None:
    scene = scene_of(
        (Sphere(0.1), "rigid"), (Sphere(0.1), "rigid"), (HalfSpace(), "compliant"), (Sphere(0.1), "compliant")
    )
    X_WF = [at(0, 0, 0.09), at(0.15, 0.15, 0.09), np.eye(4), at(1, 0, 0.2)]
    assert len(scene.surfaces(X_WF)) == 2
    X_WF[3] = at(1, 0, 0.05)
    with pytest.raises(RuntimeError, match="compliant half space has contact surfaces with rigid geometries only"):
        scene.surfaces(X_WF)


def test_what_is_no_representation_is_refused() -> None:
    scene, X_WF = ball_on_box()
    with pytest.raises(TypeError, match=r"ComputeContactSurfaces\(\) takes a HydroelasticContactRepresentation"):
        scene.place(X_WF).ComputeContactSurfaces("kPolygon")


@pytest.mark.parametrize("kind", ["rigid", "compliant"])
@pytest.mark.parametrize("representation", [POLYGONS, TRIANGLES])
def test_surfaces_follow_poses_with_derivatives(kind: str, representation: Any) -> None:
    from merganser.framework.autodiff import AutoDiffXd, ExtractGradient

    scene_graph = SceneGraph_[AutoDiffXd]()
    source = scene_graph.RegisterSource("bodies")
    poses = FramePoseVector()
    p_WB = InitializeAutoDiff(np.array([0.01, 0.02, 0.59])).ravel()
    shapes = (Sphere(0.1), "compliant"), (Box(1, 1, 1), kind)
    for i, (shape, of_kind) in enumerate(shapes):
        frame = scene_graph.RegisterFrame(source, GeometryFrame(f"frame{i}"))
        instance = GeometryInstance(RigidTransform(), shape, f"body{i}")
        id = scene_graph.RegisterGeometry(source, frame, instance)
        scene_graph.AssignRole(source, id, make_properties(geometry, shape, of_kind))
        poses.set_value(frame, RigidTransform(p_WB if i == 0 else 0.0 * p_WB))
    context = scene_graph.CreateDefaultContext()
    scene_graph.get_source_pose_port(source).FixValue(context, poses)
    (surface,) = scene_graph.get_query_output_port().Eval(context).ComputeContactSurfaces(representation)

    def numbers(surface: Any) -> list[Any]:
        mesh = surface.tri_mesh_W() if surface.is_triangle() else surface.poly_mesh_W()
        field = surface.tri_e_MN() if surface.is_triangle() else surface.poly_e_MN()
        of_faces = [mesh.area(0), *surface.face_normal(0), *surface.centroid(1), *mesh.element_centroid(2)]
        at_vertices = [*mesh.vertex(3), field.EvaluateAtVertex(3) / 1e5]
        return [surface.total_area(), *surface.centroid(), *of_faces, *at_vertices]

    def at_position(p: Any) -> Any:
        scene = scene_of(*shapes)
        (surface,) = scene.place([at(*p), np.eye(4)]).ComputeContactSurfaces(representation)
        return np.array(numbers(surface))

    p, h = np.array([0.01, 0.02, 0.59]), 1e-7
    expected = np.stack([(at_position(p + h * e) - at_position(p - h * e)) / (2 * h) for e in np.eye(3)], axis=-1)
    np.testing.assert_allclose(ExtractGradient(numbers(surface)), expected, atol=1e-6)


def test_meshes_of_geometries_are_shown() -> None:
    scene = scene_of(
        (Sphere(0.1), "compliant"), (Sphere(0.1), "rigid"), (HalfSpace(), "rigid"), (Sphere(0.1), "undefined")
    )
    inspector = scene.query.inspector()
    kinds = [type(inspector.maybe_get_hydroelastic_mesh(id)).__name__ for id in scene.ids]
    assert kinds == ["VolumeMesh", "TriangleSurfaceMesh", "NoneType", "NoneType"]
