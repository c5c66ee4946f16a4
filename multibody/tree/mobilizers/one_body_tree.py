"""The motion across one mobilizer, as that of a tree with one body.

If the frames P, F and W coincide, and so do M and B, what the kernels compute of the body is the motion of M in F.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.tree.joints import Joint
from merganser.multibody.tree.joints.records import make_records

Array = npt.NDArray[Any]


class OneBodyTree:
    """A tree of one body on the world that moves as the mobilizer of a joint does.

    Args:
        joint: whose motion.
        is_reversed: whether F of the mobilizer is the joint's frame on the child.
    """

    def __init__(self, joint: Joint, is_reversed: bool) -> None:
        self.topology, fixed = make_records(joint, is_reversed)
        self._fixed: dict[np.dtype[Any], Array] = {fixed["mass"].dtype: fixed}

    def calc(self, q: Array, v: Array) -> tuple[Any, Any]:
        """Returns the position and velocity record of the body (kernels/layout.py), of the scalar type of q."""
        dtype = q.dtype
        position = np.zeros(2, layout.position_dtype(dtype))
        velocity = np.zeros(2, layout.velocity_dtype(dtype))
        run = _code(kernels.kinematics, dtype)
        run(self.topology, self._parameters(dtype), q.copy(), v.copy(), position, velocity)
        return position[1], velocity[1]

    def velocity_to_qdot(self, q: Array, v: Array) -> Array:
        """Returns N(q) v, shape [num_positions]."""
        qdot = np.zeros_like(q)
        _code(kernels.velocity_to_qdot, q.dtype)(self.topology, q.copy(), v.copy(), qdot)
        return qdot

    def qdot_to_velocity(self, q: Array, qdot: Array) -> Array:
        """Returns N+(q) qdot, shape [num_velocities]."""
        v = np.zeros(int(self.topology["num_v"][1]), q.dtype)
        _code(kernels.qdot_to_velocity, q.dtype)(self.topology, q.copy(), qdot.copy(), v)
        return v

    def _parameters(self, dtype: np.dtype[Any]) -> Array:
        if dtype not in self._fixed:
            numbers = self._fixed[np.dtype(np.float64)]
            converted = np.zeros(len(numbers), layout.parameter_dtype(dtype))
            for name in converted.dtype.names or ():
                converted[name] = numbers[name]
            self._fixed[dtype] = converted
        return self._fixed[dtype]


def _code(kernel: Any, dtype: np.dtype[Any]) -> Any:
    """Compiled for floats, which a plant needs anyway; interpreted for all others."""
    return kernel if dtype == np.float64 else kernel.interpreted
