"""Residuals of the implicit dynamics, the maps between velocities and q̇, energies and powers of a System.

A leaf system overrides `DoCalc...` or `DoMap...`; a Diagram concatenates or adds up what its subsystems give.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.errors import Where, call_to_write
from merganser.framework.core.context.dependencies import TicketMethods
from merganser.framework.core.system.system_base import SystemBase
from merganser.framework.core.values.arguments import checked_size
from merganser.framework.core.values.state import ContinuousState, _window
from merganser.framework.core.values.values import BasicVector

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context

Array = NDArray[Any]

_ENERGIES = (
    ("PotentialEnergy", "DoCalcPotentialEnergy", "potential energy", TicketMethods.pe_ticket),
    ("KineticEnergy", "DoCalcKineticEnergy", "kinetic energy", TicketMethods.ke_ticket),
    ("ConservativePower", "DoCalcConservativePower", "conservative power", TicketMethods.pc_ticket),
    ("NonConservativePower", "DoCalcNonConservativePower", "non-conservative power", TicketMethods.pnc_ticket),
)


class DynamicsMethods(SystemBase):
    """What every System can say about its continuous dynamics, beyond the time derivatives."""

    # ------------------------------------------------------------------ implicit form

    def AllocateImplicitTimeDerivativesResidual(self) -> Array:
        """Returns room for a residual, shape [implicit_time_derivatives_residual_size]."""
        return np.full(self.implicit_time_derivatives_residual_size(), np.nan)

    def CalcImplicitTimeDerivativesResidual(
        self, context: Context, proposed_derivatives: ContinuousState, residual: Array | None = None
    ) -> Array:
        """Computes how far proposed derivatives ẋc are from satisfying the dynamics 0 = f(context; ẋc).

        Args:
            context: of this system.
            proposed_derivatives: with as many variables as the continuous state.
            residual: where to put the result, if not into a new array.

        Returns:
            The residual, shape [implicit_time_derivatives_residual_size]; zero at the true time derivatives.

        Raises:
            ValueError: `proposed_derivatives` or `residual` has the wrong size.
        """
        self.ValidateContext(context)
        expected = context.num_continuous_states()
        if not isinstance(proposed_derivatives, ContinuousState):
            raise TypeError(
                f"System '{self.GetSystemPathname()}': proposed_derivatives must be a ContinuousState, got "
                f"{type(proposed_derivatives).__name__}."
            )
        if proposed_derivatives.size() != expected:
            raise ValueError(
                f"System '{self.GetSystemPathname()}' has {expected} continuous states; proposed_derivatives has "
                f"{proposed_derivatives.size()}."
            )
        size = self.implicit_time_derivatives_residual_size()
        if residual is None:
            residual = np.empty(size, context.store.flat.dtype)
        if np.shape(residual) != (size,):
            raise ValueError(
                f"The residual of system '{self.GetSystemPathname()}' has shape ({size},); got {np.shape(residual)}."
            )
        self._calc_residual(context, proposed_derivatives, residual)
        return residual

    def _calc_residual(self, context: Any, proposed: ContinuousState, residual: Array) -> None:
        values, start = proposed.CopyToVector(), 0
        first = context.layout.xc_range[0]
        for child in context._children:
            a, b = (bound - first for bound in child.layout.xc_range)
            part = ContinuousState._of(_window(values[a:b]), child.layout)
            end = start + child.system.implicit_time_derivatives_residual_size()
            child.system._calc_residual(child, part, residual[start:end])
            start = end

    # ------------------------------------------------------------------ velocities and q̇

    def MapVelocityToQDot(self, context: Context, v: ArrayLike) -> Array:
        """Returns q̇ = N(q) v, shape [num_q], of generalized velocities v, shape [num_v]."""
        self.ValidateContext(context)
        values = context._checked(v, context._xc.num_v(), "generalized velocity")
        return self._map_kinematics(context, values, "MapVelocityToQDot", ContinuousState.num_v)

    def MapQDotToVelocity(self, context: Context, qdot: ArrayLike) -> Array:
        """Returns v = N⁺(q) q̇, shape [num_v], of derivatives q̇ of the generalized positions, shape [num_q]."""
        self.ValidateContext(context)
        values = context._checked(qdot, context._xc.num_q(), "derivative of the generalized positions")
        return self._map_kinematics(context, values, "MapQDotToVelocity", ContinuousState.num_q)

    def _map_kinematics(
        self, context: Any, values: Array, method: str, size_of: Callable[[ContinuousState], int]
    ) -> Array:
        parts, start = [values[:0]], 0
        for child in context._children:
            size = size_of(child._xc)
            if size:
                parts.append(getattr(child.system, method)(child, values[start : start + size]))
                start += size
        return np.concatenate(parts)

    # ------------------------------------------------------------------ energies and powers

    def CalcPotentialEnergy(self, context: Context) -> Any:
        """Computes the potential energy [J]."""
        return self._calc_energy("PotentialEnergy", context)

    def CalcKineticEnergy(self, context: Context) -> Any:
        """Computes the kinetic energy [J]."""
        return self._calc_energy("KineticEnergy", context)

    def CalcConservativePower(self, context: Context) -> Any:
        """Computes the rate at which potential energy turns into kinetic energy [W]."""
        return self._calc_energy("ConservativePower", context)

    def CalcNonConservativePower(self, context: Context) -> Any:
        """Computes the power of everything that is not conservative [W]; negative where energy is lost."""
        return self._calc_energy("NonConservativePower", context)

    def EvalPotentialEnergy(self, context: Context) -> Any:
        """Returns the potential energy [J], computed if it is out of date."""
        return self._eval_energy("PotentialEnergy", context)

    def EvalKineticEnergy(self, context: Context) -> Any:
        """Returns the kinetic energy [J], computed if it is out of date."""
        return self._eval_energy("KineticEnergy", context)

    def EvalConservativePower(self, context: Context) -> Any:
        """Returns the conservative power [W], computed if it is out of date."""
        return self._eval_energy("ConservativePower", context)

    def EvalNonConservativePower(self, context: Context) -> Any:
        """Returns the non-conservative power [W], computed if it is out of date."""
        return self._eval_energy("NonConservativePower", context)

    def _calc_energy(self, name: str, context: Any) -> Any:
        self.ValidateContext(context)
        return sum((getattr(child.system, f"Calc{name}")(child) for child in context._children), 0.0)

    def _eval_energy(self, name: str, context: Any) -> Any:
        self.ValidateContext(context)
        return sum((getattr(child.system, f"Eval{name}")(child) for child in context._children), 0.0)


class LeafDynamics(DynamicsMethods):
    """Energies, powers and residuals of a leaf system: what a subclass can override, and the defaults."""

    _residual_size: int | None = None
    _sys_continuous_sizes: tuple[int, int, int]
    _sys_energy_entries: dict[str, int]

    def DeclareImplicitTimeDerivativesResidualSize(self, n: int) -> None:
        """Declares that the residual of the implicit dynamics has n elements."""
        self._residual_size = checked_size(n, f"System '{self.GetSystemPathname()}': size of the implicit residual")

    def implicit_time_derivatives_residual_size(self) -> int:
        return sum(self._sys_continuous_sizes) if self._residual_size is None else self._residual_size

    def DoCalcImplicitTimeDerivativesResidual(
        self, context: Context, proposed_derivatives: ContinuousState, residual: Array, /
    ) -> None:
        """Override: computes the residual of the implicit dynamics; by default proposed minus true derivatives."""
        if residual.size != proposed_derivatives.size():
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' ({type(self).__name__}) declares a residual of {residual.size} "
                f"elements for {proposed_derivatives.size()} continuous states: override "
                "DoCalcImplicitTimeDerivativesResidual(context, proposed_derivatives, residual)."
            )
        residual[:] = proposed_derivatives.CopyToVector() - context._read_derivatives().CopyToVector()

    def DoMapVelocityToQDot(self, context: Context, v: Array, /) -> Array:
        """Override where q̇ is not v: returns q̇, shape [num_q]."""
        return self._identity_map(context, v, "DoMapVelocityToQDot")

    def DoMapQDotToVelocity(self, context: Context, qdot: Array, /) -> Array:
        """Override where q̇ is not v: returns v, shape [num_v]."""
        return self._identity_map(context, qdot, "DoMapQDotToVelocity")

    def DoCalcPotentialEnergy(self, context: Context, /) -> Any:
        """Override: returns the potential energy [J]; 0 by default."""
        return 0.0

    def DoCalcKineticEnergy(self, context: Context, /) -> Any:
        """Override: returns the kinetic energy [J]; 0 by default."""
        return 0.0

    def DoCalcConservativePower(self, context: Context, /) -> Any:
        """Override: returns the conservative power [W]; 0 by default."""
        return 0.0

    def DoCalcNonConservativePower(self, context: Context, /) -> Any:
        """Override: returns the non-conservative power [W]; 0 by default."""
        return 0.0

    def _calc_residual(self, context: Any, proposed: ContinuousState, residual: Array) -> None:
        where = Where("Residual of system '{}'", self)
        call_to_write(where, self.DoCalcImplicitTimeDerivativesResidual, context, proposed, residual)

    def _map_kinematics(self, context: Any, values: Array, method: str, size_of: Any) -> Array:
        result = np.asarray(getattr(self, f"Do{method}")(context, values))
        size = context._xc.num_q() if method == "MapVelocityToQDot" else context._xc.num_v()
        if result.shape != (size,):
            raise ValueError(
                f"Do{method} of system '{self.GetSystemPathname()}' must return an array of shape ({size},); "
                f"got {result.shape}."
            )
        return result

    def _identity_map(self, context: Context, values: Array, name: str) -> Array:
        num_q, num_v = context._xc.num_q(), context._xc.num_v()
        if num_q != num_v:
            raise RuntimeError(
                f"System '{self.GetSystemPathname()}' ({type(self).__name__}) has {num_q} generalized positions and "
                f"{num_v} velocities: override {name}(context, values)."
            )
        return values.copy()

    def _calc_energy(self, name: str, context: Any) -> Any:
        self.ValidateContext(context)
        return getattr(self, f"DoCalc{name}")(context)

    def _eval_energy(self, name: str, context: Any) -> Any:
        self.ValidateContext(context)
        entry = self._sys_energy_entries.get(name)
        if entry is None:
            return getattr(self, f"Calc{name}")(context)
        return context.read_entry(entry)._values.item(0)


def declare_energy_entries(system: Any) -> dict[str, int]:
    """Declares a cache entry for each energy and power that a leaf system computes; returns {name: entry number}."""
    entries = {}
    for name, method, description, ticket in _ENERGIES:
        if getattr(type(system), method) is not getattr(LeafDynamics, method):
            calc = functools.partial(_calc_scalar, getattr(system, method))
            entry = system._sys_declare_entry(description, BasicVector([0.0]), calc, {system.all_sources_ticket()})
            system._sys_dependency_table.redirect(ticket(), 1 << entry.node)
            entries[name] = entry._index
    return entries


def _calc_scalar(compute: Callable[[Any], Any], context: Context, output: BasicVector) -> None:
    output._values[0] = compute(context)
