"""Messages between programs, or parts of one: see README.md. Their types are in `merganser.framework.lcm.messages`."""

from merganser.framework.lcm.drake_lcm import DrakeLcm, DrakeLcmInterface, DrakeLcmParams, LcmInterfaceSystem
from merganser.framework.lcm.lcm_buses import ApplyLcmBusConfig, LcmBuses
from merganser.framework.lcm.lcm_systems import LcmPublisherSystem, LcmScopeSystem, LcmSubscriberSystem, Subscriber
from merganser.framework.lcm.message import PySerializer, SerializerInterface

__all__ = [
    "ApplyLcmBusConfig",
    "DrakeLcm",
    "DrakeLcmInterface",
    "DrakeLcmParams",
    "LcmBuses",
    "LcmInterfaceSystem",
    "LcmPublisherSystem",
    "LcmScopeSystem",
    "LcmSubscriberSystem",
    "PySerializer",
    "SerializerInterface",
    "Subscriber",
]
