"""A continuous plant that moves by steps, of lengths that an integrator chooses.

While the length h of steps is not 0, what such a plant gives as its derivatives is the slope of a step,

    xdot = (S_h(x) - x) / h                                                                (1)

with S_h the step of a discrete plant (contact/step.py), so that x + h xdot is the state after it. Where such a step has
no solution, they are NaN.

Inputs that follow the plant's state act in it by a linearization at its end, see heard_inputs.py. For that the
integrator lets the plant listen: while h is LISTENING, it notes what comes through its inputs, and xdot = [N v; 0].

Output ports that follow from forces show the last step, as those of discrete plants do, while the plant is where the
integrator has brought it; anywhere else what acts at the moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.contact.step_operation import WHICH, Sample
from merganser.multibody.plant.step.contact_arrays import ContactSample, contacts_and_forces
from merganser.multibody.plant.step.drives import Controllers
from merganser.multibody.plant.step.heard_inputs import HeardInputs
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics

__all__ = ["Motion"]

Array = NDArray[Any]

_SOME_LENGTH = 1.0  # with which buffers of steps are made [s]
_ROUNDING = 1e-12  # by which a state may differ from where it was brought, as quaternions are given length 1


class Motion:
    """Steps of one plant in one Context.

    Args:
        dynamics: of a continuous plant.
        context: of it, one of floats or of AutoDiffXd.
        w: its workspace.

    Attributes:
        lengths: h, 0 for derivatives, LISTENING; and that of the last step [s], shape [2].
        counts: iterations of the solver and of its line searches, shape [2].
        numbers: what the last step started from and found; its count tells whether the native plan has made it.
        buffers: arrays of steps in Python.
        heard: inputs that follow the state.
        end: where the integrator has brought the plant, shape [num_q + num_v]; begins with NaN if nowhere.
    """

    def __init__(self, dynamics: PlantDynamics, context: Context, w: Workspace) -> None:
        self._given, self._w = (dynamics, context, w), w
        self.lengths, self.counts = np.zeros(2), np.zeros(2, np.int64)
        x, x_next, u = np.zeros_like(w.x), np.zeros_like(w.x), np.zeros(len(dynamics.inputs.driven_velocities), w.dtype)
        self.numbers = Sample(np.zeros(3, np.int64), x, x_next, u, np.zeros_like(w.zeros_F))
        self.buffers = StepBuffers(*self._given, time_step=_SOME_LENGTH)
        self.heard = HeardInputs(*self._given)
        self.end: Array = np.full_like(w.x, np.nan)
        self._native: StepBuffers | None = None
        self._settings: tuple[Any, bool] = None, False

    def solve_by(self, settings: Any, looks_ahead: bool) -> None:
        """Has steps solve contact problems with other settings than those of the plant, see StepBuffers."""
        for buffers in self._all_buffers():
            buffers.solve_by(settings, looks_ahead)
        self._settings = settings, looks_ahead

    def look_at_inputs(self) -> None:
        """Looks which inputs follow the state; the next steps are made so."""
        before = self.heard.follow()
        self.heard.look()
        if self.heard.follow() != before:
            for buffers in self._all_buffers():
                self._take_parameters(buffers)
            self.solve_by(*self._settings)  # all records are made again

    def _take_parameters(self, buffers: StepBuffers) -> None:
        buffers.parameters = self.heard.parameters if self.heard.follow() else self._w.parameters

    def _all_buffers(self) -> list[StepBuffers]:
        return [self.buffers] if self._native is None else [self.buffers, self._native]

    def native_buffers(self, controllers: Controllers) -> StepBuffers:
        """Arrays of steps in the native plan, as model and Context are now."""
        if self._native is None:
            self._native = StepBuffers(*self._given, is_native=True, time_step=_SOME_LENGTH)
            self._native.solve_by(*self._settings)
            self._take_parameters(self._native)
        controllers = self.heard.controllers(controllers)
        if self._native.lacks_capacity():
            self._native.grow()
        if not self._native.is_current(controllers):
            self._native.prepare(controllers)
        return self._native

    def is_native_current(self, controllers: Controllers) -> bool:
        """Whether these arrays are still right."""
        native, controllers = self._native, self.heard.controllers(controllers)
        return native is not None and native.is_current(controllers) and not native.lacks_capacity()

    # ------------------------------------------------------------------ the last step

    def take_step(self, x_next: Any, F_applied: Array) -> None:
        """Notes a step that Python has made."""
        numbers, w = self.numbers, self._w
        numbers.counts[WHICH], self.lengths[1] = 0, self.lengths[0]
        numbers.x[:], numbers.x_next[:], numbers.u[:] = w.x, x_next, self.buffers.actuation()
        numbers.F_applied[:] = F_applied

    def is_at_end(self) -> bool:
        """Whether the plant is where an integrator has brought it by the last step."""
        return bool((np.abs(self._w.x - self.end) <= _ROUNDING * np.maximum(1.0, np.abs(self.end))).all())

    def time_step(self) -> float:
        """Length of the last step [s]."""
        return float(self.lengths[1])

    def take_contacts(self, w: Workspace) -> tuple[ContactSample | None, Array]:
        """What the last step has held, None if there was nothing, and all forces on the bodies, shape [num_mobods, 6].

        Args:
            w: the workspace.
        """
        if not w.is_float:
            sample = self.buffers.sample
            return sample, self.numbers.F_applied.copy()
        step = self._native if self.numbers.counts[WHICH] else self.buffers
        assert step is not None
        step.time_step = self.time_step()
        return contacts_and_forces(step, w, step.results[0], self.numbers.F_applied)
