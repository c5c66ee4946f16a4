"""Workspaces of plants that compute with other scalars than floats: AutoDiffXd and Expression.

Whatever a plant computes goes through `Workspace.call`, so that this is the only place that knows how. Expressions go
through the kernels as plain Python. Derivatives are taken by the complex step (derivative_lanes.py): the arguments of
a kernel are split into lanes, one for each derivative, the kernel is run over the lanes (kernels/lanes.py), and what
it puts out becomes AutoDiffXd again. Records of kinematics stay in lanes from one call to the next.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff.blocks import find_block, refuse_counts, values_and_gradient
from merganser.framework.core.scalars import ScalarArray
from merganser.framework.native import compile_ahead, specialize
from merganser.framework.native.compile import load_compiled
from merganser.multibody import kernels
from merganser.multibody.kernels.lanes import over_lanes, places_of
from merganser.multibody.plant.chain_rules import ChainRules
from merganser.multibody.plant.derivative_lanes import (
    LaneRecords,
    Lanes,
    merge_lanes,
    split_lanes,
)
from merganser.multibody.plant.object_records import ObjectRecords, record_size
from merganser.multibody.plant.workspace import Workspace

__all__ = ["AutoDiffWorkspace", "SymbolicWorkspace"]

Array = NDArray[Any]

# Interpreting a kernel in one lane takes milliseconds, compiling it seconds, once: so the first lanes of a process are
# interpreted, unless the kernel was compiled before.
_INTERPRETED_LANES = 200
_UNRULED_CALLS = 20  # of dynamics, before the closed form is compiled here; other processes try to be earlier
_interpreted: Counter[Any] = Counter()  # lanes of kernels, and dynamics, of all workspaces
_DYNAMICS = (kernels.state_derivatives, kernels.state_inverse_dynamics, kernels.inverse_dynamics)


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
        "_constants", "_is_rule_ready", "_kept", "_rules", "_state", "_views",
    )  # fmt: skip

    def __init__(self, *arguments: Any) -> None:
        self._state: tuple[bytes, list[Any], tuple[Array, Array | None]] | None = None
        self._is_rule_ready: set[Any] = set()  # the kernels of dynamics whose closed form is compiled
        self._views: list[ObjectRecords] = []
        # Parameters as lanes, by the id of the view that they were split from, as long as no parameter changes.
        self._kept: dict[int, Lanes] = {}
        # Made of the parameters when they are first used; False where those have derivatives.
        self._rules: ChainRules | Literal[False] | None = None
        super().__init__(*arguments)
        self._constants = {id(a): split_lanes(a) for a in (self.zeros_v, self.zeros_F, self.zero_gravity)}

    def write_state(self, x: Array) -> bool:
        items = x.tolist()
        found = find_block(items)
        if found is None:
            return super().write_state(x)
        if not all(found[0][start : start + 4].any() for start in self.quaternion_starts):
            return False
        np.copyto(self.x, x)  # all are AutoDiffXd, as others are in no block
        self._state = self.x.tobytes(), items, found
        return True

    def _split_state(self) -> tuple[Array, Array | None]:
        """Values and derivatives of x; taken apart only once as long as its elements are the same objects."""
        addresses = self.x.tobytes()
        if self._state is None or self._state[0] != addresses:
            items = self.x.tolist()  # they are kept, so that no other object can come to have their addresses
            self._state = addresses, items, values_and_gradient(items)
        return self._state[2]

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
        if kernel in _DYNAMICS and self._is_about_this_state(kernel, arguments):
            status = self._call_rule(kernel, arguments)
            if status is not None:
                return status
        return self._call_over_lanes(kernel, *arguments)

    def _is_about_this_state(self, kernel: Any, arguments: tuple[Any, ...]) -> bool:
        """Whether a kernel of dynamics is called for the state, the parameters and gravity of the Context."""
        if arguments[1] is not self.parameters:
            return False
        if kernel is kernels.state_derivatives:
            return arguments[2] is self.gravity and arguments[3] is self.x
        known = self.q if kernel is kernels.state_inverse_dynamics else self.position
        return arguments[3] is known and (arguments[2] is self.zero_gravity or arguments[2] is self.gravity)

    def _call_rule(self, kernel: Any, arguments: tuple[Any, ...]) -> int | None:
        """Computes dynamics by the chain rule; None if that is not possible, or if it is quicker not to."""
        if self._rules is None:
            split = self._split(self.parameters), self._split(self.gravity)
            has_derivatives = any(part.num_derivatives for part in split)
            self._rules = False if has_derivatives else ChainRules(self.topology, *(part.lanes[0] for part in split))
        if not self._rules:
            return None
        is_forward = kernel is kernels.state_derivatives
        if is_forward not in self._is_rule_ready:
            if not self._rules.is_compiled(is_forward) and _interpreted[is_forward] < _UNRULED_CALLS:
                if not _interpreted[is_forward]:
                    compile_ahead([self._rules.job(is_forward)])
                _interpreted[is_forward] += 1
                return None
            self._is_rule_ready.add(is_forward)
        F_applied, result = arguments[5 if kernel is kernels.state_derivatives else 6], arguments[-1]
        is_zero = F_applied is self.zeros_F or (F_applied is self.F_applied and not self.has_applied_forces)
        status, forces = 0, None if is_zero else F_applied
        if kernel is kernels.state_derivatives:
            status, numbers = self._rules.state_derivatives(self._split_state(), self.x, arguments[4], forces)
        else:
            has_gravity = arguments[2] is not self.zero_gravity
            numbers = self._rules.inverse_dynamics(self._split_state(), arguments[5], forces, has_gravity)
        np.copyto(result, numbers)
        if status == 0:  # records wait until somebody asks for them
            pending = functools.partial(self._compute_records, kernel, arguments)
            self.scratch.pending = pending
            if kernel is not kernels.inverse_dynamics:
                self.position.pending = self.velocity.pending = pending
        return status

    def _compute_records(self, kernel: Any, arguments: tuple[Any, ...]) -> None:
        """Computes the records that dynamics by the chain rule have left out."""
        self._call_over_lanes(kernel, *arguments[:-1], np.empty(arguments[-1].shape, object))

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
            if _interpreted[kernel] + num_lanes <= _INTERPRETED_LANES and not load_compiled(runner, num_lanes, *lanes):
                _interpreted[kernel] += num_lanes
                return runner.interpreted
            code = self.codes[kernel] = specialize(runner, num_lanes, *lanes)
        return code


def _room(argument: Array, num_lanes: int) -> Array:
    """Room in all lanes for what a kernel puts into an argument."""
    dtype = np.complex128 if argument.dtype == object else argument.dtype
    return np.empty((num_lanes, *argument.shape), dtype)
