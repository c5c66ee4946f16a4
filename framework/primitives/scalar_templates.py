"""The templates `Foo_` of the blocks: `Gain_[AutoDiffXd]`."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.scalars.scalars import cast_array, scalar_of_array
from merganser.framework.core.scalars.templates import SystemTemplate, ValueTemplate
from merganser.framework.primitives.arithmetic import Adder, Gain
from merganser.framework.primitives.beam_model import BeamModel
from merganser.framework.primitives.bus import BusCreator, BusSelector
from merganser.framework.primitives.discrete_derivative import (
    DiscreteDerivative,
    StateInterpolatorWithDiscreteDerivative,
)
from merganser.framework.primitives.discrete_time import DiscreteTimeDelay, DiscreteTimeIntegrator
from merganser.framework.primitives.functions.multilayer_perceptron import MultilayerPerceptron
from merganser.framework.primitives.functions.symbolic_vector_system import SymbolicVectorSystem
from merganser.framework.primitives.integrator import Integrator
from merganser.framework.primitives.linear.linear_system import AffineSystem, LinearSystem
from merganser.framework.primitives.linear.matrix_gain import MatrixGain, SparseMatrixGain
from merganser.framework.primitives.linear.trajectory_affine_system import (
    TrajectoryAffineSystem,
    TrajectoryLinearSystem,
)
from merganser.framework.primitives.linear_transform_density import LinearTransformDensity
from merganser.framework.primitives.logs.vector_log import VectorLog
from merganser.framework.primitives.logs.vector_log_sink import VectorLogSink
from merganser.framework.primitives.low_pass_filter import FirstOrderLowPassFilter
from merganser.framework.primitives.port_switch import PortSwitch
from merganser.framework.primitives.rotary_encoders import RotaryEncoders
from merganser.framework.primitives.routing import Demultiplexer, Multiplexer, PassThrough
from merganser.framework.primitives.saturation import Saturation
from merganser.framework.primitives.selector import Selector
from merganser.framework.primitives.shared_pointer_system import SharedPointerSystem
from merganser.framework.primitives.sources.sine import Sine
from merganser.framework.primitives.sources.sources import ConstantValueSource, ConstantVectorSource
from merganser.framework.primitives.sources.trajectory_source import TrajectorySource
from merganser.framework.primitives.wrap_to_system import WrapToSystem
from merganser.framework.primitives.zero_order_hold import ZeroOrderHold

__all__ = [
    "Adder_",
    "AffineSystem_",
    "BeamModel_",
    "BusCreator_",
    "BusSelector_",
    "ConstantValueSource_",
    "ConstantVectorSource_",
    "Demultiplexer_",
    "DiscreteDerivative_",
    "DiscreteTimeDelay_",
    "DiscreteTimeIntegrator_",
    "FirstOrderLowPassFilter_",
    "Gain_",
    "Integrator_",
    "LinearSystem_",
    "LinearTransformDensity_",
    "MatrixGain_",
    "MultilayerPerceptron_",
    "Multiplexer_",
    "PassThrough_",
    "PortSwitch_",
    "RotaryEncoders_",
    "Saturation_",
    "Selector_",
    "SharedPointerSystem_",
    "Sine_",
    "SparseMatrixGain_",
    "StateInterpolatorWithDiscreteDerivative_",
    "SymbolicVectorSystem_",
    "TrajectoryAffineSystem_",
    "TrajectoryLinearSystem_",
    "TrajectorySource_",
    "VectorLogSink_",
    "VectorLog_",
    "WrapToSystem_",
    "ZeroOrderHold_",
]

Adder_ = SystemTemplate(Adder)
AffineSystem_ = SystemTemplate(AffineSystem)
BeamModel_ = SystemTemplate(BeamModel)
BusCreator_ = SystemTemplate(BusCreator)
BusSelector_ = SystemTemplate(BusSelector)
ConstantValueSource_ = SystemTemplate(ConstantValueSource)
ConstantVectorSource_ = SystemTemplate(ConstantVectorSource)
Demultiplexer_ = SystemTemplate(Demultiplexer)
DiscreteDerivative_ = SystemTemplate(DiscreteDerivative)
DiscreteTimeDelay_ = SystemTemplate(DiscreteTimeDelay)
DiscreteTimeIntegrator_ = SystemTemplate(DiscreteTimeIntegrator)
FirstOrderLowPassFilter_ = SystemTemplate(FirstOrderLowPassFilter)
Gain_ = SystemTemplate(Gain)
Integrator_ = SystemTemplate(Integrator)
LinearSystem_ = SystemTemplate(LinearSystem)
MatrixGain_ = SystemTemplate(MatrixGain)
Multiplexer_ = SystemTemplate(Multiplexer)
PassThrough_ = SystemTemplate(PassThrough)
PortSwitch_ = SystemTemplate(PortSwitch)
RotaryEncoders_ = SystemTemplate(RotaryEncoders)
Saturation_ = SystemTemplate(Saturation)
Selector_ = SystemTemplate(Selector)
SharedPointerSystem_ = SystemTemplate(SharedPointerSystem)
Sine_ = SystemTemplate(Sine)
SparseMatrixGain_ = SystemTemplate(SparseMatrixGain)
StateInterpolatorWithDiscreteDerivative_ = SystemTemplate(StateInterpolatorWithDiscreteDerivative)
LinearTransformDensity_ = SystemTemplate(LinearTransformDensity)
MultilayerPerceptron_ = SystemTemplate(MultilayerPerceptron)
SymbolicVectorSystem_ = SystemTemplate(SymbolicVectorSystem)
TrajectoryAffineSystem_ = SystemTemplate(TrajectoryAffineSystem)
TrajectoryLinearSystem_ = SystemTemplate(TrajectoryLinearSystem)
TrajectorySource_ = SystemTemplate(TrajectorySource)
VectorLogSink_ = SystemTemplate(VectorLogSink)
WrapToSystem_ = SystemTemplate(WrapToSystem)
ZeroOrderHold_ = SystemTemplate(ZeroOrderHold)


def _of_log(log: VectorLog, T: type[Any]) -> VectorLog:
    log._set_samples(cast_array(log.sample_times(), T), cast_array(log.data(), T))
    return log


VectorLog_ = ValueTemplate(VectorLog, lambda log: scalar_of_array(log.data()), _of_log)
