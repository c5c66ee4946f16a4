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
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from merganser.examples.flag import declare_flag
from merganser.framework import (
    Context,
    LeafSystem,
    OutputPort,
    UnrestrictedUpdateEvent,
    Value,
    WitnessFunction,
    WitnessFunctionDirection,
)
from merganser.framework.core.declarations.native_wires import InputOr
from merganser.framework.core.inside import declare_derivatives
from merganser.framework.core.values.named_vector import NamedVector
from merganser.framework.math import max as greater_of
from merganser.framework.math.element_functions import cos, sin
from merganser.framework.native import device, native

__all__ = ["CompassGait", "CompassGaitContinuousState", "CompassGaitParams"]

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
def floating_base(p: Array, x: Array, toe: Array, is_left: Array, y: Array) -> None:
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
        pose = floating_base.given(p=params, x=state, toe=toe, is_left=is_left)
        self.DeclareVectorOutputPort("floating_base_state", 14, pose)
        declare_derivatives(self, walk.given(p=params, x=state, tau=InputOr(tau, [0.0])), of=CompassGait)
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
        """The foot may always land."""
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
