"""Mass properties: closed forms against integration, parallel axes, and what no body can have."""

import copy
import pickle

import numpy as np
import pytest

from merganser.framework.math import RigidTransform, RollPitchYaw, RotationMatrix
from merganser.multibody.math import SpatialAcceleration, SpatialVelocity
from merganser.multibody.tree import RotationalInertia, SpatialInertia, UnitInertia

R_AE = RotationMatrix(RollPitchYaw(0.4, -0.7, 1.3))
AXIS = np.array([2.0, -1.0, 2.0]) / 3.0


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def random_inertia(rng):
    return SpatialInertia.SolidBoxWithMass(*rng.uniform(0.5, 2, 4)).ReExpress(R_AE).Shift(rng.normal(size=3))


def integrated_unit_inertia(inside, half_lengths, n=80):
    """Midpoint rule over the points of a box that are inside a body."""
    axes = [(np.arange(n) + 0.5) / n * 2 * h - h for h in half_lengths]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points = points[inside(points)]
    return (np.sum(points**2) * np.eye(3) - points.T @ points) / len(points)


def test_solids_have_the_inertia_of_their_points():
    r, L, a, b, c = 0.6, 1.4, 0.5, 0.8, 1.1

    def in_capsule(p):
        beyond = np.maximum(np.abs(p[:, 2]) - L / 2, 0)
        return p[:, 0] ** 2 + p[:, 1] ** 2 + beyond**2 <= r**2

    z = [0, 0, 1]
    for inertia, inside, half in [
        (UnitInertia.SolidBox(2 * a, 2 * b, 2 * c), lambda p: np.full(len(p), True), (a, b, c)),
        (UnitInertia.SolidEllipsoid(a, b, c), lambda p: ((p / (a, b, c)) ** 2).sum(1) <= 1, (a, b, c)),
        (UnitInertia.SolidSphere(r), lambda p: (p**2).sum(1) <= r**2, (r, r, r)),
        (UnitInertia.SolidCylinder(r, L, z), lambda p: (p[:, :2] ** 2).sum(1) <= r**2, (r, r, L / 2)),
        (UnitInertia.SolidCapsule(r, L, z), in_capsule, (r, r, L / 2 + r)),
    ]:
        # 80 points along an edge; the stair-cased surface leaves an error of about 0.2 %.
        np.testing.assert_allclose(
            inertia.CopyToFullMatrix3(), integrated_unit_inertia(inside, half), rtol=4e-3, atol=1e-12
        )


def test_thin_bodies_are_limits_of_solid_ones():
    rod = UnitInertia.ThinRod(2.0, AXIS).CopyToFullMatrix3()
    np.testing.assert_allclose(rod, UnitInertia.SolidCylinder(1e-7, 2.0, AXIS).CopyToFullMatrix3(), atol=1e-12)
    # Shell: derivative of the ball's moments rho 4/3 pi r^3 * 2/5 r^2 over that of its mass, by the radius.
    assert UnitInertia.HollowSphere(0.3).get_moments() == pytest.approx([2 / 3 * 0.09] * 3)


def test_masses_follow_from_densities():
    volumes = {
        SpatialInertia.SolidBoxWithDensity(2.0, 1, 2, 3): 6.0,
        SpatialInertia.SolidCubeWithDensity(2.0, 2.0): 8.0,
        SpatialInertia.SolidSphereWithDensity(2.0, 0.5): np.pi / 6,
        SpatialInertia.SolidEllipsoidWithDensity(2.0, 1, 2, 3): 8 * np.pi,
        SpatialInertia.SolidCylinderWithDensity(2.0, 0.5, 3.0, AXIS): 0.75 * np.pi,
        SpatialInertia.SolidCapsuleWithDensity(2.0, 0.5, 3.0, AXIS): 0.75 * np.pi + np.pi / 6,
        SpatialInertia.HollowSphereWithDensity(2.0, 0.5): np.pi,
    }
    for inertia, volume in volumes.items():
        assert inertia.get_mass() == pytest.approx(2.0 * volume)
        assert inertia.IsPhysicallyValid()


def test_bodies_about_their_end_have_their_centre_half_a_length_away():
    for inertia in (
        SpatialInertia.ThinRodWithMassAboutEnd(2.0, 3.0, AXIS),
        SpatialInertia.SolidCylinderWithMassAboutEnd(2.0, 0.1, 3.0, AXIS),
    ):
        np.testing.assert_allclose(inertia.get_com(), 1.5 * AXIS)
    np.testing.assert_allclose(
        SpatialInertia.SolidCylinderWithMassAboutEnd(2.0, 0.1, 3.0, AXIS).get_unit_inertia().CopyToFullMatrix3(),
        UnitInertia.SolidCylinderAboutEnd(0.1, 3.0, AXIS).CopyToFullMatrix3(),
        atol=1e-14,
    )


