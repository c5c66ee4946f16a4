"""Deformable bodies that touch things, in plants: copies, files, materials, filters, and contact results."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
from soft_bodies import config, mass_matrix, stiffness_matrix
from soft_scenes import SoftScene

from merganser.framework.core.context.context_values import LoadContext, save_context
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    CollisionFilterDeclaration,
    CollisionFilterScope,
    GeometryInstance,
    GeometrySet,
    MeshcatCone,
    ProximityProperties,
    Sphere,
)
from merganser.geometry.deformable.moving_meshes import make_reference_mesh
from merganser.multibody.fem import MaterialModel
from merganser.multibody.fem.body import FemBody
from merganser.multibody.fem.schur import couple_nodes, follow_nodes


def ball(**kwargs: Any) -> SoftScene:
    scene = SoftScene(**kwargs)
    scene.add_soft(Sphere(0.1), (0.0, 0.0, 0.098), hint=0.12)
    return scene


def test_the_schur_complement_is_that_of_the_dense_matrix() -> None:
    mesh = make_reference_mesh(Sphere(0.1), 0.12)
    body, h = FemBody(mesh, config(MaterialModel.kLinear), mesh.vertex_array()[:, 2] > 0.09), 0.01
    q, work = mesh.vertex_array().ravel(), body.make_work()
    q_next, v_free = body.step(h, q, np.zeros_like(q), np.zeros_like(q), work)
    A = mass_matrix(body) / h + 0.5 * h * stiffness_matrix(body)
    vertices = np.array([3, 7, 1])
    moves, own = np.repeat(~body.is_held, 3), (3 * vertices[:, np.newaxis] + np.arange(3)).ravel()
    inverse = np.zeros_like(A)
    inverse[np.ix_(moves, moves)] = np.linalg.inv(A[np.ix_(moves, moves)])
    S, n, size = np.linalg.inv(inverse[np.ix_(own, own)]), 9, body.num_unknowns()
    room = np.zeros(size + n, np.int64), np.full(size * n, np.nan), np.full(n * n, np.nan)
    matrix = np.full(n * n, np.nan)
    assert couple_nodes(h, body.arrays, 0, q_next, vertices, work, *room, matrix) == 0
    assert matrix.reshape(n, n) / h == pytest.approx(S, abs=1e-8 * abs(S).max())
    v_free, change, v_next = 0.1 * np.ones_like(q), np.random.default_rng(3).normal(size=9), np.full_like(q, np.nan)
    v_star = v_free[own]
    follow_nodes(h, body.arrays, vertices, matrix, v_star, v_star + change, v_free, work, v_next)
    assert v_next - v_free == pytest.approx(inverse[:, own] @ S @ change, abs=1e-9)


def test_contexts_with_contacts_are_saved_and_go_on_as_they_would(tmp_path) -> None:
    scene, other = ball().finish().advance(0.05), ball().finish()
    save_context(scene.simulator.get_context(), tmp_path / "soft.npz", False)
    root = LoadContext(other.diagram, tmp_path / "soft.npz")
    context = other.plant.GetMyContextFromRoot(root)
    ((*names, f),) = scene.forces()
    results = other.plant.get_contact_results_output_port().Eval(context)
    assert results.num_deformable_contacts() == 1 and names == ["DefaultModelInstance::soft 0", "floor"]
    assert results.deformable_contact_info(0).F_Ac_W().translational() == pytest.approx(f, abs=1e-14)
    simulator = type(other.simulator)(other.diagram, root)
    simulator.AdvanceTo(0.1)
    assert (other.model.GetPositions(context, other.ids[0]) == scene.advance(0.1).vertices()).all()


def test_results_can_be_copied_and_say_what_there_is() -> None:
    scene = ball().finish().advance(0.05)
    results = scene.plant.get_contact_results_output_port().Eval(scene.context)
    info = results.deformable_contact_info(0)
    assert "1 deformable contacts" in repr(results) and "F_Ac_W" in repr(info)
    mesh = info.contact_mesh()
    assert mesh.total_area() > 1e-5 and mesh.face_normal(0)[2] < 0.0
    for twin in (copy.copy(results), copy.deepcopy(results)):
        assert twin.deformable_contact_info(0).id_A() == info.id_A()
    with pytest.raises(IndexError, match="there are 1 deformable contacts"):
        results.deformable_contact_info(1)


def test_live_ports_have_the_current_contacts() -> None:
    scene = ball()
    scene.plant.SetUseSampledOutputPorts(False)
    ((_, floor, f),) = scene.finish().forces()
    assert floor == "floor" and f[2] > 1.0


def test_filters_take_contacts_away_unless_they_are_for_rigid_geometries() -> None:
    ends = []
    for scope in (None, CollisionFilterScope.kOmitDeformable, CollisionFilterScope.kAll):
        scene = ball()
        sets = (GeometrySet(scene.model.GetGeometryId(scene.ids[0])), GeometrySet(scene.floor_id))
        if scope is not None:
            declaration = CollisionFilterDeclaration(scope).ExcludeBetween(*sets)
            scene.scene_graph.collision_filter_manager().Apply(declaration)
        ends.append(scene.finish().advance(0.05).vertices()[2].min())
    assert ends[0] == ends[1] > ends[2] + 0.005


def test_a_geometry_without_friction_is_named() -> None:
    scene = SoftScene()
    geometry = GeometryInstance(scene.lib.RigidTransform([0.0, 0.0, 0.05]), Box(0.1, 0.1, 0.1), "jelly")
    geometry.set_proximity_properties(ProximityProperties())
    scene.model.RegisterDeformableBody(geometry, config(), 0.1)
    with pytest.raises(RuntimeError, match=r"Geometry 'DefaultModelInstance::jelly' .* no \('material', 'coulomb_fr"):
        scene.finish().advance(0.01)


def test_what_touches_nothing_moves_as_if_there_were_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ends = []
        for floor in (True, False):
            scene = SoftScene(floor=floor)
            scene.add_soft(Sphere(0.1), (0.0, 0.0, 1.0), hint=0.12)
            ends.append(scene.finish().advance(0.1).vertices())
    assert (ends[0] == ends[1]).all()


def test_a_cone_that_deformable_bodies_do_not_feel_is_named() -> None:
    scene = ball(floor=False)
    world, properties = scene.plant.world_body(), scene.properties()
    scene.plant.RegisterCollisionGeometry(world, RigidTransform(), MeshcatCone(0.3, 0.2, 0.2), "hat", properties)
    scene.finish()
    with pytest.warns(RuntimeWarning, match=r"Cones of Meshcat \['hat'\] are not felt .* Take a Convex or a Mesh"):
        scene.advance(0.01)
