"""Linear quadratic regulators balance a cart-pole, an acrobot and a planar quadrotor from random starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from merganser.analysis import Simulator, batch_simulate
from merganser.analysis.controllers import LinearQuadraticRegulator
from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.math import RigidTransform
from merganser.framework.native import native
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import FixedOffsetFrame, RevoluteJoint, SpatialInertia, UnitInertia

MODELS = Path(__file__).resolve().parents[2] / "examples" / "models"
NUM_STARTS = 12
DURATION = 10.0  # s
G = 9.81


class Balanced(NamedTuple):
    """A system to balance.

    Attributes:
        system: the plant.
        input_port, output_port: indices of its ports for the control and of the whole state.
        state, control: of the equilibrium.
        reach: from where it is caught, for each state variable on both sides.
        Q, R: of the regulator.
    """

    system: Any
    input_port: int
    output_port: int
    state: Any
    control: Any
    reach: Any
    Q: Any
    R: Any


def cart_pole() -> Balanced:
    """The example's cart and pole, upright."""
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(MODELS / "cart_pole.sdf"))
    plant.Finalize()
    ports = plant.get_actuation_input_port().get_index(), plant.get_state_output_port().get_index()
    upright = np.array([0.0, np.pi, 0.0, 0.0])
    return Balanced(
        plant, *ports, upright, [0.0], [1.0, 0.4, 0.5, 0.5], np.diag([10.0, 10.0, 1.0, 1.0]), np.array([[0.1]])
    )


def acrobot() -> Balanced:
    """Two links with a motor at the elbow only, upright; sizes of R. Tedrake, "Underactuated Robotics", 3.2."""
    plant = MultibodyPlant(0.0)
    parent = plant.world_frame()
    for name, mass, length, com, inertia in (("upper", 1.0, 1.0, 0.5, 0.083), ("lower", 1.0, 2.0, 1.0, 0.33)):
        about_joint = inertia / mass + com**2
        link = plant.AddRigidBody(
            name, SpatialInertia(mass, [0.0, 0.0, -com], UnitInertia(about_joint, about_joint, 1e-3))
        )
        joint = plant.AddJoint(RevoluteJoint(f"{name}_joint", parent, link.body_frame(), [0.0, 1.0, 0.0], damping=0.1))
        parent = plant.AddFrame(_end_of(link, length))
    plant.AddJointActuator("elbow", joint)
    plant.Finalize()
    ports = plant.get_actuation_input_port().get_index(), plant.get_state_output_port().get_index()
    upright = np.array([np.pi, 0.0, 0.0, 0.0])
    return Balanced(
        plant, *ports, upright, [0.0], [0.05, 0.05, 0.05, 0.05], np.diag([10.0, 10.0, 1.0, 1.0]), np.array([[1.0]])
    )


def _end_of(link: Any, length: float) -> Any:
    return FixedOffsetFrame(f"{link.name()}_end", link.body_frame(), RigidTransform([0.0, 0.0, -length]))


MASS, ARM, INERTIA = 0.486, 0.25, 0.00383  # [kg, m, kg m^2]


@native
def rates(xc, propeller_force, xdot):
    """x'' = -(u0 + u1) sin(theta) / m, z'' = (u0 + u1) cos(theta) / m - g, theta'' = r (u0 - u1) / I."""
    total = propeller_force[0] + propeller_force[1]
    for i in range(3):
        xdot[i] = xc[3 + i]
    xdot[3] = -np.sin(xc[2]) * total / MASS
    xdot[4] = np.cos(xc[2]) * total / MASS - G
    xdot[5] = ARM * (propeller_force[0] - propeller_force[1]) / INERTIA


class PlanarQuadrotor(LeafSystem):
    """Two propellers on a bar in a vertical plane."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("propeller_force", 2)
        state = self.DeclareContinuousState(3, 3, 0)
        self.DeclareTimeDerivatives(rates)
        self.DeclareStateOutputPort("state", state)


def quadrotor() -> Balanced:
    hover = [0.5 * MASS * G] * 2
    reach = [2.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    Q = np.diag([10.0, 10.0, 10.0, 1.0, 1.0, 0.1])
    return Balanced(PlanarQuadrotor(), 0, 0, np.zeros(6), hover, reach, Q, 0.1 * np.eye(2))


def regulated(case: Balanced) -> Any:
    """The system with its regulator, and the system inside."""
    context = case.system.CreateDefaultContext()
    context.SetContinuousState(case.state)
    case.system.get_input_port(case.input_port).FixValue(context, case.control)
    regulator = LinearQuadraticRegulator(case.system, context, case.Q, case.R, input_port_index=case.input_port)
    builder = DiagramBuilder()
    builder.AddSystem(case.system)
    builder.AddSystem(regulator)
    builder.Connect(case.system.get_output_port(case.output_port), regulator.get_input_port())
    builder.Connect(regulator.get_output_port(), case.system.get_input_port(case.input_port))
    return builder.Build()


@pytest.mark.parametrize("make", [cart_pole, acrobot, quadrotor])
def test_random_starts_end_in_balance(make: Any) -> None:
    case = make()
    diagram = regulated(case)
    rng = np.random.default_rng(4)
    contexts = []
    for _ in range(NUM_STARTS):
        context = diagram.CreateDefaultContext()
        context.SetContinuousState(case.state + rng.uniform(-1.0, 1.0, len(case.state)) * case.reach)
        contexts.append(context)
    starts = np.array([context.get_continuous_state_vector().CopyToVector() for context in contexts])
    assert (np.abs(starts - case.state).max(axis=0) > 0.5 * np.array(case.reach)).all()
    statuses = batch_simulate(diagram, contexts, DURATION)
    assert all(status.succeeded() for status in statuses)
    ends = np.array([context.get_continuous_state_vector().CopyToVector() for context in contexts])
    np.testing.assert_allclose(ends, np.tile(case.state, (NUM_STARTS, 1)), atol=0.02)


def test_without_the_regulator_a_start_ends_elsewhere() -> None:
    case = cart_pole()
    context = case.system.CreateDefaultContext()
    case.system.get_input_port(case.input_port).FixValue(context, case.control)
    context.SetContinuousState(case.state + [0.0, 0.1, 0.0, 0.0])
    Simulator(case.system, context).AdvanceTo(3.0)
    assert abs(context.get_continuous_state_vector().CopyToVector() - case.state).max() > 0.5