def test_kinetic_energy_does_not_depend_on_point_nor_frame(rng):
    M, V, p = random_inertia(rng), SpatialVelocity(rng.normal(size=6)), rng.normal(size=3)
    energy = 0.5 * (M * V).dot(V)
    assert energy == pytest.approx(0.5 * V.get_coeffs() @ M.CopyToFullMatrix6() @ V.get_coeffs())
    shifted = V.Shift(p)
    assert 0.5 * (M.Shift(p) * shifted).dot(shifted) == pytest.approx(energy)
    rotated = V.Rotate(R_AE)
    assert 0.5 * (M.ReExpress(R_AE) * rotated).dot(rotated) == pytest.approx(energy)


def test_two_bodies_together_have_the_sum_of_their_matrices(rng):
    M1, M2 = random_inertia(rng), random_inertia(rng)
    total = M1.CopyToFullMatrix6() + M2.CopyToFullMatrix6()
    np.testing.assert_allclose((M1 + M2).CopyToFullMatrix6(), total, atol=1e-13)
    M1 += M2
    np.testing.assert_allclose(M1.CopyToFullMatrix6(), total, atol=1e-13)


def test_sum_of_massless_bodies_is_massless():
    total = SpatialInertia.Zero() + SpatialInertia.Zero()
    assert total.IsZero() and total.IsPhysicallyValid()


def test_force_of_an_acceleration_is_the_matrix_product(rng):
    M, A = random_inertia(rng), SpatialAcceleration(rng.normal(size=6))
    np.testing.assert_allclose((M * A).get_coeffs(), M.CopyToFullMatrix6() @ A.get_coeffs())


def test_central_inertia_and_shift_are_inverse_of_each_other(rng):
    M = random_inertia(rng)
    p = M.get_com()
    I_cm = M.CalcRotationalInertia().ShiftToCenterOfMass(M.get_mass(), p)
    again = SpatialInertia.MakeFromCentralInertia(M.get_mass(), p, I_cm)
    np.testing.assert_allclose(again.CopyToFullMatrix6(), M.CopyToFullMatrix6(), atol=1e-13)
    assert M.Shift(p).get_com() == pytest.approx(np.zeros(3))


def test_principal_moments_do_not_depend_on_the_frame():
    I = RotationalInertia(1.0, 2.0, 2.5).ReExpress(R_AE)
    np.testing.assert_allclose(I.CalcPrincipalMomentsOfInertia(), [1, 2, 2.5], rtol=1e-13)
    moments, R_EA = I.CalcPrincipalMomentsAndAxesOfInertia()
    axes = R_EA.matrix()
    np.testing.assert_allclose(axes @ np.diag(moments) @ axes.T, I.CopyToFullMatrix3(), atol=1e-13)
    assert np.linalg.det(axes) == pytest.approx(1.0)


def test_rotational_inertia_operators():
    I = RotationalInertia(2.0, 3.0, 4.0, 0.1, 0.2, 0.3)
    w = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(I * w, I.CopyToFullMatrix3() @ w)
    np.testing.assert_allclose((2 * I - I / 2 + I).CopyToFullMatrix3(), 2.5 * I.CopyToFullMatrix3())
    assert I[0, 1] == I.get_products()[0] == 0.1
    assert I.Trace() == 9.0 and I.CalcMaximumPossibleMomentOfInertia() == 4.5
    assert I.IsNearlyEqualTo(1.001 * I, 1e-2) and not I.IsNearlyEqualTo(1.1 * I, 1e-2)
    assert RotationalInertia().IsNaN() and (I - I).IsZero()
    I *= 2.0
    I /= 4.0
    assert I.get_moments().tolist() == [1.0, 1.5, 2.0]


def test_rotational_inertia_refuses_what_is_no_factor_nor_index():
    I = RotationalInertia(2.0, 3.0, 4.0, 0.1, 0.2, 0.3)
    for operation in (
        lambda: I * I,
        lambda: I * "a",
        lambda: np.ones(3) * I,
        lambda: I / np.ones(3),
        lambda: I + 2.0,
        lambda: I[0],
        lambda: I[0.0, 1.0],
        lambda: I.IsNearlyEqualTo(I.CopyToFullMatrix3(), 1.0),
        lambda: I.ReExpress(np.eye(3)),
    ):
        with pytest.raises(TypeError):
            operation()
    for index in ((0, 3), (-1, 0), (0, 1, 2)):
        with pytest.raises(IndexError, match="RotationalInertia takes an index"):
            I[index]


