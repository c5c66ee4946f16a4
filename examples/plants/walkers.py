"""The compass gait: two straight legs joined at the hip, walking down a ramp.

Masses are points: m_h at the hip, m in each leg at the distance b below the hip; legs have the length l, and a = l - b.
The angles theta_1 of the stance leg and theta_2 of the swing leg are measured clockwise from the vertical, so that
positive angles and rates go downhill, to the right. With c = cos(theta_1 - theta_2), s = sin(theta_1 - theta_2),

    M(q) q'' + bias(q, q') = [-tau; tau],   q = [theta_1; theta_2]                                       (1)
    M    = [m_h l^2 + m (a^2 + l^2)    -m l b c]
           [-m l b c                    m b^2  ]                                                         (2)
    bias = m l b s [-theta_2'^2; theta_1'^2]
           + g [-(m_h l + m (a + l)) sin(theta_1);  m b sin(theta_2)]                                    (3)

Both feet are on a ramp of angle gamma where theta_1 + theta_2 = 2 gamma. The swing leg may pass through the ramp on its
way forward; its foot lands where the guard

    max(2 gamma - theta_1 - theta_2, theta_2 - theta_1)                                                  (4)

goes to zero. Landing is inelastic: the impulse acts on the new stance foot alone. So the angular momenta of everything
about that foot, p_1 + p_2, and of the trailing leg about the hip, p_2, are what they were before. In terms of the rates
before, and with M of the angles after (the legs change their roles),

    M(q+) q+' = [p_1; p_2],   p_2 = -m a b theta_1',   p_1 = (m_h l + 2 m a) l c theta_1' - m a b theta_2'  (5)

Sources: A. Goswami, B. Thuilot, B. Espiau, A study of the passive gait of a compass-like biped robot, Int. J. Robotics
Research 17 (1998); R. Tedrake, Underactuated Robotics, chapter 4.

A truth value among the abstract state of a plant, as a number that native functions read.

The rimless wheel: spokes without a rim, rolling down a ramp from spoke to spoke.

A point mass at the hub, n massless spokes of length l, at angles 2 alpha = 2 pi / n from each other. The angle theta of
the stance spoke is measured clockwise from the vertical, so that positive angles and rates go downhill:

    theta'' = (g / l) sin theta                                                                          (1)

On a ramp of angle gamma the next spoke lands where theta = gamma + alpha, or uphill where theta = gamma - alpha.
Landing is inelastic, and keeps the angular momentum about the new foot:

    theta+ = theta -+ 2 alpha,   theta+' = theta' cos(2 alpha)                                            (2)

A wheel that comes to rest lands infinitely often in a finite time. So one that lands with |theta+'| < 0.01 sqrt(g / l)
stays on both spokes, for good.

Source: R. Tedrake, Underactuated Robotics, chapter 4.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from numpy.typing import NDArray

from merganser.framework import (
    AbstractStateIndex,
    BasicVector,
    CacheEntry,
    Context,
    LeafSystem,
    OutputPort,
    UnrestrictedUpdateEvent,
    Value,
    WitnessFunction,
    WitnessFunctionDirection,
    kUseDefaultName,
)
from merganser.framework.core.declarations.native_wires import InputOr
from merganser.framework.core.values.named_vector import NamedVector
from merganser.framework.math import abs as magnitude
from merganser.framework.math import max as greater_of
from merganser.framework.math import sqrt
from merganser.framework.math.element_functions import cos, sin
from merganser.framework.native import device, native


def declare_flag(system: LeafSystem, index: AbstractStateIndex, description: str) -> CacheEntry:
    """Declares a computation that gives 1 where an abstract state variable is True, otherwise 0.

    Args:
        system: that has the state.
        index: of the variable, whose value is a bool.
        description: what is true, for messages.
    """
    calc = functools.partial(_write_flag, index)
    return system._sys_declare_entry(description, BasicVector(1), calc, [system.abstract_state_ticket(index)])


def _write_flag(index: AbstractStateIndex, context: Any, output: Any) -> None:
    output[0] = 1.0 if context.get_abstract_state(index).get_value() else 0.0


Array = NDArray[Any]


class CompassGaitContinuousState(NamedVector):
    """Angles of the stance leg and the swing leg from the vertical, clockwise [rad], and their rates [rad/s]."""

    DEFAULTS = {"stance": 0.0, "swing": 0.0, "stancedot": 0.0, "swingdot": 0.0}


class CompassGaitParams(NamedVector):
    """Masses of hip and leg [kg], length of a leg, its centre of mass below the hip [m], gravity, slope [rad].

    The slope is at least 0 and less than a quarter turn: forward is downhill.
    """

    DEFAULTS = {
        "mass_hip": 10.0, "mass_leg": 5.0, "length_leg": 1.0, "center_of_mass_leg": 0.5, "gravity": 9.81,
        "slope": 0.0525,
    }  # fmt: skip


@device
def mass_terms(p: Any, c: Any) -> Any:
    """M_11, M_12 and M_22, equation (2); c = cos(theta_1 - theta_2)."""
    mh, m, l, b = p[0], p[1], p[2], p[3]
    a = l - b
    return mh * l * l + m * (a * a + l * l), -m * l * b * c, m * b * b


@native
def walk(p: Array, x: Array, tau: Array, xdot: Array) -> None:
    """Equation (1), solved for q''."""
    mh, m, l, b, g = p[0], p[1], p[2], p[3], p[4]
    M11, M12, M22 = mass_terms(p, cos(x[0] - x[1]))
    centrifugal = m * l * b * sin(x[0] - x[1])
    first = -tau[0] + centrifugal * x[3] * x[3] + g * (mh * l + m * (l - b + l)) * sin(x[0])
    second = tau[0] - centrifugal * x[2] * x[2] - g * m * b * sin(x[1])
    determinant = M11 * M22 - M12 * M12
    xdot[0], xdot[1] = x[2], x[3]
    xdot[2] = (M22 * first - M12 * second) / determinant
    xdot[3] = (M11 * second - M12 * first) / determinant


@native
def floating_base_of_gait(p: Array, x: Array, toe: Array, is_left: Array, y: Array) -> None:
    """[position and roll-pitch-yaw of the left leg at the hip, angle from it to the right leg], and their rates."""
    l, slope = p[2], p[5]
    left, right = is_left[0], 1.0 - is_left[0]  # which leg is the stance leg
    for i in range(14):
        y[i] = 0.0 * x[0]
    y[0] = toe[0] * cos(slope) + l * sin(x[0])
    y[2] = -toe[0] * sin(slope) + l * cos(x[0])
    y[4] = left * x[0] + right * x[1]
    y[6] = (left - right) * (x[1] - x[0])
    y[7] = l * cos(x[0]) * x[2]
    y[9] = -l * sin(x[0]) * x[2]
    y[11] = left * x[2] + right * x[3]
    y[13] = (left - right) * (x[3] - x[2])


def rates_after_landing(p: Any, x: Any) -> tuple[Any, Any]:
    """Equation (5), solved for the rates of the new stance leg and of the new swing leg."""
    mh, m, l, b = p[0], p[1], p[2], p[3]
    a, c = l - b, cos(x[0] - x[1])
    p2 = -m * a * b * x[2]
    p1 = (mh * l + 2.0 * m * a) * l * c * x[2] - m * a * b * x[3]
    M11, M12, M22 = mass_terms(p, c)
    determinant = M11 * M22 - M12 * M12
    return (M22 * p1 - M12 * p2) / determinant, (M11 * p2 - M12 * p1) / determinant


class CompassGait(LeafSystem):
    """The compass gait. Its input `hip_torque`, on the swing leg, may be left unconnected, and is zero then.

    Outputs: `minimal_state`, and `floating_base_state`, shape [14]: the hip with the orientation of the left leg
    (x, y, z, roll, pitch, yaw), the angle from the left to the right leg, and the rates of these seven.

    State: [stance, swing, stancedot, swingdot]; where the stance foot is along the ramp [m] (discrete); whether the
    left leg is the stance leg (abstract).
    """

    def __init__(self) -> None:
        super().__init__()
        tau = self.DeclareVectorInputPort("hip_torque", 1)
        state = self.DeclareContinuousState(CompassGaitContinuousState(), 2, 2, 0)
        toe = self.DeclareDiscreteState(1)
        self._left_support = self.DeclareAbstractState(Value[bool](True))
        params = self.DeclareNumericParameter(CompassGaitParams())
        is_left = declare_flag(self, self._left_support, "whether the left leg is the stance leg")
        self.DeclareStateOutputPort("minimal_state", state)
        pose = floating_base_of_gait.given(p=params, x=state, toe=toe, is_left=is_left)
        self.DeclareVectorOutputPort("floating_base_state", 14, pose)
        self._sys_declare_derivatives(walk.given(p=params, x=state, tau=InputOr(tau, [0.0])), of=CompassGait)
        self._landing = self.MakeWitnessFunction(
            "foot collision",
            WitnessFunctionDirection.kPositiveThenNonPositive,
            self._guard,
            UnrestrictedUpdateEvent(self._land),
        )

    def get_minimal_state_output_port(self) -> OutputPort:
        """Returns the port with [stance, swing, stancedot, swingdot]."""
        return self.get_output_port(0)

    def get_floating_base_state_output_port(self) -> OutputPort:
        """Returns the port with hip, left leg and right leg, and their rates, shape [14]."""
        return self.get_output_port(1)

    def DoCalcKineticEnergy(self, context: Context) -> Any:
        """q'^T M q' / 2 [J]."""
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        M11, M12, M22 = mass_terms(p, cos(x[0] - x[1]))
        return 0.5 * (M11 * x[2] * x[2] + 2.0 * M12 * x[2] * x[3] + M22 * x[3] * x[3])

    def DoCalcPotentialEnergy(self, context: Context) -> Any:
        """Zero at the height of the beginning of the ramp [J]."""
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        mh, m, l, b, g, slope = (p[i] for i in range(6))
        z_hip = l * cos(x[0]) - context.get_discrete_state(0)[0] * sin(slope)
        return g * ((mh + 2.0 * m) * z_hip - m * b * (cos(x[0]) + cos(x[1])))

    def DoGetWitnessFunctions(self, context: Context) -> list[WitnessFunction]:
        """The foot can land at any time."""
        return [self._landing]

    def _guard(self, context: Context) -> Any:
        """Equation (4)."""
        slope, x = context.get_numeric_parameter(0)[5], context.get_continuous_state_vector()
        return greater_of(2.0 * slope - x[0] - x[1], x[1] - x[0])

    def _land(self, context: Context, event: Any, state: Any) -> None:
        """The legs change their roles, equation (5)."""
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        stance, swing = x[0], x[1]
        rates = rates_after_landing(p, x)
        state.get_mutable_continuous_state().SetFromVector([swing, stance, *rates])
        toe = context.get_discrete_state(0)[0] + 2.0 * p[2] * sin(0.5 * (stance - swing))
        state.get_mutable_discrete_state(0).SetAtIndex(0, toe)
        left_support = context.get_abstract_state(self._left_support).get_value()
        state.get_mutable_abstract_state(self._left_support).set_value(not left_support)


_SLOW = 0.01  # landing rates below this many sqrt(g / l) end in rest


class RimlessWheelContinuousState(NamedVector):
    """theta [rad] and thetadot [rad/s] of the stance spoke, clockwise from the vertical."""

    DEFAULTS = {"theta": 0.0, "thetadot": 0.0}


class RimlessWheelParams(NamedVector):
    """Mass [kg], length of a spoke [m], gravity [m/s^2], number of spokes (at least 4), slope of the ramp [rad]."""

    DEFAULTS = {"mass": 1.0, "length": 1.0, "gravity": 9.81, "number_of_spokes": 8, "slope": 0.08}


@native
def roll(p: Array, x: Array, rests: Array, xdot: Array) -> None:
    """Equation (1); at rest nothing moves."""
    moves = 1.0 - rests[0]
    xdot[0] = moves * x[1]
    xdot[1] = moves * (p[2] / p[1] * sin(x[0]))


@native
def floating_base(p: Array, x: Array, toe: Array, y: Array) -> None:
    """Position and roll-pitch-yaw of the hub, and their rates; the pitch goes on from spoke to spoke."""
    l, slope, alpha = p[1], p[4], math.pi / p[3]
    for i in range(12):
        y[i] = 0.0 * x[0]
    y[0] = toe[0] * cos(slope) + l * sin(x[0])
    y[2] = -toe[0] * sin(slope) + l * cos(x[0])
    y[4] = x[0] + alpha * toe[0] / (l * sin(alpha))  # 2 alpha for each step, which is 2 l sin(alpha) long
    y[6] = l * cos(x[0]) * x[1]
    y[8] = -l * sin(x[0]) * x[1]
    y[10] = x[1]


class RimlessWheel(LeafSystem):
    """The rimless wheel, without inputs. Outputs: [theta, thetadot], and the state of its hub as a floating body.

    The latter has shape [12]: x, y, z, roll, pitch, yaw and their rates. (pydrake 1.51 gives the translational
    velocity with the opposite sign.)

    State: [theta, thetadot]; where the foot is along the ramp [m] (discrete); whether the wheel rests on two spokes
    (abstract).
    """

    def __init__(self) -> None:
        super().__init__()
        state = self.DeclareContinuousState(RimlessWheelContinuousState(), 1, 1, 0)
        toe = self.DeclareDiscreteState(1)
        self._double_support = self.DeclareAbstractState(Value[bool](False))
        params = self.DeclareNumericParameter(RimlessWheelParams())
        rests = declare_flag(self, self._double_support, "whether the wheel rests on two spokes")
        self.DeclareStateOutputPort(kUseDefaultName, state)
        self.DeclareVectorOutputPort(kUseDefaultName, 12, floating_base.given(p=params, x=state, toe=toe))
        self._sys_declare_derivatives(roll.given(p=params, x=state, rests=rests), of=RimlessWheel)
        down = WitnessFunctionDirection.kPositiveThenNonPositive
        self._steps = [
            self.MakeWitnessFunction("step forward", down, self._forward_guard, UnrestrictedUpdateEvent(self._forward)),
            self.MakeWitnessFunction("step backward", down, self._back_guard, UnrestrictedUpdateEvent(self._back)),
        ]

    def get_minimal_state_output_port(self) -> OutputPort:
        """Returns the port with [theta, thetadot]."""
        return self.get_output_port(0)

    def get_floating_base_state_output_port(self) -> OutputPort:
        """Returns the port with the state of the hub as a floating body, shape [12]."""
        return self.get_output_port(1)

    @staticmethod
    def calc_alpha(params: RimlessWheelParams) -> Any:
        """Returns half the angle between two spokes [rad]."""
        return math.pi / params.number_of_spokes()

    def DoGetWitnessFunctions(self, context: Any) -> list[WitnessFunction]:
        """A wheel at rest has no witness function."""
        return [] if context.get_abstract_state(self._double_support).get_value() else self._steps

    def _forward_guard(self, context: Any) -> Any:
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        return p.slope() + self.calc_alpha(p) - x[0]

    def _back_guard(self, context: Any) -> Any:
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        return x[0] - p.slope() + self.calc_alpha(p)

    def _forward(self, context: Any, event: Any, state: Any) -> None:
        self._land(context, state, 1.0)

    def _back(self, context: Any, event: Any, state: Any) -> None:
        self._land(context, state, -1.0)

    def _land(self, context: Any, state: Any, direction: float) -> None:
        """Equation (2); direction is 1 downhill and -1 uphill."""
        p, x = context.get_numeric_parameter(0), context.get_continuous_state_vector()
        alpha = self.calc_alpha(p)
        theta, rate = x[0] - direction * 2.0 * alpha, x[1] * cos(2.0 * alpha)
        if magnitude(rate) < _SLOW * sqrt(p.gravity() / p.length()):
            state.get_mutable_abstract_state(self._double_support).set_value(True)
            rate = 0.0 * rate
        state.get_mutable_continuous_state().SetFromVector([theta, rate])
        toe = context.get_discrete_state(0)[0] + direction * 2.0 * p.length() * sin(alpha)
        state.get_mutable_discrete_state(0).SetAtIndex(0, toe)
