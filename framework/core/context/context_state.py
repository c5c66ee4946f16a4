"""What a Context shows besides its continuous state: other state and parameters, control of its cache, its text."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.core.context.dependencies import Q, V, Z
from merganser.framework.core.scalars.scalars import number_text
from merganser.framework.core.values.arguments import bind_overload
from merganser.framework.core.values.state import AbstractValues, ContinuousState, DiscreteValues, Parameters, State
from merganser.framework.core.values.values import AbstractValue, BasicVector, refuse_mask

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.context.layout import SystemLayout
    from merganser.framework.core.context.store import Store
    from merganser.framework.core.system.system import System
    from merganser.framework.core.system.system_base import SystemBase


class CacheControl:
    """What every Context can do with its cache and those of its subcontexts."""

    store: Store
    _is_frozen = False

    def parts(self) -> list[Any]:
        """This context and all below it, depth first."""
        raise NotImplementedError

    def FreezeCache(self) -> None:
        """From now on nothing is computed: asking for what is out of date raises an error.

        What is current can still be read, and values can still be changed.
        """
        mask = 0
        for slot in self._cache_slots():
            if not slot.entry.is_storage:
                mask |= slot.bit
        self.store.computing |= mask
        for context in self.parts():
            context._is_frozen = True

    def UnfreezeCache(self) -> None:
        """Allows computations again."""
        mask = 0
        for slot in self._cache_slots():
            mask |= slot.bit
        self.store.computing &= ~mask
        for context in self.parts():
            context._is_frozen = False

    def is_cache_frozen(self) -> bool:
        """Whether computing is forbidden, by `FreezeCache`."""
        return self._is_frozen

    def SetAllCacheEntriesOutOfDate(self) -> None:
        """Makes everything be computed again when next asked for."""
        mask = 0
        for slot in self._cache_slots():
            mask |= slot.bit
        self.store.change(mask, self)

    def DisableCaching(self) -> None:
        """From now on everything is computed each time that it is asked for; meant for debugging."""
        self.SetAllCacheEntriesOutOfDate()
        for slot in self._cache_slots():
            slot.clearing = -1
        self.store.routing += 1

    def EnableCaching(self) -> None:
        """Keeps results again, those of entries disabled by default too."""
        for slot in self._cache_slots():
            slot.clearing = ~slot.bit
        self.store.routing += 1

    def _cache_slots(self) -> list[Any]:
        """The cache slots of this context and all below it."""
        return [slot for context in self.parts() for slot in getattr(context, "slots", ())]


Array = NDArray[Any]
XC_NODES = 1 << Q | 1 << V | 1 << Z
ACCEPTED = {"f": "biuf", "c": "biufc"}  # kinds of numbers that fit into an array of floats, of complex numbers


class StateAndParameters(CacheControl):
    """What every Context says of discrete and abstract state, of the state as a whole, and of parameters.

    Attributes: those of Context.
    """

    system: System
    layout: SystemLayout
    store: Store
    _xc: ContinuousState
    _discrete: DiscreteValues
    _abstract_state: AbstractValues
    _parameters: Parameters
    _state: State | None = None

    # ------------------------------------------------------------------ discrete state

    def num_discrete_state_groups(self) -> int:
        """Number of discrete state groups."""
        return self._discrete.num_groups()

    @overload
    def get_discrete_state(self, index: None = None) -> DiscreteValues: ...
    @overload
    def get_discrete_state(self, index: int) -> BasicVector: ...
    def get_discrete_state(self, index: int | None = None) -> DiscreteValues | BasicVector:
        """Returns the discrete state, or its group `index`."""
        self.store.note_read(self, self.layout.xd_nodes)
        return self._discrete if index is None else self._item(self._discrete, index, "discrete state group")

    def get_discrete_state_vector(self) -> BasicVector:
        """Returns the only discrete state group."""
        self.store.note_read(self, self.layout.xd_nodes)
        groups = self._discrete._items
        return groups[0] if len(groups) == 1 else self._only_group()

    @overload
    def get_mutable_discrete_state(self, index: None = None) -> DiscreteValues: ...
    @overload
    def get_mutable_discrete_state(self, index: int) -> BasicVector: ...
    def get_mutable_discrete_state(self, index: int | None = None) -> DiscreteValues | BasicVector:
        """Returns the discrete state, or its group `index`, for changing it."""
        self.store.change(self.layout.down["xd"], self)
        return self._discrete if index is None else self._item(self._discrete, index, "discrete state group")

    def get_mutable_discrete_state_vector(self) -> BasicVector:
        """Returns the only discrete state group for changing it."""
        vector = self._only_group()
        self.store.change(self.layout.down["xd"], self)
        return vector

    @overload
    def SetDiscreteState(self, xd: ArrayLike | DiscreteValues) -> None: ...
    @overload
    def SetDiscreteState(self, group_index: int, xd: ArrayLike) -> None: ...
    def SetDiscreteState(self, *args: Any, **kwargs: Any) -> None:
        """`SetDiscreteState(xd)` for the only group or, given DiscreteValues, for all; `(group_index, xd)` for one.

        A calculation that sets numbers which are there already changes nothing: what was computed remains.
        """
        if kwargs:
            names = ("xd",) if len(args) + len(kwargs) == 1 else ("group_index", "xd")
            args = tuple(bind_overload("SetDiscreteState", names, {}, args, kwargs).values())
        if len(args) == 1 and isinstance(args[0], DiscreteValues):
            self.get_mutable_discrete_state().SetFrom(args[0])
            return
        if len(args) not in (1, 2):
            raise TypeError(f"SetDiscreteState takes (xd) or (group_index, xd); got {len(args)} arguments.")
        index, values = args if len(args) == 2 else (None, args[0])
        group = self._only_group() if index is None else self._item(self._discrete, index, "discrete state group")
        checked = self._checked(values, group.size(), "discrete state")
        before = group._values
        if self.store.stack and before.dtype != object and checked.astype(before.dtype).tobytes() == before.tobytes():
            return
        self.get_mutable_discrete_state(index or 0)._values[:] = checked

    # ------------------------------------------------------------------ abstract state

    def num_abstract_states(self) -> int:
        """Number of abstract state variables."""
        return self._abstract_state.size()

    @overload
    def get_abstract_state(self, index: None = None) -> AbstractValues: ...
    @overload
    def get_abstract_state(self, index: int) -> AbstractValue: ...
    def get_abstract_state(self, index: int | None = None) -> AbstractValues | AbstractValue:
        """Returns the abstract state, or its variable `index`."""
        self.store.note_read(self, self.layout.xa_nodes)
        return self._abstract_state if index is None else self._item(self._abstract_state, index, "abstract state")

    @overload
    def get_mutable_abstract_state(self, index: None = None) -> AbstractValues: ...
    @overload
    def get_mutable_abstract_state(self, index: int) -> AbstractValue: ...
    def get_mutable_abstract_state(self, index: int | None = None) -> AbstractValues | AbstractValue:
        """Returns the abstract state, or its variable `index`, for changing it."""
        self.store.change(self.layout.down["xa"], self)
        return self._abstract_state if index is None else self._item(self._abstract_state, index, "abstract state")

    def SetAbstractState(self, index: int, value: Any) -> None:
        """Replaces abstract state variable `index`."""
        self.get_mutable_abstract_state(index).set_value(value)

    # ------------------------------------------------------------------ state as a whole

    def get_state(self) -> State:
        """Returns the whole state."""
        self.store.note_read(self, XC_NODES | self.layout.xd_nodes | self.layout.xa_nodes)
        return self.peek_state()

    def peek_state(self) -> State:
        """The whole state, without a note that it is read; after changes call the store (inside.py)."""
        if self._state is None:
            self._state = State(self._xc, self._discrete, self._abstract_state)
        return self._state

    def get_mutable_state(self) -> State:
        """Returns the whole state for changing it."""
        down = self.layout.down
        self.store.change(down["xc"] | down["xd"] | down["xa"], self)
        return self.peek_state()

    def num_total_states(self) -> int:
        """Number of state variables, continuous, discrete and abstract."""
        discrete = sum(group.size() for group in self._discrete._items)
        return self._xc.size() + discrete + self._abstract_state.size()

    def is_stateless(self) -> bool:
        """Whether there are no state variables."""
        return self.num_total_states() == 0

    def has_only_continuous_state(self) -> bool:
        """Whether there are continuous state variables and no others."""
        return 0 < self._xc.size() == self.num_total_states()

    def has_only_discrete_state(self) -> bool:
        """Whether there are discrete state variables and no others."""
        return self._xc.size() == 0 == self._abstract_state.size() and self.num_total_states() > 0

    # ------------------------------------------------------------------ parameters

    def num_numeric_parameter_groups(self) -> int:
        """Number of numeric parameter groups."""
        return self._parameters.num_numeric_parameter_groups()

    def num_abstract_parameters(self) -> int:
        """Number of abstract parameters."""
        return self._parameters.num_abstract_parameters()

    def get_parameters(self) -> Parameters:
        """Returns the parameters."""
        self.store.note_read(self, self.layout.p_nodes)
        return self._parameters

    def peek_parameters(self) -> Parameters:
        """The parameters, without a note that anybody reads them (inside.py)."""
        return self._parameters

    def get_mutable_parameters(self) -> Parameters:
        """Returns the parameters for changing them."""
        self.store.change(self.layout.down["pn"] | self.layout.down["pa"], self)
        return self._parameters

    def get_numeric_parameter(self, index: int) -> BasicVector:
        """Returns numeric parameter group `index`."""
        self.store.note_read(self, self.layout.p_nodes)
        return self._item(self._parameters._numeric, index, "numeric parameter")

    def get_mutable_numeric_parameter(self, index: int) -> BasicVector:
        """Returns numeric parameter group `index` for changing it."""
        self.store.change(self.layout.down["pn"], self)
        return self._item(self._parameters._numeric, index, "numeric parameter")

    def get_abstract_parameter(self, index: int) -> AbstractValue:
        """Returns abstract parameter `index`."""
        self.store.note_read(self, self.layout.p_nodes)
        return self._item(self._parameters._abstract, index, "abstract parameter")

    def get_mutable_abstract_parameter(self, index: int) -> AbstractValue:
        """Returns abstract parameter `index` for changing it."""
        self.store.change(self.layout.down["pa"], self)
        return self._item(self._parameters._abstract, index, "abstract parameter")

    # ------------------------------------------------------------------ helpers

    def _checked(self, values: ArrayLike, size: int, what: str) -> Array:
        if type(values) is np.ndarray and values.shape == (size,) and values.dtype == np.float64:
            return values  # the common case, for half the time
        array = refuse_mask(values)
        if array.size != size or (array.ndim > 1 and 1 not in array.shape):
            raise ValueError(
                f"The {what} of system '{self.system.GetSystemPathname()}' has size {size}; "
                f"got an array of shape {array.shape}."
            )
        accepted = ACCEPTED.get(self.store.flat.dtype.kind)
        is_real = array.dtype == object and all(isinstance(value, numbers.Real) for value in array.flat)
        if accepted and array.dtype.kind not in accepted and not is_real:
            raise TypeError(
                f"The {what} of system '{self.system.GetSystemPathname()}' takes numbers of type "
                f"{self.store.flat.dtype}; got {values!r}."
            )
        return array.reshape(size)

    def _only_group(self) -> BasicVector:
        try:
            return self._discrete._only()
        except RuntimeError as error:
            raise RuntimeError(f"System '{self.system.GetSystemPathname()}': {error}") from None

    def _item(self, items: Any, index: int, what: str) -> Any:
        try:
            return items._get(index, what)
        except (IndexError, TypeError) as error:
            raise type(error)(f"System '{self.system.GetSystemPathname()}': {error}") from None


def text_of_context(context: Context) -> str:
    """The text that print(context) shows; of a Diagram, with that of all subsystems that have state or parameters."""
    return "\n".join(_text_of_one(part) for part in context.parts() if part is context or _has_values(part))


def _text_of_one(context: Context) -> str:
    if _is_leaf(context):
        return _with_title(context, "Context", _of_leaf(context))
    return _with_title(context, "Context (of a Diagram)", _totals(context))


def _is_leaf(context: Context) -> bool:
    return context.system._sys_subsystems() is None


def _with_title(context: Context, what: str, lines: Iterable[str]) -> str:
    title = f"{_path(context.system)} {what}"
    return "".join(f"{line}\n" for line in (title, "-" * (len(title) + 1), *lines))


def _path(system: SystemBase | None) -> str:
    """The names from the outermost Diagram down to this system; `_` without a name, as in pydrake."""
    return "" if system is None else f"{_path(system._sys_parent)}::{system.get_name() or '_'}"


def _parameters(context: Context) -> tuple[list[Array], int]:
    """Groups of numeric parameters, and the number of abstract ones, of all leaf systems at or below a context's."""
    groups: list[Array] = []
    num_abstract = 0
    for leaf in filter(_is_leaf, context.parts()):
        more, num_more = leaf.system._sys_printed_parameters(leaf)
        groups += more
        num_abstract += num_more
    return groups, num_abstract