def test_a_multiple_of_a_unit_inertia_is_no_unit_inertia():
    G = original = UnitInertia(1.0, 2.0, 2.5)
    G *= 2.0
    assert type(G) is type(original + original) is type(original / 2.0) is RotationalInertia
    assert original.get_moments().tolist() == [1.0, 2.0, 2.5]
    assert type(original.ReExpress(R_AE)) is type(original.ShiftFromCenterOfMass([1, 0, 0])) is UnitInertia


@pytest.mark.parametrize("kind", [RotationalInertia, UnitInertia])
def test_wrong_constructor_arguments_are_refused(kind):
    for arguments in ((1.0,), (1.0, 2.0, 3.0, 0.1), (1.0,) * 7, (None,), ("a", 1.0, 2.0)):
        with pytest.raises(TypeError):
            kind(*arguments)
    with pytest.raises(TypeError):
        kind(Ixx=1.0, Iyy=2.0)


def test_only_a_rotational_inertia_is_made_of_a_particle():
    I = RotationalInertia(mass=2.0, p_PQ_E=[1.0, 2.0, 3.0])
    assert I.get_moments().tolist() == [26.0, 20.0, 10.0] and I.get_products().tolist() == [-4.0, -6.0, -12.0]
    with pytest.raises(TypeError, match="PointMass"):
        UnitInertia(2.0, [1.0, 2.0, 3.0])
    with pytest.raises(RuntimeError, match="mass must be finite and not negative"):
        RotationalInertia(-2.0, [1.0, 2.0, 3.0])


def test_rotational_inertia_shifts_there_and_back(rng):
    mass, p, q = 2.0, *rng.normal(size=(2, 3))
    I_BBcm = RotationalInertia(1.0, 2.0, 2.5).ReExpress(R_AE)
    I_BP, I_BQ = I_BBcm.ShiftFromCenterOfMass(mass, p), I_BBcm.ShiftFromCenterOfMass(mass, q)
    for again in (I_BP.ShiftToCenterOfMass(mass, p), I_BBcm.ShiftToThenAwayFromCenterOfMass(mass, p, p)):
        np.testing.assert_allclose(again.CopyToFullMatrix3(), I_BBcm.CopyToFullMatrix3(), atol=1e-14)
    np.testing.assert_allclose(
        I_BP.ShiftToThenAwayFromCenterOfMass(mass, p, q).CopyToFullMatrix3(), I_BQ.CopyToFullMatrix3(), atol=1e-13
    )
    # The same of a unit inertia, as the inherited method has it: with a mass, and a rotational inertia results.
    G_BP = UnitInertia(I_BP / mass)
    shifted = mass * G_BP.ShiftToThenAwayFromCenterOfMass(1.0, p, q)
    np.testing.assert_allclose(shifted.CopyToFullMatrix3(), I_BQ.CopyToFullMatrix3(), atol=1e-13)
    with pytest.raises(RuntimeError, match=r"ShiftToCenterOfMass\(\): mass"):
        I_BP.ShiftToCenterOfMass(-mass, p)


def test_principal_moments_do_not_depend_on_the_point_of_shifts_there_and_back(rng):
    M, p = random_inertia(rng), rng.normal(size=3)
    again = M.Shift(p).ReExpress(R_AE).ReExpress(R_AE.inverse()).Shift(-p)
    np.testing.assert_allclose(again.CopyToFullMatrix6(), M.CopyToFullMatrix6(), atol=1e-13)
    moments = [
        inertia.Shift(inertia.get_com()).CalcRotationalInertia().CalcPrincipalMomentsOfInertia()
        for inertia in (M, M.Shift(p), M.ReExpress(R_AE))
    ]
    np.testing.assert_allclose(moments[1:], [moments[0]] * 2, rtol=1e-12)


