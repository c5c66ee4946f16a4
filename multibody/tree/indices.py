"""Typed indices of the elements of a tree: whole numbers that print their kind."""

from __future__ import annotations

from typing import SupportsIndex

__all__ = [
    "BodyIndex",
    "ForceElementIndex",
    "FrameIndex",
    "JointActuatorIndex",
    "JointIndex",
    "MobilizerIndex",
    "ModelInstanceIndex",
    "default_model_instance",
    "world_frame_index",
    "world_index",
    "world_model_instance",
]


class TypedIndex(int):
    """Index of one kind of element; without an argument it is invalid (negative)."""

    _never_changes = True  # copies of a system share it

    def __new__(cls, value: SupportsIndex = -1) -> TypedIndex:
        return super().__new__(cls, value)

    def is_valid(self) -> bool:
        """Returns whether the index could name an element: whether it is not negative."""
        return self >= 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({int(self)})"


class BodyIndex(TypedIndex):
    """Index of a RigidBody in its tree, in order of addition; the world is 0."""


class FrameIndex(TypedIndex):
    """Index of a Frame in its tree, in order of addition; the world frame is 0."""


class JointIndex(TypedIndex):
    """Index of a Joint in its tree, in order of addition, implicit joints last."""


class MobilizerIndex(TypedIndex):
    """Index of a Mobilizer in its tree, in the depth-first order of the outboard bodies."""


class JointActuatorIndex(TypedIndex):
    """Index of a JointActuator in its tree, in order of addition: the order of the inputs in the actuation vector."""


class ModelInstanceIndex(TypedIndex):
    """Index of a model instance: the world's is 0, the default 1."""


class ForceElementIndex(TypedIndex):
    """Index of a ForceElement in its tree; gravity is 0."""


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
