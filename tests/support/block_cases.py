"""Expected results of each block for given inputs and state, in plain numpy: one entry each."""

from __future__ import annotations

import importlib.util
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.interpolate
import scipy.sparse
from block_case import Case
from piecewise_cases import piecewise_cases

from merganser import framework
from merganser.framework import math, primitives, trajectories

Array = np.ndarray[Any, Any]
_random = np.random.default_rng(7)
A, B, C, D = (_random.normal(size=shape) for shape in ((3, 3), (3, 2), (4, 3), (4, 2)))
f0, y0 = _random.normal(size=3), _random.normal(size=4)
WEIGHTS = _random.normal(size=14)
KNOTS = [0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 2.0]
PLANE = np.array([[1.0 + 2.0 * p - q, p] for q in (-9.0, 0.0, 9.0) for p in (-9.0, 9.0)]).T

OFFSETS = np.array([0.3, -0.4])
TICKS = np.array([100.0, 7.0]) / (2.0 * np.pi)


def source(value):
    return {}, {"y0": len(value)}, [], lambda u, x: [value]


def affine(make, has_offsets, **more):
    f, y = (f0, y0) if has_offsets else (0.0, 0.0)
    rule = {more.pop("rule"): lambda u, x: A @ x + B @ u[0] + f}
    return Case(make, {"u0": 2}, {"y0": 4}, [(0, 0)], lambda u, x: [C @ x + D @ u[0] + y], **rule, **more)


def beams(u, x):
    def measure(depth, event, hit, short, uniform):
        seen = depth + 0.3 * hit
        kinds = [(0.4, 3.0 * uniform), (0.7, 3.0), (0.9, min(short / 2.0, seen, key=np.real))]
        d = next((value for limit, value in kinds if event.real <= limit), seen)
        return 0.0 if np.real(d) < 0.0 else 3.0 if np.real(d) > 3.0 else d

    return [np.array([measure(*beam) for beam in zip(*u)])]


def sine_of(u, x):
    a, f, p = np.array([[2.0, -1.0], [0.5, 3.0], [0.1, -2.0]])
    angle = f * u[0] + p
    return [a * np.sin(angle), a * f * np.cos(angle), -a * f**2 * np.sin(angle)]


def saturated(u, x, low=(-0.3, -0.5), high=(0.4, 0.2)):
    limits = zip(u[0], np.asarray(low), np.asarray(high))
    return [np.array([a if v.real < a.real else b if v.real > b.real else v for v, a, b in limits])]


def wrapping(b):
    system = b.WrapToSystem(2)
    system.set_interval(1, -0.1, 0.2)
    return system


def selecting(b):
    from_last = b.SelectorParams.OutputSelection(input_port_index=1, input_offset=2)
    from_first = b.SelectorParams.OutputSelection(input_port_index=0, input_offset=0)
    inputs = [b.SelectorParams.InputPortParams(name="few", size=1), b.SelectorParams.InputPortParams(size=3)]
    outputs = [
        b.SelectorParams.OutputPortParams(selections=[from_last, from_first, from_last]),
        b.SelectorParams.OutputPortParams(name="one", selections=[from_last]),
        b.SelectorParams.OutputPortParams(),
    ]
    return b.Selector(b.SelectorParams(inputs=inputs, outputs=outputs))


def along(b, *values):
    """Trajectories that have the given values at 0.75."""
    columns = [np.atleast_2d(value.T).T for value in values]
    return [b.PiecewisePolynomial.FirstOrderHold([0.0, 0.5, 1.0], [-M, 0.0 * M, 2.0 * M]) for M in columns]


def machine(b):
    """Passes its input on in the first of two states, and is constant in the second."""
    made = b.StateMachine("machine", inputs={"u": 2}, outputs={"y": 2})
    made.AddState("a", initial=True, outputs={"y": "u"})
    made.AddState("b", outputs={"y": [3.0, 4.0]})
    made.AddTransition("a", "b", when=b.Guard.at_least("u[0]", 1e3))
    made.Finalize()
    return made


def in_a_state(u, x):
    """A state of that machine: one of its states is active, and it has started."""
    x = np.array(x)
    x[:2] = [1.0, 0.0] if x[0].real > 0.0 else [0.0, 1.0]
    return u, x


