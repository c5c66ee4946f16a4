"""What a computation of a leaf system may depend on: tickets for people, bit masks for the cache.

Each thing that can change by itself (time, accuracy, q, v, z, a discrete group, an abstract state variable, a
parameter, an input port) and each cache entry is a *node* of its leaf system and owns one bit of an integer. A set
of dependencies is the OR of such bits; a ticket names one node or a group of nodes.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from merganser.framework.common.indices import DependencyTicket

# Held while something is noted about dependencies, which all Contexts of a system share.
LEARNING = threading.RLock()

# Nodes that every leaf system has, by bit number.
TIME, ACCURACY, Q, V, Z, ELSEWHERE = range(6)  # ELSEWHERE: anything that is read of another system's context
_FIXED_NODES = ("time", "accuracy", "q", "v", "z", "elsewhere")
_FIXED_PLACES = (("time", 0), ("accuracy", 0), ("xc", 0), ("xc", 0), ("xc", 0), ("elsewhere", 0))
_GROUPS = ("xd", "xa", "pn", "pa", "u", "cache", "xcdot")  # of the nodes that a system has by its declarations
_FIXED_GROUPS = dict.fromkeys(_GROUPS, 0) | {name: 1 << node for node, name in enumerate(_FIXED_NODES)}

# Tickets that every system has.
_NOTHING, _TIME, _ACCURACY, _Q, _V, _Z, _XC, _XD, _XA, _X, _PN, _PA, _P, _U = range(14)
_ALL_SOURCES, _CONFIGURATION, _KINEMATICS, _XCDOT, _PE, _KE, _PC, _PNC = range(14, 22)
_ALL_SOURCES_EXCEPT_INPUTS = 22
_FIRST_FREE_TICKET = 23

_PARAMETERS = ("pn", "pa")
_CONFIGURATION_GROUPS = ("accuracy", "q", "z", "xd", "xa", *_PARAMETERS)
_KINEMATICS_GROUPS = (*_CONFIGURATION_GROUPS, "v")
_SOURCES_EXCEPT_INPUTS = ("time", "accuracy", "q", "v", "z", "xd", "xa", *_PARAMETERS)
_SOURCES = (*_SOURCES_EXCEPT_INPUTS, "u")

# The groups of nodes that each of these tickets stands for.
_GROUPS_OF_TICKET: dict[int, tuple[str, ...]] = {
    _NOTHING: (), _TIME: ("time",), _ACCURACY: ("accuracy",), _Q: ("q",), _V: ("v",), _Z: ("z",),
    _XC: ("q", "v", "z"), _XD: ("xd",), _XA: ("xa",), _X: ("q", "v", "z", "xd", "xa"),
    _PN: ("pn",), _PA: ("pa",), _P: _PARAMETERS, _U: ("u",), _ALL_SOURCES: _SOURCES,
    _CONFIGURATION: _CONFIGURATION_GROUPS, _KINEMATICS: _KINEMATICS_GROUPS, _XCDOT: ("xcdot",),
    _PE: _CONFIGURATION_GROUPS, _KE: _KINEMATICS_GROUPS, _PC: _KINEMATICS_GROUPS, _PNC: _SOURCES,
    _ALL_SOURCES_EXCEPT_INPUTS: _SOURCES_EXCEPT_INPUTS,
}  # fmt: skip


class DependencyTable:
    """The nodes of one leaf system and the masks of its tickets."""

    def __init__(self) -> None:
        self.names: list[str] = list(_FIXED_NODES)
        self.groups: dict[str, int] = _FIXED_GROUPS.copy()
        self.group_nodes: dict[str, tuple[int, ...]] = dict.fromkeys(_GROUPS, ())
        # For each node the kind of value it is, as contexts distinguish them, and its number among those.
        self.places = list(_FIXED_PLACES)
        self._masks: dict[int, int] = {}
        self._next_ticket = _FIRST_FREE_TICKET

    def add_node(self, group: str, name: str) -> tuple[DependencyTicket, int]:
        """Adds a node to one of the groups; returns its ticket and its bit number."""
        node = len(self.names)
        self.names.append(name)
        self.groups[group] |= 1 << node
        self.places.append((group, len(self.group_nodes[group])))
        self.group_nodes[group] += (node,)
        return self.add_ticket(1 << node), node

    def add_ticket(self, mask: int) -> DependencyTicket:
        """Adds a ticket for a set of nodes."""
        ticket = DependencyTicket(self._next_ticket)
        self._next_ticket += 1
        self._masks[ticket] = mask
        return ticket

    def redirect(self, ticket: DependencyTicket, mask: int) -> None:
        """Makes one of the tickets that every system has stand for a set of nodes of this one."""
        self._masks[ticket] = mask

    def mask(self, tickets: Iterable[DependencyTicket], where: object) -> int:
        """The nodes that any of the tickets names.

        Raises:
            TypeError: an element of `tickets` is not a DependencyTicket.
            ValueError: a ticket is not one of this system's; the message starts with `where`.
        """
        result = 0
        for ticket in tickets:
            if not isinstance(ticket, int):
                raise TypeError(f"{where}: {ticket!r} is not a dependency ticket.")
            result |= self._ticket_mask(int(ticket), where)
        return result

    def sources(self) -> int:
        """All nodes but the cache entries."""
        return self._ticket_mask(_ALL_SOURCES, "")

    def _ticket_mask(self, ticket: int, where: object) -> int:
        if ticket in self._masks:
            return self._masks[ticket]
        if ticket >= _FIRST_FREE_TICKET:
            raise ValueError(f"{where}: {DependencyTicket(ticket)!r} is not a ticket of this system.")
        if ticket not in _GROUPS_OF_TICKET:
            raise ValueError(f"{where}: {ticket} is not a dependency ticket.")
        mask = 0
        for group in _GROUPS_OF_TICKET[ticket]:
            mask |= self.groups[group]
        return mask


class TicketMethods:
    """The `*_ticket()` functions that every system offers."""

    @staticmethod
    def nothing_ticket() -> DependencyTicket:
        """Depends on nothing: computed once."""
        return DependencyTicket(_NOTHING)

    @staticmethod
    def time_ticket() -> DependencyTicket:
        """Depends on time."""
        return DependencyTicket(_TIME)

    @staticmethod
    def accuracy_ticket() -> DependencyTicket:
        """Depends on the accuracy asked for in the Context."""
        return DependencyTicket(_ACCURACY)

    @staticmethod
    def q_ticket() -> DependencyTicket:
        """Depends on the continuous generalized positions."""
        return DependencyTicket(_Q)

    @staticmethod
    def v_ticket() -> DependencyTicket:
        """Depends on the continuous generalized velocities."""
        return DependencyTicket(_V)

    @staticmethod
    def z_ticket() -> DependencyTicket:
        """Depends on the continuous variables that are neither positions nor velocities."""
        return DependencyTicket(_Z)

    @staticmethod
    def xc_ticket() -> DependencyTicket:
        """Depends on the continuous state."""
        return DependencyTicket(_XC)

    @staticmethod
    def xd_ticket() -> DependencyTicket:
        """Depends on the discrete state, any group."""
        return DependencyTicket(_XD)

    @staticmethod
    def xa_ticket() -> DependencyTicket:
        """Depends on the abstract state, any variable."""
        return DependencyTicket(_XA)

    @staticmethod
    def all_state_ticket() -> DependencyTicket:
        """Depends on any state variable."""
        return DependencyTicket(_X)

    @staticmethod
    def pn_ticket() -> DependencyTicket:
        """Depends on the numeric parameters."""
        return DependencyTicket(_PN)

    @staticmethod
    def pa_ticket() -> DependencyTicket:
        """Depends on the abstract parameters."""
        return DependencyTicket(_PA)

    @staticmethod
    def all_parameters_ticket() -> DependencyTicket:
        """Depends on any parameter."""
        return DependencyTicket(_P)

    @staticmethod
    def all_input_ports_ticket() -> DependencyTicket:
        """Depends on any input port."""
        return DependencyTicket(_U)

    @staticmethod
    def all_sources_ticket() -> DependencyTicket:
        """Depends on everything that can change; as a declared default, "not said: watch what it reads"."""
        return DependencyTicket(_ALL_SOURCES)

    @staticmethod
    def all_sources_except_input_ports_ticket() -> DependencyTicket:
        """Depends on everything that can change but the input ports."""
        return DependencyTicket(_ALL_SOURCES_EXCEPT_INPUTS)

    @staticmethod
    def configuration_ticket() -> DependencyTicket:
        """Depends on what can affect positions: q, z, xd, xa, parameters and accuracy."""
        return DependencyTicket(_CONFIGURATION)

    @staticmethod
    def kinematics_ticket() -> DependencyTicket:
        """Depends on what can affect positions and velocities."""
        return DependencyTicket(_KINEMATICS)

    @staticmethod
    def xcdot_ticket() -> DependencyTicket:
        """Depends on the time derivatives of the continuous state."""
        return DependencyTicket(_XCDOT)

    @staticmethod
    def pe_ticket() -> DependencyTicket:
        """Depends on the potential energy."""
        return DependencyTicket(_PE)

    @staticmethod
    def ke_ticket() -> DependencyTicket:
        """Depends on the kinetic energy."""
        return DependencyTicket(_KE)

    @staticmethod
    def pc_ticket() -> DependencyTicket:
        """Depends on the conservative power."""
        return DependencyTicket(_PC)

    @staticmethod
    def pnc_ticket() -> DependencyTicket:
        """Depends on the non-conservative power."""
        return DependencyTicket(_PNC)


def bits(mask: int) -> list[int]:
    """The numbers of the bits that are set, lowest first."""
    numbers = []
    while mask:
        low = mask & -mask
        numbers.append(low.bit_length() - 1)
        mask ^= low
    return numbers
