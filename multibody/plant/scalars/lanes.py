"""Arrays of AutoDiffXd as arrays of complex numbers with one lane a derivative, and back.

Lane k of a value x with the derivatives x_1 ... x_n is x + i h x_k, with h = 1e-170: so small that h^2 is zero, so
that real parts are those of a computation with floats, but far from underflow. No digit of a derivative is lost.
W. Squire and G. Trapp, Using Complex Variables to Estimate Derivatives of Real Functions (1998).

Steps in lanes: where they are computed, and the forces that led there, for which few ask.

A step leaves its problem (../../contact/derivatives.py), from which the forces follow when one of them is read.
As long as that may happen, the next step is computed elsewhere.
"""

from __future__ import annotations

import functools
import itertools
import operator
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.autodiff.blocks import make_block, pack, values_and_gradient
from merganser.framework.native import specialize
from merganser.framework.native.compiler.when_to_compile import may_use_compiled
from merganser.multibody import kernels
from merganser.multibody.contact.derivatives import (
    LaneForces,
    LaneInputs,
    LaneProblems,
    LaneWork,
    StepModel,
    differentiate_forces,
    differentiate_step,
    make_problems,
    make_work,
)
from merganser.multibody.contact.plant_layout import MOST_TENDON_ROWS, NUM_FORCE_VALUES, ProblemCounts
from merganser.multibody.kernels import layout
from merganser.multibody.plant.model import ContactModelArrays

Array = NDArray[Any]
STEP = 1e-170


class Lanes:
    """Complex numbers, shape [max(num_derivatives, 1), ...], and how many derivatives they carry."""

    __slots__ = ("lanes", "num_derivatives")

    def __init__(self, lanes: Array, num_derivatives: int) -> None:
        self.lanes = lanes
        self.num_derivatives = num_derivatives

    def values(self) -> Array:
        """The values without derivatives: a copy in floats, or in records of floats."""
        first = self.lanes[0]
        if first.dtype.names is None:
            return np.ascontiguousarray(first.real)
        values = np.ascontiguousarray(np.ascontiguousarray(first).view(np.complex128).real)
        return values.view(_dtype_of_values(first.dtype))


