"""A plant of AutoDiffXd on floats: what the chain rule needs to know of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.interpreted_first import may_use_compiled
from merganser.framework.native import Given, bind
from merganser.multibody import kernels
from merganser.multibody.kernels import layout
from merganser.multibody.kernels.lanes import over_lanes
from merganser.multibody.kernels.mobilizers import kinds_in

__all__ = ["FloatModel", "Numbers"]

Array = NDArray[Any]
Numbers = tuple[Array, Array | None]  # values, and derivatives, one row an element; None stands for none


class FloatModel:
    """Numbers of a plant whose parameters have no derivatives, and kernels on floats.

    Args:
        topology: records of the mobilized bodies.
        parameters: records of complex numbers, of which the imaginary parts do not count, shape [num_records].

    Attributes:
        topology: as given.
        parameters: records of floats.
        num_q, num_v: numbers of positions and velocities.
        has_simple_rates: whether qdot = v.
    """

    def __init__(self, topology: Array, parameters: Array) -> None:
        self.topology = topology
        self.num_q, self.num_v = int(topology["num_q"].sum()), int(topology["num_v"].sum())
        self.has_simple_rates = all(kind.has_equal_rates() for kind in kinds_in(topology))
        self.parameters: Array = np.zeros(len(parameters), layout.parameter_dtype())
        for name in parameters.dtype.names or ():
            self.parameters[name] = parameters[name].real
        self._codes: dict[Any, Any] = {}

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Calls a kernel, compiled as soon as it can be.

        Arguments must be of the same types, and arrays as contiguous, whenever a kernel is called.
        """
        code = self._codes.get(kernel)
        if code is None:
            code = self._choose_code(kernel, arguments)
        return code(*arguments)

    def _choose_code(self, kernel: Any, arguments: tuple[Any, ...]) -> Any:
        if not may_use_compiled(kernel, len(self.topology) * max(self.num_v, 1), *arguments):
            return kernel.interpreted
        code = self._codes[kernel] = bind(kernel, *map(Given, arguments))
        return code

    def along_velocities(self, q: Array, D_q: Array) -> Array:
        """N+(q) D_q: derivatives of q, one row an element, as those along the velocities."""
        if self.has_simple_rates:
            return D_q
        count = D_q.shape[1]
        result = np.empty((count, self.num_v))
        self.call_over_lanes(kernels.qdot_to_velocity, count, q[np.newaxis], np.ascontiguousarray(D_q.T), result)
        return np.ascontiguousarray(result.T)

    def call_over_lanes(self, kernel: Any, count: int, *arguments: Any) -> Any:
        """Calls a kernel of the topology and of other arguments over lanes."""
        return self.call(over_lanes(kernel), count, self.topology, *arguments)
