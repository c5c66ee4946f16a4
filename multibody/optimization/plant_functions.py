"""Functions of the state of a plant whose derivatives are those of the plant of AutoDiffXd.

A plant of AutoDiffXd knows the closed forms of its kernels (multibody/plant/scalars). Its Context holds q, or q and v,
with one derivative for each of their numbers, so that constraints of one program share what is computed at one state.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, System
from merganser.framework.autodiff import AutoDiffXd, ExtractGradient, ExtractValue, InitializeAutoDiff
from merganser.framework.core.inside import scalar_of
from merganser.framework.optimization.evaluators.evaluators import ClosedFormEvaluator
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.tree import Frame

Array = NDArray[np.float64]
Objects = NDArray[Any]


class PlantFunction(ClosedFormEvaluator):
    """A function of x = [q, v] or [q, ...]; a Context of the plant is moved to each x."""

    _plant: MultibodyPlant
    _context: Context

    def _take(self, plant: MultibodyPlant, plant_context: Context) -> None:
        self._plant, self._context = with_derivatives(type(self).__name__, plant, plant_context)

    def _frame(self, what: str, frame: Frame, plant: MultibodyPlant) -> Frame:
        """The frame of the AutoDiffXd plant that corresponds to a frame of the given plant.

        Raises:
            RuntimeError: the frame is of another plant.
        """
        if frame.GetParentPlant() is not plant:
            raise RuntimeError(
                f"{type(self).__name__}: {what}, '{frame.name()}', is not of plant '{plant.GetSystemPathname()}'. Take "
                "a frame of the plant that is given."
            )
        return self._plant.get_frame(frame.index())

    def _at(self, x: Array) -> tuple[Array, Array]:
        """Values and derivatives where the Context is at x, shapes [num_outputs] and [num_outputs, num_vars]."""
        raise NotImplementedError

    def _num_state_vars(self) -> int:
        """How many of x are of the state: num_positions, or that and num_velocities."""
        return self._plant.num_positions()

    def _value_and_jacobian(self, x: Array) -> tuple[Array, Array]:
        size = self._num_state_vars()
        if not np.isfinite(x[:size]).all():
            raise ValueError(f"{type(self).__name__}: the state of the plant must be finite, got {x[:size]}.")
        everything = size > self._plant.num_positions()
        state = self._plant.GetPositionsAndVelocities(self._context) if everything else self._positions()
        if not _has_one_derivative_each(state, x[:size]):
            seeded = InitializeAutoDiff(x[:size]).ravel()
            if everything:
                self._plant.SetPositionsAndVelocities(self._context, seeded)
            else:
                self._plant.SetPositions(self._context, seeded)
        return self._at(x)

    def _positions(self) -> Objects:
        positions: Objects = self._plant.GetPositions(self._context)
        return positions

    def is_thread_safe(self) -> bool:
        """No: it moves its Context."""
        return False


def with_derivatives(caller: str, plant: MultibodyPlant, context: Context) -> tuple[MultibodyPlant, Context]:
    """A plant of AutoDiffXd and its Context: those given, or, for a plant of floats, copies of all its diagram.

    Raises:
        TypeError: an argument is not a plant or not a Context, or the plant is of another scalar.
        RuntimeError: the Context is not of the plant.
    """
    if not isinstance(plant, MultibodyPlant) or scalar_of(plant) not in (float, AutoDiffXd):
        raise TypeError(
            f"{caller}: plant must be a MultibodyPlant of AutoDiffXd or of floats, got {type(plant).__name__}. "
            "plant.ToAutoDiffXd() makes one."
        )
    if not isinstance(context, Context):
        raise TypeError(f"{caller}: the Context of the plant must be a Context, got {type(context).__name__}.")
    plant.ValidateContext(context)
    if scalar_of(plant) is AutoDiffXd:
        return plant, context
    root: Any = context
    while root.parent is not None:
        root = root.parent
    system: System = root.system
    copy: Any = system.ToAutoDiffXd()
    copied_context = copy.CreateDefaultContext()
    copied_context.SetTimeStateAndParametersFrom(root)
    copy.FixInputPortsFrom(system, root, copied_context)
    here: Any = copy
    for name in plant.GetSystemPathname().removeprefix(system.GetSystemPathname()).split("::")[1:]:
        here = here.GetSubsystemByName(name)
    return here, here.GetMyMutableContextFromRoot(copied_context)


def _has_one_derivative_each(numbers: Objects, values: Array) -> bool:
    """Whether numbers have these values, and the derivatives by themselves."""
    if not np.array_equal(ExtractValue(numbers).ravel(), values):
        return False
    slopes = [each.derivatives() for each in numbers]
    return all(slope.size == values.size and slope[i] == 1.0 for i, slope in enumerate(slopes)) and np.array_equal(
        slopes, np.eye(values.size)
    )


def values_of(numbers: Objects) -> Array:
    """The values of AutoDiffXd, in their shape."""
    values: Array = np.array([each.value() for each in np.ravel(numbers)]).reshape(np.shape(numbers))
    return values


def derivatives_of(numbers: Objects, num_vars: int) -> Array:
    """The derivatives of a vector of AutoDiffXd, shape [size, num_vars]; 0 for numbers without."""
    gradient = np.asarray(ExtractGradient(np.ravel(numbers)), dtype=np.float64)
    return gradient if gradient.shape[1] == num_vars else np.zeros((np.size(numbers), num_vars))
