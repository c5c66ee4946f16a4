"""What only leaf systems can declare, refused with a reason by every other System."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from merganser.framework.common.indices import DependencyTicket, PortDataType, UseDefaultName
from merganser.framework.core.context.dependencies import TicketMethods
from merganser.framework.core.declarations.cache import CacheEntry, ValueProducer
from merganser.framework.core.declarations.ports import InputPort

_ALL_SOURCES = frozenset({TicketMethods.all_sources_ticket()})


class LeafOnlyDeclarations:
    """Declarations that `LeafSystem` overrides.

    A Diagram consists of what its subsystems declare: it has no computations, and so no tickets, of its own.
    """

    if TYPE_CHECKING:  # SystemBase has it

        def GetSystemPathname(self) -> str: ...

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
