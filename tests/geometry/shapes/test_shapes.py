"""Shapes: measures, validation, equality, copies, and volumes against their closed forms."""

import copy
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    Box,
    CalcVolume,
    Capsule,
    Convex,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    Mesh,
    MeshcatCone,
    MeshSource,
    Shape,
    Sphere,
)

SHAPES = [
    Sphere(0.5),
    Box(1.0, 2.0, 3.0),
    Cylinder(0.5, 2.0),
    Capsule(0.5, 2.0),
    Ellipsoid(1.0, 2.0, 3.0),
    HalfSpace(),
    MeshcatCone(2.0, 0.5, 0.25),
    Mesh("robot/arm.obj", 2.0),
    Mesh("robot/arm.obj", scale3=[1.0, -2.0, 3.0]),
    Convex("robot/arm.obj", 2.0),
]
PRIMITIVES = [(Box, 3), (Cylinder, 2), (Capsule, 2), (Ellipsoid, 3), (MeshcatCone, 3)]


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_shape_equals_what_its_repr_evaluates_to(shape: Shape) -> None:
    rebuilt = eval(repr(shape))
    assert rebuilt == shape
    assert hash(rebuilt) == hash(shape)


@pytest.mark.parametrize("shape", SHAPES, ids=repr)
def test_shape_equals_its_copies_and_no_other_shape(shape: Shape) -> None:
    for same in (shape.Clone(), copy.copy(shape), copy.deepcopy(shape), pickle.loads(pickle.dumps(shape))):
        assert same == shape and same is not shape and type(same) is type(shape)
    assert sum(shape == other for other in SHAPES) == 1


@pytest.mark.parametrize(("shape", "size"), PRIMITIVES)
def test_measures_may_come_one_by_one_or_as_a_vector(shape: type, size: int) -> None:
    measures = [1.5, 2.5, 3.5][:size]
    assert shape(*measures) == shape(measures) == shape(np.array(measures)) == shape(measures=measures)


@pytest.mark.parametrize(("shape", "size"), PRIMITIVES)
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_measure_that_is_not_positive_and_finite_is_refused_by_name(shape: type, size: int, bad: float) -> None:
    for i in range(size):
        measures = [1.0] * size
        measures[i] = bad
        name = list(shape([1.0] * size)._arguments())[i]
        with pytest.raises(RuntimeError, match=f"The {name} of a {shape.__name__} must be finite and positive"):
            shape(*measures)


def test_vector_of_wrong_size_names_the_expected_measures() -> None:
    with pytest.raises(ValueError, match=r"Box takes a vector of 3 elements \(width, depth, height\).* has 2"):
        Box([1.0, 2.0])


def test_missing_or_textual_measure_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="Cylinder needs a value for 'length'"):
        Cylinder(1.0)
    with pytest.raises(TypeError, match="The radius of a Sphere must be a number; given 'big'"):
        Sphere("big")


@pytest.mark.parametrize("radius", [-1.0, math.nan, math.inf])
def test_sphere_radius_must_be_finite_and_not_negative(radius: float) -> None:
    with pytest.raises(RuntimeError, match="radius of a Sphere must be finite and not negative"):
        Sphere(radius)


def test_sphere_of_radius_zero_is_a_point() -> None:
    assert Sphere(0.0).radius() == 0.0


def test_accessors_return_the_measures() -> None:
    box, ellipsoid, cone = Box(1, 2, 3), Ellipsoid(1, 2, 3), MeshcatCone(4)
    assert (box.width(), box.depth(), box.height()) == (1, 2, 3)
    assert box.size().tolist() == [1, 2, 3]
    assert (ellipsoid.a(), ellipsoid.b(), ellipsoid.c()) == (1, 2, 3)
    assert (cone.height(), cone.a(), cone.b()) == (4, 1, 1)
    assert (Capsule(1, 2).radius(), Capsule(1, 2).length()) == (1, 2)


