"""Shapes that are defined outside the package, as a user would: they touch, weigh, are drawn and kept in files."""

import copy
import pickle

import numpy as np
import pytest
from proximity_shapes import random_poses, support
from shapes_of_users import Lens, RoundedBox

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder
from merganser.framework.core.context.context_values import LoadContext
from merganser.framework.core.values.plain_values import Loading, from_plain, to_plain
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddRigidHydroelasticProperties,
    Box,
    CalcObb,
    CalcVolume,
    Capsule,
    Ellipsoid,
    HalfSpace,
    ProximityProperties,
    Rgba,
    Shape,
    ShapeKind,
)
from merganser.geometry.hydroelastic.representation import CompliantVolume, RigidSurface, make_representation
from merganser.geometry.proximity import ProximityArrays, ProximityEngine
from merganser.geometry.rendering.vtk_engine.stage import primitive
from merganser.geometry.scene.query_object import distance_along_ray, solid_of
from merganser.geometry.shapes import Core
from merganser.geometry.shapes.measures import hull_of, outline_of
from merganser.geometry.visualizers.objects import shape_object
from merganser.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from merganser.multibody.tree import CalcSpatialInertia

LENS, ROUNDED = Lens(0.1, 0.05), RoundedBox(0.3, 0.2, 0.1, 0.04)
EACH = pytest.mark.parametrize("shape", [LENS, ROUNDED], ids=lambda shape: type(shape).__name__)
DIRECTIONS = np.random.default_rng(0).normal(size=(5_000, 3))
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)


def reach(shape, n):
    """h(n) of any shape."""
    if shape.kind.support is None:
        return support(shape, n)
    return np.einsum("ij,ij->i", shape.kind.support(shape, n), n)


@pytest.mark.parametrize(("shape", "error"), [(LENS, 4e-4), (ROUNDED, 1e-4)], ids=["Lens", "RoundedBox"])
def test_distances_to_other_shapes_are_those_of_the_support_functions(shape, error):
    others = [Ellipsoid(0.1, 0.2, 0.15), Capsule(0.05, 0.2), Box(0.1, 0.2, 0.1), LENS, ROUNDED]
    shapes = [each for other in others for each in (shape, other)]
    X_WG = random_poses(len(shapes), np.random.default_rng(1), 0.1)
    pairs = np.arange(len(shapes)).reshape(-1, 2)
    found = ProximityEngine(ProximityArrays(shapes, range(len(shapes)))).signed_distances(X_WG, pairs)
    for (a, b), result in zip(pairs, found, strict=True):
        R_A, R_B = X_WG[a, :3, :3], X_WG[b, :3, :3]
        # The directions near the normal that was found are enough to see whether it is the best one.
        n_W = -result["nhat_BA_W"] + 0.02 * DIRECTIONS
        n_W /= np.linalg.norm(n_W, axis=1, keepdims=True)
        gaps = reach(shapes[a], n_W @ R_A) + reach(shapes[b], -n_W @ R_B) - n_W @ (X_WG[b, :3, 3] - X_WG[a, :3, 3])
        assert result["distance"] == pytest.approx(-gaps.min(), abs=(1 + (shapes[b] is LENS)) * error)


def test_volume_inertia_and_box_are_those_of_the_closed_forms():
    assert CalcVolume(LENS) == pytest.approx(LENS.volume(), rel=2e-2)
    assert len(hull_of(LENS).vertex_array()) < 2000
    assert CalcVolume(ROUNDED) == ROUNDED.exact_volume()
    lens_box, box = CalcObb(LENS), CalcObb(ROUNDED)
    assert sorted(lens_box.half_width()) == pytest.approx([0.025, 0.1, 0.1], rel=5e-3)
    assert box.half_width() == pytest.approx([0.15, 0.1, 0.05]) and box.pose().IsExactlyIdentity()
    inertia = CalcSpatialInertia(LENS, 1000.0)
    assert inertia.get_mass() == pytest.approx(1000.0 * LENS.volume(), rel=2e-2)
    assert abs(inertia.get_com()).max() < 1e-9
    moments = inertia.get_unit_inertia().get_moments()
    assert moments[0] == pytest.approx(moments[1], rel=1e-6) and moments[2] > 1.8 * moments[0]


@EACH
def test_rays_hit_what_support_functions_say(shape):
    solid = solid_of(shape)
    for axis, far in zip(np.eye(3), reach(shape, np.eye(3)), strict=True):
        assert distance_along_ray(solid, 1.0 * axis + 1e-4, -axis) == pytest.approx(1.0 - far, abs=1e-3)
    assert distance_along_ray(solid, np.array([1.0, 1.0, 1.0]), np.array([1.0, 0.0, 0.0])) == np.inf


