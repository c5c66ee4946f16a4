"""Declarations of a leaf system that take native functions."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

from merganser.framework.common.errors import Where
from merganser.framework.core.declarations.events import (
    Arrivals,
    DeclaredEvent,
    Event,
    TriggerType,
    UnrestrictedUpdateEvent,
)
from merganser.framework.core.declarations.native_function import (
    CONTINUOUS,
    BoundNativeFunction,
    NativeFunction,
    NativeHandler,
    next_state,
    result_of,
)
from merganser.framework.core.values.values import BasicVector

_GROUP = re.compile(r"next_xd(\d+)|xd(\d+)_next|next_xc|xc_next")


class NativeDeclarations:
    """What a leaf system declares by means of native functions (see native_function.py)."""

    _sys_derivatives: BoundNativeFunction | None = None  # given to DeclareTimeDerivatives

    def DeclareTimeDerivatives(self: Any, calc: NativeFunction) -> None:
        """Computes the time derivatives of the continuous state by a native function.

        It takes the place of overriding `DoCalcTimeDerivatives`. Declare ports, state and parameters before.

        Args:
            calc: made by `native`; its last parameter receives the derivatives.

        Raises:
            TypeError: `calc` was not made by `native`.
            RuntimeError: there is no continuous state.
            ValueError: the system has nothing of a parameter's name.
        """
        self._sys_declare_derivatives(calc)

    def _sys_declare_derivatives(self: Any, calc: NativeFunction, of: type[Any] | None = None) -> None:
        """Declares derivatives; those of a class, if it is given, which derived classes may override after all.

        Their `super().DoCalcTimeDerivatives` is then this function.
        """
        where = Where("System '{}': DeclareTimeDerivatives", self)
        if not isinstance(calc, NativeFunction):
            raise TypeError(
                f"{where} takes a function decorated with @native, got {type(calc).__name__}. To use ordinary Python, "
                "override DoCalcTimeDerivatives(context, derivatives)."
            )
        if self._sys_xcdot_entry is None:
            raise RuntimeError(f"{where}: there is no continuous state; call DeclareContinuousState before.")
        entry = self._sys_cache_entries[self._sys_xcdot_entry]
        self._sys_derivatives = calc.bind(self, "time derivatives", result_of(entry.vector_size))
        if of is None or not self._overrides_derivatives(of):
            entry.use_function(self._sys_derivatives)

    def _bound(self: Any, calc: NativeFunction, what: str, model: Any) -> BoundNativeFunction:
        """The callback of a cache entry."""
        if not isinstance(model, BasicVector):
            raise TypeError(
                f"{what.capitalize()} of system '{self.GetSystemPathname()}' is abstract; a native function can only "
                "fill in vectors."
            )
        return calc.bind(self, what, result_of(model.size()))

    def _bound_update(
        self: Any, update: NativeFunction, kind: type[Event]
    ) -> tuple[NativeHandler, BoundNativeFunction]:
        """The handler of an update, and its operation."""
        where = f"{update.describe()}, {kind.kind_name} of system '{self.GetSystemPathname()}'"
        if not kind.changes_state:
            raise TypeError(f"{where}: a native function can only be the handler of updates.")
        sizes = dict(enumerate(model.size() for model in self._sys_discrete_models))
        if kind is UnrestrictedUpdateEvent and sum(self._sys_continuous_sizes):
            sizes[CONTINUOUS] = sum(self._sys_continuous_sizes)
        groups: list[int] = []
        for name in reversed(update.parameters):
            found = _GROUP.fullmatch(name)
            if not found:
                break
            groups.insert(0, int(found[1] or found[2] or CONTINUOUS))
        if not groups and len(sizes) == 1:
            groups = [*sizes]  # under any name
        if not groups or not sizes.keys() >= set(groups):
            also = " and next_xc for the continuous state" if CONTINUOUS in sizes else ""
            if CONTINUOUS in groups and not also:
                also = "; next_xc is for unrestricted updates of systems with a continuous state"
            raise ValueError(
                f"{where}: there are {len(self._sys_discrete_models)} groups of discrete state. Where there is more "
                f"than one, name the last parameters next_xd0, next_xd1, ... for the groups to update{also}."
            )
        results = (next_state(group, sizes[group]) for group in groups)
        bound = update.bind(self, kind.kind_name, *results)
        return NativeHandler(bound, groups), bound

    def _sys_amend_last_event(self: Any, **changes: Any) -> None:
        """Changes attributes of the event declared last, see DeclaredEvent.

        `native` is an operation that does what its handler does, `demand` says when a publish event is needed, and an
        unrestricted update that `joins_discrete_updates` happens with them: both see the state from before, whereas
        other unrestricted updates come first.
        """
        *earlier, last = self._sys_events
        self._sys_events = (*earlier, dataclasses.replace(last, **changes))

    def _declare_arrivals(self: Any, kind: type[Event], handler: Any, arrivals: Arrivals) -> None:
        """Declares an event that happens when something has come from outside (inside.py)."""
        self._sys_events += (DeclaredEvent(kind, TriggerType.kTimed, handler, arrivals=arrivals),)

    def _new_parameter_name(self: Any, name: str | None, index: int) -> str:
        if name is None:
            return f"p{index}"
        if name in self._sys_numeric_parameter_names:
            raise ValueError(
                f"System '{self.GetSystemPathname()}' has a numeric parameter '{name}' already; names must differ."
            )
        return name
