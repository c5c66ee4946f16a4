"""Blocks that pass signals on, join them and split them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.native_function import copy, native
from merganser.framework.core.declarations.native_wires import InputOr, PartOf
from merganser.framework.core.scalars.element_functions import put
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.values import AbstractValue, BasicVector
from merganser.framework.primitives._arguments import checked_size, checked_vector

__all__ = ["Demultiplexer", "Multiplexer", "PassThrough"]

Array = NDArray[Any]


@native
def stacked(u: Sequence[Array], y: Array) -> None:
    """y = [u[0]; u[1]; ...]."""
    start = 0
    for k in range(len(u)):
        put(u[k], y, start)
        start += len(u[k])


class PassThrough(LeafSystem):
    """Gives what it gets, y = u; where nothing is connected, a default value.

    Args:
        vector_size: number of elements, for a default of zeros; or a default vector (also as `value=`); or a
            box with a default abstract value (also as `abstract_model_value=`).
    """

    _keeps_derivatives = True

    def __init__(
        self,
        vector_size: int | ArrayLike | AbstractValue | None = None,
        *,
        value: ArrayLike | None = None,
        abstract_model_value: AbstractValue | None = None,
    ) -> None:
        super().__init__()
        given = [x for x in (vector_size, value, abstract_model_value) if x is not None]
        if len(given) != 1:
            raise TypeError("PassThrough takes either a vector_size, a value or an abstract_model_value.")
        default = given[0]
        if isinstance(default, AbstractValue):
            self._default_box = default.Clone()
            self._u = self.DeclareAbstractInputPort("u", default)
            self.DeclareAbstractOutputPort("y", self._default_box.Clone, self._calc_abstract, {self._u.ticket()})
            return
        if isinstance(default, (int, np.integer)):
            default = np.zeros(checked_size(default, "PassThrough: vector_size"))
        value = checked_vector(default, "PassThrough: value")
        u = self.DeclareVectorInputPort("u", value.size)
        self.DeclareVectorOutputPort("y", value.size, copy.given(source=InputOr(u, value)))

    def _calc_abstract(self, context: Context, output: AbstractValue) -> None:
        u = self.EvalAbstractInput(context, 0)
        output.SetFrom(self._default_box if u is None else u)


class Multiplexer(LeafSystem):
    """Stacks its inputs into one vector, y0 = [u0; u1; ...].

    Args:
        num_scalar_inputs: number of inputs, of one element each; or a list of input sizes (also as
            `input_sizes=`); or a model vector, one input for each of its elements (also as `model_vector=`).
    """

    _keeps_derivatives = True

    def __init__(
        self,
        num_scalar_inputs: int | Sequence[int] | BasicVector | None = None,
        *,
        input_sizes: Sequence[int] | None = None,
        model_vector: BasicVector | None = None,
    ) -> None:
        super().__init__()
        given = [x for x in (num_scalar_inputs, input_sizes, model_vector) if x is not None]
        if len(given) != 1:
            raise TypeError("Multiplexer takes either num_scalar_inputs, input_sizes or a model_vector.")
        wanted = given[0]
        if isinstance(wanted, BasicVector):
            sizes = [1] * wanted.size()
        elif isinstance(wanted, (int, np.integer)):
            sizes = [1] * checked_size(wanted, "Multiplexer: num_scalar_inputs")
        else:
            sizes = [checked_size(size, "Multiplexer: input_sizes") for size in wanted]
        model = wanted if isinstance(wanted, BasicVector) else BasicVector(np.zeros(sum(sizes)))
        inputs = [self.DeclareVectorInputPort(kUseDefaultName, size) for size in sizes]
        self.DeclareVectorOutputPort(kUseDefaultName, model, stacked.given(u=inputs))


class Demultiplexer(LeafSystem):
    """Splits its input into vectors, u0 = [y0; y1; ...].

    Args:
        size: number of elements of the input, with `output_ports_size`; or a list of output sizes (also as
            `output_ports_sizes=`).
        output_ports_size: number of elements of every output; it must divide `size`.
    """

    _keeps_derivatives = True

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        output_ports_size: int = 1,
        *,
        output_ports_sizes: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        if (size is None) == (output_ports_sizes is None):
            raise TypeError("Demultiplexer takes either a size or output_ports_sizes.")
        if isinstance(size, (int, np.integer)):
            self._sizes = _equal_parts(size, output_ports_size)
        else:
            sizes = size if output_ports_sizes is None else output_ports_sizes
            self._sizes = [checked_size(part, "Demultiplexer: output_ports_sizes", 1) for part in sizes]  # type: ignore[union-attr]
        if not self._sizes:
            raise ValueError("Demultiplexer: there must be at least one output.")
        u = self.DeclareVectorInputPort(kUseDefaultName, sum(self._sizes))
        start = 0
        for size in self._sizes:
            self.DeclareVectorOutputPort(kUseDefaultName, size, copy.given(source=PartOf(u, start, size)))
            start += size

    def get_output_ports_sizes(self) -> list[int]:
        """Returns the number of elements of each output."""
        return list(self._sizes)


def _equal_parts(size: int, part: int) -> list[int]:
    size = checked_size(size, "Demultiplexer: size", 1)
    part = checked_size(part, "Demultiplexer: output_ports_size", 1)
    if size % part:
        raise ValueError(f"Demultiplexer: outputs of size {part} do not divide an input of size {size}.")
    return [part] * (size // part)