@EACH
def test_a_shape_rests_on_a_table_as_thick_as_it_is(shape):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
    body = plant.AddRigidBody("body", CalcSpatialInertia(shape, 1000.0))
    friction = CoulombFriction(0.5, 0.5)
    plant.RegisterCollisionGeometry(body, RigidTransform(), shape, "body", friction)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "table", friction)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    half = float(reach(shape, np.array([[0.0, 0.0, 1.0]]))[0])
    plant.SetFreeBodyPose(context, body, RigidTransform(RollPitchYaw([0.1, 0.05, 0.0]), [0.0, 0.0, half + 0.02]))
    simulator.AdvanceTo(1.5)
    assert plant.EvalBodyPoseInWorld(context, body).translation()[2] == pytest.approx(half, abs=1e-3)


@EACH
def test_hydroelastic_contact_takes_the_hull(shape):
    rigid, compliant = ProximityProperties(), ProximityProperties()
    AddRigidHydroelasticProperties(0.1, rigid)
    AddCompliantHydroelasticProperties(0.1, 1e6, compliant)
    surface, volume = (make_representation(shape, properties, "it") for properties in (rigid, compliant))
    assert isinstance(surface, RigidSurface) and isinstance(volume, CompliantVolume)
    assert volume.volume.mesh.CalcVolume() == pytest.approx(CalcVolume(shape), rel=1e-2)
    assert surface.mesh.total_area() > 0.0


@EACH
def test_pictures_show_triangles_whose_normals_point_outwards(shape):
    surface = primitive(shape)
    corners = surface.vertices[surface.triangles].astype(np.float64)
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    mean = surface.normals[surface.triangles].mean(axis=1)
    along = np.einsum("ij,ij->i", normals, mean)
    assert -along[along < 0.0].sum() < 1e-2 * along.sum()  # but for slivers at sharp edges
    assert np.linalg.det(corners).sum() / 6.0 == pytest.approx(CalcVolume(shape), rel=2e-2)
    drawn = shape_object(shape, Rgba(1.0, 0.0, 0.0))["geometries"][0]
    assert drawn["type"] == "BufferGeometry" and set(drawn["data"]["attributes"]) == {"position", "normal"}
    assert outline_of(shape).max(axis=0) == pytest.approx(reach(shape, np.eye(3)), rel=1e-3)


@EACH
def test_copies_pickles_and_files_have_the_same_shape(shape):
    hull_of(shape)
    for twin in (shape.Clone(), copy.deepcopy(shape), pickle.loads(pickle.dumps(shape))):
        assert twin == shape and hash(twin) == hash(shape) and twin is not shape
    assert type(shape)(*list(shape._arguments().values())[:-1], 0.01) != shape
    arrays = {}
    assert from_plain(to_plain(shape, arrays), arrays, None, Loading(np.float64)) == shape


def test_contexts_with_them_are_saved_and_loaded(tmp_path):
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.002)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), LENS, "lens", CoulombFriction(0.5, 0.5))
    plant.Finalize()
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    context.Save(tmp_path / "context.npz")
    assert LoadContext(diagram, tmp_path / "context.npz").get_time() == 0.0


def test_a_class_with_the_name_of_one_of_the_package_does_not_replace_it_in_files():
    type("Box", (Lens,), {"kind": LENS.kind, "__qualname__": "Box"})
    arrays = {}
    loaded = from_plain(to_plain(Box(1.0, 2.0, 3.0), arrays), arrays, None, Loading(np.float64))
    assert type(loaded) is Box and loaded == Box(1.0, 2.0, 3.0)


class Plain(Shape):
    """A shape of which nothing is known."""

    def _arguments(self):
        return {}


def of_kind(kind):
    """A shape of a kind."""
    return type("Made", (Plain,), {"kind": kind})()


def test_what_a_kind_does_not_say_is_refused_by_the_name_of_the_shape():
    with pytest.raises(TypeError, match="Proximity queries know no Plain"):
        ProximityArrays([Plain()], [0])
    for calc in (CalcVolume, CalcObb, outline_of, lambda shape: shape_object(shape, Rgba()), primitive, solid_of):
        with pytest.raises(TypeError, match="Of a Plain nothing is known but its core: give its ShapeKind a `support`"):
            calc(Plain())
    with pytest.raises(TypeError, match="does not know the shape"):
        CalcSpatialInertia(Plain(), 1.0)
    with pytest.raises(TypeError, match=r"must be one of 'point', 'segment', 'box', .*; it is 'ball'"):
        ProximityArrays([of_kind(ShapeKind(core=lambda shape: Core("ball")))], [0])
    with pytest.raises(TypeError, match=r"\w+.kind must be a ShapeKind, not <function"):
        of_kind(lambda shape, n: n)
    bad = of_kind(ShapeKind(support=lambda shape, n: n[:-1]))
    with pytest.raises(RuntimeError, match=r"support function of .* must give 4098 finite points.* gave \(4097, 3\)"):
        ProximityArrays([bad], [0])
    bad = of_kind(ShapeKind(support=lambda shape, n: np.nan * n))
    with pytest.raises(RuntimeError, match="must give 4098 finite points"):
        hull_of(bad)
