"""Random rotations, poses, rates and matrix equations agree with pydrake."""

import itertools

import numpy as np
import pytest

import merganser.framework.math as ours
from merganser.framework import RandomGenerator
from merganser.framework.autodiff import AutoDiffXd

drake = pytest.importorskip("pydrake.math", reason="compares with pydrake (extra `reference`)")
drake_geometry = pytest.importorskip("pydrake.common.eigen_geometry", reason="compares with pydrake")
DrakeRandomGenerator = pytest.importorskip("pydrake.common", reason="compares with pydrake").RandomGenerator
DrakeAutoDiffXd = pytest.importorskip("pydrake.autodiffutils", reason="compares with pydrake").AutoDiffXd

pytestmark = pytest.mark.reference
ROUND_OFF = 1e-14


def close(actual, expected, atol=ROUND_OFF):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


def random_angles(count=30, seed=0):
    return np.random.default_rng(seed).uniform([-3.1, -1.5, -3.1], [3.1, 1.5, 3.1], size=(count, 3))


def random_unit_quaternions(count=30, seed=1):
    wxyz = np.random.default_rng(seed).normal(size=(count, 4))
    return wxyz / np.linalg.norm(wxyz, axis=1)[:, None]


@pytest.mark.parametrize(
    "name", ["RotationMatrix", "RigidTransform", "RollPitchYaw", "Quaternion", "AngleAxis", "Isometry3"]
)
def test_every_public_method_of_pydrake_is_here(name):
    reference = getattr(drake, name, None) or getattr(drake_geometry, name)
    public = {n for n in vars(reference) if not n.startswith("_") and n.isascii()}
    assert public <= set(dir(getattr(ours, name)))


def test_rotations_in_every_representation():
    for wxyz in random_unit_quaternions():
        R, S = (
            ours.RotationMatrix(ours.Quaternion(wxyz)),
            drake.RotationMatrix(drake_geometry.Quaternion(wxyz)),
        )
        close(R.matrix(), S.matrix())
        close(R.ToQuaternion().wxyz(), S.ToQuaternion().wxyz())
        close(R.ToRollPitchYaw().vector(), S.ToRollPitchYaw().vector(), 4 * ROUND_OFF)
        close(R.ToAngleAxis().angle(), S.ToAngleAxis().angle())
        close(R.ToAngleAxis().axis(), S.ToAngleAxis().axis())
        close(R.ToAngleAxis().rotation(), S.ToAngleAxis().rotation())
        close(R.ToAngleAxis().quaternion().wxyz(), S.ToAngleAxis().quaternion().wxyz())
        # Ours has w >= 0; pydrake's may be the negative.
        q = drake_geometry.Quaternion(S.matrix())
        close(ours.Quaternion(R.matrix()).wxyz(), drake.QuaternionToCanonicalForm(q).wxyz())
        for axis in range(3):
            close(
                ours.RotationMatrix.MakeFromOneVector(wxyz[1:], axis).matrix(),
                drake.RotationMatrix.MakeFromOneVector(wxyz[1:], axis).matrix(),
            )
        M = R.matrix() + 0.1 * np.outer(wxyz[1:], wxyz[:3])
        close(
            ours.RotationMatrix.ProjectToRotationMatrix(M).matrix(),
            drake.RotationMatrix.ProjectToRotationMatrix(M).matrix(),
        )


