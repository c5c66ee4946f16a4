"""Typed indices of the elements of a tree, whole numbers that print their kind, and by what a Jacobian is taken."""

from __future__ import annotations

from typing import Self, SupportsIndex

from merganser.framework.common.enumeration import Enumeration
from merganser.framework.common.indices import TypedIndex


class _ElementIndex(TypedIndex):
    """Index of one kind of element; without an argument it is invalid (negative)."""

    __slots__ = ()

    def __new__(cls, value: SupportsIndex = -1) -> Self:
        return super().__new__(cls, value)


class BodyIndex(_ElementIndex):
    """Index of a RigidBody in its tree, in order of addition; the world is 0."""

    __slots__ = ()


class DeformableBodyIndex(_ElementIndex):
    """Index of a DeformableBody in its plant, in order of registration."""

    __slots__ = ()


class FrameIndex(_ElementIndex):
    """Index of a Frame in its tree, in order of addition; the world frame is 0."""

    __slots__ = ()


class JointIndex(_ElementIndex):
    """Index of a Joint in its tree, in order of addition, implicit joints last."""

    __slots__ = ()


class MobilizerIndex(_ElementIndex):
    """Index of a Mobilizer in its tree, in the depth-first order of the outboard bodies."""

    __slots__ = ()


class JointActuatorIndex(_ElementIndex):
    """Index of a JointActuator in its tree, in order of addition: the order of the inputs in the actuation vector."""

    __slots__ = ()


class TransmissionIndex(_ElementIndex):
    """Index of a Transmission in its tree, in order of addition."""

    __slots__ = ()


class ModelInstanceIndex(_ElementIndex):
    """Index of a model instance: the world's is 0, the default 1."""

    __slots__ = ()


class ForceElementIndex(_ElementIndex):
    """Index of a ForceElement in its tree; gravity is 0."""

    __slots__ = ()


def world_index() -> BodyIndex:
    """Returns the index of the world body."""
    return BodyIndex(0)


def world_frame_index() -> FrameIndex:
    """Returns the index of the world frame."""
    return FrameIndex(0)


def world_model_instance() -> ModelInstanceIndex:
    """Returns the index of the model instance that holds the world."""
    return ModelInstanceIndex(0)


def default_model_instance() -> ModelInstanceIndex:
    """Returns the index of the model instance that takes elements added without naming one."""
    return ModelInstanceIndex(1)


class JacobianWrtVariable(Enumeration):
    """The speeds that a velocity is a linear function of."""

    kQDot = 0  # rates of the generalized positions
    kV = 1  # generalized velocities
