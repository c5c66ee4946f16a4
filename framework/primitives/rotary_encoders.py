"""RotaryEncoders: angles as encoders tell them, with calibration offsets and in whole ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.core.values.values import BasicVector
from merganser.framework.math.element_functions import floor
from merganser.framework.primitives._arguments import checked_size

__all__ = ["RotaryEncoders"]

Array = NDArray[Any]


@native
def measured(u: Array, indices: Array, offsets: Array, y: Array) -> None:
    """y[i] = u[indices[i]] - offsets[i]."""
    for i in range(len(y)):
        y[i] = u[indices[i]] - offsets[i]


@native
def measured_in_ticks(u: Array, indices: Array, offsets: Array, ticks_per_radian: Array, y: Array) -> None:
    """The same, rounded down to whole ticks."""
    for i in range(len(y)):
        y[i] = floor((u[indices[i]] - offsets[i]) * ticks_per_radian[i]) / ticks_per_radian[i]


class RotaryEncoders(LeafSystem):
    """Rotary encoders on some elements of a vector of angles [rad]: y_i = u_j - offset_i, in whole ticks.

    The offsets are its one group of numeric parameters, zero by default. For samples taken now and then, put a
    ZeroOrderHold after it.

    Args:
        ticks_per_revolution: of each encoder, shape [n]; without it angles are not rounded.
        input_port_size: number of elements of the input; by default there is one for each encoder.
        input_vector_indices: element j of each encoder, shape [n].

    Raises:
        ValueError: there are no encoders, one has no ticks, there are not as many numbers of ticks as indices, or the
            input has no such element.
    """

    @overload
    def __init__(self, ticks_per_revolution: Sequence[int]) -> None: ...
    @overload
    def __init__(self, input_port_size: int, input_vector_indices: Sequence[int]) -> None: ...
    @overload
    def __init__(
        self, input_port_size: int, input_vector_indices: Sequence[int], ticks_per_revolution: Sequence[int]
    ) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        if len(args) + len(kwargs) == 1:
            given = bind_overload("RotaryEncoders", ("ticks_per_revolution",), {}, args, kwargs)
            ticks = given["ticks_per_revolution"]
            size, indices = len(ticks), list(range(len(ticks)))
        else:
            names = ("input_port_size", "input_vector_indices", "ticks_per_revolution")
            given = bind_overload("RotaryEncoders", names, {"ticks_per_revolution": None}, args, kwargs)
            size = checked_size(given["input_port_size"], "RotaryEncoders: input_port_size")
            indices, ticks = list(given["input_vector_indices"]), given["ticks_per_revolution"]
        _check(size, indices, ticks)
        u = self.DeclareVectorInputPort(kUseDefaultName, size)
        self._offsets = self.DeclareNumericParameter(BasicVector(np.zeros(len(indices))))
        calc = measured
        wires = {"u": u, "indices": np.array(indices, np.int64), "offsets": self._offsets}
        if ticks is not None:
            calc = measured_in_ticks
            wires["ticks_per_radian"] = np.array(ticks, float) / (2.0 * math.pi)
        self.DeclareVectorOutputPort(kUseDefaultName, len(indices), calc.given(**wires))

    def set_calibration_offsets(self, context: Context, calibration_offsets: ArrayLike) -> None:
        """Sets the angles that are read as zero [rad], shape [n].

        Raises:
            ValueError: wrong size.
        """
        self.ValidateContext(context)
        context.get_mutable_numeric_parameter(self._offsets).SetFromVector(calibration_offsets)

    def get_calibration_offsets(self, context: Context) -> Array:
        """Returns the angles that are read as zero [rad], shape [n]."""
        self.ValidateContext(context)
        return context.get_numeric_parameter(self._offsets).CopyToVector()


def _check(size: int, indices: Sequence[int], ticks: Sequence[int] | None) -> None:
    if not indices:
        raise ValueError("RotaryEncoders: there must be at least one encoder.")
    for index in indices:
        if not 0 <= index < size:
            raise ValueError(f"RotaryEncoders: the input has {size} elements, so none of index {index}.")
    if ticks is not None and len(ticks) != len(indices):
        raise ValueError(
            f"RotaryEncoders: expected ticks_per_revolution for each of {len(indices)} encoders, got {len(ticks)}."
        )
    for number in ticks or ():
        if not number > 0:
            raise ValueError(f"RotaryEncoders: ticks_per_revolution must be positive, got {number}.")