def test_tetrahedron_has_the_inertia_of_its_points(rng):
    vertices = rng.normal(size=(4, 3))
    # Uniform points of a simplex are mixtures with Dirichlet(1, 1, 1, 1) weights; 1 / sqrt(n) is 0.3 %.
    points = rng.dirichlet(np.ones(4), size=100_000) @ vertices
    second_moment = points.T @ points / len(points)
    expected = np.trace(second_moment) * np.eye(3) - second_moment
    G = UnitInertia.SolidTetrahedronAboutPoint(*vertices)
    np.testing.assert_allclose(G.CopyToFullMatrix3(), expected, atol=0.01)
    M = SpatialInertia.SolidTetrahedronAboutPointWithDensity(3.0, *vertices)
    np.testing.assert_allclose(M.get_com(), vertices.mean(axis=0), rtol=1e-14)
    assert M.get_mass() == pytest.approx(0.5 * abs(np.linalg.det(vertices[1:] - vertices[0])))
    swapped = SpatialInertia.SolidTetrahedronAboutPointWithDensity(3.0, *vertices[[1, 0, 2, 3]])
    np.testing.assert_allclose(swapped.CopyToFullMatrix6(), M.CopyToFullMatrix6(), rtol=1e-13)
    about_vertex = SpatialInertia.SolidTetrahedronAboutVertexWithDensity(3.0, *(vertices[1:] - vertices[0]))
    np.testing.assert_allclose(about_vertex.CopyToFullMatrix6(), M.Shift(vertices[0]).CopyToFullMatrix6(), atol=1e-13)


def test_equivalent_shape_of_a_solid_is_the_solid():
    X_PA = RigidTransform(R_AE, [0.3, -0.2, 0.5])
    half_lengths = [1.5, 0.9, 0.4]
    for solid, method in [
        (SpatialInertia.SolidEllipsoidWithMass(2.0, 1.5, 0.9, 0.4), "SemiDiametersAndPoseForSolidEllipsoid"),
        (SpatialInertia.SolidBoxWithMass(2.0, 3.0, 1.8, 0.8), "HalfLengthsAndPoseForSolidBox"),
    ]:
        M = solid.ReExpress(X_PA.rotation()).Shift(-X_PA.translation())
        found, X = getattr(M, f"CalcPrincipal{method}")()
        np.testing.assert_allclose(found, half_lengths, rtol=1e-12)
        np.testing.assert_allclose(X.translation(), X_PA.translation(), atol=1e-14)
        # Axes are the same up to their sense.
        cosines = X.rotation().matrix().T @ X_PA.rotation().matrix()
        np.testing.assert_allclose(abs(cosines), np.eye(3), atol=1e-12)
        assert np.linalg.det(X.rotation().matrix()) == pytest.approx(1.0)
    semi_diameters, X = SpatialInertia.SolidSphereWithMass(
        2.0, 0.7
    ).CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid()
    np.testing.assert_allclose(semi_diameters, [0.7] * 3)
    assert X.IsExactlyIdentity()


def test_minimum_bounding_box_has_an_eighth_of_the_mass_in_each_corner():
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.2, 0.2) for z in (-0.1, 0.1)])
    M = SpatialInertia.Zero()
    for corner in corners:
        M += SpatialInertia.PointMass(0.25, corner)
    half_lengths, _ = M.CalcPrincipalHalfLengthsAndPoseForMinimumBoundingBox()
    np.testing.assert_allclose(half_lengths, [0.5, 0.2, 0.1], rtol=1e-12)
    assert M.Shift([1.0, 2.0, 3.0]).CalcMinimumPhysicalLength() == pytest.approx(np.sqrt(1.0 + 0.16 + 0.04))
    # A rod has no width, up to the square root of the rounding error of its moments.
    rod, _ = SpatialInertia.ThinRodWithMass(2.0, 1.2, AXIS).CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid()
    np.testing.assert_allclose(rod, [0.6 * np.sqrt(5 / 3), 0.0, 0.0], atol=1e-7)


def test_equivalent_shapes_need_finite_numbers():
    with pytest.raises(RuntimeError, match="finite numbers"):
        SpatialInertia.NaN().CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid()


def test_a_copy_does_not_follow_the_original(rng):
    M, G = random_inertia(rng), UnitInertia(1.0, 2.0, 2.5)
    matrix = M.CopyToFullMatrix6()
    copies = [copy.copy(M), copy.deepcopy(M), pickle.loads(pickle.dumps(M))]
    of_unit = [copy.copy(G), copy.deepcopy(G), pickle.loads(pickle.dumps(G))]
    M.SetNaN()
    G.SetZero()
    for other, unit in zip(copies, of_unit):
        np.testing.assert_array_equal(other.CopyToFullMatrix6(), matrix)
        assert type(unit) is UnitInertia and unit.Trace() == 5.5