def test_roll_pitch_yaw_and_its_rates():
    rates = np.random.default_rng(2).normal(size=(30, 2, 3))
    for angles, (a, b) in zip(random_angles(), rates, strict=True):
        r, s = ours.RollPitchYaw(angles), drake.RollPitchYaw(angles)
        close(r.ToRotationMatrix().matrix(), s.ToRotationMatrix().matrix())
        # The sign of a quaternion is free when it is not made canonical.
        assert abs(r.ToQuaternion().wxyz() @ s.ToQuaternion().wxyz()) == pytest.approx(1, abs=ROUND_OFF)
        for name in (
            "CalcRotationMatrixDt",
            "CalcAngularVelocityInParentFromRpyDt",
            "CalcAngularVelocityInChildFromRpyDt",
            "CalcRpyDtFromAngularVelocityInParent",
            "CalcRpyDtFromAngularVelocityInChild",
        ):
            expected = getattr(s, name)(a)
            close(getattr(r, name)(a), expected, ROUND_OFF * max(1, np.abs(expected).max()))
        for name in ("CalcRpyDDtFromRpyDtAndAngularAccelInParent", "CalcRpyDDtFromAngularAccelInChild"):
            expected = getattr(s, name)(a, b)
            close(getattr(r, name)(a, b), expected, 10 * ROUND_OFF * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1e-7 - np.pi / 2])
def test_angles_of_the_same_matrix_near_gimbal_lock_are_equally_good(pitch):
    for roll, yaw in random_angles()[:, ::2]:
        R = drake.RollPitchYaw(roll, pitch, yaw).ToRotationMatrix()
        found = ours.RollPitchYaw(R.matrix())
        close(found.ToRotationMatrix().matrix(), R.matrix())
        close(found.pitch_angle(), drake.RollPitchYaw(R).pitch_angle())


def test_poses():
    positions = np.random.default_rng(3).normal(size=(30, 3))
    pairs = [
        (
            ours.RigidTransform(ours.RollPitchYaw(a), p),
            drake.RigidTransform(drake.RollPitchYaw(a), p),
        )
        for a, p in zip(random_angles(), positions, strict=True)
    ]
    for (X, DX), (Y, DY) in itertools.pairwise(pairs):
        close(X.GetAsMatrix4(), DX.GetAsMatrix4())
        close((X @ Y).GetAsMatrix34(), (DX @ DY).GetAsMatrix34())
        close(X.inverse().GetAsMatrix4(), DX.inverse().GetAsMatrix4())
        close(X.InvertAndCompose(Y).GetAsMatrix4(), DX.InvertAndCompose(DY).GetAsMatrix4())
        close(X @ positions.T, DX @ positions.T)
        close(X @ positions[0], DX @ positions[0])
        close(X.multiply([1, 2, 3, 0]), DX.multiply(np.array([1.0, 2, 3, 0])))
        close(X.GetMaximumAbsoluteDifference(Y), DX.GetMaximumAbsoluteDifference(DY))
        assert X.IsNearlyEqualTo(Y, 1.0) == DX.IsNearlyEqualTo(DY, 1.0)
    assert repr(ours.RigidTransform([1, 2, 3])) == repr(drake.RigidTransform([1, 2, 3]))
    assert repr(ours.RollPitchYaw(0.1, 0.2, 0.3)) == repr(drake.RollPitchYaw(0.1, 0.2, 0.3))


def test_quaternions():
    for a, b in itertools.pairwise(random_unit_quaternions()):
        q, r = ours.Quaternion(a), ours.Quaternion(b)
        dq, dr = drake_geometry.Quaternion(a), drake_geometry.Quaternion(b)
        close((q @ r).wxyz(), (dq @ dr).wxyz())
        close(q @ b[:3], dq @ b[:3])
        close(q.inverse().wxyz(), dq.inverse().wxyz())
        close(q.slerp(0.3, r).wxyz(), dq.slerp(0.3, dr).wxyz())
        close(ours.ClosestQuaternion(q, r).wxyz(), drake.ClosestQuaternion(dq, dr).wxyz())
        close(ours.QuaternionToCanonicalForm(q).wxyz(), drake.QuaternionToCanonicalForm(dq).wxyz())
        for name, vector in (
            ("CalculateQuaternionDtFromAngularVelocityExpressedInB", b[:3]),
            ("CalculateAngularVelocityExpressedInBFromQuaternionDt", b),
            ("CalculateQuaternionDtConstraintViolation", b),
        ):
            close(getattr(ours, name)(q, vector), getattr(drake, name)(dq, vector))
    assert repr(ours.Quaternion()) == str(drake_geometry.Quaternion())


