"""SystemBase: what a System is made of, whatever it computes: its name, its ports, and the Contexts that fit it."""

from __future__ import annotations

import abc
import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.common.errors import Where, log_once, name_owner, nearest_names
from merganser.framework.common.garbage import garbage_waits
from merganser.framework.common.indices import DependencyTicket, PortDataType, UseDefaultName, kUseDefaultName
from merganser.framework.core.context.context import Context
from merganser.framework.core.context.dependencies import TicketMethods
from merganser.framework.core.context.layout import RootLayout
from merganser.framework.core.context.leaf_context import LeafContext, make_context
from merganser.framework.core.declarations.cache import CacheEntry, ValueProducer
from merganser.framework.core.declarations.events import DeclaredEvent, TriggerType
from merganser.framework.core.declarations.ports import InputPort, OutputPort
from merganser.framework.core.drawing import GraphvizMethods
from merganser.framework.core.scalars.scalars import dtype_of
from merganser.framework.core.scalars.templates import generic_class
from merganser.framework.core.values.arguments import bind_overload, checked_index

if TYPE_CHECKING:
    from merganser.framework.core.diagram.diagram import Diagram
    from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
    from merganser.framework.core.system.system import System

_ALL_SOURCES = frozenset({TicketMethods.all_sources_ticket()})


