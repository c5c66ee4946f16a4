"""What governs the state of a System beyond its time derivatives.

First the continuous part: residuals of the implicit dynamics, the maps between velocities and q̇, energies and powers.
A leaf system overrides `DoCalc...` or `DoMap...`; a Diagram concatenates or adds up what its subsystems give. Then the
discrete part: whether a difference equation with one period governs the state, and what its next value is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.errors import Where, call_to_write
from merganser.framework.core.context.dependencies import TicketMethods
from merganser.framework.core.declarations.events import (
    DiscreteUpdateEvent,
    PeriodicEventData,
    TriggerType,
    UnrestrictedUpdateEvent,
)
from merganser.framework.core.declarations.execution import compute_updates, raise_if_failed
from merganser.framework.core.system.system_base import SystemBase
from merganser.framework.core.values.arguments import checked_size
from merganser.framework.core.values.state import ContinuousState, DiscreteValues, State, _window
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


# ---------------------------------------------------------------------- difference equations


class DifferenceEquationMethods(SystemBase):
    """What every System can say about its periodic discrete updates."""

    def GetUniquePeriodicDiscreteUpdateAttribute(self) -> PeriodicEventData | None:
        """Returns period and offset of the periodic discrete updates if all have the same; else None."""
        timings = self._periodic_discrete_timings()
        return PeriodicEventData(*timings.pop()) if len(timings) == 1 else None

    def EvalUniquePeriodicDiscreteUpdate(self, context: Context) -> DiscreteValues:
        """Returns what the periodic discrete updates would make of the discrete state, and changes nothing.

        The handlers are called again each time; what is returned belongs to the caller.

        Raises:
            RuntimeError: there is no periodic discrete update, or some have different timings; or a handler
                reported failure.
        """
        self.ValidateContext(context)
        timings = self._periodic_discrete_timings()
        if len(timings) != 1:
            found = ", ".join(f"period {p} s, offset {o} s" for p, o in sorted(timings)) or "none"
            raise RuntimeError(
                f"EvalUniquePeriodicDiscreteUpdate: system '{self.GetSystemPathname()}' must have periodic discrete "
                f"updates of exactly one timing; found: {found}."
            )
        result = context._discrete.Clone()
        compute_update(context, TriggerType.kPeriodic, result)
        return result

    def IsDifferenceEquationSystem(self) -> tuple[bool, float]:
        """Whether the state is one discrete group, changed by periodic updates of one timing with offset 0.

        Updates of other kinds are not considered, nor is the number of input ports.

        Returns:
            The answer, and the period [s] if it is yes, 0 otherwise.
        """
        timing = self.GetUniquePeriodicDiscreteUpdateAttribute()
        others = self.num_continuous_states() + self.num_abstract_states()
        if others or self.num_discrete_state_groups() != 1 or timing is None or timing.offset_sec() != 0.0:
            return False, 0.0
        return True, timing.period_sec()

    def IsDifferentialEquationSystem(self) -> bool:
        """Whether there is neither discrete nor abstract state and all input ports carry vectors."""
        if self.num_discrete_state_groups() or self.num_abstract_states():
            return False
        return all(port._size is not None for port in self._sys_input_ports)

    def _periodic_discrete_timings(self) -> set[tuple[float, float]]:
        """All (period, offset) [s] of periodic discrete updates."""
        return {
            (event.period, event.offset)
            for leaf in self._get_layout().leaf_list
            for event in leaf.system._sys_events
            if event.kind is DiscreteUpdateEvent and event.trigger is TriggerType.kPeriodic
        }


def compute_update(context: Context, trigger: TriggerType, target: DiscreteValues | State) -> None:
    """Makes `target` what updates would make of the discrete state, or of the whole one, and changes nothing.

    Args:
        context: of any system.
        trigger: of the updates: discrete ones, or unrestricted ones for the whole state.
        target: room like that of `context`.
    """
    kind = DiscreteUpdateEvent if isinstance(target, DiscreteValues) else UnrestrictedUpdateEvent
    events = [item for item in context.system._events_with(context, trigger) if item[1].kind is kind]
    status, updates = compute_updates(events, is_question=True)
    raise_if_failed(status, context)
    if isinstance(target, DiscreteValues):
        target.SetFrom(context._discrete)
        _put_groups(updates, context, target)
        return
    target.SetFrom(context.get_state())
    _put_groups([(leaf, values._discrete) for leaf, values in updates], context, target._discrete)
    place = {id(value): index for index, value in enumerate(context._abstract_state._items)}
    x = target._continuous.get_mutable_vector()
    for leaf, values in updates:
        for value, new in zip(leaf._abstract_state._items, values._abstract._items):
            target._abstract.get_mutable_value(place[id(value)]).SetFrom(new)
        first = leaf.layout.xc_range[0] - context.layout.xc_range[0]
        for k, number in enumerate(values._continuous.CopyToVector().tolist()):
            x.SetAtIndex(first + k, number)


def _put_groups(updates: list[tuple[Any, DiscreteValues]], context: Context, target: DiscreteValues) -> None:
    place = {id(group): index for index, group in enumerate(context._discrete._items)}
    for leaf, values in updates:
        for group, new in zip(leaf._discrete._items, values._items):
            target.get_mutable_vector(place[id(group)]).SetFrom(new)
