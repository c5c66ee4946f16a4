"""Blocks of trajectories, expressions and meshes: what they refuse, and what they do beyond the laws for all blocks."""

import numpy as np
import pytest

from merganser.framework.math import BarycentricMesh, BsplineBasis
from merganser.framework.primitives import (
    AffineSystem,
    BarycentricMeshSystem,
    TrajectoryAffineSystem,
    TrajectoryLinearSystem,
    TrajectorySource,
)
from merganser.framework.trajectories import (
    BezierCurve,
    BsplineTrajectory,
    DiscreteTimeTrajectory,
    PiecewisePolynomial,
)


def constant(*shape):
    return PiecewisePolynomial(np.ones(shape))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: TrajectorySource([1.0]), TypeError, "takes a Trajectory, got list"),
        (lambda: TrajectorySource(constant(2, 2)), ValueError, "takes a trajectory of one column, got one of 2"),
        (lambda: TrajectorySource(constant(2, 1), -1), ValueError, "output_derivative_order"),
        (
            lambda: TrajectorySource(DiscreteTimeTrajectory([0.0], [[1.0]]), 1),
            RuntimeError,
            "is to give 1 derivatives, but a DiscreteTimeTrajectory has none",
        ),
        (
            lambda: TrajectoryLinearSystem(constant(2, 2), constant(3, 1), constant(1, 2), constant(1, 1)),
            ValueError,
            r"TrajectoryLinearSystem: B must have shape \(2, 1\), got \(3, 1\)",
        ),
        (
            lambda: TrajectoryAffineSystem(*[constant(1, 1)] * 5, np.ones((1, 1))),
            TypeError,
            "y0 must be a Trajectory, got ndarray",
        ),
        (lambda: TrajectoryLinearSystem(*[constant(1, 1)] * 4, time_period=-1.0), ValueError, "time_period"),
        (lambda: BarycentricMeshSystem(BarycentricMesh([{0, 1}]), np.eye(3)), ValueError, "matrix of 2 columns"),
        (lambda: BarycentricMeshSystem([0, 1], np.eye(2)), TypeError, "expected a BarycentricMesh, got list"),
    ],
)
def test_arguments_without_sense_are_refused(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    "curve", [BezierCurve(0.0, 1.0, np.eye(2)), BsplineTrajectory(BsplineBasis(3, 4), np.arange(8.0).reshape(2, 4))]
)
def test_curves_are_sources_too(curve):
    system = TrajectorySource(curve, 1)
    context = system.CreateDefaultContext()
    for time in (-0.5, 0.3, 1.5):
        context.SetTime(time)
        slope = curve.EvalDerivative(time) if 0.0 <= time <= 1.0 else np.zeros((2, 1))
        expected = np.concatenate([curve.value(time), slope])[:, 0]
        np.testing.assert_array_equal(system.get_output_port().Eval(context), expected)


def test_time_varying_system_with_constant_coefficients_is_an_affine_system():
    rng = np.random.default_rng(3)
    matrices = [rng.normal(size=shape) for shape in ((2, 2), (2, 1), (2, 1), (3, 2), (3, 1), (3, 1))]
    for period in (0.0, 0.1):
        varying = TrajectoryAffineSystem(*map(PiecewisePolynomial, matrices), period)
        fixed = AffineSystem(*matrices, period)
        results = []
        for system in (varying, fixed):
            system.configure_default_state([1.0, 2.0])
            context = system.CreateDefaultContext()
            system.get_input_port().FixValue(context, [0.5])
            dynamics = (
                system.EvalUniquePeriodicDiscreteUpdate(context).value()
                if period
                else system.EvalTimeDerivatives(context).CopyToVector()
            )
            results.append([*dynamics, *system.get_output_port().Eval(context)])
        np.testing.assert_allclose(*results, rtol=1e-15)
        assert varying.time_period() == period


def test_mesh_is_not_converted_and_gives_its_values_at_the_points():
    mesh = BarycentricMesh([{0.0, 1.0}, {0.0, 2.0, 3.0}])
    system = BarycentricMeshSystem(mesh, mesh.MeshValuesFrom(lambda p: [p[0] * p[1]]))
    context = system.CreateDefaultContext()
    for point in mesh.get_all_mesh_points().T:
        system.get_input_port().FixValue(context, point)
        assert system.get_output_port().Eval(context).tolist() == [point[0] * point[1]]
    assert system.get_mesh() is mesh and system.get_output_values().shape == (1, 6)


def test_expressions_must_be_of_named_variables():
    symbolic = pytest.importorskip("merganser.framework.symbolic", reason="needs the extra", exc_type=ImportError)
    from merganser.framework.primitives import SymbolicVectorSystem

    t, x, u, p = (symbolic.Variable(name) for name in "txup")
    for arguments, error, words in (
        ({"state": [x], "dynamics": [-x + u]}, ValueError, "has the variable u, which is not the time"),
        ({"state": [x]}, ValueError, "one expression in dynamics for each state variable; got 0 and 1"),
        ({"state": [x], "input": [x], "dynamics": [x]}, ValueError, "a variable occurs twice"),
        ({"state": [1.0], "dynamics": [x]}, TypeError, "state takes Variables"),
    ):
        with pytest.raises(error, match=words):
            SymbolicVectorSystem(**arguments)
    system = SymbolicVectorSystem(t, [x], [u], [p], [p * x + u], [p * t], 0.0)
    context = system.CreateDefaultContext()
    context.get_mutable_numeric_parameter(0)[0] = 3.0
    context.SetTime(2.0)
    context.SetContinuousState([5.0])
    assert system.get_output_port().Eval(context).tolist() == [6.0] and not system.HasAnyDirectFeedthrough()
    with pytest.raises(RuntimeError, match="Input port 'u0'"):
        system.EvalTimeDerivatives(context)
    assert system.dynamics_for_variable(x).EqualTo(p * x + u)
    with pytest.raises(IndexError, match="no dynamics for the variable u"):
        system.dynamics_for_variable(u)
