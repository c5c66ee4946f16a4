"""The torques in the hinge of a door: spring, catch and friction."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework.common.records import settings
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.elements import door_hinge
from merganser.multibody.kernels.elements.door_hinge import hinge_friction_torque, hinge_spring_torque
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.force_elements.force_element import ForceElement
from merganser.multibody.tree.force_elements.joint_spring import check_joint
from merganser.multibody.tree.joints.one_dof_joint import RevoluteJoint

if TYPE_CHECKING:
    from merganser.framework import Context


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
