"""Linear quadratic regulators over a finite time, about a trajectory.

About a nominal trajectory x0(t), u0(t), with e = x - x0 and w = u - u0, the dynamics are to first order

    de/dt = A(t) e + B(t) w + c(t),     c = f(t, x0, u0) - dx0/dt,                             (1)

and the cost, with d = xd - x0 and h = ud - u0, is the integral of

    e'Q e + 2 e'N w + w'R w + 2 e'q + 2 w'r + g,                                               (2)
    q = -Q d - N h,     r = -R h - N'd,     g = d'Q d + 2 d'N h + h'R h,                       (3)

plus (e - d)'Qf (e - d) at the end. The cost-to-go e'S e + 2 e'sx + s0 fulfils the Hamilton-Jacobi-Bellman equation,

    -dS/dt  = Q + A'S + S A - (S B + N) K,        K  = R^-1 (B'S + N'),                        (4)
    -dsx/dt = q + A'sx + S c - (S B + N) k0,      k0 = R^-1 (B'sx + r),                        (5)
    -ds0/dt = g + 2 sx'c - (B'sx + r)'k0,                                                      (6)

and the best input is w = -K e - k0 (Anderson and Moore 1990, chapters 2 and 4; Tedrake, "Underactuated Robotics",
chapter 8). The square-root method solves for P with S = P P' instead,

    -dP/dt = A'P + (Q - (S B + N) K) P^-T / 2,                                                 (7)

so that S keeps its sign. In discrete time, with S, sx, s0 after the step and H = R + B'S B,

    K = H^-1 (N' + B'S A),      k0 = H^-1 (r + B'(S c + sx)),                                  (8)
    S_before  = Q + A'S A - K'H K,
    sx_before = q + A'(S c + sx) - K'H k0,
    s0_before = g + s0 + c'S c + 2 c'sx - k0'H k0.                                             (9)
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.analysis.controllers.linear_quadratic_regulator import checked_problem, require_definite
from merganser.analysis.simulation.simulator import Simulator
from merganser.analysis.simulation.simulator_config import ApplySimulatorConfig, SimulatorConfig
from merganser.analysis.system_dynamics import (
    SystemDynamics,
    detached_context,
    selected_input_port,
    set_state_values,
    state_values,
)
from merganser.framework import Context, InputPortSelection, LeafSystem, OutputPortSelection, System
from merganser.framework import SystemScalarConverter as Converter
from merganser.framework.common.records import settings
from merganser.framework.primitives import AffineSystem, FirstOrderTaylorApproximation
from merganser.framework.trajectories import DiscreteTimeTrajectory, PiecewisePolynomial, Trajectory

Array = NDArray[Any]
_LQR = "FiniteHorizonLinearQuadraticRegulator"
_TIME_TOLERANCE = 1e-9  # of t0 and tf against the sample times of a discrete-time system, in periods
_SAME = 1e-6  # derivatives that are found in two ways


@settings
@dataclasses.dataclass(eq=False)
class FiniteHorizonLinearQuadraticRegulatorOptions:
    """Optional parts of a finite-horizon problem.

    Attributes:
        Qf: cost of the final state, shape [n, n]; zero if None.
        N: running cost of state times input, shape [n, m]; zero if None.
        input_port_index: the input port that the regulator acts on.
        use_square_root_method: whether to integrate a factor of S; takes a positive definite Qf.
        simulator_config: how to integrate the differential Riccati equation.
        x0: nominal state, over all of [t0, tf]; None for the state in the context.
        u0: nominal input; None for the input in the context.
        xd: desired state; None for x0.
        ud: desired input; None for u0.
    """

    Qf: Array | None = None
    N: Array | None = None
    input_port_index: Any = InputPortSelection.kUseFirstInputIfItExists
    use_square_root_method: bool = False
    simulator_config: SimulatorConfig = dataclasses.field(default_factory=SimulatorConfig)
    x0: Trajectory | None = None
    u0: Trajectory | None = None
    xd: Trajectory | None = None
    ud: Trajectory | None = None


@settings
@dataclasses.dataclass(frozen=True, eq=False)
class FiniteHorizonLinearQuadraticRegulatorResult:
    """The regulator u = u0 - K (x - x0) - k0 and the cost-to-go e'S e + 2 e'sx + s0 with e = x - x0.

    Trajectories are continuous, or have values at the sample times only, as the system.

    Attributes:
        x0: nominal state, shape [n, 1].
        u0: nominal input, shape [m, 1].
        K: feedback gain, shape [m, n].
        S: shape [n, n].
        k0: feedforward, shape [m, 1].
        sx: shape [n, 1]; note the factor of 2 above.
        s0: shape [1, 1].
    """

    x0: Trajectory
    u0: Trajectory
    K: Trajectory
    S: Trajectory
    k0: Trajectory
    sx: Trajectory
    s0: Trajectory


def FiniteHorizonLinearQuadraticRegulator(
    system: System,
    context: Context,
    t0: float,
    tf: float,
    Q: ArrayLike,
    R: ArrayLike,
    options: FiniteHorizonLinearQuadraticRegulatorOptions | None = None,
) -> FiniteHorizonLinearQuadraticRegulatorResult:
    """Computes the linear feedback that minimizes a quadratic cost from t0 to tf; see the equations of this module.

    The system is linearized along the nominal trajectory, which need not be one of its solutions. A system with
    discrete state gets the discrete-time regulator.

    Args:
        system: with continuous state only, or with discrete state only, updated with one period.
        context: parameters, and the nominal state and input where `options` has no trajectories.
        t0: initial time [s].
        tf: final time, later than t0 [s]. In discrete time both must be sample times.
        Q: cost of the state, positive semidefinite, shape [n, n].
        R: cost of the input, positive definite, shape [m, m].
        options: see FiniteHorizonLinearQuadraticRegulatorOptions.

    Raises:
        ValueError: sizes do not match, t0 and tf are no interval, or are no sample times.
        RuntimeError: a cost matrix does not have the sign it needs, or the system cannot be linearized.
    """
    problem = _Problem(system, context, t0, tf, Q, R, options or FiniteHorizonLinearQuadraticRegulatorOptions())
    return _discrete_result(problem) if problem.period > 0.0 else _continuous_result(problem)


def MakeFiniteHorizonLinearQuadraticRegulator(
    system: System,
    context: Context,
    t0: float,
    tf: float,
    Q: ArrayLike,
    R: ArrayLike,
    options: FiniteHorizonLinearQuadraticRegulatorOptions | None = None,
) -> System:
    """Returns the regulator as a System with input port 'plant_state' and output port 'command'.

    The arguments are those of `FiniteHorizonLinearQuadraticRegulator`. In discrete time the command has values at the
    sample times only; put a ZeroOrderHold behind it.
    """
    return _Regulator(FiniteHorizonLinearQuadraticRegulator(system, context, t0, tf, Q, R, options))


class _Regulator(LeafSystem):
    """u = u0(t) - K(t) (x - x0(t)) - k0(t)."""

    def __init__(self, result: FiniteHorizonLinearQuadraticRegulatorResult) -> None:
        super().__init__(converter=Converter())
        self._sys_suggest_name("FiniteHorizonLinearQuadraticRegulator")
        self._result = result
        self._state = self.DeclareVectorInputPort("plant_state", result.K.cols())
        needs = {self.time_ticket(), self._state.ticket()}
        self.DeclareVectorOutputPort("command", result.K.rows(), self._calc_command, needs)

    def _calc_command(self, context: Context, output: Any) -> None:
        t, r = context.get_time(), self._result
        e = self._state.Eval(context) - _column(r.x0, t)
        output.SetFromVector(_column(r.u0, t) - r.K.value(t) @ e - _column(r.k0, t))


def _column(trajectory: Trajectory, t: float) -> Array:
    """The value of a trajectory of columns at time t, as a vector of floats."""
    return np.asarray(trajectory.value(t), dtype=float)[:, 0]


class _Local(NamedTuple):
    """The problem at one time: dynamics (1) and cost (2), (3). `f` is the nominal derivative, or next state."""

    A: Array
    B: Array
    f: Array
    q: Array
    r: Array
    g: float


class _Problem:
    """The arguments, checked, and the problem at each time."""

    def __init__(
        self, system: System, context: Context, t0: float, tf: float, Q: Any, R: Any, options: Any
    ) -> None:
        if not isinstance(options, FiniteHorizonLinearQuadraticRegulatorOptions):
            raise TypeError(f"{_LQR}: expected its options, got {type(options).__name__}.")
        self.system, self.t0, self.tf, self.options = system, float(t0), float(tf), options
        if not -np.inf < self.t0 < self.tf < np.inf:
            raise ValueError(f"{_LQR}: tf must be later than t0, both finite; got t0 = {t0} s, tf = {tf} s.")
        self._context = detached_context(system, context)
        self._port = selected_input_port(system, options.input_port_index, _LQR)
        if self._port is None:
            raise ValueError(f"{_LQR}: system '{system.GetSystemPathname()}' must have an input port to act on.")
        u0 = self._given("u0", self._port.size())
        if u0 is not None:  # then the context need not have an input
            self._port.FixValue(self._context, _column(u0, self.t0))
        linear = self._linearized()
        self.period = linear.time_period()
        N = () if options.N is None else options.N
        _, _, self.Q, self.R, self.N = checked_problem(linear.A(), linear.B(), Q, R, N)
        self.R_inverse = np.linalg.inv(self.R)
        n, m = self.N.shape
        self.Qf = np.zeros((n, n)) if options.Qf is None else np.atleast_2d(np.asarray(options.Qf, dtype=float))
        if self.Qf.shape != (n, n):
            raise ValueError(f"{_LQR}: Qf must have shape ({n}, {n}), got {self.Qf.shape}.")
        kind = "positive definite" if options.use_square_root_method else "positive semidefinite"
        require_definite("Qf", self.Qf, kind)
        self.x0 = self._trajectory("x0", n, state_values(self._context))
        self.u0 = self._trajectory("u0", m, self._port.Eval(self._context))
        self._dynamics: SystemDynamics | None = None
        self._dynamics = self._fast_dynamics()
        self.xd = self._trajectory("xd", n, None) or self.x0
        self.ud = self._trajectory("ud", m, None) or self.u0

    def _linearized(self) -> AffineSystem:
        """The dynamics about the values of the context."""
        if isinstance(self.system, AffineSystem):
            return self.system
        assert self._port is not None
        port = self._port.get_index()
        return FirstOrderTaylorApproximation(self.system, self._context, port, OutputPortSelection.kNoOutput)

    def _fast_dynamics(self) -> SystemDynamics | None:
        """The fast dynamics for many times if they agree with the exact ones at some of them; None if not."""
        assert self._port is not None
        if self.period > 0.0 or isinstance(self.system, AffineSystem):
            return None
        try:
            dynamics = SystemDynamics(self.system, self._context, self._port.get_index(), _LQR)
            for t in (self.t0, 0.5 * (self.t0 + self.tf), self.tf):
                x, u = _column(self.x0, t), _column(self.u0, t)
                found = dynamics.at(np.concatenate([x, u])[np.newaxis], t)
                pairs = zip(found, self._dynamics_at(t, x, u))
                if not all(np.allclose(a[0], b, rtol=_SAME, atol=_SAME) for a, b in pairs):
                    return None
        except Exception:  # some callback takes no AutoDiffXd; or what is wrong shows again in the careful way
            return None
        return dynamics

    def _given(self, name: str, rows: int) -> Any:
        """The matrix of this name in the options, its shape checked; None if not given."""
        given = getattr(self.options, name)
        if given is None:
            return None
        if not isinstance(given, Trajectory):
            raise TypeError(f"{_LQR}: options.{name} must be a Trajectory, got {type(given).__name__}.")
        if (given.rows(), given.cols()) != (rows, 1):
            shape = (given.rows(), given.cols())
            raise ValueError(f"{_LQR}: options.{name} must have shape ({rows}, 1), got {shape}.")
        return given

    def _trajectory(self, name: str, rows: int, constant: Array | None) -> Any:
        """That of the options, or one with constant value."""
        given = self._given(name, rows)
        if given is None:
            return None if constant is None else PiecewisePolynomial(constant.reshape(-1, 1))
        slack = _TIME_TOLERANCE * max(self.period, 1e-3)
        last = self.tf if name.startswith("x") else self.tf - self.period
        if given.start_time() > self.t0 + slack or given.end_time() < last - slack:
            raise ValueError(
                f"{_LQR}: options.{name} must be defined from {self.t0} s to {last} s, but it goes from "
                f"{given.start_time()} s to {given.end_time()} s."
            )
        return given

    def desired_offset(self, t: float) -> Array:
        """d = xd - x0 at time t, shape [n]."""
        return _column(self.xd, t) - _column(self.x0, t)

    def at(self, t: float) -> _Local:
        """The problem at time t."""
        x, u = _column(self.x0, t), _column(self.u0, t)
        f, A, B = self._dynamics_at(t, x, u)
        d, h = self.desired_offset(t), _column(self.ud, t) - u
        q, r = -self.Q @ d - self.N @ h, -self.R @ h - self.N.T @ d  # (3)
        return _Local(A, B, f, q, r, float(-q @ d - r @ h))

    def _dynamics_at(self, t: float, x: Array, u: Array) -> tuple[Array, Array, Array]:
        """The nominal derivative or next state, A and B."""
        if self._dynamics is not None:
            f, A, B = self._dynamics.at(np.concatenate([x, u])[np.newaxis], t)
            return f[0], A[0], B[0]
        context = self._context
        context.SetTime(t)
        set_state_values(context, x)
        assert self._port is not None
        self._port.FixValue(context, u)
        linear = self._linearized()
        A, B = linear.A(), linear.B()
        return A @ x + B @ u + linear.f0(), A, B


# ---------------------------------------------------------------------- continuous time


class _RiccatiEquation(LeafSystem):
    """(4), (5) and (6), or (7) in place of (4), backwards: its time is -t, its state [S or P, sx, s0]."""

    def __init__(self, problem: _Problem) -> None:
        super().__init__(converter=Converter())
        self._problem = problem
        self.n = len(problem.Q)
        self.DeclareContinuousState(self.n * self.n + self.n + 1)

    def initial_state(self) -> Array:
        p = self._problem
        d = p.desired_offset(p.tf)
        root = np.linalg.cholesky(p.Qf) if p.options.use_square_root_method else p.Qf
        return np.concatenate([root.reshape(-1), -p.Qf @ d, [d @ p.Qf @ d]])

    def parts(self, y: Array) -> tuple[Array, Array, float]:
        """S or P, sx and s0 of a state."""
        n = self.n
        return y[: n * n].reshape(n, n), y[n * n : -1], y[-1]

    def DoCalcTimeDerivatives(self, context: Context, derivatives: Any) -> None:
        p, t = self._problem, -context.get_time()
        root, sx, _ = self.parts(context.get_continuous_state_vector().CopyToVector())
        A, B, f, q, r, g = p.at(t)
        c = f - np.asarray(p.x0.EvalDerivative(t), dtype=float)[:, 0]
        is_root = p.options.use_square_root_method
        S = root @ root.T if is_root else root
        M, v = S @ B + p.N, B.T @ sx + r
        K, k0 = p.R_inverse @ M.T, p.R_inverse @ v
        if is_root:
            dS = A.T @ root + 0.5 * np.linalg.solve(root, (p.Q - M @ K).T).T  # (7)
        else:
            dS = p.Q + A.T @ S + S @ A - M @ K  # (4)
            dS = 0.5 * (dS + dS.T)
        dsx = q + A.T @ sx + S @ c - M @ k0  # (5)
        derivatives.SetFromVector(np.concatenate([dS.reshape(-1), dsx, [g + 2.0 * sx @ c - v @ k0]]))


def _continuous_result(p: _Problem) -> FiniteHorizonLinearQuadraticRegulatorResult:
    equation = _RiccatiEquation(p)
    simulator = Simulator(equation)
    ApplySimulatorConfig(dataclasses.replace(p.options.simulator_config, start_time=-p.tf), simulator)
    context = simulator.get_mutable_context()
    context.SetContinuousState(equation.initial_state())
    steps: list[tuple[float, Array, Array]] = []

    def record(root: Context) -> None:
        rates = equation.EvalTimeDerivatives(root).CopyToVector()
        steps.append((-root.get_time(), root.get_continuous_state_vector().CopyToVector(), -rates))

    simulator.set_monitor(record)
    simulator.Initialize()
    simulator.AdvanceTo(-p.t0)
    steps.reverse()
    times = [time for time, _, _ in steps]
    S, dS, K, k0 = [], [], [], []
    for time, y, rates in steps:
        root, sx, _ = equation.parts(y)
        droot, _, _ = equation.parts(rates)
        is_root = p.options.use_square_root_method
        S.append(root @ root.T if is_root else root)
        dS.append(droot @ root.T + root @ droot.T if is_root else droot)
        local = p.at(time)
        K.append(p.R_inverse @ (local.B.T @ S[-1] + p.N.T))  # (4)
        k0.append((p.R_inverse @ (local.B.T @ sx + local.r))[:, None])  # (5)
    n = equation.n
    return FiniteHorizonLinearQuadraticRegulatorResult(
        x0=p.x0,
        u0=p.u0,
        K=_smooth(times, K),
        S=PiecewisePolynomial.CubicHermite(times, S, dS),
        k0=_smooth(times, k0),
        sx=_cubic(steps, slice(n * n, n * n + n)),
        s0=_cubic(steps, slice(n * n + n, None)),
    )


def _cubic(steps: list[tuple[float, Array, Array]], part: slice) -> PiecewisePolynomial:
    values, slopes = [y[part, None] for _, y, _ in steps], [rates[part, None] for _, _, rates in steps]
    return PiecewisePolynomial.CubicHermite([time for time, _, _ in steps], values, slopes)


def _smooth(times: list[float], samples: list[Array]) -> PiecewisePolynomial:
    """A cubic spline; slopes of K are not known, because those of B(t) are not."""
    if len(times) < 3:
        return PiecewisePolynomial.FirstOrderHold(times, samples)
    return PiecewisePolynomial.CubicWithContinuousSecondDerivatives(times, samples)


# ---------------------------------------------------------------------- discrete time


def _discrete_result(p: _Problem) -> FiniteHorizonLinearQuadraticRegulatorResult:
    times = _sample_times(p)
    d = p.desired_offset(times[-1])
    S, sx, s0 = [p.Qf], [-p.Qf @ d], [float(d @ p.Qf @ d)]
    K: list[Array] = []
    k0: list[Array] = []
    for index in range(len(times) - 2, -1, -1):
        A, B, f, q, r, g = p.at(times[index])
        c = f - _column(p.x0, times[index + 1])
        ahead = S[-1] @ c + sx[-1]
        H = p.R + B.T @ S[-1] @ B
        K.append(np.linalg.solve(H, p.N.T + B.T @ S[-1] @ A))  # (8)
        k0.append(np.linalg.solve(H, r + B.T @ ahead))
        before = p.Q + A.T @ S[-1] @ A - K[-1].T @ H @ K[-1]  # (9)
        s0.append(float(g + s0[-1] + c @ S[-1] @ c + 2.0 * c @ sx[-1] - k0[-1] @ H @ k0[-1]))
        sx.append(q + A.T @ ahead - K[-1].T @ H @ k0[-1])
        S.append(0.5 * (before + before.T))
    return FiniteHorizonLinearQuadraticRegulatorResult(
        x0=p.x0,
        u0=p.u0,
        K=DiscreteTimeTrajectory(times[:-1], K[::-1]),
        S=DiscreteTimeTrajectory(times, S[::-1]),
        k0=DiscreteTimeTrajectory(times[:-1], [k[:, None] for k in k0[::-1]]),
        sx=DiscreteTimeTrajectory(times, [s[:, None] for s in sx[::-1]]),
        s0=DiscreteTimeTrajectory(times, [np.array([[s]]) for s in s0[::-1]]),
    )


def _sample_times(p: _Problem) -> list[float]:
    """The times of the updates from t0 to tf, as the simulator computes them."""
    data = p.system.GetUniquePeriodicDiscreteUpdateAttribute()
    assert data is not None
    period, offset = data.period_sec(), data.offset_sec()
    numbers = [(time - offset) / period for time in (p.t0, p.tf)]
    first, last = (round(number) for number in numbers)
    for name, time, number in (("t0", p.t0, numbers[0]), ("tf", p.tf, numbers[1])):
        if abs(number - round(number)) > _TIME_TOLERANCE * max(1.0, abs(number)):
            raise ValueError(
                f"{_LQR}: {name} = {time} s is not a sample time of system '{p.system.GetSystemPathname()}', whose "
                f"updates have a period of {period} s and an offset of {offset} s."
            )
    return [offset + number * period for number in range(first, last + 1)]
