"""Forces of one joint: springs, and the hinge of a door with spring, catch and friction."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework.common.records import settings
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.elements import door_hinge, joint_spring
from merganser.multibody.kernels.elements.ball_spring import BALL_SPRING
from merganser.multibody.kernels.elements.door_hinge import hinge_friction_torque, hinge_spring_torque
from merganser.multibody.kernels.elements.polynomial_spring import POLYNOMIAL_SPRING
from merganser.multibody.math.spatial_vector import as_vector
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.force_elements.force_element import ForceElement
from merganser.multibody.tree.joints.ball_joint import BallJoint
from merganser.multibody.tree.joints.joint import Joint
from merganser.multibody.tree.joints.one_dof_joint import OneDofJoint, PrismaticJoint, RevoluteJoint

if TYPE_CHECKING:
    from merganser.framework import Context

JointType = TypeVar("JointType", bound=Joint)
OneDofJointType = TypeVar("OneDofJointType", bound=OneDofJoint)


def check_joint(caller: str, joint: object, kind: type) -> None:
    """Raises TypeError if `joint` is not of a kind."""
    if not isinstance(joint, kind):
        raise TypeError(f"{caller}() takes a {kind.__name__}, not a {type(joint).__name__}.")


class _SpringOnJoint(ForceElement, Generic[JointType]):
    """Abstract spring with one stiffness on one joint."""

    def __init__(self, joint: JointType, stiffness: float) -> None:
        super().__init__(joint.model_instance())
        self._joint = joint
        self._stiffness = self._checked("stiffness", stiffness, 0.0)

    def joint(self) -> JointType:
        """Returns the joint on which the spring acts."""
        return self._joint

    def GetStiffness(self, context: Context) -> Any:
        """Returns the stiffness in the Context [N m/rad or N/m]."""
        return self._constants(context)["stiffness"][0]

    def SetStiffness(self, context: Context, stiffness: float) -> None:
        """Sets the stiffness in the Context [N m/rad or N/m].

        Raises:
            RuntimeError: if it is negative or not finite.
        """
        self._set_constant(context, "stiffness", self._checked("stiffness", stiffness, 0.0))

    def _parts(self) -> tuple[MultibodyElement, ...]:
        return (self._joint,)

    def _write_constants(self, record: Any) -> None:
        record["stiffness"][0] = self._stiffness


class JointSpring(_SpringOnJoint[OneDofJointType]):
    """Abstract spring that drives the position of a joint to a nominal one."""

    kind = joint_spring.KIND

    def __init__(self, joint: OneDofJointType, nominal: float, stiffness: float) -> None:
        super().__init__(joint, stiffness)
        self._nominal = self._checked("nominal position", nominal)

    def _get_nominal(self, context: Context) -> Any:
        return self._constants(context)["nominal"]

    def _set_nominal(self, context: Context, nominal: float) -> None:
        self._set_constant(context, "nominal", self._checked("nominal position", nominal))

    def _write_constants(self, record: Any) -> None:
        super()._write_constants(record)
        record["nominal"] = self._nominal


class RevoluteSpring(JointSpring[RevoluteJoint]):
    """A torsional spring on a revolute joint: the torque -stiffness (angle - nominal_angle).

    Args:
        joint: the joint on which it acts.
        nominal_angle: angle without torque [rad].
        stiffness: not negative [N m/rad].

    Raises:
        RuntimeError: if the stiffness is negative, or a number is not finite.
        TypeError: if `joint` is not a RevoluteJoint.
    """

    def __init__(self, joint: RevoluteJoint, nominal_angle: float, stiffness: float) -> None:
        check_joint("RevoluteSpring", joint, RevoluteJoint)
        super().__init__(joint, nominal_angle, stiffness)

    def default_nominal_angle(self) -> float:
        """Returns the angle without torque that new Contexts start with [rad]."""
        return self._nominal

    def default_stiffness(self) -> float:
        """Returns the stiffness that new Contexts start with [N m/rad]."""
        return self._stiffness

    def GetNominalAngle(self, context: Context) -> Any:
        """Returns the angle without torque in the Context [rad]."""
        return self._get_nominal(context)

    def SetNominalAngle(self, context: Context, nominal_angle: float) -> None:
        """Sets the angle without torque in the Context [rad]; RuntimeError if it is not finite."""
        self._set_nominal(context, nominal_angle)


class PrismaticSpring(JointSpring[PrismaticJoint]):
    """A linear spring on a prismatic joint: the force -stiffness (translation - nominal_position).

    Args:
        joint: the joint on which it acts.
        nominal_position: translation without force [m].
        stiffness: not negative [N/m].

    Raises:
        RuntimeError: if the stiffness is negative, or a number is not finite.
        TypeError: if `joint` is not a PrismaticJoint.
    """

    def __init__(self, joint: PrismaticJoint, nominal_position: float, stiffness: float) -> None:
        check_joint("PrismaticSpring", joint, PrismaticJoint)
        super().__init__(joint, nominal_position, stiffness)

    def nominal_position(self) -> float:
        """Returns the translation without force that new Contexts start with [m]."""
        return self._nominal

    def stiffness(self) -> float:
        """Returns the stiffness that new Contexts start with [N/m]."""
        return self._stiffness

    def GetNominalPosition(self, context: Context) -> Any:
        """Returns the translation without force in the Context [m]."""
        return self._get_nominal(context)

    def SetNominalPosition(self, context: Context, nominal_position: float) -> None:
        """Sets the translation without force in the Context [m]; RuntimeError if it is not finite."""
        self._set_nominal(context, nominal_position)


class PolynomialSpring(ForceElement):
    """A spring and damper on a joint of one position, of polynomials of x = q - nominal and of the speed v.

    Its force is -(k1 x + k2 x^2 + k3 x^3) - (d1 v + d2 v |v| + d3 v^3). There is no such element in pydrake.

    Args:
        joint: the joint on which it acts.
        nominal: position without force of the spring [rad or m].
        stiffness: k1, k2, k3 [N m or N, by powers of the position], shape [3].
        damping: d1, d2, d3 [N m or N, by powers of the speed], shape [3].

    Raises:
        RuntimeError: if a number is not finite.
        TypeError: if `joint` is not a joint of one position.
        ValueError: if there are not three coefficients.
    """

    kind = POLYNOMIAL_SPRING

    def __init__(
        self, joint: OneDofJoint, nominal: float, stiffness: ArrayLike, damping: ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        check_joint("PolynomialSpring", joint, OneDofJoint)
        super().__init__(joint.model_instance())
        self._joint = joint
        self._nominal = self._checked("nominal position", nominal)
        named = (("stiffness", stiffness), ("damping", damping))
        self._coefficients = {
            what: [self._checked(what, value) for value in as_vector(values, 3, f"PolynomialSpring: {what}")]
            for what, values in named
        }

    def joint(self) -> OneDofJoint:
        """Returns the joint on which the spring acts."""
        return self._joint

    def _parts(self) -> tuple[MultibodyElement, ...]:
        return (self._joint,)

    def _write_constants(self, record: Any) -> None:
        record["nominal"] = self._nominal
        for name, values in self._coefficients.items():
            record[name][:3] = values


class BallSpring(_SpringOnJoint[BallJoint]):
    """A torsional spring on a ball joint, which drives M to the orientation of F.

    It exerts the torque -stiffness theta about a, where R_FM is the rotation by theta about the unit vector a,
    0 <= theta <= pi. There is no such element in pydrake.

    Args:
        joint: the ball joint on which it acts, of either kind.
        stiffness: not negative [N m/rad].

    Raises:
        RuntimeError: if the stiffness is negative or not finite.
        TypeError: if `joint` is not a ball joint.
    """

    kind = BALL_SPRING

    def __init__(self, joint: BallJoint, stiffness: float) -> None:
        check_joint("BallSpring", joint, BallJoint)
        super().__init__(joint, stiffness)

    def stiffness(self) -> float:
        """Returns the stiffness that new Contexts start with [N m/rad]."""
        return self._stiffness

    def _parts(self) -> tuple[MultibodyElement, ...]:
        return self._joint.frame_on_parent(), self._joint.frame_on_child()

    def _write_constants(self, record: Any) -> None:
        super()._write_constants(record)
        frames = self._joint.frame_on_parent(), self._joint.frame_on_child()
        record["X_L0A"], record["X_L1C"] = (frame.GetFixedPoseInBodyFrame().GetAsMatrix34() for frame in frames)


# ---------------------------------------------------------------------- the hinge of a door

@settings
@dataclass(kw_only=True)
class DoorHingeConfig:
    """Constants of a DoorHinge, by default those of the door of a dishwasher.

    The door is closed at the angle 0 and opens towards positive angles.

    Attributes:
        spring_zero_angle_rad: angle without torque of the spring [rad].
        spring_constant: stiffness of the spring, not negative [N m/rad].
        dynamic_friction_torque: largest torque of dynamic friction, not negative [N m].
        static_friction_torque: largest torque of static friction, not negative [N m].
        viscous_friction: viscous friction, not negative [N m s/rad].
        catch_width: angle over which the catch holds the door, not negative; 0 for no catch [rad].
        catch_torque: largest torque of the catch [N m].
        motion_threshold: rate at which friction has about half its torque, not negative; 0 for viscous friction alone
            [rad/s]. Smaller is more like dry friction, and stiffer.
    """

    spring_zero_angle_rad: float = -1.5
    spring_constant: float = 1.5
    dynamic_friction_torque: float = 3.0
    static_friction_torque: float = 2.0
    viscous_friction: float = 1.0
    catch_width: float = 0.02
    catch_torque: float = 15.0
    motion_threshold: float = 0.001


# Which element of the kernel's constants holds which number of the configuration.
_PLACES: dict[str, tuple[str, int | None]] = {
    "spring_zero_angle_rad": ("nominal", None),
    "spring_constant": ("stiffness", 0),
    "dynamic_friction_torque": ("dynamic_friction", None),
    "static_friction_torque": ("static_friction", None),
    "viscous_friction": ("damping", 0),
    "catch_width": ("catch_width", None),
    "catch_torque": ("catch_torque", None),
    "motion_threshold": ("motion_threshold", None),
}


class DoorHinge(ForceElement):
    """Torques on a revolute joint: a spring, a catch near the angle 0, and friction (static, dynamic and viscous).

    Steps are smoothed by tanh; the formulas are in ../../kernels/elements/. With a motion threshold of zero
    the viscous friction is what is left, and it opposes the motion (in pydrake it then supports it).

    Args:
        joint: the joint on which it acts.
        config: its constants, which are copied.

    Raises:
        RuntimeError: if a constant that must not be negative is, or one is not finite.
        TypeError: if `joint` is not a RevoluteJoint or `config` not a DoorHingeConfig.
    """

    kind = door_hinge.KIND

    def __init__(self, joint: RevoluteJoint, config: DoorHingeConfig) -> None:
        check_joint("DoorHinge", joint, RevoluteJoint)
        super().__init__(joint.model_instance())
        self._joint = joint
        self._config = self._checked_config(config)

    def joint(self) -> RevoluteJoint:
        """Returns the joint on which the hinge acts."""
        return self._joint

    def config(self) -> DoorHingeConfig:
        """Returns a copy of the constants that new Contexts start with."""
        return replace(self._config)

    def GetConfig(self, context: Context) -> DoorHingeConfig:
        """Returns the constants in the Context."""
        record = self._constants(context)
        values = {name: record[field] if k is None else record[field][k] for name, (field, k) in _PLACES.items()}
        return DoorHingeConfig(**values)

    def SetConfig(self, context: Context, config: DoorHingeConfig) -> None:
        """Sets the constants in the Context; errors as those of the constructor."""
        config = self._checked_config(config)
        for name, (field, _) in _PLACES.items():
            self._set_constant(context, field, getattr(config, name))

    def CalcHingeFrictionalTorque(self, angular_rate: float) -> float:
        """Returns the torque of friction at an angular rate [rad/s], with the default constants [N m]."""
        return float(hinge_friction_torque(self._default_record(), angular_rate))

    def CalcHingeSpringTorque(self, angle: float) -> float:
        """Returns the torque of spring and catch at an angle [rad], with the default constants [N m]."""
        return float(hinge_spring_torque(self._default_record(), angle))

    def CalcHingeTorque(self, angle: float, angular_rate: float) -> float:
        """Returns the torque at an angle [rad] and an angular rate [rad/s], with the default constants [N m]."""
        return self.CalcHingeSpringTorque(angle) + self.CalcHingeFrictionalTorque(angular_rate)

    def _default_record(self) -> Any:
        record = np.zeros(1, layout.constant_dtype())[0]
        self._write_constants(record)
        return record

    def _checked_config(self, config: DoorHingeConfig) -> DoorHingeConfig:
        if not isinstance(config, DoorHingeConfig):
            raise TypeError(f"DoorHinge() takes a DoorHingeConfig, not a {type(config).__name__}.")
        for field in fields(config):
            may_be_negative = field.name in ("spring_zero_angle_rad", "catch_torque")
            self._checked(field.name, getattr(config, field.name), None if may_be_negative else 0.0)
        return replace(config)

    def _parts(self) -> tuple[MultibodyElement, ...]:
        return (self._joint,)

    def _write_constants(self, record: Any) -> None:
        for name, (field, k) in _PLACES.items():
            if k is None:
                record[field] = getattr(self._config, name)
            else:
                record[field][k] = getattr(self._config, name)
