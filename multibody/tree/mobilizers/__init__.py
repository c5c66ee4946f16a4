"""Mobilizers as objects: the motion across one joint of a finalized tree."""

from merganser.multibody.tree.mobilizers.kinds import (
    BallQuaternionMobilizer,
    CurvilinearMobilizer,
    PlanarMobilizer,
    PrismaticMobilizer,
    QuaternionFloatingMobilizer,
    RevoluteMobilizer,
    RpyFloatingMobilizer,
    ScrewMobilizer,
    SpaceXYZMobilizer,
    UniversalMobilizer,
    WeldMobilizer,
)
from merganser.multibody.tree.mobilizers.mobilizer import BodyNode, Mobilizer, MobilizerTopology

__all__ = [
    "BallQuaternionMobilizer",
    "BodyNode",
    "CurvilinearMobilizer",
    "Mobilizer",
    "MobilizerTopology",
    "PlanarMobilizer",
    "PrismaticMobilizer",
    "QuaternionFloatingMobilizer",
    "RevoluteMobilizer",
    "RpyFloatingMobilizer",
    "ScrewMobilizer",
    "SpaceXYZMobilizer",
    "UniversalMobilizer",
    "WeldMobilizer",
]
