"""A continuous plant that moves by steps, of lengths that an integrator chooses.

While `length` is h > 0, what such a plant gives as its derivatives is the slope of a step from the present state,

    xdot = (S_h(x) - x) / h                                                                (1)

with S_h the step of a discrete plant (contact/step.py), so that x + h xdot is the state after it. Where no step of that
length can be found, it is NaN.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from merganser.multibody.plant.step.drives import Controllers
from merganser.multibody.plant.step.step_buffers import StepBuffers
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics

__all__ = ["Motion"]

_SOME_LENGTH = 1.0  # with which buffers of steps are made [s]


class Motion:
    """Steps of one plant in one Context.

    Args:
        dynamics: of a continuous plant.
        context: of it, one of floats.
        w: its workspace.

    Attributes:
        length: h [s], shape [1]; 0 for derivatives.
        buffers: arrays of steps in Python.
    """

    def __init__(self, dynamics: PlantDynamics, context: Context, w: Workspace) -> None:
        self._given = dynamics, context, w
        self.length = np.zeros(1)
        self.buffers = StepBuffers(*self._given, time_step=_SOME_LENGTH)
        self._native: StepBuffers | None = None

    def native_buffers(self, controllers: Controllers) -> StepBuffers:
        """Arrays of steps in the native plan, as model and Context are now."""
        if self._native is None:
            self._native = StepBuffers(*self._given, is_native=True, time_step=_SOME_LENGTH)
        if self._native.lacks_capacity():
            self._native.grow()
        if not self._native.is_current(controllers):
            self._native.prepare(controllers)
        return self._native

    def is_native_current(self, controllers: Controllers) -> bool:
        """Whether these arrays are still right."""
        native = self._native
        return native is not None and native.is_current(controllers) and not native.lacks_capacity()
