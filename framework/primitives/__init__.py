"""Ready-made blocks: the names of pydrake.systems.primitives, and sensors of numbers."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from merganser.framework.core.scalars.templates import SystemTemplate as _SystemTemplate
    from merganser.framework.core.scalars.templates import ValueTemplate as _ValueTemplate
    from merganser.framework.primitives.arithmetic import Adder, Gain, Saturation, WrapToSystem
    from merganser.framework.primitives.barycentric_mesh_system import BarycentricMeshSystem
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
    from merganser.framework.primitives.linearization import (
        ControllabilityMatrix,
        FirstOrderTaylorApproximation,
        IsControllable,
        IsDetectable,
        IsObservable,
        IsStabilizable,
        Linearize,
        ObservabilityMatrix,
    )
    from merganser.framework.primitives.logs import (
        AbstractLog,
        AbstractLogSink,
        LogOutput,
        LogVectorOutput,
        VectorLog,
        VectorLogSink,
    )
    from merganser.framework.primitives.multilayer_perceptron import (
        MultilayerPerceptron,
        PerceptronActivationType,
    )
    from merganser.framework.primitives.random_numbers import AddRandomInputs, LinearTransformDensity, RandomSource
    from merganser.framework.primitives.routing import (
        Demultiplexer,
        Multiplexer,
        PassThrough,
        PortSwitch,
        Selector,
        SelectorParams,
    )
    from merganser.framework.primitives.sensors import BeamModel, BeamModelParams, RotaryEncoders
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
    from merganser.framework.primitives.transfer_functions import SignalFilter, StateSpace, TransferFunction, ZeroPole

    Adder_ = _SystemTemplate(Adder)
    AffineSystem_ = _SystemTemplate(AffineSystem)
    BeamModel_ = _SystemTemplate(BeamModel)
    BusCreator_ = _SystemTemplate(BusCreator)
    BusSelector_ = _SystemTemplate(BusSelector)
    ConstantValueSource_ = _SystemTemplate(ConstantValueSource)
    ConstantVectorSource_ = _SystemTemplate(ConstantVectorSource)
    Demultiplexer_ = _SystemTemplate(Demultiplexer)
    DiscreteDerivative_ = _SystemTemplate(DiscreteDerivative)
    DiscreteTimeDelay_ = _SystemTemplate(DiscreteTimeDelay)
    DiscreteTimeIntegrator_ = _SystemTemplate(DiscreteTimeIntegrator)
    FirstOrderLowPassFilter_ = _SystemTemplate(FirstOrderLowPassFilter)
    Gain_ = _SystemTemplate(Gain)
    Integrator_ = _SystemTemplate(Integrator)
    LinearSystem_ = _SystemTemplate(LinearSystem)
    LinearTransformDensity_ = _SystemTemplate(LinearTransformDensity)
    MatrixGain_ = _SystemTemplate(MatrixGain)
    MultilayerPerceptron_ = _SystemTemplate(MultilayerPerceptron)
    Multiplexer_ = _SystemTemplate(Multiplexer)
    PassThrough_ = _SystemTemplate(PassThrough)
    PortSwitch_ = _SystemTemplate(PortSwitch)
    RotaryEncoders_ = _SystemTemplate(RotaryEncoders)
    Saturation_ = _SystemTemplate(Saturation)
    Selector_ = _SystemTemplate(Selector)
    SharedPointerSystem_ = _SystemTemplate(SharedPointerSystem)
    SignalFilter_ = _SystemTemplate(SignalFilter)
    Sine_ = _SystemTemplate(Sine)
    SparseMatrixGain_ = _SystemTemplate(SparseMatrixGain)
    StateInterpolatorWithDiscreteDerivative_ = _SystemTemplate(StateInterpolatorWithDiscreteDerivative)
    StateSpace_ = _SystemTemplate(StateSpace)
    SymbolicVectorSystem_ = _SystemTemplate(SymbolicVectorSystem)
    TrajectoryAffineSystem_ = _SystemTemplate(TrajectoryAffineSystem)
    TrajectoryLinearSystem_ = _SystemTemplate(TrajectoryLinearSystem)
    TrajectorySource_ = _SystemTemplate(TrajectorySource)
    TransferFunction_ = _SystemTemplate(TransferFunction)
    VectorLog_ = _ValueTemplate(VectorLog)
    VectorLogSink_ = _SystemTemplate(VectorLogSink)
    WrapToSystem_ = _SystemTemplate(WrapToSystem)
    ZeroOrderHold_ = _SystemTemplate(ZeroOrderHold)
    ZeroPole_ = _SystemTemplate(ZeroPole)
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "AbstractLog",
    "AbstractLogSink",
    "AddRandomInputs",
    "Adder",
    "Adder_",
    "AffineSystem",
    "AffineSystem_",
    "BarycentricMeshSystem",
    "BeamModel",
    "BeamModelParams",
    "BeamModel_",
    "BusCreator",
    "BusCreator_",
    "BusSelector",
    "BusSelector_",
    "ConstantValueSource",
    "ConstantValueSource_",
    "ConstantVectorSource",
    "ConstantVectorSource_",
    "ControllabilityMatrix",
    "Demultiplexer",
    "Demultiplexer_",
    "DiscreteDerivative",
    "DiscreteDerivative_",
    "DiscreteTimeDelay",
    "DiscreteTimeDelay_",
    "DiscreteTimeIntegrator",
    "DiscreteTimeIntegrator_",
    "FirstOrderLowPassFilter",
    "FirstOrderLowPassFilter_",
    "FirstOrderTaylorApproximation",
    "Gain",
    "Gain_",
    "Integrator",
    "Integrator_",
    "IsControllable",
    "IsDetectable",
    "IsObservable",
    "IsStabilizable",
    "LinearSystem",
    "LinearSystem_",
    "LinearTransformDensity",
    "LinearTransformDensity_",
    "Linearize",
    "LogOutput",
    "LogVectorOutput",
    "MatrixGain",
    "MatrixGain_",
    "MultilayerPerceptron",
    "MultilayerPerceptron_",
    "Multiplexer",
    "Multiplexer_",
    "ObservabilityMatrix",
    "PassThrough",
    "PassThrough_",
    "PerceptronActivationType",
    "PortSwitch",
    "PortSwitch_",
    "RandomSource",
    "RotaryEncoders",
    "RotaryEncoders_",
    "Saturation",
    "Saturation_",
    "Selector",
    "SelectorParams",
    "Selector_",
    "SharedPointerSystem",
    "SharedPointerSystem_",
    "SignalFilter",
    "SignalFilter_",
    "Sine",
    "Sine_",
    "SparseMatrixGain",
    "SparseMatrixGain_",
    "StateInterpolatorWithDiscreteDerivative",
    "StateInterpolatorWithDiscreteDerivative_",
    "StateSpace",
    "StateSpace_",
    "SymbolicVectorSystem",
    "SymbolicVectorSystem_",
    "TrajectoryAffineSystem",
    "TrajectoryAffineSystem_",
    "TrajectoryLinearSystem",
    "TrajectoryLinearSystem_",
    "TrajectorySource",
    "TrajectorySource_",
    "TransferFunction",
    "TransferFunction_",
    "VectorLog",
    "VectorLogSink",
    "VectorLogSink_",
    "VectorLog_",
    "WrapToSystem",
    "WrapToSystem_",
    "ZeroOrderHold",
    "ZeroOrderHold_",
    "ZeroPole",
    "ZeroPole_",
]