def test_matrix_equations():
    rng = np.random.default_rng(4)
    A, B, C = rng.normal(size=(4, 4)), rng.normal(size=(4, 2)), rng.normal(size=(4, 4))
    Q, R, N = C @ C.T + np.eye(4), np.diag([1.0, 2.0]), 0.1 * rng.normal(size=(4, 2))
    for name, arguments in (
        ("ContinuousAlgebraicRiccatiEquation", (A, B, Q, R)),
        ("DiscreteAlgebraicRiccatiEquation", (A, B, Q, R)),
        ("DiscreteAlgebraicRiccatiEquation", (A, B, Q, R, N)),
        ("RealContinuousLyapunovEquation", (A - 4 * np.eye(4), Q)),
        ("RealDiscreteLyapunovEquation", (A / 8, Q)),
    ):
        expected = getattr(drake, name)(*arguments)
        # Solvers of different kinds: the conditioning of the equations allows this much.
        np.testing.assert_allclose(getattr(ours, name)(*arguments), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("value", [7.0, -0.5, 3.0, 2.999, -12.25])
def test_wrap_to(value):
    close(ours.wrap_to(value, 0.0, 3.0), drake.wrap_to(value, 0.0, 3.0))


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # raised inside pydrake's Expression
def test_symbolic_expressions_pass_through():
    symbolic = pytest.importorskip("pydrake.symbolic", reason="compares with pydrake")
    r, p, y, x = (symbolic.Variable(name) for name in "rpyx")
    X_AB = ours.RigidTransform(ours.RollPitchYaw(symbolic.Expression(r), p, y), [x, 0.0, 1.0])
    X_CB = X_AB.inverse() @ ours.RigidTransform(
        ours.RollPitchYaw(p, r, symbolic.Expression(y)).ToQuaternion(), [r, p, y]
    )
    values = {r: 0.1, p: 0.2, y: 0.3, x: 4.0}
    found = np.vectorize(lambda e: e.Evaluate(values) if isinstance(e, symbolic.Expression) else float(e))(
        X_CB.GetAsMatrix4()
    )
    expected = drake.RigidTransform(
        drake.RollPitchYaw(0.1, 0.2, 0.3), [4.0, 0.0, 1.0]
    ).inverse() @ drake.RigidTransform(drake.RollPitchYaw(0.2, 0.1, 0.3), [0.1, 0.2, 0.3])
    close(found, expected.GetAsMatrix4())


def test_random_rotations_of_equal_seeds():
    mine, theirs = RandomGenerator(5), DrakeRandomGenerator(5)
    for _ in range(5):
        close(
            ours.UniformlyRandomQuaternion(mine).wxyz(),
            drake.UniformlyRandomQuaternion(generator=theirs).wxyz(),
        )
        close(ours.UniformlyRandomAngleAxis(mine).rotation(), drake.UniformlyRandomAngleAxis(theirs).rotation())
        close(ours.UniformlyRandomRPY(mine), drake.UniformlyRandomRPY(theirs), 4 * ROUND_OFF)
        close(ours.UniformlyRandomRotationMatrix(mine).matrix(), drake.UniformlyRandomRotationMatrix(theirs).matrix())


def test_functions_of_arrays():
    rng = np.random.default_rng(9)
    A, B = rng.normal(size=(2, 4, 4))
    x = rng.normal(size=4).tolist()
    for name in ("SoftOverMax", "SoftUnderMax", "SoftOverMin", "SoftUnderMin"):
        close(getattr(ours, name)(x, alpha=3.0), getattr(drake, name)(x, alpha=3.0))
    close(ours.ToLowerTriangularColumnsFromMatrix(A), drake.ToLowerTriangularColumnsFromMatrix(A))
    triangle = rng.normal(size=6)
    close(
        ours.ToSymmetricMatrixFromLowerTriangularColumns(triangle),
        drake.ToSymmetricMatrixFromLowerTriangularColumns(triangle),
    )
    close(ours.ExtractPrincipalSubmatrix(A, {3, 1}), drake.ExtractPrincipalSubmatrix(A, {3, 1}))
    close(ours.inv(A), drake.inv(A), 1e-13)
    close(ours.matmul(A, B), drake.matmul(A, B))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        assert (getattr(ours, name)(A, B[:1]) == getattr(drake, name)(A, B[:1])).all()
    S, P = A @ A.T + np.eye(4), B + B.T
    T, U = ours.BalanceQuadraticForms(S, P), drake.BalanceQuadraticForms(S, P)
    close(np.abs(T), np.abs(U), 1e-12)  # columns up to their signs
    form = A[:2].T @ A[:2]
    arguments = form[:3, :3], form[:3, 3], form[3, 3] / 4.0
    squares = [np.hstack(m.DecomposePositiveQuadraticForm(*arguments, tol=1e-12)) for m in (ours, drake)]
    close(squares[0].T @ squares[0], squares[1].T @ squares[1], 1e-12)


@pytest.mark.parametrize("name", ["kForward", "kBackward", "kCentral"])
def test_numerical_gradients_take_the_same_steps(name):
    asked = []
    for m in (ours, drake):
        points = []
        option = m.NumericalGradientOption(getattr(m.NumericalGradientMethod, name), function_accuracy=1e-13)
        gradient = m.ComputeNumericalGradient(
            lambda x, points=points: points.append(x.copy()) or np.sin(x[:2]), np.array([3.0, -0.1, 0.0]), option
        )
        asked.append((np.array(points), gradient, option.perturbation_size()))
    close(asked[0][0], asked[1][0])
    close(asked[0][1], asked[1][1], 1e-9)
    close(asked[0][2], asked[1][2], 1e-18)


KNOTS = [0.0, 0.0, 0.1, 0.8, 1.5, 2.0, 2.0]


def test_spline_bases():
    for arguments in ((4, 6), (3, 5, "kUniform", 1.0, 3.0), (2, [0.0, 0.0, 0.5, 0.5, 2.0, 2.0])):
        bases = []
        for m in (ours, drake):
            bases.append(
                m.BsplineBasis(*(getattr(m.KnotVectorType, a) if isinstance(a, str) else a for a in arguments))
            )
        mine, theirs = bases
        close(mine.knots(), theirs.knots())
        for t in np.linspace(theirs.initial_parameter_value(), theirs.final_parameter_value(), 13):
            close(mine.EvaluateLinearInControlPoints(t), theirs.EvaluateLinearInControlPoints(t))
            assert mine.FindContainingInterval(t) == theirs.FindContainingInterval(t)
            assert mine.ComputeActiveBasisFunctionIndices(t) == theirs.ComputeActiveBasisFunctionIndices(t)


def test_spline_bases_with_derivatives_of_knots():
    found = []
    for m, scalar in ((ours, AutoDiffXd), (drake, DrakeAutoDiffXd)):
        knots = [scalar(t, np.eye(3)[i - 2] if 2 <= i < 5 else np.zeros(3)) for i, t in enumerate(KNOTS)]
        values = m.BsplineBasis_[scalar](3, knots).EvaluateLinearInControlPoints(scalar(0.9, np.zeros(3)))
        found.append([[v.value(), *v.derivatives()] for v in values])
    close(*found)


def test_barycentric_meshes():
    grid = [{0.0, 1.0, 2.0}, {3.0}, {-1.0, 0.5, 0.7, 2.0}]
    mine, theirs = ours.BarycentricMesh(grid), drake.BarycentricMesh(grid)
    close(mine.get_all_mesh_points(), theirs.get_all_mesh_points())
    points = np.random.default_rng(1).uniform([-0.5, 2.0, -1.5], [2.5, 4.0, 2.5], size=(40, 3)).tolist()
    for point in [*points, [1.0, 3.0, -1.0], [2.0, 3.0, 2.0], [0.5, 3.0, -0.25]]:
        (i, w), (j, v) = mine.EvalBarycentricWeights(point), theirs.EvalBarycentricWeights(point)
        assert i.tolist() == j.tolist()
        close(w, v)
