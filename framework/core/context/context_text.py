"""What is in a Context, for people to read: times, states and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from merganser.framework.core.scalars.scalars import number_text

if TYPE_CHECKING:
    from merganser.framework.core.context.context import Context
    from merganser.framework.core.system.system_base import SystemBase

Array = NDArray[Any]


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
