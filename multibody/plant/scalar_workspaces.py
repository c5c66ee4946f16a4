"""Workspaces of plants that compute with other scalars than floats: AutoDiffXd and Expression.

Whatever a plant computes goes through `Workspace.call`, so that this is the only place that knows how. Expressions go
through the kernels as plain Python. Derivatives are taken by the complex step (derivative_lanes.py): the arguments of
a kernel are split into lanes, one for each derivative, the kernel is run over the lanes (kernels/lanes.py), and what
it puts out becomes AutoDiffXd again. Records of kinematics stay in lanes from one call to the next.
"""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from merganser.framework.core.scalars import ScalarArray
from merganser.framework.native import specialize
from merganser.multibody import kernels
from merganser.multibody.kernels.lanes import load_compiled, over_lanes, places_of
from merganser.multibody.plant.chain_rules import ChainRules
from merganser.multibody.plant.derivative_lanes import (
    LaneRecords,
    Lanes,
    merge_lanes,
    refuse_counts,
    split_lanes,
    split_numbers,
)
from merganser.multibody.plant.object_records import ObjectRecords, record_size
from merganser.multibody.plant.workspace import Workspace

__all__ = ["AutoDiffWorkspace", "SymbolicWorkspace"]

Array = NDArray[Any]

# Interpreting a kernel in one lane takes milliseconds, compiling it seconds, once: so the first lanes are interpreted,
# unless the kernel was compiled in an earlier run.
_INTERPRETED_LANES = 200
_UNRULED_CALLS = 20  # of dynamics, before the closed form is compiled for the chain rule


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
    """A workspace of AutoDiffXd: kernels run over lanes of complex numbers, or on floats by the chain rule."""

    __slots__ = (
        "_constants", "_is_rule_ready", "_kept", "_num_dynamics", "_num_interpreted", "_rules", "_views",
    )  # fmt: skip

    def __init__(self, *arguments: Any) -> None:
        self._num_interpreted = 0
        self._num_dynamics = 0  # calls of kernels of dynamics
        self._is_rule_ready = False
        self._views: list[ObjectRecords] = []
        # Parameters as lanes, by the id of the view that they were split from, as long as no parameter changes.
        self._kept: dict[int, Lanes] = {}
        # Made of the parameters when they are first used; False where those have derivatives.
        self._rules: ChainRules | Literal[False] | None = None
        super().__init__(*arguments)
        self._constants = {id(a): split_lanes(a) for a in (self.zeros_v, self.zeros_F, self.zero_gravity)}

    def view_records(self, numbers: Array, dtype_of: Any) -> Any:
        view = ObjectRecords.view(numbers, dtype_of)
        self._views.append(view)
        return view

    def make_records(self, size: int, dtype_of: Any) -> Any:
        return LaneRecords(np.zeros((1, size), dtype_of(np.complex128)), 0)

    def call(self, kernel: Any, *arguments: Any) -> Any:
        """Runs a kernel over lanes, or by the chain rule if it can be.

        Raises:
            ValueError: the arguments have different numbers of derivatives.
        """
        if self.store.invalid & self.parameter_bit:
            self._kept.clear()
            self._rules = None
            self.store.invalid &= ~self.parameter_bit
        is_inverse = kernel is kernels.state_inverse_dynamics and arguments[3] is self.q and arguments[4] is self.v
        if is_inverse or kernel is kernels.state_derivatives:
            status = self._call_rule(kernel, arguments)
            if status is not None:
                return status
        return self._call_over_lanes(kernel, *arguments)

    def _call_rule(self, kernel: Any, arguments: tuple[Any, ...]) -> int | None:
        """Computes dynamics by the chain rule; None if that is not possible, or if it is quicker not to."""
        if self._rules is None:
            split = self._split(self.parameters), self._split(self.gravity)
            has_derivatives = any(part.num_derivatives for part in split)
            self._rules = False if has_derivatives else ChainRules(self.topology, *(part.lanes[0] for part in split))
        *_, F_applied, position, velocity, scratch, result = arguments
        F_values, D_F = self._split_forces(F_applied)
        if not self._rules or D_F is not None:
            return None
        self._num_dynamics += 1
        if not self._is_rule_ready:
            self._is_rule_ready = self._num_dynamics > _UNRULED_CALLS or (
                self._num_dynamics == 1 and self._rules.is_compiled()
            )
            if not self._is_rule_ready:
                return None
        if kernel is kernels.state_derivatives:
            x, tau = arguments[3:5]
            status, result[...] = self._rules.state_derivatives(x, tau, F_values)
        else:
            has_gravity = arguments[2] is not self.zero_gravity
            status, result[...] = 0, self._rules.inverse_dynamics(self.x, arguments[5], F_values, has_gravity)
        if status == 0:  # records wait until somebody asks for them
            room = np.empty(result.shape, object)
            for records in (position, velocity, scratch):
                records.pending = functools.partial(self._call_over_lanes, kernel, *arguments[:-1], room)
        return status

    def _split_forces(self, F_applied: Array) -> tuple[Array, Array | None]:
        """The values of the spatial forces on bodies, and their derivatives."""
        is_zero = F_applied is self.zeros_F or (F_applied is self.F_applied and not self.has_applied_forces)
        return (np.zeros(F_applied.shape), None) if is_zero else split_numbers(F_applied)

    def _call_over_lanes(self, kernel: Any, *arguments: Any) -> Any:
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
        if isinstance(argument, LaneRecords):
            argument.settle()
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
