"""Ready-made blocks: the names of pydrake.systems.primitives."""

from merganser.framework.primitives.arithmetic import Adder, Gain
from merganser.framework.primitives.integrator import Integrator
from merganser.framework.primitives.linear_system import AffineSystem, LinearSystem
from merganser.framework.primitives.linearization import (
    FirstOrderTaylorApproximation,
    Linearize,
)
from merganser.framework.primitives.routing import Demultiplexer, Multiplexer, PassThrough
from merganser.framework.primitives.shared_pointer_system import SharedPointerSystem
from merganser.framework.primitives.sources import ConstantValueSource, ConstantVectorSource
from merganser.framework.primitives.vector_log import VectorLog
from merganser.framework.primitives.vector_log_sink import LogVectorOutput, VectorLogSink
from merganser.framework.primitives.zero_order_hold import ZeroOrderHold

__all__ = [
    "Adder",
    "AffineSystem",
    "ConstantValueSource",
    "ConstantVectorSource",
    "Demultiplexer",
    "FirstOrderTaylorApproximation",
    "Gain",
    "Integrator",
    "LinearSystem",
    "Linearize",
    "LogVectorOutput",
    "Multiplexer",
    "PassThrough",
    "SharedPointerSystem",
    "VectorLog",
    "VectorLogSink",
    "ZeroOrderHold",
]
