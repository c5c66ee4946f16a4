"""What is in a Context, for people to read: times, states and parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from merganser.framework.core.scalars import number_text
from merganser.framework.core.values import VectorBase

if TYPE_CHECKING:
    from merganser.framework.core.context import Context

__all__ = ["text_of_context"]


def text_of_context(context: Context) -> str:
    """The text that print(context) shows; of a Diagram, with that of all subsystems that have state or parameters."""
    return "\n".join(_text_of_one(part) for part in context.parts() if part is context or _has_values(part))


def _text_of_one(context: Context) -> str:
    if context.system._sys_subsystems() is None:
        return _with_title(context, "Context", _of_leaf(context))
    return _with_title(context, "Context (of a Diagram)", _totals(context))


def _with_title(context: Context, what: str, lines: Iterable[str]) -> str:
    title = f"{context.system.GetSystemPathname()} {what}"
    return "".join(f"{line}\n" for line in (title, "-" * (len(title) + 1), *lines))


def _totals(context: Context) -> Iterator[str]:
    state, parameters = context.get_state(), context.get_parameters()
    discrete = [state.get_discrete_state(i) for i in range(context.num_discrete_state_groups())]
    numeric = [parameters.get_numeric_parameter(i) for i in range(parameters.num_numeric_parameter_groups())]
    if context.num_continuous_states():
        yield f"{context.num_continuous_states()} total continuous states"
    if discrete:
        yield f"{_size(discrete)} total discrete states in {len(discrete)} groups"
    if context.num_abstract_states():
        yield f"{context.num_abstract_states()} total abstract states"
    if numeric:
        yield f"{_size(numeric)} total numeric parameters in {len(numeric)} groups"
    if parameters.num_abstract_parameters():
        yield f"{parameters.num_abstract_parameters()} total abstract parameters"


def _of_leaf(context: Context) -> Iterator[str]:
    yield f"Time: {number_text(context.get_time())}"
    if context.num_total_states() or context.num_discrete_state_groups():
        yield "States:"
        if context.num_continuous_states():
            yield f"  {context.num_continuous_states()} continuous states"
            yield f"    {_numbers(context.get_continuous_state_vector())}"
        groups = [context.get_discrete_state(i) for i in range(context.num_discrete_state_groups())]
        yield from _groups(groups, "discrete state", "states")
        if context.num_abstract_states():
            yield f"  {context.num_abstract_states()} abstract states"
        yield ""
    parameters = context.get_parameters()
    numeric = [parameters.get_numeric_parameter(i) for i in range(parameters.num_numeric_parameter_groups())]
    if numeric or parameters.num_abstract_parameters():
        yield "Parameters:"
        yield from _groups(numeric, "numeric parameter", "parameters")
        if parameters.num_abstract_parameters():
            yield f"  {parameters.num_abstract_parameters()} abstract parameters"


def _groups(groups: Sequence[VectorBase], what: str, elements: str) -> Iterator[str]:
    if groups:
        yield f"  {len(groups)} {what} groups with"
    for group in groups:
        yield f"     {group.size()} {elements}"
        yield f"       {_numbers(group)}"


def _numbers(vector: VectorBase) -> str:
    """All numbers in columns of the same width."""
    texts = [number_text(x) for x in vector.CopyToVector().tolist()]
    width = max(map(len, texts), default=0)
    return " ".join(text.rjust(width) for text in texts)


def _size(groups: Sequence[VectorBase]) -> int:
    return sum(group.size() for group in groups)


def _has_values(context: Context) -> bool:
    parameters = context.get_parameters()
    return bool(
        context.num_total_states()
        or context.num_discrete_state_groups()
        or parameters.num_numeric_parameter_groups()
        or parameters.num_abstract_parameters()
    )
