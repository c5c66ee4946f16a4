"""Expected results of controllers, observers and blocks in Diagrams, in plain numpy; see block_cases.py."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from block_case import Case
from block_cases import BLOCKS as SIGNAL_BLOCKS
from block_cases import CASES as SIGNAL_CASES
from block_cases import names_of
from piecewise_cases import piecewise_cases

import merganser.multibody.controllers as multibody_controllers
from merganser.analysis import controllers, estimators
from merganser.multibody import manipulation, tree
from merganser.multibody import plant as multibody_plant

_MODULES = (controllers, estimators, multibody_controllers, manipulation, multibody_plant, tree)
BLOCKS = SimpleNamespace(**{**vars(names_of(*_MODULES)), **vars(SIGNAL_BLOCKS)})
OURS_ALONE = {  # pydrake has no such block, or takes no such arguments
    *piecewise_cases(),
    "TransferFunction",
    "ZeroPole in discrete time",
    "SignalFilter",
    "StateMachine",
    "StateSpace",
    "BeamModel",
    "ConstantVectorSource of a BasicVector",
    "Saturation by limits that are inputs",
    "SchunkWsgPdController",  # of which pydrake has no class
    "SchunkWsgTrajectoryGenerator",  # which keeps its motion elsewhere than in the state
    "ExtendedKalmanFilter",
    "ExtendedKalmanFilter in discrete time",
    "UnscentedKalmanFilter",
    "UnscentedKalmanFilter in discrete time",
}

_random = np.random.default_rng(9)
A, B, C, D = (_random.normal(size=shape) for shape in ((2, 2), (2, 1), (3, 2), (3, 1)))
GAIN = _random.normal(size=(2, 3))
P_x, P_y = _random.normal(size=(4, 3)), _random.normal(size=(3, 2))
KP, KI, KD = np.array([[1.5, 2.5], [0.5, 0.7], [0.2, 0.3]])
W, V = np.diag([0.1, 0.2]), np.diag([0.5, 0.4, 0.3])
MASS, LENGTH, INERTIA, DAMPING = 1.3, 0.6, 1.3 * 0.37, 0.2  # of a pendulum about its pin [kg, m, kg m^2, N m s]


def diagram(b, add):
    """A Diagram of blocks: add(builder) adds them, and returns inputs to export, {name: port}, and outputs."""
    builder = b.DiagramBuilder()
    inputs, outputs = add(builder)
    for name, port in inputs.items():
        builder.ExportInput(port, name)
    for name, port in outputs.items():
        builder.ExportOutput(port, name)
    return builder.Build()


def switching(b):
    """A PortSwitch that gives the second of two inputs."""

    def add(builder):
        switch = builder.AddSystem(b.PortSwitch(2))
        ports = {name: switch.DeclareInputPort(name) for name in ("first", "second")}
        index = builder.AddSystem(b.ConstantValueSource(b.Value(b.InputPortIndex(2))))
        builder.Connect(index.get_output_port(), switch.get_port_selector_input_port())
        return ports, {"value": switch.get_output_port()}

    return diagram(b, add)


def packing(b):
    """Two signals, packed into a bus and unpacked."""

    def add(builder):
        creator, selector = builder.AddSystem(b.BusCreator("bus")), builder.AddSystem(b.BusSelector("bus"))
        ports = {name: creator.DeclareVectorInputPort(name, size) for name, size in (("a", 2), ("b", 1))}
        builder.Connect(creator.get_output_port(), selector.get_input_port())
        return ports, {name: selector.DeclareVectorOutputPort(name, size) for name, size in (("b", 1), ("a", 2))}

    return diagram(b, add)


def linear(b, period=0.0):
    return b.LinearSystem(A=A, B=B, C=C, D=D, time_period=period)


def luenberger(b, period=0.0):
    system = linear(b, period)
    return b.LuenbergerObserver(system, system.CreateDefaultContext(), GAIN)


def kalman(b, kind, period=0.0):
    system = linear(b, period)
    return getattr(b, kind)(system, system.CreateDefaultContext(), W, V)


def observed(u, x):
    """A x + B u + L (y - C x - D u)."""
    return A @ x + B @ u[1] + GAIN @ (u[0] - C @ x - D @ u[1])


def estimate_and_covariance(x):
    return x[:2], x[2:].reshape(2, 2)


def with_covariance(u, x):
    """A state whose covariance is one."""
    root = x[2:].reshape(2, 2)
    return u, np.concatenate([x[:2], (root @ root.T + 0.1 * np.eye(2)).reshape(-1)])


def kalman_bucy(u, x):
    """The filter of R. Kalman and R. Bucy, 1961."""
    x, P = estimate_and_covariance(x)
    K = P @ C.T @ np.linalg.inv(V)
    rate = A @ x + B @ u[1] + K @ (u[0] - C @ x - D @ u[1])
    return np.concatenate([rate, (A @ P + P @ A.T + W - K @ V @ K.T).reshape(-1)])


def kalman_step(u, x):
    """The filter of R. Kalman, 1960: the measurement first, then the prediction."""
    x, P = estimate_and_covariance(x)
    K = P @ C.T @ np.linalg.inv(C @ P @ C.T + V)
    x, P = x + K @ (u[0] - C @ x - D @ u[1]), P - K @ C @ P
    return np.concatenate([A @ x + B @ u[1], (A @ P @ A.T + W).reshape(-1)])


def filter_case(kind, period):
    rule = {"num_discrete": 6, "periodic": kalman_step} if period else {"num_continuous": 6, "derivatives": kalman_bucy}
    return Case(
        lambda b: kalman(b, kind, period),
        {"observed_system_output": 3, "observed_system_input": 1},
        {"estimated_state": 2, "covariance": 4},
        [],
        lambda u, x: [x[:2], x[2:]],
        defaults=[0.0, 0.0, 1.0, 0.0, 0.0, 1.0],
        is_complex=False,
        without=("AutoDiffXd", "Expression"),
        admissible=with_covariance,
        tolerance=1e-12,
        **rule,
    )


def pid_errors(u):
    return np.split(u[1] - P_x @ u[0], 2)


def pid(u, x):
    e, edot = pid_errors(u)
    return [P_y @ (KP * e + KI * x + KD * edot)]


def pendulum(b):
    """A pendulum with a motor at its pin, about the y axis; at zero it hangs."""
    plant = b.MultibodyPlant(0.0)
    inertia = b.SpatialInertia(MASS, [0.0, 0.0, -LENGTH], b.UnitInertia(0.37, 0.37, 0.02))
    link = plant.AddRigidBody("link", inertia)
    pin = plant.AddJoint(
        b.RevoluteJoint("pin", plant.world_frame(), link.body_frame(), [0.0, 1.0, 0.0], damping=DAMPING)
    )
    plant.AddJointActuator("motor", pin)
    plant.Finalize()
    _KEPT.append(plant)
    return plant


_KEPT: list[Any] = []  # pydrake's controllers refer to their plants without keeping them alive


def torque(q, v, vdot):
    """The torque of the motor for an acceleration."""
    return INERTIA * vdot + DAMPING * v + MASS * 9.81 * LENGTH * np.sin(q)


def computed_torque(u, x):
    (q, v), (q_d, v_d), (vd_d,) = u
    return [[torque(q, v, 1.5 * (q_d - q) + 0.5 * x[0] + 0.2 * (v_d - v) + vd_d)]] * 2


def stiffness(u, x):
    (q, v), (q_d, v_d) = u
    return [[torque(q, v, 0.0) + 1.5 * (q_d - q) + 0.2 * (v_d - v)]]


def finger_forces(u, x):
    """Of a gripper: a spring and damper for the middle, another of limited force for the distance."""
    (w, wdot), (limit,), (q_0, q_1, v_0, v_1) = u
    both = -300.0 * (q_0 + q_1) - 4.0 * (v_0 + v_1)
    apart = 20.0 * (w + q_0 - q_1) + 3.0 * (wdot + v_0 - v_1)
    if abs(apart.real) > limit.real:
        apart = limit * np.sign(apart.real)
    return [0.5 * np.array([both - apart, both + apart]), [apart * np.sign(apart.real)]]


def finger_motion(u, x):
    """Of a gripper, at 1.3 s: between knots, position and speed are linear."""
    end, begin, start, limit = x
    way = end - start
    s = min(abs(way.real) / 0.03528, 1.0)
    middle = max(abs(way.real) - 0.03528, 0.0)
    knots = np.cumsum([0.0, 0.084 * s, middle / 0.42, 0.084 * s])
    positions = np.cumsum([0.0, 0.01764 * s, middle, 0.01764 * s])
    tau, direction = 1.3 - begin.real, np.sign(way.real)
    x_d = start.real + direction * np.interp(tau, knots, positions)
    v_d = direction * np.interp(tau, knots, [0.0, 0.42 * s, 0.42 * s, 0.0])
    return [[x_d, v_d], [limit]]


def finger_target(u, x):
    """A new motion begins unless the target is the same."""
    is_same = abs(-u[0][0].real - x[0].real) <= 1e-4
    begin = [x[0], x[1], x[2]] if is_same else [-u[0][0], 1.3, 2.0 * u[2][1]]
    return np.array([*begin, u[1][0]])


CASES = SIGNAL_CASES | {
    "SchunkWsgPdController": Case(
        lambda b: b.SchunkWsgPdController(20.0, 3.0, 300.0, 4.0),
        {"desired_state": 2, "force_limit": 1, "state": 4},
        {"generalized_force": 2, "grip_force": 1},
        [(i, o) for o in range(2) for i in range(3)],
        finger_forces,
        admissible=lambda u, x: ([u[0], 3.0 + u[1] * u[1], u[2]], x),
        tolerance=1e-13,
    ),
    "MakeMultibodyForceToWsgForceSystem": Case(
        lambda b: b.MakeMultibodyForceToWsgForceSystem(),
        {"u0": 2},
        {"y0": 1},
        [(0, 0)],
        lambda u, x: [(u[0][:1] - u[0][1:]) * np.sign((u[0][:1] - u[0][1:]).real)],
    ),
    "MakeMultibodyStateToWsgStateSystem": Case(
        lambda b: b.MakeMultibodyStateToWsgStateSystem(),
        {"u0": 4},
        {"y0": 2},
        [(0, 0)],
        lambda u, x: [u[0][1::2] - u[0][::2]],
    ),
    "SchunkWsgTrajectoryGenerator": Case(
        lambda b: b.SchunkWsgTrajectoryGenerator(3, 1),
        {"desired_position": 1, "force_limit": 1, "u2": 3},
        {"y0": 2, "y1": 1},
        [],
        finger_motion,
        num_discrete=4,
        update=finger_target,
        periodic=finger_target,
        time=1.3,
        defaults=[0.0, np.inf, 0.0, 0.0],
        is_complex=False,
        admissible=lambda u, x: (u, np.array([0.2 * x[0], 1.2 + 0.1 * np.tanh(x[1].real), 0.2 * x[2], x[3]])),
        tolerance=1e-13,
    ),

    "PortSwitch": Case(switching, {"first": 2, "second": 2}, {"value": 2}, [(0, 0), (1, 0)], lambda u, x: [u[1]]),
    "BusCreator and BusSelector": Case(
        packing,
        {"a": 2, "b": 1},
        {"b": 1, "a": 2},
        [(0, 0), (1, 0), (0, 1), (1, 1)],
        lambda u, x: [u[1], u[0]],
    ),
    "SharedPointerSystem": Case(lambda b: b.SharedPointerSystem(value_to_hold="a"), {}, {}, [], lambda u, x: []),
    "StateInterpolatorWithDiscreteDerivative": Case(
        lambda b: b.StateInterpolatorWithDiscreteDerivative(2, 0.1, False),
        {"position": 2},
        {"state": 4},
        [(0, 0)],
        lambda u, x: [np.concatenate([u[0], (x[:2] - x[2:]) / 0.1])],
        num_discrete=4,
        update=lambda u, x: np.concatenate([u[0], x[:2]]),
        periodic=lambda u, x: np.concatenate([u[0], x[:2]]),
    ),
    "PidController": Case(
        lambda b: b.PidController(KP, KI, KD),
        {"estimated_state": 4, "desired_state": 4},
        {"control": 2},
        [(0, 0), (1, 0)],
        lambda u, x: [KP * (u[1] - u[0])[:2] + KI * x + KD * (u[1] - u[0])[2:]],
        num_continuous=2,
        derivatives=lambda u, x: (u[1] - u[0])[:2],
        defaults=[0.0, 0.0],
    ),
    "PidController with projections": Case(
        lambda b: b.PidController(P_x, P_y, KP, KI, KD),
        {"estimated_state": 3, "desired_state": 4},
        {"control": 3},
        [(0, 0), (1, 0)],
        pid,
        num_continuous=2,
        derivatives=lambda u, x: pid_errors(u)[0],
        defaults=[0.0, 0.0],
    ),
    "PidControlledSystem": Case(
        lambda b: b.PidControlledSystem(b.LinearSystem(A=A, B=B, C=np.eye(2), D=np.zeros((2, 1))), 1.5, 0.5, 0.2),
        {"feedforward_control": 1, "desired_state": 2},
        {"y0": 2},
        [],
        lambda u, x: [x[:2]],
        num_continuous=3,
        derivatives=lambda u, x: np.append(
            A @ x[:2] + B @ (u[0] + np.array([1.5, 0.2]) @ (u[1] - x[:2]) + 0.5 * x[2]), u[1][0] - x[0]
        ),
        defaults=[0.0] * 3,
    ),
    "LuenbergerObserver": Case(
        luenberger,
        {"observed_system_output": 3, "observed_system_input": 1},
        {"estimated_state": 2},
        [],
        lambda u, x: [x],
        num_continuous=2,
        derivatives=observed,
        defaults=[0.0, 0.0],
        is_complex=False,
    ),
    "LuenbergerObserver in discrete time": Case(
        lambda b: luenberger(b, 0.1),
        {"observed_system_output": 3, "observed_system_input": 1},
        {"estimated_state": 2},
        [],
        lambda u, x: [x],
        num_discrete=2,
        periodic=observed,
        defaults=[0.0, 0.0],
        is_complex=False,
    ),
    "ExtendedKalmanFilter": filter_case("ExtendedKalmanFilter", 0.0),
    "ExtendedKalmanFilter in discrete time": filter_case("ExtendedKalmanFilter", 0.1),
    "UnscentedKalmanFilter": filter_case("UnscentedKalmanFilter", 0.0),
    "UnscentedKalmanFilter in discrete time": filter_case("UnscentedKalmanFilter", 0.1),
    "InverseDynamics": Case(
        lambda b: b.InverseDynamics(pendulum(b)),
        {"estimated_state": 2, "desired_acceleration": 1},
        {"generalized_force": 1},
        [(0, 0), (1, 0)],
        lambda u, x: [[torque(*u[0], u[1][0])]],
        is_complex=False,
        tolerance=1e-13,
    ),
    "InverseDynamics against gravity": Case(
        lambda b: b.InverseDynamics(pendulum(b), b.InverseDynamics.kGravityCompensation),
        {"estimated_state": 2},
        {"generalized_force": 1},
        [(0, 0)],
        lambda u, x: [[torque(u[0][0], 0.0, 0.0)]],
        is_complex=False,
        tolerance=1e-13,
    ),
    "InverseDynamicsController": Case(
        lambda b: b.InverseDynamicsController(pendulum(b), [1.5], [0.5], [0.2], True),
        {"estimated_state": 2, "desired_state": 2, "desired_acceleration": 1},
        {"actuation": 1, "generalized_force": 1},
        [(i, o) for o in range(2) for i in range(3)],
        computed_torque,
        num_continuous=1,
        derivatives=lambda u, x: u[1][:1] - u[0][:1],
        defaults=[0.0],
        is_complex=False,
        tolerance=1e-13,
    ),
    "JointStiffnessController": Case(
        lambda b: b.JointStiffnessController(pendulum(b), [1.5], [0.2]),
        {"estimated_state": 2, "desired_state": 2},
        {"actuation": 1},
        [(0, 0), (1, 0)],
        stiffness,
        is_complex=False,
        tolerance=1e-13,
    ),
}
