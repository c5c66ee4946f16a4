"""A simple pendulum with a torque in its joint.

m l^2 theta'' + b theta' + m g l sin theta = tau                                                        (1)

with theta = 0 where it hangs.

The acrobot: two links in a vertical plane, with a motor in the elbow only.

M(q) q'' + bias(q, q') = [0; tau],   q = [theta_1; theta_2]                                              (1)

with theta_1 = 0 where the upper link hangs, and theta_2 relative to it. With I_i = Ic_i + m_i lc_i^2,
s_12 = sin(theta_1 + theta_2) and so on,

    M    = [I_1 + I_2 + m_2 l_1^2 + 2 m_2 l_1 lc_2 c_2    I_2 + m_2 l_1 lc_2 c_2]
           [I_2 + m_2 l_1 lc_2 c_2                        I_2                   ]                        (2)
    bias = m_2 l_1 lc_2 s_2 [-(2 theta_1' + theta_2') theta_2';  theta_1'^2]
           + g [(m_1 lc_1 + m_2 l_1) s_1 + m_2 lc_2 s_12;  m_2 lc_2 s_12] + [b_1 theta_1';  b_2 theta_2'] (3)

Sources: R. Tedrake, Underactuated Robotics, chapter 3; M. W. Spong, Swing up control of the acrobot, IEEE ICRA (1994).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.analysis.controllers import LinearQuadraticRegulator
from merganser.framework import Diagram, DiagramBuilder, LeafSystem, OutputPort
from merganser.framework.core.declarations.native_wires import InputOr
from merganser.framework.core.values.named_vector import NamedVector
from merganser.framework.math import wrap_to
from merganser.framework.math.element_functions import cos, sin
from merganser.framework.native import device, native
from merganser.framework.primitives import Linearize, MatrixGain

Array = NDArray[Any]


class PendulumInput(NamedVector):
    """tau [N m]."""

    DEFAULTS = {"tau": 0.0}


class PendulumState(NamedVector):
    """theta [rad] and thetadot [rad/s]."""

    DEFAULTS = {"theta": 0.0, "thetadot": 0.0}


class PendulumParams(NamedVector):
    """mass m [kg], length l [m], damping b [N m s] and gravity g [m/s^2]."""

    DEFAULTS = {"mass": 1.0, "length": 0.5, "damping": 0.1, "gravity": 9.81}


@native
def swing(p: Array, x: Array, tau: Array, xdot: Array) -> None:
    """Equation (1)."""
    m, l, b, g = p[0], p[1], p[2], p[3]
    xdot[0] = x[1]
    xdot[1] = (tau[0] - m * g * l * sin(x[0]) - b * x[1]) / (m * l * l)


class PendulumPlant(LeafSystem):
    """A pendulum. The input `tau` may be left unconnected, and is zero then; the output is its state."""

    def __init__(self) -> None:
        super().__init__()
        tau = self.DeclareVectorInputPort("tau", PendulumInput())
        state = self.DeclareContinuousState(PendulumState(), 1, 1, 0)
        self.DeclareStateOutputPort("state", state)
        params = self.DeclareNumericParameter(PendulumParams())
        self._sys_declare_derivatives(swing.given(p=params, x=state, tau=InputOr(tau, [0.0])), of=PendulumPlant)

    def get_state_output_port(self) -> OutputPort:
        """Returns the port with [theta, thetadot]."""
        return self.get_output_port(0)

    @staticmethod
    def get_state(context: Any) -> PendulumState:
        """Returns the state in a Context."""
        return context.get_continuous_state_vector()

    @staticmethod
    def get_mutable_state(context: Any) -> PendulumState:
        """Returns the state in a Context, for changing it."""
        return context.get_mutable_continuous_state_vector()

    def get_parameters(self, context: Any) -> PendulumParams:
        """Returns the parameters in a Context."""
        return context.get_numeric_parameter(0)

    def get_mutable_parameters(self, context: Any) -> PendulumParams:
        """Returns the parameters in a Context, for changing them."""
        return context.get_mutable_numeric_parameter(0)

    def DoCalcKineticEnergy(self, context: Any) -> Any:
        """m (l theta')^2 / 2 [J]."""
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        return 0.5 * p[0] * (p[1] * x[1]) ** 2

    def DoCalcPotentialEnergy(self, context: Any) -> Any:
        """-m g l cos theta [J]."""
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        return -p[0] * p[3] * p[1] * cos(x[0])


_LARGEST_TORQUE = 20.0  # of the controller [N m]


class AcrobotInput(NamedVector):
    """tau [N m]."""

    DEFAULTS = {"tau": 0.0}


class AcrobotState(NamedVector):
    """theta1, theta2 [rad] and their rates [rad/s]."""

    DEFAULTS = {"theta1": 0.0, "theta2": 0.0, "theta1dot": 0.0, "theta2dot": 0.0}


class AcrobotParams(NamedVector):
    """Masses m [kg], lengths l, centres of mass lc [m], inertias Ic about them [kg m^2], damping b [N m s], gravity."""

    DEFAULTS = {
        "m1": 1.0, "m2": 1.0, "l1": 1.0, "l2": 2.0, "lc1": 0.5, "lc2": 1.0, "Ic1": 0.083, "Ic2": 0.33, "b1": 0.1,
        "b2": 0.1, "gravity": 9.81,
    }  # fmt: skip


class SpongControllerParams(NamedVector):
    """Gains k_e [s], k_p [1/s^2] and k_d [1/s], and the cost below which the regulator takes over."""

    DEFAULTS = {"k_e": 5.0, "k_p": 50.0, "k_d": 5.0, "balancing_threshold": 1e3}


@device
def mass_terms(p: Any, x: Any) -> Any:
    """M_11, M_12 and M_22, equation (2)."""
    m1, m2, l1, lc1, lc2 = p[0], p[1], p[2], p[4], p[5]
    I1, I2, coupling = p[6] + m1 * lc1 * lc1, p[7] + m2 * lc2 * lc2, m2 * l1 * lc2 * cos(x[1])
    return I1 + I2 + m2 * l1 * l1 + 2.0 * coupling, I2 + coupling, I2


@device
def bias_terms(p: Any, x: Any) -> Any:
    """Both elements of the bias, equation (3)."""
    m1, m2, l1, lc1, lc2, g = p[0], p[1], p[2], p[4], p[5], p[10]
    s1, s12, coupling = sin(x[0]), sin(x[0] + x[1]), m2 * l1 * lc2 * sin(x[1])
    first = -coupling * (2.0 * x[2] + x[3]) * x[3] + g * ((m1 * lc1 + m2 * l1) * s1 + m2 * lc2 * s12) + p[8] * x[2]
    return first, coupling * x[2] * x[2] + g * m2 * lc2 * s12 + p[9] * x[3]


@native
def accelerate(p: Array, x: Array, tau: Array, xdot: Array) -> None:
    """Equation (1), solved for q''."""
    M11, M12, M22 = mass_terms(p, x)
    bias1, bias2 = bias_terms(p, x)
    determinant = M11 * M22 - M12 * M12
    xdot[0], xdot[1] = x[2], x[3]
    xdot[2] = (-M22 * bias1 - M12 * (tau[0] - bias2)) / determinant
    xdot[3] = (M12 * bias1 + M11 * (tau[0] - bias2)) / determinant


class AcrobotPlant(LeafSystem):
    """The acrobot. The input `elbow_torque` may be left unconnected, and is zero then; the output is its state."""

    def __init__(self) -> None:
        super().__init__()
        tau = self.DeclareVectorInputPort("elbow_torque", AcrobotInput())
        state = self.DeclareContinuousState(AcrobotState(), 2, 2, 0)
        self.DeclareStateOutputPort("acrobot_state", state)
        params = self.DeclareNumericParameter(AcrobotParams())
        self._sys_declare_derivatives(accelerate.given(p=params, x=state, tau=InputOr(tau, [0.0])), of=AcrobotPlant)

    def SetMitAcrobotParameters(self, parameters: AcrobotParams) -> None:
        """Sets parameters to those that were identified for a real acrobot at MIT."""
        parameters.SetFromVector(
            [2.4367, 0.6178, 0.2563, parameters.l2(), 1.6738, 1.5651, -4.7443, -1.0068, 0.0320, 0.0413, 9.81]
        )

    @staticmethod
    def get_state(context: Any) -> AcrobotState:
        """Returns the state in a Context."""
        return context.get_continuous_state_vector()

    @staticmethod
    def get_mutable_state(context: Any) -> AcrobotState:
        """Returns the state in a Context, for changing it."""
        return context.get_mutable_continuous_state_vector()

    def get_parameters(self, context: Any) -> AcrobotParams:
        """Returns the parameters in a Context."""
        return context.get_numeric_parameter(0)

    def get_mutable_parameters(self, context: Any) -> AcrobotParams:
        """Returns the parameters in a Context, for changing them."""
        return context.get_mutable_numeric_parameter(0)

    def MassMatrix(self, context: Any) -> Array:
        """Returns M, equation (2), shape [2, 2]."""
        return mass_matrix(self.get_parameters(context), self.get_state(context))

    def DynamicsBiasTerm(self, context: Any) -> Array:
        """Returns the bias, equation (3), shape [2]."""
        return np.array(bias_terms(self.get_parameters(context), self.get_state(context)))

    def DoCalcKineticEnergy(self, context: Any) -> Any:
        """q'^T M q' / 2 [J]."""
        rates = self.get_state(context).CopyToVector()[2:]
        return 0.5 * rates @ self.MassMatrix(context) @ rates

    def DoCalcPotentialEnergy(self, context: Any) -> Any:
        """Zero at the height of the shoulder [J]."""
        return potential_energy(self.get_parameters(context), self.get_state(context))


def mass_matrix(p: AcrobotParams, x: AcrobotState) -> Array:
    """Equation (2), shape [2, 2]."""
    M11, M12, M22 = mass_terms(p, x)
    return np.array([[M11, M12], [M12, M22]])


def potential_energy(p: AcrobotParams, x: AcrobotState) -> Any:
    """Zero at the height of the shoulder [J]."""
    c1, c12 = cos(x.theta1()), cos(x.theta1() + x.theta2())
    return -p.gravity() * (p.m1() * p.lc1() * c1 + p.m2() * (p.l1() * c1 + p.lc2() * c12))


class AcrobotSpongController(LeafSystem):
    """Swings the acrobot up by its energy (Spong 1994), and holds it up by a linear quadratic regulator.

    With the energy error E~, and y = -k_p theta_2 - k_d theta_2', away from the top

        tau = -k_e E~ theta_2' + (a_2 bias_1 + y) / a_3 + bias_2,   [a_1, a_2; a_2, a_3] = M^-1,

    and, where the cost to go of the regulator is below `balancing_threshold`, tau = -K (x - x_top). Both are kept
    within +-20 N m.
    """

    def __init__(self) -> None:
        super().__init__()
        self.DeclareVectorInputPort("acrobot_state", AcrobotState())
        self.DeclareVectorOutputPort("elbow_torque", AcrobotInput(), self._calc_torque)
        self.DeclareNumericParameter(AcrobotParams())
        self.DeclareNumericParameter(SpongControllerParams())
        plant = AcrobotPlant()
        context = plant.CreateDefaultContext()
        context.SetContinuousState([math.pi, 0.0, 0.0, 0.0])
        plant.get_input_port().FixValue(context, [0.0])
        linear = Linearize(plant, context)
        self._K, self._S = LinearQuadraticRegulator(linear.A(), linear.B(), np.diag([10.0, 10.0, 1.0, 1.0]), np.eye(1))

    def get_parameters(self, context: Any) -> SpongControllerParams:
        """Returns the gains in a Context."""
        return context.get_numeric_parameter(1)

    def get_mutable_parameters(self, context: Any) -> SpongControllerParams:
        """Returns the gains in a Context, for changing them."""
        return context.get_mutable_numeric_parameter(1)

    def _calc_torque(self, context: Any, output: Any) -> None:
        gains, p = self.get_parameters(context), context.get_numeric_parameter(0)
        x = self.get_input_port().EvalBasicVector(context)
        error = np.array([wrap_to(x[0], 0.0, 2.0 * math.pi) - math.pi, wrap_to(x[1], -math.pi, math.pi), x[2], x[3]])
        is_near = error @ self._S @ error < gains.balancing_threshold()
        torque = (-self._K @ error)[0] if is_near else _swing_up(p, gains, x)
        output[0] = min(max(torque, -_LARGEST_TORQUE), _LARGEST_TORQUE)


def _swing_up(p: Any, gains: SpongControllerParams, x: Any) -> float:
    rates = np.array([x.theta1dot(), x.theta2dot()])
    M, bias = mass_matrix(p, x), bias_terms(p, x)
    energy = 0.5 * rates @ M @ rates + potential_energy(p, x)
    top = p.gravity() * (p.m1() * p.lc1() + p.m2() * (p.l1() + p.lc2()))
    y = -gains.k_p() * x.theta2() - gains.k_d() * x.theta2dot()
    inverse = np.linalg.inv(M)
    feedback = (inverse[0, 1] * bias[0] + y) / inverse[1, 1] + bias[1]
    return float(feedback - gains.k_e() * (energy - top) * x.theta2dot())


class AcrobotWEncoder(Diagram):
    """The acrobot with the angles of its joints as output, and its state as a second one if asked for."""

    def __init__(self, acrobot_state_as_second_output: bool = False) -> None:
        super().__init__()
        builder = DiagramBuilder()
        self._plant = builder.AddNamedSystem("acrobot_plant", AcrobotPlant())
        encoder = builder.AddNamedSystem("encoder", MatrixGain(np.eye(2, 4)))
        builder.Connect(self._plant.get_output_port(), encoder.get_input_port())
        builder.ExportInput(self._plant.get_input_port(), "elbow_torque")
        builder.ExportOutput(encoder.get_output_port(), "measured_joint_positions")
        if acrobot_state_as_second_output:
            builder.ExportOutput(self._plant.get_output_port(), "acrobot_state")
        builder.BuildInto(self)

    def acrobot_plant(self) -> AcrobotPlant:
        """Returns the acrobot inside."""
        return self._plant

    def get_mutable_acrobot_state(self, context: Any) -> AcrobotState:
        """Returns the state of the acrobot in a Context of this diagram, for changing it."""
        return AcrobotPlant.get_mutable_state(self.GetMutableSubsystemContext(self._plant, context))