def segments(b):
    """A parabola, then a line from 2 upwards."""
    line = b.PiecewisePolynomial.FirstOrderHold([1.0, 2.0], [[2.0, 3.0]])
    return [b.BezierCurve(0.0, 1.0, np.array([[0.0, 0.0, 2.0]])), line]


def spline(points, t):
    """Value and slope of a spline of order 3, by scipy."""
    curve = scipy.interpolate.BSpline(KNOTS, points, 2)
    return [curve(t), curve.derivative()(t)]


def transformed(u, x):
    w, A, b = u[0], u[1].reshape(2, 2).T, u[2]
    return [A @ w + b, [np.exp(-0.5 * w @ w) / (2.0 * np.pi) / abs(np.linalg.det(A))]]


def rectified(u, x):
    inside = WEIGHTS[:6].reshape(3, 2).T @ np.array([np.sin(u[0][0]), np.cos(u[0][0]), u[0][1]]) + WEIGHTS[6:8]
    return [WEIGHTS[8:12].reshape(2, 2).T @ (inside * (inside.real > 0.0)) + WEIGHTS[12:14]]


def symbolic_cases():
    """Blocks of expressions, where these are installed."""

    def make(b, **more):
        t, x, u = b.Variable("t"), b.Variable("x"), b.Variable("u")
        rate = -x * x * x + u * t
        return b.SymbolicVectorSystem(t, [x], [u], [rate], [b.sin(x) + t, 2.0 * u], **more)

    def law(u, x):
        return -(x**3) + 0.7 * u[0]

    ports = {"u0": 1}, {"y0": 2}, [(0, 0)], lambda u, x: [[np.sin(x[0]) + 0.7, 2.0 * u[0][0]]]
    common = {"defaults": [0.0], "time": 0.7, "is_complex": False}
    return {
        "SymbolicVectorSystem": Case(make, *ports, num_continuous=1, derivatives=law, **common),
        "SymbolicVectorSystem in discrete time": Case(
            lambda b: make(b, time_period=0.1), *ports, num_discrete=1, update=law, **common
        ),
    }


