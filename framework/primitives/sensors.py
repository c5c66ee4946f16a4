"""BeamModel: what a range finder measures, with the errors that range finders make.

Of each beam, the input `event`, uniformly distributed in [0, 1], says what becomes of it. With the probabilities
p_uniform, p_miss and p_short of three kinds of errors,

    event <= p_uniform                       anything: d = d_max uniform                                 (1)
    event <= p_uniform + p_miss              nothing comes back: d = d_max                               (2)
    event <= p_uniform + p_miss + p_short    something is in the way: d = short / lambda_short           (3)
    else                                     a hit: d = depth + sigma_hit hit                            (4)

`hit` has the standard normal distribution, `short` the exponential one of mean 1, `uniform` the one in [0, 1]. Nothing
can be in the way behind what is hit: where (3) is more than (4), it is a hit. Results are kept within 0 and d_max.

Source: S. Thrun, W. Burgard, D. Fox, Probabilistic Robotics (2006), section 6.3.

RotaryEncoders: angles as encoders measure them, with calibration offsets and in whole ticks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.declarations.ports import InputPort
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.random_values import RandomDistribution
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.core.values.named_vector import NamedVector
from merganser.framework.core.values.values import BasicVector
from merganser.framework.math.element_functions import clamp, floor
from merganser.framework.primitives._arguments import checked_size
from merganser.framework.primitives.native_parts import if_at_most

Array = NDArray[Any]


class BeamModelParams(NamedVector):
    """Rate of what is in the way [1/m], standard deviation of hits [m], probabilities of errors, at most 1 in all."""

    DEFAULTS = {
        "lambda_short": 1.0, "sigma_hit": 0.0, "probability_short": 0.0, "probability_miss": 0.0,
        "probability_uniform": 0.0,
    }  # fmt: skip


@native
def measured_depths(
    p: Array, d_max: float, depth: Array, event: Array, hit: Array, short: Array, uniform: Array, d: Array
) -> None:
    """Equations (1) to (4)."""
    to_uniform = p[4]
    to_miss = to_uniform + p[3]
    to_short = to_miss + p[2]
    for i in elements(d):
        seen = depth[i] + p[1] * hit[i]
        blocked = short[i] / p[0]
        near = if_at_most(event[i], to_short, if_at_most(blocked, seen, blocked, seen), seen)
        far = if_at_most(event[i], to_miss, d_max + 0.0 * seen, near)
        d[i] = clamp(if_at_most(event[i], to_uniform, d_max * uniform[i], far), 0.0, d_max)


class BeamModel(LeafSystem):
    """A range finder with errors. Inputs: `depth`, and the random numbers `event`, `hit`, `short` and `uniform`.

    `AddRandomInputs` connects sources of random numbers to these four. The output `depth` is what is measured; its one
    group of numeric parameters is a `BeamModelParams`.

    Args:
        num_depth_readings: number of beams n.
        max_range: d_max, what it measures at most [m].

    Raises:
        ValueError: there are no beams, or the range is not positive.
    """

    def __init__(self, num_depth_readings: int, max_range: float) -> None:
        super().__init__()
        n = checked_size(num_depth_readings, "BeamModel: num_depth_readings", 1)
        if not 0.0 < max_range < math.inf:
            raise ValueError(f"BeamModel: max_range must be positive and finite, got {max_range} m.")
        self._max_range = float(max_range)
        self._params = self.DeclareNumericParameter(BeamModelParams())
        ports = {"depth": self.DeclareVectorInputPort("depth", n)}
        for name, kind in (
            ("event", RandomDistribution.kUniform),
            ("hit", RandomDistribution.kGaussian),
            ("short", RandomDistribution.kExponential),
            ("uniform", RandomDistribution.kUniform),
        ):
            ports[name] = self.DeclareVectorInputPort(name, n, kind)
        calc = measured_depths.given(p=self._params, d_max=self._max_range, **ports)
        self.DeclareVectorOutputPort("depth", n, calc)

    def max_range(self) -> float:
        """Returns what is measured at most [m]."""
        return self._max_range

    def get_depth_input_port(self) -> InputPort:
        """Returns the port of the depths without errors [m], shape [n]."""
        return self.get_input_port(0)

    def get_event_random_input_port(self) -> InputPort:
        """Returns the port of random numbers that say what becomes of a beam, uniform in [0, 1]."""
        return self.get_input_port(1)

    def get_hit_random_input_port(self) -> InputPort:
        """Returns the port of random numbers for hits, of standard normal distribution."""
        return self.get_input_port(2)

    def get_short_random_input_port(self) -> InputPort:
        """Returns the port of random numbers for what is in the way, of exponential distribution and mean 1."""
        return self.get_input_port(3)

    def get_uniform_random_input_port(self) -> InputPort:
        """Returns the port of random numbers for measurements of anything, uniform in [0, 1]."""
        return self.get_input_port(4)

    def get_parameters(self, context: Any) -> BeamModelParams:
        """Returns the parameters in a Context."""
        return context.get_numeric_parameter(self._params)

    def get_mutable_parameters(self, context: Any) -> BeamModelParams:
        """Returns the parameters in a Context, for changing them."""
        return context.get_mutable_numeric_parameter(self._params)


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
