"""Ready-made blocks: the names of pydrake.systems.primitives, and sensors of numbers."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from merganser.framework.core.diagram.units import UnitConversion
    from merganser.framework.core.scalars.templates import SystemTemplate as _SystemTemplate
    from merganser.framework.core.scalars.templates import ValueTemplate as _ValueTemplate
    from merganser.framework.primitives.arithmetic import Adder, Gain, Saturation, WrapToSystem
    from merganser.framework.primitives.barycentric_mesh_system import BarycentricMeshSystem
    from merganser.framework.primitives.bus import BusCreator, BusSelector
    from merganser.framework.primitives.continuous import FirstOrderLowPassFilter, Integrator
    from merganser.framework.primitives.delays import PadeDelay, TransportDelay, VariableTransportDelay
    from merganser.framework.primitives.discrete import (
        DiscreteDerivative,
        DiscreteRateLimiter,
        DiscreteTimeDelay,
        DiscreteTimeIntegrator,
        StateInterpolatorWithDiscreteDerivative,
        ZeroOrderHold,
    )
    from merganser.framework.primitives.hysteresis import Backlash, DetectCrossing, Hysteresis, RateLimiter, Relay
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
    from merganser.framework.primitives.lookup_tables import LookupTable1D, LookupTable2D, LookupTableND
    from merganser.framework.primitives.multilayer_perceptron import (
        MultilayerPerceptron,
        PerceptronActivationType,
    )
    from merganser.framework.primitives.nonlinear import (
        Abs,
        CompareToConstant,
        CoulombViscousFriction,
        DeadZone,
        LogicalOperator,
        MinMax,
        MultiportSwitch,
        Quantizer,
        Sign,
        Switch,
    )
    from merganser.framework.primitives.random_numbers import (
        AddRandomInputs,
        BandLimitedWhiteNoise,
        LinearTransformDensity,
        RandomSource,
        WhiteNoise,
        WienerProcess,
    )
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
        Chirp,
        Clock,
        ConstantValueSource,
        ConstantVectorSource,
        Pulse,
        Ramp,
        Sawtooth,
        SharedPointerSystem,
        SignalGenerator,
        Sine,
        Step,
        TrajectorySource,
    )
    from merganser.framework.primitives.state_machines.guards import Guard
    from merganser.framework.primitives.state_machines.state_machine import StateMachine
    from merganser.framework.primitives.symbolic_vector_system import SymbolicVectorSystem
    from merganser.framework.primitives.trajectory_affine_system import (
        TrajectoryAffineSystem,
        TrajectoryLinearSystem,
    )
    from merganser.framework.primitives.transfer_functions import SignalFilter, StateSpace, TransferFunction, ZeroPole

    Abs_ = _SystemTemplate(Abs)
    Adder_ = _SystemTemplate(Adder)
    AffineSystem_ = _SystemTemplate(AffineSystem)
    Backlash_ = _SystemTemplate(Backlash)
    BandLimitedWhiteNoise_ = _SystemTemplate(BandLimitedWhiteNoise)
    BeamModel_ = _SystemTemplate(BeamModel)
    BusCreator_ = _SystemTemplate(BusCreator)
    BusSelector_ = _SystemTemplate(BusSelector)
    Chirp_ = _SystemTemplate(Chirp)
    Clock_ = _SystemTemplate(Clock)
    CompareToConstant_ = _SystemTemplate(CompareToConstant)
    ConstantValueSource_ = _SystemTemplate(ConstantValueSource)
    ConstantVectorSource_ = _SystemTemplate(ConstantVectorSource)
    CoulombViscousFriction_ = _SystemTemplate(CoulombViscousFriction)
    DeadZone_ = _SystemTemplate(DeadZone)
    Demultiplexer_ = _SystemTemplate(Demultiplexer)
    DetectCrossing_ = _SystemTemplate(DetectCrossing)
    DiscreteDerivative_ = _SystemTemplate(DiscreteDerivative)
    DiscreteRateLimiter_ = _SystemTemplate(DiscreteRateLimiter)
    DiscreteTimeDelay_ = _SystemTemplate(DiscreteTimeDelay)
    DiscreteTimeIntegrator_ = _SystemTemplate(DiscreteTimeIntegrator)
    FirstOrderLowPassFilter_ = _SystemTemplate(FirstOrderLowPassFilter)
    Gain_ = _SystemTemplate(Gain)
    Hysteresis_ = _SystemTemplate(Hysteresis)
    Integrator_ = _SystemTemplate(Integrator)
    LinearSystem_ = _SystemTemplate(LinearSystem)
    LinearTransformDensity_ = _SystemTemplate(LinearTransformDensity)
    LogicalOperator_ = _SystemTemplate(LogicalOperator)
    LookupTable1D_ = _SystemTemplate(LookupTable1D)
    LookupTable2D_ = _SystemTemplate(LookupTable2D)
    LookupTableND_ = _SystemTemplate(LookupTableND)
    MatrixGain_ = _SystemTemplate(MatrixGain)
    MinMax_ = _SystemTemplate(MinMax)
    MultilayerPerceptron_ = _SystemTemplate(MultilayerPerceptron)
    Multiplexer_ = _SystemTemplate(Multiplexer)
    MultiportSwitch_ = _SystemTemplate(MultiportSwitch)
    PadeDelay_ = _SystemTemplate(PadeDelay)
    PassThrough_ = _SystemTemplate(PassThrough)
    PortSwitch_ = _SystemTemplate(PortSwitch)
    Pulse_ = _SystemTemplate(Pulse)
    Quantizer_ = _SystemTemplate(Quantizer)
    Ramp_ = _SystemTemplate(Ramp)
    RateLimiter_ = _SystemTemplate(RateLimiter)
    Relay_ = _SystemTemplate(Relay)
    RotaryEncoders_ = _SystemTemplate(RotaryEncoders)
    Saturation_ = _SystemTemplate(Saturation)
    Sawtooth_ = _SystemTemplate(Sawtooth)
    Selector_ = _SystemTemplate(Selector)
    SharedPointerSystem_ = _SystemTemplate(SharedPointerSystem)
    Sign_ = _SystemTemplate(Sign)
    SignalFilter_ = _SystemTemplate(SignalFilter)
    SignalGenerator_ = _SystemTemplate(SignalGenerator)
    Sine_ = _SystemTemplate(Sine)
    SparseMatrixGain_ = _SystemTemplate(SparseMatrixGain)
    StateInterpolatorWithDiscreteDerivative_ = _SystemTemplate(StateInterpolatorWithDiscreteDerivative)
    StateMachine_ = _SystemTemplate(StateMachine)
    StateSpace_ = _SystemTemplate(StateSpace)
    Step_ = _SystemTemplate(Step)
    Switch_ = _SystemTemplate(Switch)
    SymbolicVectorSystem_ = _SystemTemplate(SymbolicVectorSystem)
    TrajectoryAffineSystem_ = _SystemTemplate(TrajectoryAffineSystem)
    TrajectoryLinearSystem_ = _SystemTemplate(TrajectoryLinearSystem)
    TrajectorySource_ = _SystemTemplate(TrajectorySource)
    TransferFunction_ = _SystemTemplate(TransferFunction)
    TransportDelay_ = _SystemTemplate(TransportDelay)
    UnitConversion_ = _SystemTemplate(UnitConversion)
    VariableTransportDelay_ = _SystemTemplate(VariableTransportDelay)
    VectorLogSink_ = _SystemTemplate(VectorLogSink)
    VectorLog_ = _ValueTemplate(VectorLog)
    WhiteNoise_ = _SystemTemplate(WhiteNoise)
    WienerProcess_ = _SystemTemplate(WienerProcess)
    WrapToSystem_ = _SystemTemplate(WrapToSystem)
    ZeroOrderHold_ = _SystemTemplate(ZeroOrderHold)
    ZeroPole_ = _SystemTemplate(ZeroPole)
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "Abs",
    "Abs_",
    "AbstractLog",
    "AbstractLogSink",
    "AddRandomInputs",
    "Adder",
    "Adder_",
    "AffineSystem",
    "AffineSystem_",
    "Backlash",
    "Backlash_",
    "BandLimitedWhiteNoise",
    "BandLimitedWhiteNoise_",
    "BarycentricMeshSystem",
    "BeamModel",
    "BeamModelParams",
    "BeamModel_",
    "BusCreator",
    "BusCreator_",
    "BusSelector",
    "BusSelector_",
    "Chirp",
    "Chirp_",
    "Clock",
    "Clock_",
    "CompareToConstant",
    "CompareToConstant_",
    "ConstantValueSource",
    "ConstantValueSource_",
    "ConstantVectorSource",
    "ConstantVectorSource_",
    "ControllabilityMatrix",
    "CoulombViscousFriction",
    "CoulombViscousFriction_",
    "DeadZone",
    "DeadZone_",
    "Demultiplexer",
    "Demultiplexer_",
    "DetectCrossing",
    "DetectCrossing_",
    "DiscreteDerivative",
    "DiscreteDerivative_",
    "DiscreteRateLimiter",
    "DiscreteRateLimiter_",
    "DiscreteTimeDelay",
    "DiscreteTimeDelay_",
    "DiscreteTimeIntegrator",
    "DiscreteTimeIntegrator_",
    "FirstOrderLowPassFilter",
    "FirstOrderLowPassFilter_",
    "FirstOrderTaylorApproximation",
    "Gain",
    "Gain_",
    "Guard",
    "Hysteresis",
    "Hysteresis_",
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
    "LogicalOperator",
    "LogicalOperator_",
    "LookupTable1D",
    "LookupTable1D_",
    "LookupTable2D",
    "LookupTable2D_",
    "LookupTableND",
    "LookupTableND_",
    "MatrixGain",
    "MatrixGain_",
    "MinMax",
    "MinMax_",
    "MultilayerPerceptron",
    "MultilayerPerceptron_",
    "Multiplexer",
    "Multiplexer_",
    "MultiportSwitch",
    "MultiportSwitch_",
    "ObservabilityMatrix",
    "PadeDelay",
    "PadeDelay_",
    "PassThrough",
    "PassThrough_",
    "PerceptronActivationType",
    "PortSwitch",
    "PortSwitch_",
    "Pulse",
    "Pulse_",
    "Quantizer",
    "Quantizer_",
    "Ramp",
    "Ramp_",
    "RandomSource",
    "RateLimiter",
    "RateLimiter_",
    "Relay",
    "Relay_",
    "RotaryEncoders",
    "RotaryEncoders_",
    "Saturation",
    "Saturation_",
    "Sawtooth",
    "Sawtooth_",
    "Selector",
    "SelectorParams",
    "Selector_",
    "SharedPointerSystem",
    "SharedPointerSystem_",
    "Sign",
    "Sign_",
    "SignalFilter",
    "SignalFilter_",
    "SignalGenerator",
    "SignalGenerator_",
    "Sine",
    "Sine_",
    "SparseMatrixGain",
    "SparseMatrixGain_",
    "StateInterpolatorWithDiscreteDerivative",
    "StateInterpolatorWithDiscreteDerivative_",
    "StateMachine",
    "StateMachine_",
    "StateSpace",
    "StateSpace_",
    "Step",
    "Step_",
    "Switch",
    "Switch_",
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
    "TransportDelay",
    "TransportDelay_",
    "UnitConversion",
    "UnitConversion_",
    "VariableTransportDelay",
    "VariableTransportDelay_",
    "VectorLog",
    "VectorLogSink",
    "VectorLogSink_",
    "VectorLog_",
    "WhiteNoise",
    "WhiteNoise_",
    "WienerProcess",
    "WienerProcess_",
    "WrapToSystem",
    "WrapToSystem_",
    "ZeroOrderHold",
    "ZeroOrderHold_",
    "ZeroPole",
    "ZeroPole_",
]
