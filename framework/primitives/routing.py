"""Blocks that pass signals on, join them and split them.

Selector: puts outputs together from single elements of inputs.

PortSwitch: passes on one of several inputs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.indices import InputPortIndex, kUseDefaultName
from merganser.framework.common.records import settings
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.native_code import FAILURE, OUTPUT, InputOf, NativeCode, ValueOf
from merganser.framework.core.context.store import CacheSlot
from merganser.framework.core.declarations.native_function import copy, native
from merganser.framework.core.declarations.native_wires import InputOr, PartOf
from merganser.framework.core.declarations.ports import InputPort
from merganser.framework.core.scalars.element_functions import put
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.values.values import AbstractValue, BasicVector, Value
from merganser.framework.primitives._arguments import checked_size, checked_vector

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
        input_required: whether the input must be connected, so that the default gives the size or type alone.
    """

    _keeps_derivatives = True

    def __init__(
        self,
        vector_size: int | ArrayLike | AbstractValue | None = None,
        input_required: bool = False,
        *,
        value: ArrayLike | None = None,
        abstract_model_value: AbstractValue | None = None,
    ) -> None:
        super().__init__()
        given = [x for x in (vector_size, value, abstract_model_value) if x is not None]
        if len(given) != 1:
            raise TypeError("PassThrough takes either a vector_size, a value or an abstract_model_value.")
        default = given[0]
        self._input_required = bool(input_required)
        if isinstance(default, AbstractValue):
            self._default_box = default.Clone()
            self._u = self.DeclareAbstractInputPort("u", default)
            self.DeclareAbstractOutputPort("y", self._default_box.Clone, self._calc_abstract, {self._u.ticket()})
            return
        if isinstance(default, (int, np.integer)):
            default = np.zeros(checked_size(default, "PassThrough: vector_size"))
        value = checked_vector(default, "PassThrough: value")
        u = self.DeclareVectorInputPort("u", value.size)
        self.DeclareVectorOutputPort("y", value.size, copy.given(source=u if input_required else InputOr(u, value)))

    def input_required(self) -> bool:
        """Whether the input must be connected."""
        return self._input_required

    def _calc_abstract(self, context: Context, output: AbstractValue) -> None:
        u = self._u.EvalAbstract(context) if self._input_required else self.EvalAbstractInput(context, 0)
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


@native
def selected(u: Sequence[Array], inputs: Array, offsets: Array, y: Array) -> None:
    """y[i] = u[inputs[i]][offsets[i]]."""
    for i in range(len(y)):
        y[i] = u[inputs[i]][offsets[i]]


@settings
@dataclasses.dataclass(kw_only=True)
class SelectorParams:
    """Parameters of a Selector.

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


_NO_PORT = InputPortIndex(-1)


class PortSwitch(LeafSystem):
    """Gives, at 'value', the value of the input port whose InputPortIndex it gets at 'port_selector'.

    Other inputs are not evaluated. After construction, `DeclareInputPort(name)` adds the inputs to choose from.

    Args:
        vector_size: number of elements of each input and of the output, at least one; or a box with a model of
            abstract values.

    Raises:
        ValueError: `vector_size` is less than one.
    """

    def __init__(self, vector_size: int | AbstractValue) -> None:
        super().__init__()
        self._model = vector_size.Clone() if isinstance(vector_size, AbstractValue) else None
        self._selector = self.DeclareAbstractInputPort("port_selector", Value(_NO_PORT))
        prerequisites = {self.all_input_ports_ticket()}
        if self._model is not None:
            self.DeclareAbstractOutputPort("value", self._model.Clone, self._copy_abstract, prerequisites)
        else:
            self._size = checked_size(vector_size, "PortSwitch: vector_size", 1)
            # For compiled code, which cannot look into abstract values.
            number = self._sys_declare_entry(
                "number of the selected port", BasicVector([0.0]), self._calc_number, {self._selector.ticket()}
            )
            prerequisites.add(number.ticket())
            port = self.DeclareVectorOutputPort("value", self._size, self._copy_vector, prerequisites)
            port.cache_entry().use_native(_CodeOfSwitch(number.cache_index()))

    def DeclareInputPort(self, name: str) -> InputPort:  # type: ignore[override]
        """Adds an input to choose from, before any Context is made; returns the port, whose index selects it.

        Raises:
            ValueError: there is an input of that name.
        """
        if self._model is not None:
            return self.DeclareAbstractInputPort(name, self._model)
        return self.DeclareVectorInputPort(name, self._size)

    def get_port_selector_input_port(self) -> InputPort:
        """Returns the input port for the index of the input to pass on, an InputPortIndex."""
        return self._selector

    def _calc_number(self, context: Context, output: BasicVector) -> None:
        output.SetAtIndex(0, float(int(self._selector.EvalAbstract(context).get_value())))

    def _selected(self, context: Context) -> InputPort:
        index = int(self._selector.EvalAbstract(context).get_value())
        if not 0 < index < self.num_input_ports():
            choices = ", ".join(f"{int(p.get_index())} ('{p.get_name()}')" for p in self._sys_input_ports[1:]) or "none"
            raise RuntimeError(
                f"Input port 'port_selector' of system '{self.GetSystemPathname()}' selects input {index}, which is "
                f"none to choose from; there are {choices}."
            )
        return self.get_input_port(index)

    def _copy_vector(self, context: Context, output: BasicVector) -> None:
        output.SetFrom(self._selected(context).EvalBasicVector(context))

    def _copy_abstract(self, context: Context, output: AbstractValue) -> None:
        output.SetFrom(self._selected(context).EvalAbstract(context))


class _CodeOfSwitch:
    """Passing on one of several vectors as an operation, where all of them are computed by operations.

    Args:
        number_entry: the cache entry that has the number of the selected port.
    """

    operation = ""

    def __init__(self, number_entry: int) -> None:
        self._number_entry = number_entry

    def resolve(self, context: Any) -> NativeCode:
        """The operation."""
        ports = [port for port in range(1, len(context.sources)) if context.has_input(port)]
        choices = [item for port in ports for item in (port, InputOf(port))]
        number = ValueOf(context.slots[self._number_entry])
        sources = (context.sources[port] for port in ports)
        unasked = tuple(source for source in sources if isinstance(source, CacheSlot))
        arguments = FAILURE, context.system._size, number, OUTPUT, len(ports), *choices
        return NativeCode("switch", arguments, unasked=unasked)
