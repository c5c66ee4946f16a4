"""LcmInterfaceSystem: hands on messages during a simulation."""

from __future__ import annotations

from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.events import DID_NOTHING, Arrivals, EventStatus, PublishEvent
from merganser.framework.core.inside import declare_arrivals
from merganser.framework.core.system.leaf_system import LeafSystem
from merganser.framework.core.system.scalar_conversion import SystemScalarConverter
from merganser.framework.lcm.drake_lcm import DrakeLcm, DrakeLcmInterface, interface_of


class LcmInterfaceSystem(LeafSystem):
    """Calls `HandleSubscriptions` of a DrakeLcm between the steps of a simulation.

    After messages have come, time does not advance until their subscribers have read them. Without this
    system, `HandleSubscriptions` must be called by the program, in any thread.

    It may be given instead of the DrakeLcm to whatever sends or receives messages.

    Args:
        lcm: sends and receives messages.
    """

    def __init__(self, lcm: DrakeLcmInterface) -> None:
        super().__init__(converter=SystemScalarConverter())
        if lcm is None:
            raise TypeError("LcmInterfaceSystem takes a DrakeLcm; given None.")
        self._lcm_interface: DrakeLcm = interface_of(lcm, "LcmInterfaceSystem")
        arrivals = Arrivals(self._has_come, self._take_in, self._lcm_interface._notification())
        declare_arrivals(self, PublishEvent, self._do_nothing, arrivals)

    def get_lcm_url(self) -> str:
        """Returns where messages go."""
        return self._lcm_interface.get_lcm_url()

    def HandleSubscriptions(self, timeout_millis: int) -> int:
        """Calls the handlers with all messages that have come; see `DrakeLcmInterface.HandleSubscriptions`."""
        return self._lcm_interface.HandleSubscriptions(timeout_millis)

    def _has_come(self, context: Context) -> bool:
        return self._lcm_interface._has_waiting()

    def _take_in(self, context: Context) -> bool:
        return self.HandleSubscriptions(0) > 0

    @staticmethod
    def _do_nothing(context: Context) -> EventStatus:
        return DID_NOTHING