@functools.cache
def _dtype_of_values(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of records of floats, in place of those of complex numbers."""
    return np.dtype([(name, np.float64, field.shape) for name, (field, *_) in (dtype.fields or {}).items()])


def split_numbers(array: Array) -> tuple[Array, Array | None]:
    """The values of an array, and the derivatives of its elements as rows; None if none has derivatives.

    Args:
        array: of AutoDiffXd, or of numbers, with k elements.

    Returns:
        Values, of the shape of the array, and derivatives, shape [k, num_derivatives]; not to be written.

    Raises:
        ValueError: two elements have different numbers of derivatives, and both some.
        TypeError: an element is no number.
    """
    if array.dtype != object:
        return array, None
    items = array.ravel().tolist()
    if items and not _has_derivatives(items[0]) and all(map(operator.is_, items, itertools.repeat(items[0]))):
        same = np.empty(array.shape)  # zeros, most of the time
        same.fill(items[0].real)
        return same, None
    values, derivatives = values_and_gradient(items)
    return values if array.ndim == 1 else values.reshape(array.shape), derivatives


def split_lanes(array: Array) -> Lanes:
    """An array of AutoDiffXd, or of numbers, as lanes; integers stay integers. Errors as `split_numbers`."""
    if array.dtype.kind == "i":
        return Lanes(np.ascontiguousarray(array)[np.newaxis], 0)
    return lanes_of_numbers(*split_numbers(array))


def lanes_of_numbers(values: Array, derivatives: Array | None) -> Lanes:
    """Lanes from values, shape [...], and the derivatives of their elements as rows; None stands for none."""
    if derivatives is None:
        return Lanes(values.astype(np.complex128)[np.newaxis], 0)
    lanes = np.empty((derivatives.shape[1], values.size), np.complex128)
    lanes.real[:] = values.ravel()
    np.multiply(derivatives.T, STEP, out=lanes.imag)
    return Lanes(lanes.reshape(-1, *values.shape), len(lanes))


def _has_derivatives(x: Any) -> bool:
    return type(x) is AutoDiffXd and len(x._derivatives) > 0


def merge_numbers(values: Array, derivatives: Array | None) -> Array:
    """The array of AutoDiffXd of which these are the values, and the derivatives as rows; None stands for none.

    Args:
        values: floats; they are not written any more, nor are the derivatives.
        derivatives: shape [number of values, num_derivatives].
    """
    return pack(make_block(values.ravel(), derivatives), values.shape)


def merge_lanes(lanes: Array, num_derivatives: int) -> Array:
    """The array of AutoDiffXd, shape [...], whose lanes have the shape [num_lanes, ...]."""
    if not num_derivatives:
        return merge_numbers(lanes[0].real.copy(), None)
    derivatives = np.multiply(lanes.reshape(num_derivatives, -1).imag.T, 1.0 / STEP, order="C")
    return merge_numbers(lanes[0].real.copy(), derivatives)


class LaneRecords(Lanes):
    """Records of complex numbers in lanes, or numbers, which read as those of AutoDiffXd; kernels write them.

    Attributes:
        lanes: shape [max(num_derivatives, 1), num_records, ...], or [max(num_derivatives, 1)] of a single record.
        pending: what is to be done before they are read, and sets this to None; None if they are up to date.
    """

    __slots__ = ("pending",)

    def __init__(self, lanes: Array, num_derivatives: int) -> None:
        super().__init__(lanes, num_derivatives)
        self.pending: Callable[[], None] | None = None

    def resize(self, num_derivatives: int) -> Array:
        """Makes room for another number of derivatives; returns the lanes, whose content is to be written."""
        self.num_derivatives = num_derivatives
        count = max(num_derivatives, 1)
        if len(self.lanes) != count:
            self.lanes = np.zeros((count, *self.lanes.shape[1:]), self.lanes.dtype)
        return self.lanes

    def update(self) -> None:
        """Brings the records up to date."""
        if self.pending is not None:
            self.pending()

    def merged(self) -> Array:
        """Numbers in lanes as an array of AutoDiffXd."""
        self.update()
        return merge_lanes(self.lanes, self.num_derivatives)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.merged()

    def __len__(self) -> int:
        self.update()
        return self.lanes.shape[1]

    def __reduce__(self) -> tuple[Any, ...]:
        self.update()
        return LaneRecords, (self.lanes, self.num_derivatives)

    def __getitem__(self, key: Any) -> Any:
        self.update()
        if not isinstance(key, str):
            return LaneRecords(self.lanes[:, key], self.num_derivatives)
        merged = merge_lanes(self.lanes[key], self.num_derivatives)
        return merged if merged.shape else merged.item()


_EFFORT = 3  # of a constraint, to that of a body: see when_to_compile.py


class _Sizes(NamedTuple):
    """How much there is in a step: most[1] are the rows, see make_problems()."""

    num_lanes: int
    num_contacts: int
    num_own_rows: int
    most: tuple[int, int, int]


class LaneStep:
    """One step in lanes.

    Args:
        steps: of the plant in a Context.
        sizes: of the step.
        problems: where its problem stands.
        model, inputs: of the step. Of these only the positions of the bodies may change afterwards.
        num_derivatives: of all numbers.

    Attributes:
        v_next: receives the velocities after the step, in lanes.
        num_derivatives: as given.
    """

    def __init__(
        self, steps: LaneSteps, sizes: _Sizes, problems: LaneProblems, model: StepModel, inputs: LaneInputs,
        num_derivatives: int,
    ) -> None:  # fmt: skip
        self._steps, self._sizes, self.num_derivatives = steps, sizes, num_derivatives
        self._model, self._inputs, self._problems = model, inputs, problems
        self.v_next = np.empty((sizes.num_lanes, len(steps.w.v)), np.complex128)
        self._forces: LaneForces | None = None

    def solve(self, counts: ProblemCounts, v_next: Array, v_star: Array, is_again: bool, work: LaneWork) -> int:
        """Computes v+ from its values v_next on floats; status and arguments as differentiate_step() has."""
        self._inputs = self._inputs._replace(v_star=np.ascontiguousarray(v_star))
        given = self._model, counts, v_next, int(is_again), self._inputs, self._problems, work, self.v_next
        status: int = self._steps.call(differentiate_step, self._sizes, *given)
        return status

    def records(self, *names: str) -> tuple[LaneRecords, ...]:
        """Fields of LaneForces, which are computed when one of them is read."""
        return tuple(_Forces(self, name) for name in names)

    def forces(self) -> LaneForces:
        """The forces, in lanes."""
        if self._forces is not None:
            return self._forces
        w, (num_lanes, num_contacts, num_own_rows, most) = self._steps.w, self._sizes
        inputs, num_v = self._inputs, len(w.v)
        position = LaneRecords(np.zeros((1, len(w.topology)), layout.position_dtype(np.complex128)), 0)
        parameters, q = (_records(lanes) for lanes in (inputs.parameters, inputs.x[:, : len(w.q)].copy()))
        w.call_over_lanes(kernels.position_kinematics, w.topology, parameters, q, position)
        shapes = (most[1],), w.zeros_F.shape, (num_v,), (num_v,), (num_contacts, NUM_FORCE_VALUES), (num_own_rows, 6)
        out = LaneForces(*(np.zeros((num_lanes, *shape), np.complex128) for shape in shapes))
        given = self._model, inputs._replace(position=position.lanes), self._problems, self.v_next
        self._steps.call(differentiate_forces, self._sizes, *given, self._steps.make_work(most), out)
        self._forces = out
        return out


class _Forces(LaneRecords):
    """A field of LaneForces of a step. The step does not know it: it lives no longer than who may read them."""

    __slots__ = ("_name", "_step")

    def __init__(self, step: LaneStep, name: str) -> None:
        super().__init__(_NOTHING, 0)
        self._step: LaneStep | None = step
        self._name = name

    def update(self) -> None:
        if self._step is not None:
            self.lanes, self.num_derivatives = getattr(self._step.forces(), self._name), self._step.num_derivatives
            self._step = None


class LaneSteps:
    """The steps of a plant of AutoDiffXd in one Context.

    Args:
        w: workspace of the Context.
        arrays: of the plant.

    Attributes:
        w: as given.
    """

    def __init__(self, w: Any, arrays: ContactModelArrays) -> None:
        self.w, self._arrays = w, arrays
        self._codes: dict[Any, Any] = {}  # compiled kernels
        self._sizes: _Sizes | None = None  # for which the arrays of the next lines are made
        self._work: LaneWork
        self._problems: list[tuple[LaneProblems, weakref.ref[LaneStep]]] = []  # and the steps that they belong to

    def start(
        self, model: StepModel, inputs: LaneInputs, num_derivatives: int, num_contacts: int, num_drives: int
    ) -> tuple[LaneStep, LaneWork]:
        """A step that is to be computed, and work arrays."""
        arrays, num_own_rows, num_v = self._arrays, len(model.rows), len(self.w.v)
        num_others = 2 * len(arrays.limits) + len(arrays.frictions) + num_own_rows + num_drives
        num_others += MOST_TENDON_ROWS * len(model.transmissions)
        rows = 3 * num_contacts + num_others
        most = num_contacts + num_others, rows, 2 * rows * arrays.most_velocities
        sizes = _Sizes(max(num_derivatives, 1), num_contacts, num_own_rows, most)
        if sizes != self._sizes:
            self._problems, self._work, self._sizes = [], self.make_work(most), sizes
        free = next((n for n, (_, step) in enumerate(self._problems) if step() is None), None)
        if free is not None:
            problems, _ = self._problems.pop(free)
        else:
            problems = make_problems(sizes.num_lanes, num_v, arrays.matrix_size, most, num_own_rows)
        step = LaneStep(self, sizes, problems, model, inputs, num_derivatives)
        self._problems = [(problems, weakref.ref(step)), *self._problems[:1]]  # two, as a Context holds the last sample
        return step, self._work

    def make_work(self, most: tuple[int, int, int]) -> LaneWork:
        """Work arrays for so many constraints, rows and numbers of the Jacobian."""
        return make_work(len(self.w.topology), len(self.w.v), len(self._arrays.trees), most)

    def call(self, kernel: Any, sizes: _Sizes, *arguments: Any) -> Any:
        """Calls a kernel of a step, compiled as soon as it can be; arguments are always of the same types."""
        code = self._codes.get(kernel)
        if code is None:
            effort = sizes.num_lanes * (len(self.w.topology) + _EFFORT * sizes.most[0])
            if not may_use_compiled(kernel, effort, *arguments):
                return kernel.interpreted(*arguments)
            code = self._codes[kernel] = specialize(kernel, *arguments)
        return code(*arguments)


def _records(lanes: Array) -> LaneRecords:
    return LaneRecords(lanes, len(lanes) if len(lanes) > 1 else 0)


_NOTHING = np.zeros((1, 0), np.complex128)