def test_half_space_pose_has_its_normal_along_z_and_passes_through_the_point() -> None:
    rng = np.random.default_rng(1)
    for normal, p_FB in zip(rng.normal(size=(10, 3)), rng.normal(size=(10, 3))):
        X_FH = HalfSpace.MakePose(Hz_dir_F=normal, p_FB=p_FB)
        assert isinstance(X_FH, RigidTransform)
        np.testing.assert_allclose(X_FH.rotation().matrix()[:, 2], normal / np.linalg.norm(normal), atol=1e-15)
        p_HB = X_FH.inverse() @ p_FB
        assert abs(p_HB[2]) < 1e-14  # B lies on the surface
        assert np.linalg.norm(np.cross(X_FH.translation(), normal)) < 1e-13  # Ho is nearest to Fo


def test_half_space_refuses_a_normal_without_direction() -> None:
    with pytest.raises(RuntimeError, match="surface normal of length"):
        HalfSpace.MakePose([0, 0, 1e-11], [0, 0, 0])


@pytest.mark.parametrize("shape", [Mesh, Convex])
def test_mesh_keeps_an_absolute_path_and_a_scale_per_axis(shape: type) -> None:
    mesh = shape("robot/arm.OBJ", 2.0)
    assert mesh.source() == MeshSource(Path.cwd() / "robot" / "arm.OBJ")
    assert mesh.source().path().is_absolute()
    assert mesh.extension() == ".obj"
    assert mesh.scale() == 2.0
    assert mesh.scale3().tolist() == [2.0, 2.0, 2.0]
    assert shape(filename=Path("arm.obj"), scale3=[1, 2, 3]) == shape("arm.obj", [1, 2, 3])
    assert shape(source=MeshSource("arm.obj")) == shape("arm.obj")


def test_mesh_with_several_scales_has_no_single_one() -> None:
    with pytest.raises(RuntimeError, match=r"Use scale3\(\) instead"):
        Mesh("arm.obj", scale3=[1, 2, 3]).scale()


@pytest.mark.parametrize("scale", [0.0, 1e-9, math.nan, math.inf])
def test_mesh_scale_near_zero_or_not_finite_is_refused(scale: float) -> None:
    with pytest.raises(RuntimeError, match=r"scale of Mesh '.*arm.obj' must be finite and at least 1e-08"):
        Mesh("arm.obj", scale3=[1.0, scale, 1.0])


def test_mesh_needs_a_file_name() -> None:
    with pytest.raises(RuntimeError, match="needs the name of a mesh file"):
        Mesh("")
    with pytest.raises(TypeError, match=r"Convex takes a file name, an InMemoryMesh or a MeshSource; given \[3\]"):
        Convex(3)
    with pytest.raises(ValueError, match="Mesh takes one scale or three; given 2"):
        Mesh("arm.obj", scale3=[1.0, 2.0])


def test_volumes_are_those_of_the_closed_forms() -> None:
    assert CalcVolume(Box(2, 3, 4)) == 24
    assert CalcVolume(Sphere(2)) == pytest.approx(4 / 3 * math.pi * 8)
    assert CalcVolume(Cylinder(2, 5)) == pytest.approx(math.pi * 4 * 5)
    assert CalcVolume(Capsule(2, 5)) == pytest.approx(CalcVolume(Cylinder(2, 5)) + CalcVolume(Sphere(2)))
    assert CalcVolume(Ellipsoid(2, 2, 2)) == pytest.approx(CalcVolume(Sphere(2)))
    assert CalcVolume(Ellipsoid(1, 2, 3)) == pytest.approx(6 * CalcVolume(Sphere(1)))
    assert CalcVolume(MeshcatCone(3, 2, 1)) == pytest.approx(math.pi * 2 * 1 * 3 / 3)
    assert CalcVolume(HalfSpace()) == math.inf


def test_volume_of_no_shape_or_of_a_missing_file_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"arm\.obj' does not exist"):
        CalcVolume(Mesh("arm.obj"))
    with pytest.raises(TypeError, match="takes a Shape; given 3"):
        CalcVolume(3)
