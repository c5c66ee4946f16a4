"""Selector: puts outputs together from single elements of inputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.common.records import settings
from merganser.framework.core.declarations.native_function import native
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.primitives._arguments import checked_size

__all__ = ["Selector", "SelectorParams"]

Array = NDArray[Any]


@native
def selected(u: Sequence[Array], inputs: Array, offsets: Array, y: Array) -> None:
    """y[i] = u[inputs[i]][offsets[i]]."""
    for i in range(len(y)):
        y[i] = u[inputs[i]][offsets[i]]


@settings
@dataclasses.dataclass(kw_only=True)
class SelectorParams:
    """What a Selector does.

    Attributes:
        inputs: the input ports.
        outputs: the output ports.
    """

    @settings
    @dataclasses.dataclass(kw_only=True)
    class InputPortParams:
        """An input port.

        Attributes:
            name: of the port; by default u0, u1, ...
            size: number of elements.
        """

        name: str | None = None
        size: int = 0

    @settings
    @dataclasses.dataclass(kw_only=True)
    class OutputSelection:
        """Where one element of an output comes from.

        Attributes:
            input_port_index: which input port.
            input_offset: which element of that.
        """

        input_port_index: int = 0
        input_offset: int = 0

    @settings
    @dataclasses.dataclass(kw_only=True)
    class OutputPortParams:
        """An output port, with as many elements as it has selections.

        Attributes:
            name: of the port; by default y0, y1, ...
            selections: where each element comes from.
        """

        name: str | None = None
        selections: list[SelectorParams.OutputSelection] = dataclasses.field(default_factory=list)

    inputs: list[InputPortParams] = dataclasses.field(default_factory=list)
    outputs: list[OutputPortParams] = dataclasses.field(default_factory=list)


class Selector(LeafSystem):
    """Gives vectors whose elements are elements of its inputs, y_m[i] = u_n[j].

    Args:
        params: the ports, and n and j of each i of each m.

    Raises:
        ValueError: a selection names an input, or an element of it, that does not exist.
    """

    def __init__(self, params: SelectorParams) -> None:
        super().__init__()
        if not isinstance(params, SelectorParams):
            raise TypeError(f"Selector: expected SelectorParams, got {type(params).__name__}.")
        sizes = [checked_size(port.size, "Selector: size of an input") for port in params.inputs]
        for port, size in zip(params.inputs, sizes):
            self.DeclareVectorInputPort(kUseDefaultName if port.name is None else port.name, size)
        for index, output in enumerate(params.outputs):
            places = [_checked_place(selection, sizes, index) for selection in output.selections]
            used = sorted({n for n, _ in places})  # the output depends on these only
            calc = selected.given(
                u=[self.get_input_port(n) for n in used],
                inputs=np.array([used.index(n) for n, _ in places], np.int64),
                offsets=np.array([j for _, j in places], np.int64),
            )
            self.DeclareVectorOutputPort(kUseDefaultName if output.name is None else output.name, len(places), calc)


def _checked_place(selection: SelectorParams.OutputSelection, sizes: list[int], output: int) -> tuple[int, int]:
    n, j = int(selection.input_port_index), int(selection.input_offset)
    if not 0 <= n < len(sizes):
        raise ValueError(f"Selector: output {output} selects from input {n}, but there are {len(sizes)} inputs.")
    if not 0 <= j < sizes[n]:
        raise ValueError(f"Selector: output {output} selects element {j} of input {n}, which has {sizes[n]} elements.")
    return n, j
