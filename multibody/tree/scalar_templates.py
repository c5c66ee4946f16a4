"""The templates `Foo_` of elements, forces and inertias.

An element is of the scalar type of its plant.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.core.inside import scalar_of
from merganser.framework.core.scalars.scalars import cast_array, scalar_of_array
from merganser.framework.core.scalars.templates import ValueTemplate
from merganser.multibody.tree.element import MultibodyElement
from merganser.multibody.tree.force_elements import (
    DoorHinge,
    ForceElement,
    LinearBushingRollPitchYaw,
    LinearSpringDamper,
    PrismaticSpring,
    RevoluteSpring,
    UniformGravityFieldElement,
)
from merganser.multibody.tree.frame import FixedOffsetFrame, Frame, RigidBodyFrame
from merganser.multibody.tree.inertia import RotationalInertia, SpatialInertia, UnitInertia
from merganser.multibody.tree.joint_actuator import JointActuator
from merganser.multibody.tree.joints import (
    BallQuaternionJoint,
    BallRpyJoint,
    Joint,
    PlanarJoint,
    PrismaticJoint,
    QuaternionFloatingJoint,
    RevoluteJoint,
    RpyFloatingJoint,
    ScrewJoint,
    UniversalJoint,
    WeldJoint,
)
from merganser.multibody.tree.multibody_forces import MultibodyForces
from merganser.multibody.tree.rigid_body import RigidBody


def _of_plant(element: MultibodyElement) -> type[Any]:
    plant = element._tree.plant if element._tree is not None else None
    return float if plant is None else scalar_of(plant)


def _of_forces(forces: MultibodyForces) -> type[Any]:
    return scalar_of_array(forces._F_Bo_W)


def _as_forces_of(forces: MultibodyForces, T: type[Any]) -> MultibodyForces:
    if _of_forces(forces) is T:
        return forces
    result = MultibodyForces(nb=forces.num_bodies(), nv=forces.num_velocities())
    result._F_Bo_W, result._tau = cast_array(forces._F_Bo_W, T), cast_array(forces._tau, T)
    return result


def _of_inertia(cls: type[Any]) -> ValueTemplate:
    return ValueTemplate(cls, lambda inertia: inertia._scalar_type(), lambda inertia, T: inertia._cast(T))


BallQuaternionJoint_ = ValueTemplate(BallQuaternionJoint, _of_plant)
BallRpyJoint_ = ValueTemplate(BallRpyJoint, _of_plant)
DoorHinge_ = ValueTemplate(DoorHinge, _of_plant)
FixedOffsetFrame_ = ValueTemplate(FixedOffsetFrame, _of_plant)
ForceElement_ = ValueTemplate(ForceElement, _of_plant)
Frame_ = ValueTemplate(Frame, _of_plant)  # type: ignore[type-abstract]
JointActuator_ = ValueTemplate(JointActuator, _of_plant)
Joint_ = ValueTemplate(Joint, _of_plant)
LinearBushingRollPitchYaw_ = ValueTemplate(LinearBushingRollPitchYaw, _of_plant)
LinearSpringDamper_ = ValueTemplate(LinearSpringDamper, _of_plant)
PlanarJoint_ = ValueTemplate(PlanarJoint, _of_plant)
PrismaticJoint_ = ValueTemplate(PrismaticJoint, _of_plant)
PrismaticSpring_ = ValueTemplate(PrismaticSpring, _of_plant)
QuaternionFloatingJoint_ = ValueTemplate(QuaternionFloatingJoint, _of_plant)
RevoluteJoint_ = ValueTemplate(RevoluteJoint, _of_plant)
RevoluteSpring_ = ValueTemplate(RevoluteSpring, _of_plant)
RigidBodyFrame_ = ValueTemplate(RigidBodyFrame, _of_plant)
RigidBody_ = Body_ = ValueTemplate(RigidBody, _of_plant)
RpyFloatingJoint_ = ValueTemplate(RpyFloatingJoint, _of_plant)
ScrewJoint_ = ValueTemplate(ScrewJoint, _of_plant)
UniformGravityFieldElement_ = ValueTemplate(UniformGravityFieldElement, _of_plant)
UniversalJoint_ = ValueTemplate(UniversalJoint, _of_plant)
WeldJoint_ = ValueTemplate(WeldJoint, _of_plant)

MultibodyForces_ = ValueTemplate(MultibodyForces, _of_forces, _as_forces_of)

RotationalInertia_ = _of_inertia(RotationalInertia)
SpatialInertia_ = _of_inertia(SpatialInertia)
UnitInertia_ = _of_inertia(UnitInertia)
