"""Ready-made blocks: the names of pydrake.systems.primitives, and sensors of numbers."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from merganser.framework.primitives.arithmetic import Adder, Gain
    from merganser.framework.primitives.beam_model import BeamModel, BeamModelParams
    from merganser.framework.primitives.bus import BusCreator, BusSelector
    from merganser.framework.primitives.discrete_derivative import (
        DiscreteDerivative,
        StateInterpolatorWithDiscreteDerivative,
    )
    from merganser.framework.primitives.discrete_time import DiscreteTimeDelay, DiscreteTimeIntegrator
    from merganser.framework.primitives.functions.barycentric_mesh_system import BarycentricMeshSystem
    from merganser.framework.primitives.functions.multilayer_perceptron import (
        MultilayerPerceptron,
        PerceptronActivationType,
    )
    from merganser.framework.primitives.functions.symbolic_vector_system import SymbolicVectorSystem
    from merganser.framework.primitives.integrator import Integrator
    from merganser.framework.primitives.linear.controllability import (
        ControllabilityMatrix,
        IsControllable,
        IsDetectable,
        IsObservable,
        IsStabilizable,
        ObservabilityMatrix,
    )
    from merganser.framework.primitives.linear.linear_system import AffineSystem, LinearSystem
    from merganser.framework.primitives.linear.linearization import (
        FirstOrderTaylorApproximation,
        Linearize,
    )
    from merganser.framework.primitives.linear.matrix_gain import MatrixGain, SparseMatrixGain
    from merganser.framework.primitives.linear.trajectory_affine_system import (
        TrajectoryAffineSystem,
        TrajectoryLinearSystem,
    )
    from merganser.framework.primitives.linear_transform_density import LinearTransformDensity
    from merganser.framework.primitives.logs.abstract_log import AbstractLog
    from merganser.framework.primitives.logs.abstract_log_sink import AbstractLogSink, LogOutput
    from merganser.framework.primitives.logs.vector_log import VectorLog
    from merganser.framework.primitives.logs.vector_log_sink import LogVectorOutput, VectorLogSink
    from merganser.framework.primitives.low_pass_filter import FirstOrderLowPassFilter
    from merganser.framework.primitives.port_switch import PortSwitch
    from merganser.framework.primitives.rotary_encoders import RotaryEncoders
    from merganser.framework.primitives.routing import Demultiplexer, Multiplexer, PassThrough
    from merganser.framework.primitives.saturation import Saturation
    from merganser.framework.primitives.scalar_templates import (
        Adder_,
        AffineSystem_,
        BeamModel_,
        BusCreator_,
        BusSelector_,
        ConstantValueSource_,
        ConstantVectorSource_,
        Demultiplexer_,
        DiscreteDerivative_,
        DiscreteTimeDelay_,
        DiscreteTimeIntegrator_,
        FirstOrderLowPassFilter_,
        Gain_,
        Integrator_,
        LinearSystem_,
        LinearTransformDensity_,
        MatrixGain_,
        MultilayerPerceptron_,
        Multiplexer_,
        PassThrough_,
        PortSwitch_,
        RotaryEncoders_,
        Saturation_,
        Selector_,
        SharedPointerSystem_,
        Sine_,
        SparseMatrixGain_,
        StateInterpolatorWithDiscreteDerivative_,
        SymbolicVectorSystem_,
        TrajectoryAffineSystem_,
        TrajectoryLinearSystem_,
        TrajectorySource_,
        VectorLog_,
        VectorLogSink_,
        WrapToSystem_,
        ZeroOrderHold_,
    )
    from merganser.framework.primitives.selector import Selector, SelectorParams
    from merganser.framework.primitives.shared_pointer_system import SharedPointerSystem
    from merganser.framework.primitives.sources.random_source import AddRandomInputs, RandomSource
    from merganser.framework.primitives.sources.sine import Sine
    from merganser.framework.primitives.sources.sources import ConstantValueSource, ConstantVectorSource
    from merganser.framework.primitives.sources.trajectory_source import TrajectorySource
    from merganser.framework.primitives.wrap_to_system import WrapToSystem
    from merganser.framework.primitives.zero_order_hold import ZeroOrderHold
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
    "Sine",
    "Sine_",
    "SparseMatrixGain",
    "SparseMatrixGain_",
    "StateInterpolatorWithDiscreteDerivative",
    "StateInterpolatorWithDiscreteDerivative_",
    "SymbolicVectorSystem",
    "SymbolicVectorSystem_",
    "TrajectoryAffineSystem",
    "TrajectoryAffineSystem_",
    "TrajectoryLinearSystem",
    "TrajectoryLinearSystem_",
    "TrajectorySource",
    "TrajectorySource_",
    "VectorLog",
    "VectorLogSink",
    "VectorLogSink_",
    "VectorLog_",
    "WrapToSystem",
    "WrapToSystem_",
    "ZeroOrderHold",
    "ZeroOrderHold_",
]
