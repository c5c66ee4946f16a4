"""Springs on one joint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from numpy.typing import ArrayLike

from merganser.multibody.kernels.elements import joint_spring
from merganser.multibody.kernels.elements.ball_spring import BALL_SPRING
from merganser.multibody.kernels.elements.polynomial_spring import POLYNOMIAL_SPRING
from merganser.multibody.math.vectors import as_vector
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
