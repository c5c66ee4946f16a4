"""Force elements, one type a file."""

from merganser.multibody.tree.force_elements.fluid import FluidForceOnBox, FluidForceOnEllipsoid
from merganser.multibody.tree.force_elements.force_element import ForceElement
from merganser.multibody.tree.force_elements.joint_spring import (
    BallSpring,
    DoorHinge,
    DoorHingeConfig,
    PolynomialSpring,
    PrismaticSpring,
    RevoluteSpring,
)
from merganser.multibody.tree.force_elements.linear_bushing import LinearBushingRollPitchYaw, LinearSpringDamper
from merganser.multibody.tree.force_elements.uniform_gravity import GravityCompensation, UniformGravityFieldElement

__all__ = [
    "BallSpring",
    "DoorHinge",
    "DoorHingeConfig",
    "FluidForceOnBox",
    "FluidForceOnEllipsoid",
    "ForceElement",
    "GravityCompensation",
    "LinearBushingRollPitchYaw",
    "LinearSpringDamper",
    "PolynomialSpring",
    "PrismaticSpring",
    "RevoluteSpring",
    "UniformGravityFieldElement",
]
