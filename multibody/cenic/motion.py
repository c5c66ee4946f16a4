"""The motion of all that moves continuously in a system: plants by discrete steps, all else by explicit ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, Diagram, System
from merganser.multibody.contact.step import NOT_SOLVED
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.plant.step.step_buffers import StepBuffers

__all__ = ["Motion"]

Array = NDArray[Any]
_SOME_STEP = 1.0  # [s]; buffers are made for steps of some length, which each step then sets


class Motion:
    """How a system moves from where its Context is.

    Args:
        system: with a continuous plant at least.
        context: of it, the root.

    Raises:
        ValueError: there is none.
    """

    def __init__(self, system: System, context: Context) -> None:
        leaves = [(leaf, leaf.GetMyContextFromRoot(context)) for leaf in _leaves(system)]
        moving = [(leaf, own) for leaf, own in leaves if own.num_continuous_states()]
        self._plants = [_PlantMotion(leaf, own, context) for leaf, own in moving if isinstance(leaf, MultibodyPlant)]
        self._others = [_OtherMotion(leaf, own, context) for leaf, own in moving if not isinstance(leaf, MultibodyPlant)]
        if not self._plants:
            raise ValueError(
                f"CenicIntegrator: system '{system.GetSystemPathname()}' has no continuous MultibodyPlant, so there is "
                "nothing that it could hold in contact. Give the plant the time step 0, or take another integrator."
            )

    def advance(self, h: float, x: Array, x_next: Array) -> bool:
        """One step from where the Context is.

        Args:
            h: its length [s].
            x: the continuous state there.
            x_next: receives that after it.

        Returns:
            Whether its equations were solved.
        """
        for other in self._others:
            other.advance(h, x, x_next)
        return all(plant.advance(h, x_next) for plant in self._plants)

    def distance(self, h: float, x: Array, y: Array) -> float:
        """How far two states after a step of length h [s] are apart: (3) of CenicIntegrator."""
        parts = [plant.distance(h, x, y) for plant in self._plants]
        return max(parts + [other.distance(x, y) for other in self._others])


def _leaves(system: System) -> Iterator[System]:
    if isinstance(system, Diagram):
        for part in system.GetSystems():
            yield from _leaves(part)
    else:
        yield system


def _place_of(context: Context, root: Context) -> slice:
    """Where the continuous state of a part stands in that of the whole."""
    (start, end), (first, _) = context.layout.xc_range, root.layout.xc_range
    return slice(start - first, end - first)


def _largest(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))


class _PlantMotion:
    """The steps of one plant."""

    def __init__(self, plant: MultibodyPlant, context: Context, root: Context) -> None:
        self._dynamics, self._context = plant._dynamics, context
        self._w = w = self._dynamics.views.workspace(context)
        self._buffers = StepBuffers(self._dynamics, context, w, time_step=_SOME_STEP)
        self._place = _place_of(context, root)
        self._num_q = plant.num_positions()

    def advance(self, h: float, x_next: Array) -> bool:
        self._buffers.time_step = h
        status, out = self._dynamics.try_step(self._context, self._w, self._buffers)
        if status not in (0, NOT_SOLVED):
            self._dynamics.raise_failure(self._context, self._w, status, self._buffers)
        x_next[self._place] = out.x_next
        return status == 0

    def distance(self, h: float, x: Array, y: Array) -> float:
        difference = x[self._place] - y[self._place]
        return max(_largest(difference[: self._num_q]), h * _largest(difference[self._num_q :]))


class _OtherMotion:
    """Steps of another system: z+ = z + h zdot."""

    def __init__(self, system: System, context: Context, root: Context) -> None:
        self._system, self._context = system, context
        self._place = _place_of(context, root)

    def advance(self, h: float, x: Array, x_next: Array) -> None:
        zdot = self._system.EvalTimeDerivatives(self._context).CopyToVector()
        x_next[self._place] = x[self._place] + h * zdot

    def distance(self, x: Array, y: Array) -> float:
        return _largest(x[self._place] - y[self._place])
