"""Steps in lanes: where they are computed, and the forces that led there, for which few ask.

A step leaves its problem (../../contact/derivatives.py), from which the forces follow when somebody reads one of them.
As long as somebody may, the next step is computed elsewhere.
"""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.interpreted_first import may_use_compiled
from merganser.framework.native import specialize
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
from merganser.multibody.contact.plant_layout import NUM_FORCE_VALUES
from merganser.multibody.kernels import layout
from merganser.multibody.plant.scalars.derivative_lanes import LaneRecords
from merganser.multibody.plant.step.contact_arrays import ContactModelArrays

__all__ = ["LaneStep", "LaneSteps"]

Array = NDArray[Any]

_EFFORT = 3  # of a constraint, to that of a body: see interpreted_first.py


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
        model, inputs: of the step. Of these only the positions of the bodies and v* may change afterwards.
        num_derivatives: of all numbers.

    Attributes:
        x_next: receives the next state, in lanes.
        num_derivatives: as given.
    """

    def __init__(
        self, steps: LaneSteps, sizes: _Sizes, problems: LaneProblems, model: StepModel, inputs: LaneInputs,
        num_derivatives: int,
    ) -> None:  # fmt: skip
        self._steps, self._sizes, self.num_derivatives = steps, sizes, num_derivatives
        self._model, self._inputs, self._problems = model, inputs, problems
        self.x_next = np.empty((sizes.num_lanes, inputs.x.shape[1]), np.complex128)
        self._forces: LaneForces | None = None

    def solve(self, counts: Array, v_next: Array, work: LaneWork) -> int:
        """Computes the next state from the velocities on floats; status and arguments as differentiate_step() has."""
        given = self._model, counts, v_next, self._inputs, self._problems, work, self.x_next
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
        given = self._model, inputs._replace(position=position.lanes), self._problems, self.x_next
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