def test_violated_triangle_inequality_names_moments_and_mass():
    with pytest.raises(RuntimeError, match=r"I1 \+ I2 >= I3 fails: 2 \+ 2 < 6(.|\n)*mass = 2(.|\n)*\[2. 2. 6.\]"):
        SpatialInertia(2.0, np.zeros(3), UnitInertia(1.0, 1.0, 3.0))
    with pytest.raises(RuntimeError, match=r"1 \+ 1 < 2, by 1e-12"):
        SpatialInertia(1.0, np.zeros(3), UnitInertia(1.0, 1.0, 2.000000000001))
    kept = SpatialInertia(2.0, np.zeros(3), UnitInertia(1.0, 1.0, 3.0), skip_validity_check=True)
    assert not kept.IsPhysicallyValid()


def test_unit_inertia_too_small_for_its_centre_of_mass_is_refused():
    with pytest.raises(RuntimeError, match="principal moment I1 = -24 is negative"):
        SpatialInertia(1.0, [0.0, 5.0, 0.0], UnitInertia(1.0, 1.0, 1.0))


@pytest.mark.parametrize("mass", [-1.0, np.nan, np.inf])
def test_impossible_masses_are_refused(mass):
    with pytest.raises(RuntimeError, match="the mass must be finite and not negative"):
        SpatialInertia(mass, np.zeros(3), UnitInertia(1.0, 1.0, 1.0))


def test_without_mass_any_unit_inertia_will_do():
    assert SpatialInertia(0.0, [5.0, 0.0, 0.0], UnitInertia(1.0, 1.0, 3.0)).IsPhysicallyValid()


def test_arguments_of_the_wrong_type_are_named():
    G = UnitInertia(1.0, 1.0, 1.0)
    with pytest.raises(TypeError, match="mass must be a number"):
        SpatialInertia("a", np.zeros(3), G)
    with pytest.raises(TypeError, match="p_PScm_E must hold 3 numbers"):
        SpatialInertia(1.0, None, G)
    with pytest.raises(TypeError, match="R_AE: expected a RotationMatrix"):
        SpatialInertia.Zero().ReExpress(np.eye(3))
    with pytest.raises(TypeError, match="I: expected a RotationalInertia"):
        UnitInertia().SetFromRotationalInertia(np.eye(3), 1.0)
    for operation in (lambda M: M * 2.0, lambda M: np.ones(6) * M, lambda M: M + G, lambda M: M - M):
        with pytest.raises(TypeError):
            operation(SpatialInertia.Zero())


def test_far_point_mass_is_valid_in_spite_of_rounding():
    assert SpatialInertia.PointMass(3.0, [1e3, -2e3, 7e2]).IsPhysicallyValid()


def test_nan_inertia_says_so():
    M = SpatialInertia.NaN()
    assert M.IsNaN() and not M.IsPhysicallyValid()


def test_bad_dimensions_are_refused():
    with pytest.raises(RuntimeError, match=r"SolidBoxWithMass.*ly must be positive"):
        SpatialInertia.SolidBoxWithMass(1.0, 1.0, -1.0, 1.0)
    with pytest.raises(RuntimeError, match=r"SolidSphere.*r must be finite"):
        UnitInertia.SolidSphere(np.nan)
    with pytest.raises(RuntimeError, match="length must be positive"):
        UnitInertia.ThinRod(0.0, [0, 0, 1])
    with pytest.raises(RuntimeError, match="moment_perpendicular must be positive"):
        UnitInertia.StraightLine(0.0, [0, 0, 1])
    with pytest.raises(RuntimeError, match="length 1"):
        UnitInertia.ThinRod(1.0, [0, 0, 2])
    with pytest.raises(RuntimeError, match="moment_parallel"):
        UnitInertia.AxiallySymmetric(1.0, 0.2, AXIS)
    with pytest.raises(TypeError, match="MakeFromCentralInertia"):
        SpatialInertia(1.0, np.zeros(3), RotationalInertia(1.0, 1.0, 1.0))


def test_complex_step_differentiates_a_shift():
    """d/dm of the rotational inertia of a shifted body, exact to rounding."""
    h = 1e-100
    p = np.array([0.1, -0.2, 0.3])
    moments = SpatialInertia.SolidSphereWithMass(2.0 + 1j * h, 0.5).Shift(p).CalcRotationalInertia().get_moments()
    expected = SpatialInertia.SolidSphereWithMass(1.0, 0.5).Shift(p).CalcRotationalInertia().get_moments()
    np.testing.assert_allclose(moments.imag / h, expected, rtol=1e-14)
