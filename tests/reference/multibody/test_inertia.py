"""Mass properties on random numbers of all three scalars, of shapes and meshes, and their errors agree with pydrake."""

import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import merganser.framework.autodiff as autodiff
import merganser.framework.math as math
import merganser.framework.symbolic as symbolic
import merganser.geometry as geometry
import merganser.multibody.math as spatial
import merganser.multibody.tree as tree

pytest.importorskip("pydrake", reason="pydrake (extra `reference`) is not installed")
import pydrake.autodiffutils
import pydrake.geometry
import pydrake.math
import pydrake.multibody.math
import pydrake.multibody.tree
import pydrake.symbolic

pytestmark = pytest.mark.reference
INERTIAS = ["RotationalInertia", "UnitInertia", "SpatialInertia"]
AXIS = np.array([2.0, -1.0, 2.0]) / 3.0


def classes(inertias, spatial_math, rotations, suffix="", scalar=None):
    """The inertias, the motions and RotationMatrix, of one scalar type (ours fit all)."""
    lib = SimpleNamespace()
    for module, names in [
        (inertias, INERTIAS),
        (spatial_math, ["SpatialVelocity", "SpatialAcceleration"]),
        (rotations, ["RotationMatrix"]),
    ]:
        for name in names:
            found = getattr(module, name + suffix)
            setattr(lib, name, found[scalar] if suffix else found)
    return lib


OURS = classes(tree, spatial, math)
THEIRS = classes(pydrake.multibody.tree, pydrake.multibody.math, pydrake.math)


def solids(lib, x):
    """Solids of all kinds from 6 positive numbers, which pydrake offers for numbers only, not for symbols."""
    S = lib.SpatialInertia
    m, r, L, a, b, c = x
    axis = AXIS + 0.0 * np.array([m, m, m])
    return [
        S.SolidBoxWithMass(mass=m, lx=a, ly=b, lz=c),
        S.SolidBoxWithDensity(density=m, lx=a, ly=b, lz=c),
        S.SolidCubeWithDensity(density=m, length=a),
        S.SolidSphereWithMass(mass=m, radius=r),
        S.SolidSphereWithDensity(density=m, radius=r),
        S.HollowSphereWithMass(mass=m, radius=r),
        S.HollowSphereWithDensity(area_density=m, radius=r),
        S.SolidEllipsoidWithMass(mass=m, a=a, b=b, c=c),
        S.SolidEllipsoidWithDensity(density=m, a=a, b=b, c=c),
        S.SolidCylinderWithMass(mass=m, radius=r, length=L, unit_vector=axis),
        S.SolidCylinderWithDensity(density=m, radius=r, length=L, unit_vector=axis),
        S.SolidCylinderWithMassAboutEnd(mass=m, radius=r, length=L, unit_vector=axis),
        S.SolidCylinderWithDensityAboutEnd(density=m, radius=r, length=L, unit_vector=axis),
        S.SolidCapsuleWithMass(mass=m, radius=r, length=L, unit_vector=axis),
        S.SolidCapsuleWithDensity(density=m, radius=r, length=L, unit_vector=axis),
        S.ThinRodWithMass(mass=m, length=L, unit_vector=axis),
        S.ThinRodWithMassAboutEnd(mass=m, length=L, unit_vector=axis),
    ]


def unit_solids(lib, x):
    """Unit inertias that pydrake offers for symbols too."""
    G = lib.UnitInertia
    _, r, L, a, b, c = x
    axis = AXIS + 0.0 * np.array([r, r, r])
    return [
        G.PointMass(p_FQ=np.array([a, b, c])),
        G.SolidEllipsoid(a=a, b=b, c=c),
        G.SolidSphere(r=r),
        G.HollowSphere(r=r),
        G.SolidBox(Lx=a, Ly=b, Lz=c),
        G.SolidCube(L=a),
        G.SolidCylinder(radius=r, length=L, unit_vector=axis),
        G.SolidCylinderAboutEnd(radius=r, length=L, unit_vector=axis),
        G.SolidCapsule(radius=r, length=L, unit_vector=axis),
        G.ThinRod(length=L, unit_vector=axis),
        G.AxiallySymmetric(moment_parallel=a, moment_perpendicular=b, unit_vector=axis),
        G.StraightLine(moment_perpendicular=L, unit_vector=axis),
        G.TriaxiallySymmetric(I_triaxial=r),
    ]