class SystemBase(GraphvizMethods, TicketMethods, abc.ABC):
    """Something with a name, ports, tickets, and Contexts that have its values.

    Abstract, and the base of the classes that `System` is put together from, each of which says what a System can do
    in one respect: dynamics.py, constraints.py, random_values.py, scalar_conversion.py.
    """

    _belongs_to_system: ClassVar[bool] = True  # see copying.py
    _scalar: type[Any] = float  # what the numbers in its contexts are; of the class, not of the object
    # Whether its callbacks add and multiply AutoDiffXd as they do floats, and never drop derivatives: not to be trusted
    # of classes that others derive (linearization.py).
    _keeps_derivatives: ClassVar[bool] = False
    _sys_input_ports: list[InputPort]
    _sys_output_ports: list[Any]
    _sys_parent: Diagram | None
    _sys_has_suggested_name = False
    _sys_name: str
    _sys_converter: SystemScalarConverter | None  # given to say how it is converted; None if it is copied

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        system = super().__new__(cls)
        system._sys_start()
        return system

    def _sys_start(self) -> None:
        """Makes the empty lists that declarations fill, before any `__init__` runs."""
        self._sys_name = ""
        self._sys_parent = None
        self._sys_names_around: Counter[str] | None = None  # of the systems in the same builder, as long as it has them
        self._sys_input_ports = []
        self._sys_output_ports = []
        self._sys_port_names: set[str] = set()  # each after its kind
        self._sys_layout_cache: RootLayout | None = None
        self._sys_converter = None

    @abc.abstractmethod
    def _sys_subsystems(self) -> Sequence[System] | None:
        """The systems inside, or None for a leaf system."""

    # ------------------------------------------------------------------ names

    def get_name(self) -> str:
        """The name; empty if none was given."""
        return self._sys_name

    def set_name(self, name: str) -> None:
        """Gives the system a name, unique among its siblings in a Diagram."""
        if not isinstance(name, str):
            raise TypeError(f"System '{self.GetSystemPathname()}': a name is a string, got {name!r}.")
        if self._sys_parent is not None:
            for sibling in self._sys_parent._sys_systems:
                if sibling is not self and sibling._sys_name == name:
                    raise ValueError(
                        f"Diagram '{self._sys_parent.GetSystemPathname()}' already has a subsystem named '{name}'."
                    )
        if self._sys_names_around is not None:
            self._sys_names_around[self._sys_name] -= 1
            self._sys_names_around[name] += 1
        self._sys_name, self._sys_has_suggested_name = name, False

    def _sys_suggest_name(self, name: str) -> None:
        """Names the system unless another one of the diagram that it is added to has that name (inside.py)."""
        self._sys_name, self._sys_has_suggested_name = name, True

    def GetSystemName(self) -> str:
        """The name, or the name of the class without one."""
        return self._sys_name or generic_class(type(self)).__name__

    def GetSystemPathname(self) -> str:
        """The names from the outermost Diagram down to this system: '::station::arm'."""
        prefix = self._sys_parent.GetSystemPathname() if self._sys_parent is not None else ""
        return f"{prefix}::{self.GetSystemName()}"

    def GetSystemType(self) -> str:
        """The name of the class, with its module if that is no module of this package."""
        kind = type(self)
        is_ours = kind.__module__.startswith("merganser.")
        return kind.__qualname__ if is_ours else f"{kind.__module__}.{kind.__qualname__}"

    # ------------------------------------------------------------------ ports

    def num_input_ports(self) -> int:
        """Number of input ports."""
        return len(self._sys_input_ports)

    def num_output_ports(self) -> int:
        """Number of output ports."""
        return len(self._sys_output_ports)

    def num_total_inputs(self) -> int:
        """Sum of the sizes of all vector input ports."""
        return sum(port.size() for port in self._sys_input_ports)

    def num_total_outputs(self) -> int:
        """Sum of the sizes of all vector output ports."""
        return sum(port.size() for port in self._sys_output_ports)

    def get_input_port(self, port_index: int | None = None) -> InputPort[Any]:
        """Returns an input port by its index; without one, the only input port."""
        ports = self._sys_input_ports
        index = 0 if port_index is None and len(ports) == 1 else port_index
        return ports[index] if type(index) is int and 0 <= index < len(ports) else _port(self, ports, index, "input")

    def get_output_port(self, port_index: int | None = None) -> OutputPort[Any]:
        """Returns an output port by its index; without one, the only output port."""
        ports = self._sys_output_ports
        index = 0 if port_index is None and len(ports) == 1 else port_index
        return ports[index] if type(index) is int and 0 <= index < len(ports) else _port(self, ports, index, "output")

    def GetInputPort(self, port_name: str) -> InputPort[Any]:
        """Returns an input port by its name."""
        return _port_named(self, self._sys_input_ports, port_name, "input")

    def GetOutputPort(self, port_name: str) -> OutputPort[Any]:
        """Returns an output port by its name."""
        return _port_named(self, self._sys_output_ports, port_name, "output")

    def HasInputPort(self, port_name: str) -> bool:
        """Whether there is an input port of that name."""
        return any(port._name == port_name for port in self._sys_input_ports)

    def HasOutputPort(self, port_name: str) -> bool:
        """Whether there is an output port of that name."""
        return any(port._name == port_name for port in self._sys_output_ports)

    def _sys_new_port_name(self, name: str | UseDefaultName, ports: Sequence[Any], letter: str, kind: str) -> str:
        if name is kUseDefaultName:
            name = f"{letter}{len(ports)}"
        if not isinstance(name, str) or not name:
            raise ValueError(
                f"System '{self.GetSystemPathname()}': {kind} port names are non-empty strings, got {name!r}."
            )
        if kind + name in self._sys_port_names:
            raise ValueError(f"System '{self.GetSystemPathname()}' already has an {kind} port named '{name}'.")
        return name

    def _add_port(self, port: Any, ports: list[Any], kind: str) -> None:
        ports.append(port)
        self._sys_port_names.add(kind + port._name)

    # ------------------------------------------------------------------ direct feedthrough

    @abc.abstractmethod
    def _feedthrough_inputs(self, output_port: int) -> set[int]:
        """The input ports on which an output port depends at the same instant."""

    def HasAnyDirectFeedthrough(self) -> bool:
        """Whether any output depends at the same instant on any input."""
        return any(self._feedthrough_inputs(i) for i in range(len(self._sys_output_ports)))

    @overload
    def HasDirectFeedthrough(self, output_port: int) -> bool: ...
    @overload
    def HasDirectFeedthrough(self, input_port: int, output_port: int) -> bool: ...
    def HasDirectFeedthrough(self, *args: int, **kwargs: int) -> bool:
        """Whether an output depends at once on an input, or on any: `(input_port, output_port)` or `(output_port)`."""
        names = ("output_port",) if len(args) + len(kwargs) == 1 else ("input_port", "output_port")
        where = f"System '{self.GetSystemPathname()}': HasDirectFeedthrough"
        ports = bind_overload(where, names, {}, args, kwargs)
        if "input_port" in ports:
            self.get_input_port(ports["input_port"])  # checks the index
        inputs = self._feedthrough_inputs(ports["output_port"])
        return int(ports["input_port"]) in inputs if "input_port" in ports else bool(inputs)

    def GetDirectFeedthroughs(self) -> list[tuple[int, int]]:
        """All pairs (input port, output port) with direct feedthrough."""
        return [(i, o) for o in range(len(self._sys_output_ports)) for i in sorted(self._feedthrough_inputs(o))]

    # ------------------------------------------------------------------ contexts

    def CreateDefaultContext(self) -> Context:
        """Returns a new context with default state and parameters."""
        context = self.AllocateContext()
        self.SetDefaultContext(context)
        return context

    def AllocateContext(self) -> Context:
        """Returns a new context whose state and parameters are not yet set to their defaults."""
        return self._make_context(dtype_of(self._scalar))

    def _make_context(self, dtype: Any, scalar: type[Any] | None = None) -> Context:
        with garbage_waits():  # twice as fast for thousands of systems
            return make_context(self._get_layout(), dtype, scalar)

    def _get_layout(self) -> RootLayout:
        layout = self._sys_layout_cache
        # Whether anything was declared since the layout was made
        if layout is None or any(s.system._declaration_count() != s.declaration_count for s in layout.systems):
            layout = self._sys_layout_cache = RootLayout(self)  # type: ignore[arg-type]  # each is a System
        return layout

    def _declaration_count(self) -> int:
        return len(self._sys_input_ports) + len(self._sys_output_ports)

    def SetDefaultContext(self, context: Context) -> None:
        """Sets state and parameters to their defaults."""
        self.ValidateContext(context)
        self._set_defaults(context)

    @abc.abstractmethod
    def _set_defaults(self, context: Any) -> None:
        """Sets state and parameters of this system's own context to their defaults."""

    def GetMyContextFromRoot(self, root_context: Context) -> Context:
        """Returns this system's part of the context of the whole diagram."""
        if not isinstance(root_context, Context):
            raise self._no_context(root_context)
        if root_context.parent is not None:
            raise ValueError(
                f"The context given for system '{self.GetSystemPathname()}' is that of "
                f"'{root_context.system.GetSystemPathname()}', a part of another one; pass the root context."
            )
        context = root_context.part_of(self)
        if context is None:
            raise ValueError(
                f"System '{self.GetSystemPathname()}' is not part of system "
                f"'{root_context.system.GetSystemPathname()}', whose context was given; pass the root context."
            )
        return context

    def GetMyMutableContextFromRoot(self, root_context: Context) -> Context:
        """Returns this system's part of the context of the whole diagram, for changing it.

        A system in no diagram gets the context of a Diagram that it is given, as in Drake, with a warning.
        """
        is_of_diagram = isinstance(root_context, Context) and root_context.system._sys_subsystems() is not None
        if is_of_diagram and self._sys_parent is None and root_context.system is not self:
            log_once(
                logging.getLogger("merganser.framework"),
                f"GetMyMutableContextFromRoot: system '{self.GetSystemPathname()}' is in no diagram; it returns the "
                f"context of {name_owner(root_context, self)} that was given.",
            )
            return root_context
        return self.GetMyContextFromRoot(root_context)

    def GetSubsystemContext(self, subsystem: System, context: Context) -> Context:
        """Returns the part of this system's context that belongs to a system inside, or to itself."""
        self.ValidateContext(context)
        if subsystem is not self:
            require_system(subsystem, self)
            raise ValueError(
                f"System '{subsystem.GetSystemPathname()}' is not inside system '{self.GetSystemPathname()}'."
            )
        return context

    def GetMutableSubsystemContext(self, subsystem: System, context: Context) -> Context:
        """Returns the part of this system's context that belongs to a system inside, for changing it."""
        return self.GetSubsystemContext(subsystem, context)

    def ValidateContext(self, context: Context) -> None:
        """Does nothing if the context is this system's own.

        Raises:
            ValueError: it is another system's; the message names both.
            TypeError: it is no Context.
        """
        if not isinstance(context, Context):
            raise self._no_context(context)
        if context.system is not self:
            raise ValueError(
                f"System '{self.GetSystemPathname()}' was given the context of {name_owner(context, self)}. "
                "Use system.GetMyContextFromRoot(root_context)."
            )

    def _no_context(self, context: Any) -> TypeError:
        return TypeError(f"System '{self.GetSystemPathname()}' needs a Context; got {type(context).__name__}.")

    def _my_context(self, context: Any, what: str) -> LeafContext:
        try:
            if context.system is self:
                return context
        except AttributeError:  # no Context at all
            pass
        self.ValidateContext(context)
        return context

    # ------------------------------------------------------------------ numbers of values

    def implicit_time_derivatives_residual_size(self) -> int:
        """Number of elements of the residual; the number of continuous states unless declared otherwise."""
        return sum(system.implicit_time_derivatives_residual_size() for system in self._sys_subsystems() or ())

    def num_continuous_states(self) -> int:
        """Number of continuous state variables."""
        return self._get_layout().num_xc

    def num_discrete_state_groups(self) -> int:
        """Number of discrete state groups."""
        return sum(len(leaf.system._sys_discrete_models) for leaf in self._get_layout().leaf_list)

    def num_abstract_states(self) -> int:
        """Number of abstract state variables."""
        return sum(len(leaf.system._sys_abstract_state_models) for leaf in self._get_layout().leaf_list)

    def num_numeric_parameter_groups(self) -> int:
        """Number of numeric parameter groups."""
        return sum(len(leaf.system._sys_numeric_parameter_models) for leaf in self._get_layout().leaf_list)

    def get_numeric_parameter_units(self, index: int) -> str | None:
        """The units of a numeric parameter group, such as "rad/s"; None where no units were declared."""
        units = [each for leaf in self._get_layout().leaf_list for each in leaf.system._sys_numeric_parameter_units]
        return units[checked_index(index, len(units), Where("System '{}'", self), "numeric parameter")]

    def SetNumericParameter(
        self, context: Context, parameter: int | str, value: ArrayLike, units: str | None = None
    ) -> None:
        """Sets a group of numeric parameters, in any units of its dimension.

        Args:
            context: of this system.
            parameter: the number of the group; of a leaf system its name will do.
            value: shape [size of the group].
            units: of the value, such as "rpm"; those of the parameter if they are left out.

        Raises:
            ValueError: no group has this name, the value has another size, or its units do not fit.
            IndexError: there is no group of this number.
            ImportError: other units than those of the parameter are given, and pint is not installed.
        """
        self.ValidateContext(context)
        where, names = f"System '{self.GetSystemPathname()}', SetNumericParameter", []
        if isinstance(parameter, str):
            names = list(getattr(self, "_sys_numeric_parameter_names", ()))
            if parameter not in names:
                raise ValueError(f"{where}: it has no parameter '{parameter}'; its parameters are {names or 'none'}.")
            parameter = names.index(parameter)
        own, values = self.get_numeric_parameter_units(parameter), np.atleast_1d(np.asarray(value))
        if units is not None and units != own:
            from merganser.framework.core.diagram.units import conversion  # needs an extra

            found = None if own is None else conversion(units, own)
            if found is None:
                has = "has no units" if own is None else f"is in {own!r}, which has another dimension"
                raise ValueError(f"{where}: the value is in {units!r}, but parameter {parameter} {has}.")
            values = found[0] * values + found[1]
        size = context.get_numeric_parameter(parameter).size()
        if values.shape != (size,):
            raise ValueError(f"{where}: parameter {parameter} has shape ({size},), got {values.shape}.")
        context.get_mutable_numeric_parameter(parameter).SetFromVector(values)

    def num_abstract_parameters(self) -> int:
        """Number of abstract parameters."""
        return sum(len(leaf.system._sys_abstract_parameter_models) for leaf in self._get_layout().leaf_list)

    def _sys_printed_parameters(self, context: Context) -> tuple[list[NDArray[Any]], int]:
        """The numeric parameter groups and the number of abstract parameters that print(context) shows.

        Overridden where parameters have another order in the Context than a reader expects.
        """
        parameters = context.get_parameters()
        groups = range(parameters.num_numeric_parameter_groups())
        numeric = [parameters.get_numeric_parameter(i).CopyToVector() for i in groups]
        return numeric, parameters.num_abstract_parameters()

    def _sys_linearized_dynamics(self, context: Context, port: Any) -> Any:
        """What has a method at(point) for the time derivatives at [x; u] and their slopes by it, both of floats.

        Overridden where there is a closed form; None without one, as is what the method returns.

        Args:
            context: of this system, of floats, of which only the state and the input are going to change.
            port: the input port through which u comes; None if nothing does.
        """
        return None

    # ------------------------------------------------------------------ events

    @abc.abstractmethod
    def _declared_events(self, context: Any) -> list[tuple[LeafContext, DeclaredEvent]]:
        """All events of this system and those inside, each with the context of its leaf."""

    def _events_with(self, context: Context, trigger: TriggerType) -> list[tuple[LeafContext, DeclaredEvent]]:
        return [(leaf, event) for leaf, event in self._declared_events(context) if event.trigger is trigger]

    # ------------------------------------------------------------------ what only leaf systems can declare
    #
    # A Diagram consists of what its subsystems declare: it has no computations, and so no tickets, of its own.

    def DeclareInputPort(
        self,
        name: str | UseDefaultName,
        type: PortDataType,
        size: int,
        random_type: Any = None,
    ) -> InputPort:
        """For leaf systems: declares an input port.

        Raises:
            RuntimeError: this is no leaf system.
        """
        self._sys_refuse("declare input ports", "Export those of its subsystems, with DiagramBuilder.ExportInput.")

    def DeclareCacheEntry(
        self,
        description: str,
        value_producer: ValueProducer,
        prerequisites_of_calc: Iterable[DependencyTicket] = _ALL_SOURCES,
    ) -> CacheEntry:
        """For leaf systems: declares a computation.

        Raises:
            RuntimeError: this is no leaf system.
        """
        self._sys_refuse("declare cache entries", "Declare them in a leaf system that is connected to what they need.")

    def get_cache_entry(self, index: int) -> CacheEntry:
        """For leaf systems: returns a cache entry by its index.

        Raises:
            RuntimeError: this is no leaf system.
        """
        self._sys_refuse("have cache entries", "Ask the leaf system that has declared them.")

    def input_port_ticket(self, index: int) -> DependencyTicket:
        """For leaf systems: depends on what is declared under this index."""
        self._sys_refuse(
            "have dependency tickets of its own", "Ask the leaf system whose computation needs the ticket."
        )

    output_port_ticket = cache_entry_ticket = discrete_state_ticket = abstract_state_ticket = input_port_ticket
    numeric_parameter_ticket = abstract_parameter_ticket = input_port_ticket

    def _sys_refuse(self, what: str, remedy: str) -> NoReturn:
        raise RuntimeError(
            f"Diagram '{self.GetSystemPathname()}' cannot {what}: what it holds and computes is that of its "
            f"subsystems. {remedy}"
        )