CASES = {
    "StateMachine": Case(
        machine, {"u": 2}, {"active": 2, "y": 2}, [(0, 1)],
        lambda u, x: [x[:2], u[0] if x[0].real > 0.5 else 0.0 * u[0] + [3.0, 4.0]],
        num_discrete=9, admissible=in_a_state,
    ),
    "ConstantVectorSource": Case(lambda b: b.ConstantVectorSource([1.0, -2.0]), *source([1.0, -2.0])),
    "ConstantVectorSource of a BasicVector": Case(
        lambda b: b.ConstantVectorSource(b.BasicVector([3.0])), *source([3.0])
    ),
    "Gain by one factor": Case(lambda b: b.Gain(-2.0, 3), {"u0": 3}, {"y0": 3}, [(0, 0)], lambda u, x: [-2.0 * u[0]]),
    "Gain by a vector": Case(
        lambda b: b.Gain(k=[1.0, 10.0]),
        {"u0": 2},
        {"y0": 2},
        [(0, 0)],
        lambda u, x: [np.array([1.0, 10.0]) * u[0]],
    ),
    "Adder": Case(
        lambda b: b.Adder(3, 2),
        {"u0": 2, "u1": 2, "u2": 2},
        {"sum": 2},
        [(0, 0), (1, 0), (2, 0)],
        lambda u, x: [sum(u)],
    ),
    "Integrator": Case(
        lambda b: b.Integrator(2),
        {"u0": 2},
        {"y0": 2},
        [],
        lambda u, x: [x],
        num_continuous=2,
        derivatives=lambda u, x: u[0],
        defaults=[0.0, 0.0],
    ),
    "Integrator with a start": Case(
        lambda b: b.Integrator([1.0, 2.0]),
        {"u0": 2},
        {"y0": 2},
        [],
        lambda u, x: [x],
        num_continuous=2,
        derivatives=lambda u, x: u[0],
        defaults=[1.0, 2.0],
    ),
    "PassThrough": Case(lambda b: b.PassThrough(2), {"u": 2}, {"y": 2}, [(0, 0)], lambda u, x: u),
    "PassThrough with a default": Case(
        lambda b: b.PassThrough(value=[1.0, 2.0]), {"u": 2}, {"y": 2}, [(0, 0)], lambda u, x: u
    ),
    "ZeroOrderHold": Case(
        lambda b: b.ZeroOrderHold(0.1, 2),
        {"u": 2},
        {"y": 2},
        [],
        lambda u, x: [x],
        num_discrete=2,
        defaults=[0.0, 0.0],
    ),
    "Multiplexer of numbers": Case(
        lambda b: b.Multiplexer(2),
        {"u0": 1, "u1": 1},
        {"y0": 2},
        [(0, 0), (1, 0)],
        lambda u, x: [np.concatenate(u)],
    ),
    "Multiplexer of vectors": Case(
        lambda b: b.Multiplexer(input_sizes=[2, 0, 3]),
        {"u0": 2, "u1": 0, "u2": 3},
        {"y0": 5},
        [(0, 0), (1, 0), (2, 0)],
        lambda u, x: [np.concatenate(u)],
    ),
    "Demultiplexer into equal parts": Case(
        lambda b: b.Demultiplexer(4, 2),
        {"u0": 4},
        {"y0": 2, "y1": 2},
        [(0, 0), (0, 1)],
        lambda u, x: [u[0][:2], u[0][2:]],
    ),
    "Demultiplexer into given parts": Case(
        lambda b: b.Demultiplexer([1, 3]),
        {"u0": 4},
        {"y0": 1, "y1": 3},
        [(0, 0), (0, 1)],
        lambda u, x: [u[0][:1], u[0][1:]],
    ),
    "AffineSystem": affine(
        lambda b: b.AffineSystem(A, B, f0, C, D, y0),
        True,
        rule="derivatives",
        num_continuous=3,
        defaults=[0.0] * 3,
    ),
    "AffineSystem in discrete time": affine(
        lambda b: b.AffineSystem(A, B, f0, C, D, y0, time_period=0.1),
        True,
        rule="update",
        num_discrete=3,
        defaults=[0.0] * 3,
    ),
    "LinearSystem": affine(
        lambda b: b.LinearSystem(A, B, C, D), False, rule="derivatives", num_continuous=3, defaults=[0.0] * 3
    ),
    "LinearSystem in discrete time": affine(
        lambda b: b.LinearSystem(A, B, C, D, 0.1), False, rule="update", num_discrete=3, defaults=[0.0] * 3
    ),
    "AffineSystem without D": Case(
        lambda b: b.AffineSystem(A=A, B=B, C=C, D=0.0 * D),
        {"u0": 2},
        {"y0": 4},
        [],
        lambda u, x: [C @ x],
        num_continuous=3,
        derivatives=lambda u, x: A @ x + B @ u[0],
        defaults=[0.0] * 3,
    ),
    "AffineSystem without state": Case(
        lambda b: b.AffineSystem(D=D, y0=y0), {"u0": 2}, {"y0": 4}, [(0, 0)], lambda u, x: [D @ u[0] + y0]
    ),
    "AffineSystem without input": Case(
        lambda b: b.AffineSystem(A=A, f0=f0, C=C),
        {},
        {"y0": 4},
        [],
        lambda u, x: [C @ x],
        num_continuous=3,
        derivatives=lambda u, x: A @ x + f0,
        defaults=[0.0] * 3,
    ),
    "TransferFunction": Case(
        lambda b: b.TransferFunction([1.0, 2.0, 3.0], [2.0, 6.0, 8.0]),  # 1/2 + (-s/2 - 1/2) / (s^2 + 3 s + 4)
        {"u0": 1},
        {"y0": 1},
        [(0, 0)],
        lambda u, x: [-0.5 * x[:1] - 0.5 * x[1:] + 0.5 * u[0]],
        num_continuous=2,
        derivatives=lambda u, x: np.array([-3.0 * x[0] - 4.0 * x[1] + u[0][0], x[0]]),
        defaults=[0.0, 0.0],
    ),
    "ZeroPole in discrete time": Case(
        lambda b: b.ZeroPole([], [0.5], 3.0, time_period=0.1),
        {"u0": 1},
        {"y0": 1},
        [],
        lambda u, x: [3.0 * x],
        num_discrete=1,
        update=lambda u, x: 0.5 * x + u[0],
        defaults=[0.0],
    ),
    "SignalFilter": Case(
        lambda b: b.SignalFilter(1, 2.0, size=2),
        {"u0": 2},
        {"y0": 2},
        [],
        lambda u, x: [2.0 * x],
        num_continuous=2,
        derivatives=lambda u, x: u[0] - 2.0 * x,
        defaults=[0.0, 0.0],
    ),
    "StateSpace": affine(
        lambda b: b.StateSpace(SimpleNamespace(A=A, B=B, C=C, D=D, dt=0.1)),
        False,
        rule="update",
        num_discrete=3,
        defaults=[0.0] * 3,
    ),
    "MatrixGain": Case(lambda b: b.MatrixGain(D), {"u0": 2}, {"y0": 4}, [(0, 0)], lambda u, x: [D @ u[0]]),
    "SparseMatrixGain": Case(
        lambda b: b.SparseMatrixGain(scipy.sparse.csc_matrix(D)),
        {"u": 2},
        {"y": 4},
        [(0, 0)],
        lambda u, x: [D @ u[0]],
    ),
    "Sine of an input": Case(
        lambda b: b.Sine([2.0, -1.0], [0.5, 3.0], [0.1, -2.0], is_time_based=False),
        {"u0": 2},
        {"y0": 2, "y1": 2, "y2": 2},
        [(0, 0), (0, 1), (0, 2)],
        sine_of,
    ),
    "Sine of time": Case(
        lambda b: b.Sine(amplitude=2.0, frequency=3.0, phase=0.5, size=2),
        {},
        {"y0": 2, "y1": 2, "y2": 2},
        [],
        lambda u, x: [[2 * np.sin(0.5)] * 2, [6 * np.cos(0.5)] * 2, [-18 * np.sin(0.5)] * 2],
    ),
    "Saturation": Case(lambda b: b.Saturation([-0.3, -0.5], [0.4, 0.2]), {"u0": 2}, {"y0": 2}, [(0, 0)], saturated),
    "Saturation by limits that are inputs": Case(
        lambda b: b.Saturation(input_size=2),
        {"u0": 2, "u1": 2, "u2": 2},
        {"y0": 2},
        [(0, 0), (1, 0), (2, 0)],
        lambda u, x: saturated(u, x, u[2], u[1]),
        admissible=lambda u, x: ([u[0], u[2] + np.exp(u[1].real), u[2]], x),
    ),
    "WrapToSystem": Case(
        wrapping,
        {"u0": 2},
        {"y0": 2},
        [(0, 0)],
        lambda u, x: [u[0] - np.array([0.0, 0.3 * np.floor((u[0][1].real + 0.1) / 0.3)])],
    ),
    "RotaryEncoders": Case(
        lambda b: b.RotaryEncoders(3, [2, 0], [100, 7]),
        {"u0": 3},
        {"y0": 2},
        [(0, 0)],
        lambda u, x: [np.floor(((u[0][[2, 0]] - OFFSETS) * TICKS).real) / TICKS],
        parameters=OFFSETS,
    ),
    "RotaryEncoders without ticks": Case(
        lambda b: b.RotaryEncoders(3, [2, 0]),
        {"u0": 3},
        {"y0": 2},
        [(0, 0)],
        lambda u, x: [u[0][[2, 0]] - OFFSETS],
        parameters=OFFSETS,
    ),
    "BeamModel": Case(
        lambda b: b.BeamModel(2, 3.0),
        {"depth": 2, "event": 2, "hit": 2, "short": 2, "uniform": 2},
        {"depth": 2},
        [(i, 0) for i in range(5)],
        beams,
        parameters=np.array([2.0, 0.3, 0.2, 0.3, 0.4]),
    ),
    "Selector": Case(
        selecting,
        {"few": 1, "u1": 3},
        {"y0": 3, "one": 1, "y2": 0},
        [(0, 0), (1, 0), (1, 1)],
        lambda u, x: [[u[1][2], u[0][0], u[1][2]], [u[1][2]], []],
    ),
    "FirstOrderLowPassFilter": Case(
        lambda b: b.FirstOrderLowPassFilter([0.5, 2.0]),
        {"u0": 2},
        {"y0": 2},
        [],
        lambda u, x: [x],
        num_continuous=2,
        derivatives=lambda u, x: (u[0] - x) / np.array([0.5, 2.0]),
        defaults=[0.0, 0.0],
    ),
    "DiscreteTimeIntegrator": Case(
        lambda b: b.DiscreteTimeIntegrator(2, 0.1),
        {"u": 2},
        {"y": 2},
        [],
        lambda u, x: [x],
        num_discrete=2,
        periodic=lambda u, x: x + 0.1 * u[0],
        defaults=[0.0, 0.0],
    ),
    "DiscreteTimeDelay": Case(
        lambda b: b.DiscreteTimeDelay(0.1, 2, 2),
        {"u": 2},
        {"delayed_u": 2},
        [],
        lambda u, x: [x[:2]],
        num_discrete=6,
        periodic=lambda u, x: np.concatenate([x[2:], u[0]]),
        defaults=[0.0] * 6,
    ),
    "DiscreteTimeDelay by no step": Case(
        lambda b: b.DiscreteTimeDelay(0.1, 0, 2),
        {"u": 2},
        {"delayed_u": 2},
        [],
        lambda u, x: [x],
        num_discrete=2,
        periodic=lambda u, x: u[0],
        defaults=[0.0] * 2,
    ),
    "DiscreteDerivative": Case(
        lambda b: b.DiscreteDerivative(2, 0.1, False),
        {"u": 2},
        {"dudt": 2},
        [],
        lambda u, x: [(x[:2] - x[2:]) / 0.1],
        num_discrete=4,
        update=lambda u, x: np.concatenate([u[0], x[:2]]),
        periodic=lambda u, x: np.concatenate([u[0], x[:2]]),
    ),
    "DiscreteDerivative that starts at rest": Case(
        lambda b: b.DiscreteDerivative(2, 0.1),
        {"u": 2},
        {"dudt": 2},
        [],
        lambda u, x: [(x[:2] - x[2:4]) / 0.1 * (x[4].real >= 2.0)],
        num_discrete=5,
        update=lambda u, x: np.concatenate([u[0], x[:2], [x[4] + 1.0]]),
        periodic=lambda u, x: np.concatenate([u[0], x[:2], [x[4] + 1.0]]),
        is_complex=False,
        without=("Expression",),
    ),
    "TrajectorySource": Case(
        lambda b: b.TrajectorySource(b.PiecewisePolynomial([b.Polynomial([1.0, 2.0, 3.0])], [0.5, 2.0]), 2),
        {},
        {"y0": 3},
        [],
        lambda u, x: [[1.0 + 2.0 * 0.2 + 3.0 * 0.04, 2.0 + 6.0 * 0.2, 6.0]],
        time=0.7,
    ),
    "TrajectorySource beyond the end": Case(
        lambda b: b.TrajectorySource(b.PiecewisePolynomial([b.Polynomial([1.0, 2.0])], [0.5, 2.0]), 1),
        {},
        {"y0": 2},
        [],
        lambda u, x: [[4.0, 0.0]],
        time=2.5,
    ),
    "TrajectorySource of several segments": Case(
        lambda b: b.TrajectorySource(b.PiecewisePolynomial.FirstOrderHold([0, 1, 3], [[0, 1, 9], [5, 5, 5]])),
        {},
        {"y0": 2},
        [],
        lambda u, x: [[3.0, 5.0]],
        time=1.5,
    ),
    "TrajectorySource of a B-spline": Case(
        lambda b: b.TrajectorySource(b.BsplineTrajectory(b.BsplineBasis(3, KNOTS), [[1.0, 3.0, 2.0, 5.0]]), 1),
        {},
        {"y0": 2},
        [],
        lambda u, x: [spline([1.0, 3.0, 2.0, 5.0], 1.3)],
        time=1.3,
    ),
    "TrajectorySource of a Bezier curve": Case(
        lambda b: b.TrajectorySource(b.BezierCurve(1.0, 3.0, np.array([[1.0, 0.0, 4.0]])), 2),
        {},
        {"y0": 3},
        [],
        lambda u, x: [[0.7**2 + 4.0 * 0.3**2, -0.7 + 4.0 * 0.3, 0.5 + 2.0]],
        time=1.6,
    ),
    "TrajectorySource of a composition": Case(
        lambda b: b.TrajectorySource(b.CompositeTrajectory(segments(b)), 1),
        {},
        {"y0": 2},
        [],
        lambda u, x: [[2.5, 1.0]],
        time=1.5,
    ),
    "TrajectoryAffineSystem": affine(
        lambda b: b.TrajectoryAffineSystem(*along(b, A, B, f0, C, D, y0)),
        True,
        rule="derivatives",
        num_continuous=3,
        defaults=[0.0] * 3,
        time=0.75,
    ),
    "TrajectoryAffineSystem in discrete time": affine(
        lambda b: b.TrajectoryAffineSystem(*along(b, A, B, f0, C, D, y0), time_period=0.1),
        True,
        rule="update",
        num_discrete=3,
        defaults=[0.0] * 3,
        time=0.75,
    ),
    "TrajectoryLinearSystem": affine(
        lambda b: b.TrajectoryLinearSystem(*along(b, A, B, C, D)),
        False,
        rule="derivatives",
        num_continuous=3,
        defaults=[0.0] * 3,
        time=0.75,
    ),
    "BarycentricMeshSystem": Case(
        lambda b: b.BarycentricMeshSystem(b.BarycentricMesh([{-9.0, 9.0}, {-9.0, 0.0, 9.0}]), PLANE),
        {"u0": 2},
        {"y0": 2},
        [(0, 0)],
        lambda u, x: [[1.0 + 2.0 * u[0][0] - u[0][1], u[0][0]]],
        without=("AutoDiffXd", "Expression"),
    ),
    "LinearTransformDensity": Case(
        lambda b: b.LinearTransformDensity(b.RandomDistribution.kGaussian, 2, 2),
        {"w_in": 2, "A": 4, "b": 2},
        {"w_out": 2, "w_out_density": 1},
        [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)],
        transformed,
        is_complex=False,
        without=("Expression",),
    ),
    "RandomSource": Case(
        lambda b: b.RandomSource(b.RandomDistribution.kGaussian, 2, 0.1),
        {},
        {"output": 2},
        [],
        lambda u, x: [x],
        num_discrete=2,
    ),
    "MultilayerPerceptron": Case(
        lambda b: b.MultilayerPerceptron([2, 3, 1]),
        {"x": 2},
        {"y": 1},
        [(0, 0)],
        lambda u, x: [WEIGHTS[9:12] @ np.tanh(WEIGHTS[:6].reshape(2, 3).T @ u[0] + WEIGHTS[6:9]) + WEIGHTS[12]],
        parameters=WEIGHTS[:13],
    ),
    "MultilayerPerceptron of an angle": Case(
        lambda b: b.MultilayerPerceptron(
            [True, False], [2, 2], [b.PerceptronActivationType.kReLU, b.PerceptronActivationType.kIdentity]
        ),
        {"x": 2},
        {"y": 2},
        [(0, 0)],
        rectified,
        parameters=WEIGHTS[:14],
    ),
    "VectorLogSink": Case(lambda b: b.VectorLogSink(3), {"data": 3}, {}, [], lambda u, x: []),
}
HAS_SYMBOLS = importlib.util.find_spec("sympy") is not None
CASES |= piecewise_cases()

if HAS_SYMBOLS:
    CASES |= symbolic_cases()


def names_of(*modules: Any) -> SimpleNamespace:
    """All public names of some modules; the first one that has a name counts."""
    pairs = [(name, getattr(module, name)) for module in reversed(modules) for name in dir(module) if name[0] != "_"]
    return SimpleNamespace(**dict(pairs))


def _blocks() -> SimpleNamespace:
    modules = [primitives, trajectories, math, framework]
    if HAS_SYMBOLS:
        modules.insert(2, importlib.import_module("merganser.framework.symbolic"))
    return names_of(*modules)


BLOCKS = _blocks()


def numbers(rng: np.random.Generator, size: int, dtype: Any) -> Array:
    """Random numbers, shape [size]."""
    values = rng.normal(size=size)
    return values + 1j * rng.normal(size=size) if dtype is np.complex128 else values


def split(context: Any, x: Any) -> list[Any]:
    """The elements of each group of discrete state in a vector of all of them."""
    sizes = [context.get_discrete_state(i).size() for i in range(context.num_discrete_state_groups())]
    return np.split(np.asarray(x), np.cumsum(sizes, dtype=int)[:-1]) if sizes else []
