"""Rotations, poses and small matrix computations (pydrake.math and pydrake.common.eigen_geometry)."""

from merganser.framework.math.angle_axis import AngleAxis
from merganser.framework.math.matrix_equations import (
    ContinuousAlgebraicRiccatiEquation,
    DiscreteAlgebraicRiccatiEquation,
    RealContinuousLyapunovEquation,
    RealDiscreteLyapunovEquation,
)
from merganser.framework.math.matrix_functions import (
    DecomposePSDmatrixIntoXtransposeTimesX,
    IsPositiveDefinite,
    IsSymmetric,
    VectorToSkewSymmetric,
    wrap_to,
)
from merganser.framework.math.quaternion import Quaternion
from merganser.framework.math.quaternion_functions import (
    AreQuaternionsEqualForOrientation,
    CalculateAngularVelocityExpressedInBFromQuaternionDt,
    CalculateQuaternionDtConstraintViolation,
    CalculateQuaternionDtFromAngularVelocityExpressedInB,
    ClosestQuaternion,
    IsBothQuaternionAndQuaternionDtOK,
    IsQuaternionValid,
    QuaternionToCanonicalForm,
)
from merganser.framework.math.rigid_transform import RigidTransform
from merganser.framework.math.roll_pitch_yaw import RollPitchYaw
from merganser.framework.math.rotation_matrix import RotationMatrix

__all__ = [
    "AngleAxis",
    "AreQuaternionsEqualForOrientation",
    "CalculateAngularVelocityExpressedInBFromQuaternionDt",
    "CalculateQuaternionDtConstraintViolation",
    "CalculateQuaternionDtFromAngularVelocityExpressedInB",
    "ClosestQuaternion",
    "ContinuousAlgebraicRiccatiEquation",
    "DecomposePSDmatrixIntoXtransposeTimesX",
    "DiscreteAlgebraicRiccatiEquation",
    "IsBothQuaternionAndQuaternionDtOK",
    "IsPositiveDefinite",
    "IsQuaternionValid",
    "IsSymmetric",
    "Quaternion",
    "QuaternionToCanonicalForm",
    "RealContinuousLyapunovEquation",
    "RealDiscreteLyapunovEquation",
    "RigidTransform",
    "RollPitchYaw",
    "RotationMatrix",
    "VectorToSkewSymmetric",
    "wrap_to",
]