def methods(lib, x):
    """Every method that computes, on 24 numbers; arrays."""
    R = lib.RotationMatrix.MakeZRotation(x[0]) @ lib.RotationMatrix.MakeXRotation(x[1])
    m, n, p, q = x[2], x[3], x[4:7], x[7:10]
    I = lib.RotationalInertia(2.0 + x[10], 2.0 + x[11], 2.0 + x[12]).ReExpress(R_AE=R)
    J = lib.RotationalInertia(Ixx=3.0 + x[5], Iyy=3.0 + m, Izz=3.0 + n, Ixy=x[6], Ixz=x[7], Iyz=x[8])
    particle = lib.RotationalInertia(mass=m, p_PQ_E=p)
    shifted = I.ShiftToThenAwayFromCenterOfMass(mass=m, p_PBcm_E=p, p_QBcm_E=q)
    total = J + I * m - n * particle
    total += I / n
    total -= I
    total *= m
    total /= n
    G = lib.UnitInertia().SetFromRotationalInertia(I=I, mass=m)
    M = lib.SpatialInertia.MakeFromCentralInertia(mass=m, p_PScm_E=p, I_SScm_E=I)
    N = lib.SpatialInertia(n, q, lib.UnitInertia(J), skip_validity_check=True)
    N += M
    N += lib.SpatialInertia.Zero()
    V, A = lib.SpatialVelocity(x[12:18]), lib.SpatialAcceleration(x[18:24])
    rotational = [
        *(I, J, particle, shifted, total, G, lib.UnitInertia(I=I), G.ReExpress(R_AE=R)),
        *(I.ShiftFromCenterOfMass(mass=m, p_BcmQ_E=p), J.ShiftToCenterOfMass(mass=m, p_QBcm_E=p)),
        *(G.ShiftFromCenterOfMass(p_BcmQ_E=p), G.ShiftToCenterOfMass(p_QBcm_E=q), 0.5 * x[3] * G),
        *(M.CalcRotationalInertia(), N.get_unit_inertia(), G.ShiftToThenAwayFromCenterOfMass(m, p, q)),
    ]
    spatial = [M, N, N.Shift(p_PQ_E=q), N.ReExpress(R_AE=R).Shift(p)]
    arrays = [array for inertia in rotational for array in (inertia.CopyToFullMatrix3(), inertia.get_moments())]
    arrays += [inertia.get_products() for inertia in rotational]
    arrays += [J * p, N.get_com(), N.CalcComMoment(), (N * V).get_coeffs(), (N * A).get_coeffs()]
    arrays += [inertia.CopyToFullMatrix6() for inertia in spatial]
    scalars = [J.Trace(), J.CalcMaximumPossibleMomentOfInertia(), J[0, 1], J[2, 0], M.get_mass(), N.get_mass()]
    return np.concatenate([*(np.ravel(array) for array in arrays), np.array(scalars)])


def matrices(inertias):
    name = "CopyToFullMatrix6" if hasattr(inertias[0], "CopyToFullMatrix6") else "CopyToFullMatrix3"
    return np.concatenate([np.ravel(getattr(inertia, name)()) for inertia in inertias])


CASES = [
    lambda lib, x: methods(lib, x),
    lambda lib, x: matrices(solids(lib, x[:6])),
    lambda lib, x: matrices(unit_solids(lib, x[:6])),
]


@pytest.fixture(params=range(5))
def x(request):
    return np.random.default_rng(request.param).uniform(0.5, 0.9, size=24)


