"""Integrator: the integral of a signal over time.

FirstOrderLowPassFilter: smooths a signal in continuous time.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import copy, native
from merganser.framework.core.scalars.element_functions import elements
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.core.values.values import BasicVector
from merganser.framework.primitives._arguments import checked_size, checked_vector


class Integrator(LeafSystem):
    """Integrates its input over time: dz/dt = u0, y0 = z.

    Args:
        size: number of elements, for an integral that starts at zero; or a vector, its initial value (also as
            `initial_value=`).
    """

    _keeps_derivatives = True

    def __init__(self, size: int | ArrayLike | None = None, *, initial_value: ArrayLike | None = None) -> None:
        super().__init__()
        if (size is None) == (initial_value is None):
            raise TypeError("Integrator takes either a size or an initial_value.")
        if isinstance(size, (int, np.integer)):
            start = np.zeros(checked_size(size, "Integrator: size"))
        else:
            value: Any = size if initial_value is None else initial_value
            start = checked_vector(value, "Integrator: initial_value")
        self._u = self.DeclareVectorInputPort(kUseDefaultName, start.size)
        state_index = self.DeclareContinuousState(BasicVector(start))
        self._sys_declare_derivatives(copy.given(source=self._u), of=Integrator)
        self.DeclareStateOutputPort(kUseDefaultName, state_index)

    def set_default_integral_value(self, initial_value: ArrayLike) -> None:
        """Sets the value that the integral has in contexts made from now on, shape [size].

        Raises:
            ValueError: wrong size.
        """
        self.DeclareContinuousState(BasicVector(self._checked_integral(initial_value)))

    def set_integral_value(self, context: Context, value: ArrayLike) -> None:
        """Sets the value of the integral in a context, shape [size].

        Raises:
            ValueError: wrong size.
        """
        self.ValidateContext(context)
        context.SetContinuousState(self._checked_integral(value))

    def _checked_integral(self, value: ArrayLike) -> NDArray[Any]:
        where = f"Integrator '{self.GetSystemPathname()}'"
        vector = checked_vector(value, f"{where}: integral value")
        if vector.size != self._u.size():
            raise ValueError(f"{where} has size {self._u.size()}; got {vector.size} elements.")
        return vector


Array = NDArray[Any]


@native
def filtered(u: Array, z: Array, tau: Array, zdot: Array) -> None:
    """dz/dt = (u - z) / tau."""
    for i in elements(zdot):
        zdot[i] = (u[i] - z[i]) / tau[i]


class FirstOrderLowPassFilter(LeafSystem):
    """Filters each element of its input by dz/dt = (u0 - z) / tau, y0 = z, with transfer function 1 / (1 + tau s).

    Args:
        time_constant: tau [s], positive, for all elements.
        size: number of elements, at least one, for a single time constant.
        time_constants: instead of these, tau of each element, shape [n].

    Raises:
        ValueError: there are no elements, or a time constant is not positive.
    """

    @overload
    def __init__(self, time_constant: float, size: int = 1) -> None: ...
    @overload
    def __init__(self, time_constants: ArrayLike) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        name = "FirstOrderLowPassFilter"
        if "time_constants" in kwargs or (args and np.ndim(args[0]) > 0):
            given = bind_overload(name, ("time_constants",), {}, args, kwargs)
            constants = checked_vector(given["time_constants"], f"{name}: time_constants")
        else:
            given = bind_overload(name, ("time_constant", "size"), {"size": 1}, args, kwargs)
            size = checked_size(given["size"], f"{name}: size", 1)
            constants = np.repeat(checked_vector(given["time_constant"], f"{name}: time_constant"), size)
        if constants.size == 0 or not (constants > 0.0).all():
            raise ValueError(
                f"{name}: there must be at least one time constant, and all must be positive; got {constants.tolist()}."
            )
        self._time_constants = constants
        self._u = self.DeclareVectorInputPort(kUseDefaultName, constants.size)
        self.DeclareStateOutputPort(kUseDefaultName, self.DeclareContinuousState(constants.size))
        self._sys_declare_derivatives(filtered.given(u=self._u, tau=constants), of=FirstOrderLowPassFilter)

    def get_time_constant(self) -> float:
        """Returns the time constant that all elements have [s].

        Raises:
            ValueError: they have different ones.
        """
        if (self._time_constants != self._time_constants[0]).any():
            raise ValueError(
                f"System '{self.GetSystemPathname()}' has different time constants, {self._time_constants.tolist()}; "
                "use get_time_constants_vector()."
            )
        return float(self._time_constants[0])

    def get_time_constants_vector(self) -> NDArray[Any]:
        """Returns the time constants [s], shape [n]."""
        return self._time_constants.copy()

    def set_initial_output_value(self, context: Context, z0: ArrayLike) -> None:
        """Sets the output in a context, shape [n].

        Raises:
            ValueError: wrong size.
        """
        self.ValidateContext(context)
        vector = checked_vector(z0, f"System '{self.GetSystemPathname()}': output value")
        if vector.size != self._u.size():
            raise ValueError(
                f"System '{self.GetSystemPathname()}' has size {self._u.size()}; got {vector.size} elements."
            )
        context.SetContinuousState(vector)