def _discrete(context: Context) -> list[Array]:
    return [context.get_discrete_state(i).CopyToVector() for i in range(context.num_discrete_state_groups())]


def _totals(context: Context) -> Iterator[str]:
    discrete, (numeric, num_abstract) = _discrete(context), _parameters(context)
    if context.num_continuous_states():
        yield f"{context.num_continuous_states()} total continuous states"
    if discrete:
        yield f"{sum(map(len, discrete))} total discrete states in {len(discrete)} groups"
    if context.num_abstract_states():
        yield f"{context.num_abstract_states()} total abstract states"
    if numeric:
        yield f"{sum(map(len, numeric))} total numeric parameters in {len(numeric)} groups"
    if num_abstract:
        yield f"{num_abstract} total abstract parameters"


def _of_leaf(context: Context) -> Iterator[str]:
    yield f"Time: {number_text(context.get_time())}"
    if context.num_total_states() or context.num_discrete_state_groups():
        yield "States:"
        if context.num_continuous_states():
            yield f"  {context.num_continuous_states()} continuous states"
            yield f"    {_numbers(context.get_continuous_state_vector().CopyToVector())}"
        yield from _groups(_discrete(context), "discrete state", "states")
        if context.num_abstract_states():
            yield f"  {context.num_abstract_states()} abstract states"
        yield ""
    numeric, num_abstract = _parameters(context)
    if numeric or num_abstract:
        yield "Parameters:"
        yield from _groups(numeric, "numeric parameter", "parameters")
        if num_abstract:
            yield f"  {num_abstract} abstract parameters"


def _groups(groups: Sequence[Array], what: str, elements: str) -> Iterator[str]:
    if groups:
        yield f"  {len(groups)} {what} groups with"
    for group in groups:
        yield f"     {len(group)} {elements}"
        yield f"       {_numbers(group)}"


def _numbers(values: Array) -> str:
    """All numbers in columns of the same width, to as many digits as pydrake shows of each type of scalar."""
    texts = [f"{x:.16g}" if isinstance(x, float) else number_text(x) for x in values.tolist()]
    width = max(map(len, texts), default=0)
    return " ".join(text.rjust(width) for text in texts)


def _has_values(context: Context) -> bool:
    return bool(context.num_total_states() or context.num_discrete_state_groups() or any(_parameters(context)))