@pytest.mark.parametrize("case", CASES, ids=["methods", "solids", "unit solids"])
def test_results_are_those_of_pydrake(case, x):
    np.testing.assert_allclose(case(OURS, x), case(THEIRS, x), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("case", CASES, ids=["methods", "solids", "unit solids"])
def test_derivatives_are_those_of_pydrake(case, x):
    def gradient(library, lib):
        return library.ExtractGradient(case(lib, library.InitializeAutoDiff(x).reshape(24)).reshape(-1, 1))

    scalar = pydrake.autodiffutils.AutoDiffXd
    theirs = classes(pydrake.multibody.tree, pydrake.multibody.math, pydrake.math, "_", scalar)
    np.testing.assert_allclose(
        gradient(autodiff, OURS), gradient(pydrake.autodiffutils, theirs), rtol=1e-11, atol=1e-12
    )


def test_expressions_have_the_values_of_those_of_pydrake(x):
    def values(library, lib):
        variables = library.MakeVectorVariable(24, "x")
        results = methods(lib, np.array([library.Expression(v) for v in variables]))
        environment = dict(zip(variables, x))
        return [r.Evaluate(environment) if isinstance(r, library.Expression) else r for r in results]

    scalar = pydrake.symbolic.Expression
    theirs = classes(pydrake.multibody.tree, pydrake.multibody.math, pydrake.math, "_", scalar)
    np.testing.assert_allclose(values(symbolic, OURS), values(pydrake.symbolic, theirs), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("name", INERTIAS)
def test_every_public_method_of_pydrake_is_here(name):
    def public(lib):
        return {n for n in dir(getattr(lib, name)) if not n.startswith("_") and n.isascii()}

    assert public(THEIRS) <= public(OURS)


def test_principal_moments_axes_and_equivalent_ellipsoids_are_those_of_pydrake(x):
    def principal(lib):
        I = lib.RotationalInertia(*(3.0 + x[:3]), *(x[3:6] - 0.7))
        M = lib.SpatialInertia.MakeFromCentralInertia(x[6], x[7:10], I)
        return (
            I.CalcPrincipalMomentsOfInertia(),
            *I.CalcPrincipalMomentsAndAxesOfInertia(),
            *M.CalcPrincipalSemiDiametersAndPoseForSolidEllipsoid(),
        )

    ours, theirs = principal(OURS), principal(THEIRS)
    for k in (0, 1, 3):
        np.testing.assert_allclose(ours[k], theirs[k], rtol=1e-12)
    np.testing.assert_allclose(ours[4].translation(), theirs[4].translation(), rtol=1e-14)
    for R, S in ((ours[2], theirs[2]), (ours[4].rotation(), theirs[4].rotation())):
        # Both are right-handed; the sense of an axis is not defined.
        np.testing.assert_allclose(abs(R.matrix().T @ S.matrix()), np.eye(3), atol=1e-12)


@pytest.mark.parametrize("moments", [(2, 2, 2), (2, 3, 2), (3, 2, 2), (2, 2, 3), (3, 2, 1), (1, 2, 3), (0, 0, 0)])
def test_principal_axes_of_diagonal_matrices_are_those_of_pydrake(moments):
    (ours, R), (theirs, S) = (
        lib.RotationalInertia(*moments).CalcPrincipalMomentsAndAxesOfInertia() for lib in (OURS, THEIRS)
    )
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(R.matrix(), S.matrix())


VALID_OR_NOT = [
    (1.0, (0, 0, 0), (1, 1, 1)),
    (1.0, (0, 0, 0), (1, 1, 2)),
    (1.0, (0, 0, 0), (1, 1, 2.000001)),
    (1.0, (0, 0, 0), (1, 1, 3)),
    (1.0, (0, 0, 0), (-1e-15, 1, 1)),
    (1.0, (0, 0, 0), (-1e-6, 1, 1)),
    (1.0, (5, 0, 0), (1, 1, 1)),
    (0.0, (5, 0, 0), (1, 1, 1)),
    (0.0, (0, 0, 0), (1, 1, 3)),
    (0.0, (0, 0, 0), (0, 0, 0)),
    (-1.0, (0, 0, 0), (1, 1, 1)),
    (np.nan, (0, 0, 0), (1, 1, 1)),
    (np.inf, (0, 0, 0), (1, 1, 1)),
    (1.0, (np.nan, 0, 0), (1, 1, 1)),
    (1.0, (0, 0, 0), (np.nan, 1, 1)),
]


@pytest.mark.parametrize("mass, com, moments", VALID_OR_NOT)
def test_both_accept_or_both_refuse(mass, com, moments):
    accepted = []
    for lib in (OURS, THEIRS):
        G = lib.UnitInertia(*moments)
        try:
            accepted.append(lib.SpatialInertia(mass, com, G).IsPhysicallyValid())
        except RuntimeError:
            accepted.append(False)
    assert accepted[0] == accepted[1]


REFUSED = [
    *("I * I", "I * 'a'", "I * None", "2 / I", "I + 2", "I + p", "I[0]", "I += 2", "I -= p"),
    *("M * M", "M * 2", "2 * M", "M * p", "M - M", "M += G", "V * M", "I.ReExpress(numpy.eye(3))"),
    *("M.ReExpress(numpy.eye(3))", "I.IsNearlyEqualTo(p, 1)", "lib.UnitInertia().SetFromRotationalInertia(p, 2.0)"),
    *("lib.RotationalInertia(1, 2, 3, 0.1)", "lib.RotationalInertia(I)", "lib.RotationalInertia('a', 1, 2)"),
    *("lib.UnitInertia(2.0, p)", "lib.UnitInertia(mass=2.0, p_PQ_E=p)", "lib.UnitInertia(None)", "lib.UnitInertia(V)"),
    *("lib.SpatialInertia()", "lib.SpatialInertia(1, p, I)", "lib.SpatialInertia('a', p, G)"),
    *("lib.SpatialInertia(1, None, G)", "lib.SpatialInertia(1, p, None)", "G.ShiftToThenAwayFromCenterOfMass(p, p)"),
]


@pytest.mark.parametrize("operation", REFUSED)
def test_both_refuse_with_a_type_error(operation):
    for lib in (OURS, THEIRS):
        G, p = lib.UnitInertia(2, 3, 4, 0.1, 0.2, 0.3), np.array([0.1, 0.2, 0.3])
        values = {"I": lib.RotationalInertia(2, 3, 4), "G": G, "M": lib.SpatialInertia(2.0, p, G), "p": p}
        values |= {"V": lib.SpatialVelocity(np.zeros(6)), "lib": lib, "numpy": np}
        with pytest.raises(TypeError):
            exec(operation, values)


def test_both_refuse_an_index_that_is_no_pair():
    for lib in (OURS, THEIRS):
        with pytest.raises(IndexError):
            lib.RotationalInertia(2, 3, 4)[(0,)]


SHAPES = {
    "Sphere": (0.3,),
    "Box": (0.1, 0.2, 0.3),
    "Cylinder": (0.1, 0.2),
    "Capsule": (0.1, 0.2),
    "Ellipsoid": (0.1, 0.2, 0.3),
}


@pytest.mark.parametrize("name", SHAPES)
def test_inertias_of_shapes_are_those_of_pydrake(name):
    arguments = SHAPES[name]
    mine = tree.CalcSpatialInertia(shape=getattr(geometry, name)(*arguments), density=10.0)
    expected = pydrake.multibody.tree.CalcSpatialInertia(getattr(pydrake.geometry, name)(*arguments), 10.0)
    np.testing.assert_allclose(mine.CopyToFullMatrix6(), expected.CopyToFullMatrix6(), rtol=1e-13, atol=1e-16)


def model_file(name):
    default = Path(__file__).resolve().parents[4] / "shared" / "models"
    path = Path(os.environ.get("MERGANSER_MODELS", default)) / name
    if not path.is_file():
        pytest.skip(f"no model file {path} (set MERGANSER_MODELS)")
    return str(path)


@pytest.mark.parametrize(
    "kind, file",
    [
        ("Mesh", "dishes/assets/plate_8in_col.obj"),
        ("Mesh", "iiwa_description/meshes/iiwa14/collision/link_3.obj"),
        ("Mesh", "dishes/assets/evo_bowl_coarse3k.vtk"),
        ("Convex", "dishes/assets/plate_8in_col.obj"),
        ("Convex", "dishes/assets/plate_8in.gltf"),
        ("Convex", "dishes/assets/evo_bowl_coarse3k.vtk"),
    ],
)
@pytest.mark.parametrize("scale3", [(1, 1, 1), (-2, 1, 0.5)])
def test_inertias_of_mesh_files_are_those_of_pydrake(kind, file, scale3):
    pytest.importorskip("trimesh", reason="trimesh (extra `viz`) is not installed")
    path = model_file(file)
    mine = tree.CalcSpatialInertia(getattr(geometry, kind)(path, scale3=scale3), 10.0).CopyToFullMatrix6()
    shape = getattr(pydrake.geometry, kind)(path, scale3=scale3)
    expected = pydrake.multibody.tree.CalcSpatialInertia(shape, 10.0).CopyToFullMatrix6()
    np.testing.assert_allclose(mine, expected, atol=1e-12 * abs(expected).max())


def test_inertia_of_a_mesh_in_memory_is_that_of_pydrake():
    vertices = np.random.default_rng(0).normal(size=(4, 3))
    if np.linalg.det(vertices[1:] - vertices[0]) < 0.0:
        vertices = vertices[[0, 2, 1, 3]]
    triangles = [(0, 2, 1), (0, 1, 3), (1, 2, 3), (0, 3, 2)]
    mesh, inside_out = (
        pydrake.geometry.TriangleSurfaceMesh(
            [pydrake.geometry.SurfaceTriangle(*t[::step]) for t in triangles], vertices
        )
        for step in (1, -1)
    )
    mine, expected = (module.CalcSpatialInertia(mesh=mesh, density=3.0) for module in (tree, pydrake.multibody.tree))
    np.testing.assert_allclose(mine.CopyToFullMatrix6(), expected.CopyToFullMatrix6(), rtol=1e-12, atol=1e-14)
    tetrahedron = tree.SpatialInertia.SolidTetrahedronAboutPointWithDensity(3.0, *vertices)
    np.testing.assert_allclose(tetrahedron.CopyToFullMatrix6(), expected.CopyToFullMatrix6(), rtol=1e-12, atol=1e-14)
    for module in (tree, pydrake.multibody.tree):
        with pytest.raises(ValueError, match="volume"):
            module.CalcSpatialInertia(inside_out, 3.0)
