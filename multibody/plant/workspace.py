"""The arrays of one plant in one Context: views into the Context's numbers, and room for the kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.kernels import layout

__all__ = ["Workspace"]

Array = NDArray[Any]

# A context of complex numbers serves derivatives, which need few evaluations: interpreting the kernels takes
# milliseconds each, compiling them seconds once. So the first ones are interpreted.
_INTERPRETED_CALLS = 200


class Workspace:
    """What the kernels work on.

    Attributes:
        q, v, x: generalized positions, velocities and both, as views into the Context.
        parameters: parameter records (kernels/layout.py), a view into the Context.
        gravity: acceleration of gravity in the world frame [m/s^2], shape [3], a view into the Context.
        position, velocity, scratch: records of the kinematics and room for the algorithms.
        tau: generalized forces, shape [num_velocities].
        F_applied: spatial forces on the bodies at Bo in W, in the order of mobods, shape [num_mobods, 6].
        zeros_v, zeros_F, zero_gravity: constants for algorithms that leave something out; never written.
        position_slot, velocity_slot: cache slots that tell whether the kinematics are up to date.
    """

    __slots__ = (
        "F_applied", "calls", "dtype", "gravity", "parameters", "position", "position_slot", "q", "scratch", "store",
        "tau", "topology", "v", "velocity", "velocity_slot", "x", "zero_gravity", "zeros_F", "zeros_v",
    )  # fmt: skip

    def __init__(self, topology: Array, context: Any, x: Array, num_q: int, parameter_group: int, gravity_group: int) -> None:
        num_mobods, num_v = len(topology), len(x) - num_q
        self.store = context._store
        self.dtype = self.store.flat.dtype
        self.topology = topology
        self.x, self.q, self.v = x, x[:num_q], x[num_q:]
        numeric = context._parameters._numeric._items
        self.parameters = numeric[parameter_group]._values.view(layout.parameter_dtype(self.dtype))
        self.gravity = numeric[gravity_group]._values
        self.position = np.zeros(num_mobods, layout.position_dtype(self.dtype))
        self.velocity = np.zeros(num_mobods, layout.velocity_dtype(self.dtype))
        self.scratch = np.zeros(num_mobods, layout.scratch_dtype(self.dtype))
        self.tau = np.zeros(num_v, self.dtype)
        self.F_applied = np.zeros((num_mobods, 6), self.dtype)
        self.zeros_v = np.zeros(num_v, self.dtype)
        self.zeros_F = np.zeros((num_mobods, 6), self.dtype)
        self.zero_gravity = np.zeros(3, self.dtype)
        self.calls = 0

    def code_of(self, kernel: Any) -> Any:
        """The form of a kernel that suits this scalar type: compiled or interpreted."""
        if self.dtype == np.float64:
            return kernel
        if self.dtype == np.complex128:
            self.calls += 1
            if self.calls > _INTERPRETED_CALLS:
                return kernel
        return kernel.interpreted
