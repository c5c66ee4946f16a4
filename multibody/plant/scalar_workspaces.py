"""Workspaces of plants that compute with other scalars than floats: AutoDiffXd and Expression.

Whatever a plant computes goes through `Workspace.call`, so that this is the only place that knows how. Expressions go
through the kernels as plain Python. Derivatives are taken by the complex step (derivative_lanes.py): the arguments of
a kernel are split into lanes, one for each derivative, the kernel is run over the lanes (kernels/lanes.py), and what
it puts out becomes AutoDiffXd again. Records of kinematics stay in lanes from one call to the next.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.scalars import ScalarArray
from merganser.framework.native import specialize
from merganser.multibody.kernels.lanes import load_compiled, over_lanes, places_of
from merganser.multibody.plant.derivative_lanes import LaneRecords, Lanes, merge_lanes, refuse_counts, split_lanes
from merganser.multibody.plant.object_records import ObjectRecords, record_size
from merganser.multibody.plant.workspace import Workspace

__all__ = ["AutoDiffWorkspace", "SymbolicWorkspace"]

Array = NDArray[Any]

# Interpreting a kernel in one lane takes milliseconds, compiling it seconds, once: so the first lanes are interpreted,
# unless the kernel was compiled in an earlier run.
_INTERPRETED_LANES = 200


class SymbolicWorkspace(Workspace):
    """A workspace of expressions: kernels are interpreted."""

    __slots__ = ()

    def view_records(self, numbers: Array, dtype_of: Any) -> Any:
        return ObjectRecords.view(numbers, dtype_of)

    def make_records(self, size: int, dtype_of: Any) -> Any:
        numbers = ScalarArray.of((size, record_size(dtype_of)), self.scalar)
        return ObjectRecords(numbers, dtype_of)

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Interprets a kernel; what it puts out are expressions, also where they are constant."""
        status = kernel.interpreted(*arguments)
        for place in places_of(kernel).written:
            argument = arguments[place]
            if type(argument) is np.ndarray and argument.dtype == object:
                lifted = ScalarArray.of(argument.shape, self.scalar)
                lifted[...] = argument
                argument[...] = lifted
        return status


class AutoDiffWorkspace(Workspace):
    """A workspace of AutoDiffXd: kernels run over lanes of complex numbers."""

    __slots__ = ("_constants", "_kept", "_num_interpreted", "_views")

    def __init__(self, *arguments: Any) -> None:
        self._num_interpreted = 0
        self._views: list[ObjectRecords] = []
        # Parameters as lanes, by the id of the view that they were split from, as long as no parameter changes.
        self._kept: dict[int, Lanes] = {}
        super().__init__(*arguments)
        self._constants = {id(a): split_lanes(a) for a in (self.zeros_v, self.zeros_F, self.zero_gravity)}

    def view_records(self, numbers: Array, dtype_of: Any) -> Any:
        view = ObjectRecords.view(numbers, dtype_of)
        self._views.append(view)
        return view

    def make_records(self, size: int, dtype_of: Any) -> Any:
        return LaneRecords(np.zeros((1, size), dtype_of(np.complex128)), 0)

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Runs a kernel over lanes.

        Raises:
            ValueError: the arguments have different numbers of derivatives.
        """
        if self.store.invalid & self.parameter_bit:
            self._kept.clear()
            self.store.invalid &= ~self.parameter_bit
        places = places_of(kernel)
        lanes: list[Any] = list(arguments)
        count = 0
        for place in places.read:
            split = self._split(arguments[place])
            lanes[place] = split.lanes
            if split.num_derivatives != count and split.num_derivatives:
                if count:
                    refuse_counts(count, split.num_derivatives)
                count = split.num_derivatives
        num_lanes = count or 1
        for place in places.changed:
            lanes[place] = np.broadcast_to(lanes[place], (num_lanes, *lanes[place].shape[1:])).copy()
        for place in places.filled:
            argument = arguments[place]
            is_records = type(argument) is LaneRecords
            lanes[place] = argument.resize(count) if is_records else _room(argument, num_lanes)
        status = self._code(kernel, num_lanes, lanes)(num_lanes, *lanes)
        for place in places.written:
            argument = arguments[place]
            if type(argument) is not LaneRecords:
                result = lanes[place]
                argument[...] = merge_lanes(result, count) if argument.dtype == object else result[0]
        return status

    def _split(self, argument: Any) -> Lanes:
        """An argument as lanes; parameters only once."""
        if isinstance(argument, Lanes):
            return argument
        known = self._constants.get(id(argument)) or self._kept.get(id(argument))
        if known is not None:
            return known
        if argument is self.F_applied and not self.has_applied_forces:
            return self._constants[id(self.zeros_F)]
        if not isinstance(argument, ObjectRecords):
            lanes = split_lanes(argument)
            if argument is self.gravity:
                self._kept[id(argument)] = lanes
            return lanes
        lanes = split_lanes(argument.numbers)
        lanes.lanes = lanes.lanes.view(argument.dtype_of(np.complex128))[..., 0]
        if any(argument is view for view in self._views):
            self._kept[id(argument)] = lanes
        return lanes

    def _code(self, kernel: Any, num_lanes: int, lanes: list[Any]) -> Any:
        code = self.codes.get(kernel)
        if code is None:
            runner = over_lanes(kernel)
            can_wait = self._num_interpreted + num_lanes <= _INTERPRETED_LANES
            if can_wait and not load_compiled(runner, num_lanes, *lanes):
                self._num_interpreted += num_lanes
                return runner.interpreted
            code = self.codes[kernel] = specialize(runner, num_lanes, *lanes)
        return code


def _room(argument: Array, num_lanes: int) -> Array:
    """Room in all lanes for what a kernel puts into an argument."""
    dtype = np.complex128 if argument.dtype == object else argument.dtype
    return np.empty((num_lanes, *argument.shape), dtype)
