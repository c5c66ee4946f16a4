"""LcmBuses: what sends and receives messages in a diagram, by name; and what makes it of settings."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, ClassVar

from merganser.framework.common.errors import nearest_names
from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.values.arguments import require_types
from merganser.framework.lcm.drake_lcm import DrakeLcm, DrakeLcmInterface, DrakeLcmParams, LcmInterfaceSystem
from merganser.framework.primitives.sources import SharedPointerSystem

_logger = logging.getLogger("merganser.lcm")

Bus = LcmInterfaceSystem | DrakeLcmInterface


class LcmBuses:
    """Buses by name.

    Attributes:
        kLcmUrlMemqNull: the URL of a bus without subscribers.
    """

    kLcmUrlMemqNull: ClassVar[str] = "memq://null"

    def __init__(self) -> None:
        self._buses: dict[str, Bus] = {}

    def size(self) -> int:
        """Returns the number of buses."""
        return len(self._buses)

    def Find(self, description_of_caller: str, bus_name: str) -> Bus:
        """Returns the bus of a name.

        Args:
            description_of_caller: who asks for it, for messages, such as "Camera 5".
            bus_name: the name.

        Raises:
            RuntimeError: no bus has this name.
        """
        if bus_name not in self._buses:
            raise RuntimeError(
                f"{description_of_caller} requested an LCM bus '{bus_name}' that does not exist. "
                f"{nearest_names(bus_name, self.GetAllBusNames())}"
            )
        return self._buses[bus_name]

    def GetAllBusNames(self) -> list[str]:
        """Returns all names, sorted."""
        return sorted(self._buses)

    def Add(self, bus_name: str, bus: Bus) -> None:
        """Adds a bus.

        Raises:
            RuntimeError: there is one of this name already.
            TypeError: it is not a bus.
        """
        if not isinstance(bus, Bus):
            raise TypeError(f"LcmBuses.Add takes a DrakeLcm or an LcmInterfaceSystem; given {bus!r}.")
        if bus_name in self._buses:
            raise RuntimeError(f"An LCM bus with name '{bus_name}' has already been defined.")
        self._buses[bus_name] = bus


def ApplyLcmBusConfig(lcm_buses: Mapping[str, DrakeLcmParams | None], builder: DiagramBuilder) -> LcmBuses:
    """Adds buses to a diagram: of each a system that keeps the DrakeLcm, and an LcmInterfaceSystem.

    Args:
        lcm_buses: settings by names of buses. A bus whose settings are None, or whose URL is
            `LcmBuses.kLcmUrlMemqNull`, leads nowhere, and has no LcmInterfaceSystem.
        builder: of the diagram.

    Returns:
        The buses.

    Raises:
        TypeError, ImportError, RuntimeError: as of DrakeLcm; nothing has been added then.
    """
    require_types("ApplyLcmBusConfig", lcm_buses=(lcm_buses, Mapping), builder=(builder, DiagramBuilder))
    nowhere = LcmBuses.kLcmUrlMemqNull
    made = {
        name: DrakeLcm(DrakeLcmParams(lcm_url=nowhere) if params is None else params)
        for name, params in sorted(lcm_buses.items())
    }
    buses = LcmBuses()
    for name, lcm in made.items():
        builder.AddNamedSystem(f"DrakeLcm(bus_name={name})", SharedPointerSystem(lcm))
        bus: Any = lcm
        if lcm.get_lcm_url() != nowhere:
            bus = builder.AddNamedSystem(f"LcmInterfaceSystem(bus_name={name})", LcmInterfaceSystem(lcm))
            _logger.info("LCM bus '%s' created for URL %s", name, lcm.get_lcm_url())
        buses.Add(name, bus)
    return buses


def find_bus(lcm: Bus | None, lcm_buses: LcmBuses | None, caller: str, bus_name: str) -> Bus | None:
    """The bus for a function that takes a bus or buses; None without one, or if it is the null bus.

    Args:
        lcm: the bus, if it is given.
        lcm_buses: otherwise buses to look into.
        caller: who asks for it, for messages.
        bus_name: name of the bus.

    Raises:
        TypeError: an argument is of another type.
        RuntimeError: there is no bus of this name, or there are no buses and the name is not "default".
    """
    if lcm is not None and not isinstance(lcm, Bus):
        raise TypeError(f"{caller}: lcm must be a DrakeLcm or an LcmInterfaceSystem; given {lcm!r}.")
    if lcm_buses is not None:
        require_types(caller, lcm_buses=(lcm_buses, LcmBuses))
    bus = lcm if lcm is not None or lcm_buses is None else lcm_buses.Find(caller, bus_name)
    if bus is None and bus_name != "default":
        raise RuntimeError(
            f"{caller} requested a non-default LCM bus '{bus_name}', and there are no LcmBuses to look for it: pass "
            "lcm_buses=ApplyLcmBusConfig(...), or lcm=."
        )
    return None if bus is None or bus.get_lcm_url() == LcmBuses.kLcmUrlMemqNull else bus
