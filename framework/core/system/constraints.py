"""Constraints that a system declares on its own values, for planners and optimizers to respect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.errors import Where, call_to_write
from merganser.framework.common.indices import SystemConstraintIndex
from merganser.framework.core.system.system_base import SystemBase
from merganser.framework.core.values.arguments import checked_size

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context

Array = NDArray[Any]


class SystemConstraintBounds:
    """Lower and upper bounds of a constraint: lower <= g(context) <= upper, element by element.

    Args:
        lower: shape [size], or None for no lower bound.
        upper: shape [size], or None for no upper bound.

    Raises:
        ValueError: there is no bound at all, the shapes differ, or a lower bound is above its upper bound or not a
            number.
    """

    def __init__(self, lower: ArrayLike | None, upper: ArrayLike | None) -> None:
        given = lower if lower is not None else upper
        if given is None:
            raise ValueError("SystemConstraintBounds: give a lower bound, an upper bound or both.")
        shape = np.atleast_1d(given).shape
        self._lower = np.full(shape, -np.inf) if lower is None else np.array(np.atleast_1d(lower), dtype=float)
        self._upper = np.full(shape, np.inf) if upper is None else np.array(np.atleast_1d(upper), dtype=float)
        if self._lower.shape != self._upper.shape or self._lower.ndim != 1 or not np.all(self._lower <= self._upper):
            raise ValueError(
                f"SystemConstraintBounds: lower {self._lower.tolist()} and upper {self._upper.tolist()} must be "
                "vectors of one size, each lower bound at most the upper one."
            )

    @staticmethod
    def Equality(size: int) -> SystemConstraintBounds:
        """Returns the bounds of an equality constraint: both zero."""
        return SystemConstraintBounds(np.zeros(size), np.zeros(size))

    def size(self) -> int:
        """Number of elements."""
        return len(self._lower)

    def lower(self) -> Array:
        """Returns a copy of the lower bounds, shape [size]."""
        return self._lower.copy()

    def upper(self) -> Array:
        """Returns a copy of the upper bounds, shape [size]."""
        return self._upper.copy()

    def is_equality(self) -> bool:
        """Whether all lower bounds are equal to the upper ones."""
        return bool(np.all(self._lower == self._upper))


class SystemConstraint:
    """A constraint lower <= g(context) <= upper of a leaf system; made by its `Declare...Constraint`."""

    def __init__(
        self, system: Any, calc: Callable[[Any, Array], None], bounds: SystemConstraintBounds, text: str
    ) -> None:
        self._system = system
        self._calc = calc
        self._bounds = bounds
        self._description = text

    def get_system(self) -> Any:
        """Returns the leaf system that declared it."""
        return self._system

    def description(self) -> str:
        """What it says, in words."""
        return self._description

    def bounds(self) -> SystemConstraintBounds:
        """Returns the bounds."""
        return self._bounds

    def size(self) -> int:
        """Number of elements."""
        return self._bounds.size()

    def is_equality_constraint(self) -> bool:
        """Whether lower and upper bounds are equal."""
        return self._bounds.is_equality()

    def Calc(self, context: Context) -> Array:
        """Computes g, shape [size].

        Args:
            context: of the system that declared it, or of a Diagram around that.

        Raises:
            ValueError: the system is not part of the one whose context was given.
        """
        part = context.system.GetSubsystemContext(self._system, context)
        value = np.full(self.size(), np.nan, context.store.flat.dtype)
        where = Where("Constraint '{1}' of system '{0}'", self._system, self._description)
        call_to_write(where, self._calc, part, value)
        return value

    def CheckSatisfied(self, context: Context, tol: float) -> bool:
        """Whether g is within its bounds, or outside by `tol` at most; never where g is not a number."""
        if not tol >= 0.0:
            raise ValueError(f"CheckSatisfied: the tolerance must not be negative, got {tol}.")
        value = self.Calc(context)
        return bool(np.all((value >= self._bounds._lower - tol) & (value <= self._bounds._upper + tol)))


class ConstraintMethods(SystemBase):
    """What every System can say about the constraints declared in it."""

    def num_constraints(self) -> int:
        """Number of constraints of this system and those inside."""
        return sum(1 for _ in self._all_constraints())

    def get_constraint(self, constraint_index: int) -> SystemConstraint:
        """Returns a constraint by its index; those of subsystems follow in the order of the subsystems."""
        constraints = list(self._all_constraints())
        if not 0 <= constraint_index < len(constraints):
            raise IndexError(
                f"System '{self.GetSystemPathname()}' has no constraint {constraint_index}: it has {len(constraints)}."
            )
        return constraints[constraint_index]

    def CheckSystemConstraintsSatisfied(self, context: Context, tol: float) -> bool:
        """Whether all constraints are satisfied within the tolerance."""
        self.ValidateContext(context)
        if not tol >= 0.0:
            raise ValueError(
                f"System '{self.GetSystemPathname()}', CheckSystemConstraintsSatisfied: the tolerance must not be "
                f"negative, got {tol}."
            )
        return all(constraint.CheckSatisfied(context, tol) for constraint in self._all_constraints())

    def _all_constraints(self) -> Iterator[SystemConstraint]:
        for system in self._sys_subsystems() or ():
            yield from system._all_constraints()


class LeafConstraintMethods(ConstraintMethods):
    """How a leaf system declares constraints."""

    _sys_constraints: tuple[SystemConstraint, ...]

    def DeclareEqualityConstraint(
        self, calc: Callable[[Any, Array], None], count: int, description: str
    ) -> SystemConstraintIndex:
        """Declares g(context) = 0.

        Args:
            calc: called as calc(context, value); fills in `value`, shape [count].
            count: number of elements.
            description: what it says, in words.
        """
        size = checked_size(count, f"Constraint '{description}' of system '{self.GetSystemPathname()}': count")
        return self.DeclareInequalityConstraint(calc, SystemConstraintBounds.Equality(size), description)

    def DeclareInequalityConstraint(
        self, calc: Callable[[Any, Array], None], bounds: SystemConstraintBounds, description: str
    ) -> SystemConstraintIndex:
        """Declares lower <= g(context) <= upper; see `DeclareEqualityConstraint`."""
        if not callable(calc):
            raise TypeError(
                f"Constraint '{description}' of system '{self.GetSystemPathname()}': calc must be callable."
            )
        if not isinstance(bounds, SystemConstraintBounds):
            raise TypeError(
                f"Constraint '{description}' of system '{self.GetSystemPathname()}': bounds must be "
                f"SystemConstraintBounds, got {type(bounds).__name__}."
            )
        self._sys_constraints += (SystemConstraint(self, calc, bounds, description),)
        return SystemConstraintIndex(len(self._sys_constraints) - 1)

    def _all_constraints(self) -> Iterator[SystemConstraint]:
        yield from self._sys_constraints
