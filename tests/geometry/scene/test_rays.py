"""Rays hit shapes at points of their surfaces, and nothing is nearer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    HalfSpace,
    IllustrationProperties,
    InMemoryMesh,
    MakePhongIllustrationProperties,
    MemoryFile,
    Mesh,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from merganser.geometry.meshes import read_surface_mesh
from merganser.geometry.scene.query_object import RayCaster, distance_along_ray
from tests.support.odd_models import CUBE_OBJ

SHAPES = [Sphere(0.7), Box(1.0, 0.6, 1.4), Cylinder(0.5, 1.2), Capsule(0.4, 1.0), Ellipsoid(0.4, 0.7, 0.9)]


def is_inside(shape, p) -> bool:
    match shape:
        case Box():
            return bool((np.abs(p) <= 0.5 * np.array(shape.size())).all())
        case Ellipsoid():
            return float(np.sum((p / [shape.a(), shape.b(), shape.c()]) ** 2)) <= 1.0
        case Cylinder():
            return math.hypot(p[0], p[1]) <= shape.radius() and abs(p[2]) <= 0.5 * shape.length()
        case Capsule():
            beyond = max(0.0, abs(p[2]) - 0.5 * shape.length())
            return math.hypot(p[0], p[1], beyond) <= shape.radius()
    return float(np.linalg.norm(p)) <= shape.radius()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
def test_a_ray_changes_sides_where_it_hits_and_not_before(shape):
    rng = np.random.default_rng(0)
    num_hits = 0
    for _ in range(400):
        o = rng.uniform(-1.2, 1.2, 3)
        d = rng.uniform(-0.8, 0.8, 3) - o
        d /= np.linalg.norm(d)
        t, starts_inside = distance_along_ray(shape, o, d), is_inside(shape, o)
        for s in np.linspace(0.0, min(t, 4.0) - 1e-9, 50):
            assert is_inside(shape, o + s * d) == starts_inside
        if math.isfinite(t):
            assert is_inside(shape, o + (t + 1e-9) * d) != starts_inside
            num_hits += 1
    assert 100 < num_hits < 400


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: type(shape).__name__)
@pytest.mark.parametrize("axis", range(3))
def test_rays_along_axes_hit_the_ends(shape, axis):
    d = -np.eye(3)[axis]
    far = distance_along_ray(shape, -3.0 * d, d)
    assert far == pytest.approx(3.0 - distance_along_ray(shape, np.zeros(3), -d))
    assert distance_along_ray(shape, -3.0 * d, -d) == math.inf
    assert distance_along_ray(shape, -3.0 * d + 2.0 * np.roll(d, 1), d) == math.inf


def test_half_spaces_are_hit_from_above_alone():
    down = np.array([0.0, 0.0, -1.0])
    assert distance_along_ray(HalfSpace(), np.array([5.0, 0.0, 2.0]), down) == 2.0
    assert distance_along_ray(HalfSpace(), np.array([5.0, 0.0, -2.0]), -down) == math.inf
    assert distance_along_ray(HalfSpace(), np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])) == math.inf


def cube() -> InMemoryMesh:
    return InMemoryMesh(mesh_file=MemoryFile(CUBE_OBJ, ".obj", "cube"))


def test_a_mesh_is_hit_where_the_box_is_that_it_shows():
    mesh = read_surface_mesh(Mesh(cube()).source())
    vertices, corners = mesh.vertex_array(), mesh.vertex_array()[mesh.triangle_array()]
    middle, size = 0.5 * (vertices.max(0) + vertices.min(0)), np.ptp(vertices, axis=0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        o, d = rng.uniform(-2.0, 2.0, 3), rng.normal(size=3)
        d /= np.linalg.norm(d)
        assert distance_along_ray(corners, o, d) == pytest.approx(distance_along_ray(Box(*size), o - middle, d))


def test_a_caster_passes_what_is_transparent_or_ignored():
    graph = DiagramBuilder().AddSystem(SceneGraph())
    source = graph.RegisterSource("s")
    frame = graph.RegisterFrame(source, GeometryFrame("f"))

    def add(z, shape, properties, to=None):
        instance = GeometryInstance(RigidTransform([0.0, 0.0, z]), shape, f"at {z}")
        add_to = graph.RegisterAnchoredGeometry if to is None else lambda s, g: graph.RegisterGeometry(s, to, g)
        geometry = add_to(source, instance)
        graph.AssignRole(source, geometry, properties)
        return geometry

    add(-1.0, Sphere(0.1), MakePhongIllustrationProperties([1.0, 0.0, 0.0, 0.0]))
    add(-2.0, Sphere(0.1), IllustrationProperties(), frame)
    add(-3.0, Convex(cube(), 0.1), ProximityProperties())
    add(-4.0, Mesh(cube(), 0.1), IllustrationProperties())
    context = graph.CreateDefaultContext()
    poses = FramePoseVector()
    poses.set_value(frame, RigidTransform())
    graph.get_source_pose_port(source).FixValue(context, poses)
    caster, start, down = RayCaster(), np.zeros(3), np.array([0.0, 0.0, -1.0])
    query = graph.get_query_output_port().Eval(context)
    assert caster.distance(query, start, down) == pytest.approx(1.9)
    half = 0.1 * np.ptp(read_surface_mesh(Mesh(cube()).source()).vertex_array(), axis=0)[2]
    without = caster.distance(query, start, down, [frame])
    assert 3.0 - half - 1e-9 <= without <= 3.0 + 1e-9
    assert caster.distance(query, np.array([0.0, 0.0, -3.5]), down, [frame]) >= 0.5 - half - 1e-9
    assert caster.distance(query, start, -down) == math.inf
    later = add(-0.5, Sphere(0.1), ProximityProperties())
    context = graph.CreateDefaultContext()
    graph.get_source_pose_port(source).FixValue(context, poses)
    assert caster.distance(graph.get_query_output_port().Eval(context), start, down) == pytest.approx(0.4)
    assert later.is_valid()
