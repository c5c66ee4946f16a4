"""Settings that may be random: numbers, vectors, rotations and poses as data (pydrake.common.schema)."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from merganser.framework.schema.transform import Rotation, Transform
    from merganser.framework.schema.vectors import (
        Deterministic,
        DeterministicVector,
        DeterministicVectorX,
        Distribution,
        DistributionVector,
        Gaussian,
        GaussianVector,
        GaussianVectorX,
        GetDeterministicValue,
        IsDeterministic,
        Mean,
        Sample,
        ToDistribution,
        ToDistributionVector,
        ToSymbolic,
        Uniform,
        UniformDiscrete,
        UniformVector,
        UniformVectorX,
    )
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "Deterministic",
    "DeterministicVector",
    "DeterministicVectorX",
    "Distribution",
    "DistributionVector",
    "Gaussian",
    "GaussianVector",
    "GaussianVectorX",
    "GetDeterministicValue",
    "IsDeterministic",
    "Mean",
    "Rotation",
    "Sample",
    "ToDistribution",
    "ToDistributionVector",
    "ToSymbolic",
    "Transform",
    "Uniform",
    "UniformDiscrete",
    "UniformVector",
    "UniformVectorX",
]
