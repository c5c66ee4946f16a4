"""Names of the positions, velocities and actuators of a finalized tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from merganser.multibody.tree.joints.joint import Joint

if TYPE_CHECKING:
    from merganser.multibody.tree.tree import MultibodyTree

def position_names(
    tree: MultibodyTree,
    model_instance: int | None = None,
    add_model_instance_prefix: bool = True,
    always_add_suffix: bool = True,
) -> list[str]:
    """Returns the names of the positions, in the order of q: instance_joint_suffix.

    Args:
        tree: a finalized tree.
        model_instance: which instance; None for all.
        add_model_instance_prefix: whether names start with that of the instance.
        always_add_suffix: whether joints with a single position have the suffix too.
    """

    def suffixes(joint: Joint) -> list[str]:
        return [joint.position_suffix(k) for k in range(joint.num_positions())]

    return _names(tree, model_instance, add_model_instance_prefix, always_add_suffix, suffixes)


def velocity_names(
    tree: MultibodyTree,
    model_instance: int | None = None,
    add_model_instance_prefix: bool = True,
    always_add_suffix: bool = True,
) -> list[str]:
    """Returns the names of the velocities, in the order of v; arguments as position_names."""

    def suffixes(joint: Joint) -> list[str]:
        return [joint.velocity_suffix(k) for k in range(joint.num_velocities())]

    return _names(tree, model_instance, add_model_instance_prefix, always_add_suffix, suffixes)


def actuator_names(
    tree: MultibodyTree, model_instance: int | None = None, add_model_instance_prefix: bool = True
) -> list[str]:
    """Returns the names of the actuators, in the order of u; arguments as position_names."""
    return [
        _prefix(tree, actuator.model_instance(), add_model_instance_prefix) + actuator.name()
        for actuator in tree.actuators.in_instance(model_instance)
    ]


def _names(
    tree: MultibodyTree,
    model_instance: int | None,
    add_model_instance_prefix: bool,
    always_add_suffix: bool,
    suffixes: Callable[[Joint], list[str]],
) -> list[str]:
    names = []
    for joint in sorted(tree.joints.in_instance(model_instance), key=Joint.position_start):
        stem = _prefix(tree, joint.model_instance(), add_model_instance_prefix) + joint.name()
        ends = suffixes(joint)
        if len(ends) == 1 and not always_add_suffix:
            names.append(stem)
        else:
            names.extend(f"{stem}_{end}" for end in ends)
    return names


def _prefix(tree: MultibodyTree, model_instance: int, add_model_instance_prefix: bool) -> str:
    return f"{tree.GetModelInstanceName(model_instance)}_" if add_model_instance_prefix else ""
