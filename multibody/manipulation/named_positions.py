"""ApplyNamedPositionsAsDefaults: default positions of joints by their names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from merganser.framework.core.values.arguments import require_types
from merganser.multibody.plant import MultibodyPlant


def ApplyNamedPositionsAsDefaults(input: Mapping[str, Mapping[str, ArrayLike]], plant: MultibodyPlant) -> None:
    """Sets default positions of joints; those that are not mentioned stay as they are.

    Args:
        input: positions of each joint [rad, m], shape [num_positions], by names of model instances, then of joints.
        plant: that has the joints, finalized.

    Raises:
        TypeError: an argument is of another type.
        RuntimeError: there is no such model instance or joint, or a joint has another number of positions; then nothing
            is changed.
    """
    where = "ApplyNamedPositionsAsDefaults"
    require_types(where, input=(input, Mapping), plant=(plant, MultibodyPlant))
    found = []
    for instance_name, joints in input.items():
        require_types(f"{where}: input", **{str(instance_name): (joints, Mapping)})
        instance = plant.GetModelInstanceByName(instance_name)
        for joint_name, positions in joints.items():
            joint, q = plant.GetJointByName(joint_name, instance), np.array(positions, float).ravel()
            if q.size != joint.num_positions():
                raise RuntimeError(
                    f"{where}: joint '{instance_name}::{joint_name}' has "
                    f"{joint.num_positions()} positions; got {q.size}."
                )
            found.append((joint, q))
    for joint, q in found:
        joint.set_default_positions(q)
