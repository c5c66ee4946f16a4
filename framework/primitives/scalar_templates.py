"""The templates `Foo_` of the blocks: `Gain_[AutoDiffXd]`."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.scalars.scalars import cast_array, scalar_of_array
from merganser.framework.core.scalars.templates import SystemTemplate, ValueTemplate
from merganser.framework.primitives.arithmetic import Adder, Gain, Saturation, WrapToSystem
from merganser.framework.primitives.bus import BusCreator, BusSelector
from merganser.framework.primitives.continuous import FirstOrderLowPassFilter, Integrator
from merganser.framework.primitives.discrete import (
    DiscreteDerivative,
    DiscreteTimeDelay,
    DiscreteTimeIntegrator,
    StateInterpolatorWithDiscreteDerivative,
    ZeroOrderHold,
)
from merganser.framework.primitives.linear_system import AffineSystem, LinearSystem, MatrixGain, SparseMatrixGain
from merganser.framework.primitives.logs import VectorLog, VectorLogSink
from merganser.framework.primitives.multilayer_perceptron import MultilayerPerceptron
from merganser.framework.primitives.random_numbers import LinearTransformDensity
from merganser.framework.primitives.routing import Demultiplexer, Multiplexer, PassThrough, PortSwitch, Selector
from merganser.framework.primitives.sensors import BeamModel, RotaryEncoders
from merganser.framework.primitives.sources import (
    ConstantValueSource,
    ConstantVectorSource,
    SharedPointerSystem,
    Sine,
    TrajectorySource,
)
from merganser.framework.primitives.symbolic_vector_system import SymbolicVectorSystem
from merganser.framework.primitives.trajectory_affine_system import (
    TrajectoryAffineSystem,
    TrajectoryLinearSystem,
)

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
