"""A Kalman filter on a pendulum that is pushed and measured with noise, beside an observer of fixed gain."""

import numpy as np
from pydrake.all import (
    BasicVector,
    DiagramBuilder,
    EventStatus,
    LeafSystem,
    Linearize,
    LogVectorOutput,
    LuenbergerObserver,
    Simulator,
    SteadyStateKalmanFilter,
    SymbolicVectorSystem,
    Variable,
)
from pydrake.symbolic import sin

W, V = np.diag([1e-4, 1e-2]), np.array([[1e-3]])
PERIOD = 0.02

theta, omega, torque = Variable("theta"), Variable("omega"), Variable("torque")


def make_pendulum():
    dynamics = [omega, torque - 9.81 * sin(theta) - 0.1 * omega]
    return SymbolicVectorSystem(state=[theta, omega], input=[torque], dynamics=dynamics, output=[theta])


class Noise(LeafSystem):
    """Normal numbers, held between samples."""

    def __init__(self, seed, deviation):
        super().__init__()
        self.numbers, self.deviation = np.random.default_rng(seed), deviation
        held = self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(PERIOD, 0.0, self.draw)
        self.DeclareStateOutputPort("noise", held)

    def draw(self, context, discrete_state):
        discrete_state.set_value([self.deviation * self.numbers.normal()])
        return EventStatus.Succeeded()


class Add(LeafSystem):
    def __init__(self):
        super().__init__()
        self.a = self.DeclareVectorInputPort("a", 1)
        self.b = self.DeclareVectorInputPort("b", BasicVector(1))
        self.DeclareVectorOutputPort("sum", 1, self.add)

    def add(self, context, output):
        output.set_value(self.a.Eval(context) + self.b.Eval(context))


class ExtendedKalmanFilter(LeafSystem):
    """Discrete, with the Jacobian by symbols; the covariance is part of its state."""

    def __init__(self):
        super().__init__()
        self.DeclareVectorInputPort("torque", 1)
        self.DeclareVectorInputPort("measured", 1)
        self.DeclareDiscreteState(np.concatenate([[0.8, 0.0], np.eye(2).ravel()]))
        self.DeclarePeriodicDiscreteUpdateEvent(period_sec=PERIOD, offset_sec=0.5 * PERIOD, update=self.update)
        self.DeclareVectorOutputPort("estimate", 2, self.estimate)

    def update(self, context, state):
        values = context.get_discrete_state_vector().value()
        x, P = values[:2], values[2:].reshape(2, 2)
        u, y = self.GetInputPort("torque").Eval(context)[0], self.GetInputPort("measured").Eval(context)
        F = np.eye(2) + PERIOD * np.array([[0.0, 1.0], [-9.81 * np.cos(x[0]), -0.1]])
        x = x + PERIOD * np.array([x[1], u - 9.81 * np.sin(x[0]) - 0.1 * x[1]])
        P = F @ P @ F.T + PERIOD * W
        H = np.array([[1.0, 0.0]])
        L = P @ H.T @ np.linalg.inv(H @ P @ H.T + V / PERIOD)
        x, P = x + L @ (y - H @ x), (np.eye(2) - L @ H) @ P
        state.get_mutable_vector().SetFromVector(np.concatenate([x, P.ravel()]))

    def estimate(self, context, output):
        output.SetFromVector(context.get_discrete_state_vector().CopyToVector()[:2])


builder = DiagramBuilder()
pendulum = builder.AddSystem(make_pendulum())
push = builder.AddSystem(Noise(1, 0.7))
error = builder.AddSystem(Noise(2, 0.1))
measured = builder.AddSystem(Add())
builder.Connect(push.get_output_port(), pendulum.get_input_port())
builder.Connect(pendulum.get_output_port(), measured.get_input_port(0))
builder.Connect(error.get_output_port(), measured.get_input_port(1))

hanging = make_pendulum()
context = hanging.CreateDefaultContext()
hanging.get_input_port().FixValue(context, [0.0])
linear = Linearize(hanging, context)
gain = SteadyStateKalmanFilter(linear.A(), linear.C(), W, V)
observer = builder.AddSystem(LuenbergerObserver(hanging, context, gain))
kalman = builder.AddSystem(ExtendedKalmanFilter())
logs = [LogVectorOutput(pendulum.get_output_port(), builder, 0.1)]
for each, port in ((observer, 0), (kalman, 1)):
    builder.Connect(measured.get_output_port(), each.get_input_port(port))
    builder.Connect(push.get_output_port(), each.get_input_port(1 - port))
    logs.append(LogVectorOutput(each.get_output_port(), builder, 0.1))
simulator = Simulator(builder.Build())
root = simulator.get_mutable_context()
pendulum.GetMyMutableContextFromRoot(root).SetContinuousState([1.0, 0.0])
simulator.get_mutable_integrator().set_target_accuracy(1e-10)
simulator.AdvanceTo(2.0)
np.savetxt("result.txt", np.vstack([log.FindLog(root).data() for log in logs]).T)