def require_system(subsystem: Any, around: SystemBase) -> None:
    """Raises an error if what should be a system inside `around` is no System."""
    if not isinstance(subsystem, SystemBase):
        raise TypeError(
            f"System '{around.GetSystemPathname()}': expected a System inside it, got {type(subsystem).__name__}."
        )


def _port(system: SystemBase, ports: Sequence[Any], index: int | None, kind: str) -> Any:
    if index is None:
        names = ", ".join(f"'{port._name}'" for port in ports)
        raise RuntimeError(
            f"System '{system.GetSystemPathname()}' has {len(ports)} {kind} ports ({names}): say which one by "
            "its index or by its name."
        )
    try:
        if index >= 0:
            return ports[index]
    except (IndexError, TypeError):
        pass
    if not isinstance(index, (int, np.integer)):
        raise TypeError(
            f"System '{system.GetSystemPathname()}': the index of an {kind} port is an integer, got {index!r}. Use "
            f"Get{kind.capitalize()}Port(name) for a name."
        )
    raise IndexError(
        f"System '{system.GetSystemPathname()}' has no {kind} port {index}: it has {len(ports)} {kind} ports."
    )


def _port_named(system: SystemBase, ports: Sequence[Any], name: str, kind: str) -> Any:
    for port in ports:
        if port._name == name:
            return port
    if not isinstance(name, str):
        raise TypeError(
            f"System '{system.GetSystemPathname()}': the name of an {kind} port is a string, got {name!r}. Use "
            f"get_{kind}_port(index) for an index."
        )
    raise ValueError(
        f"System '{system.GetSystemPathname()}' has no {kind} port named '{name}'. "
        + nearest_names(name, (port._name for port in ports))
    )
