"""Rotations, poses, small matrix computations, functions of scalars (pydrake.math, .common.eigen_geometry)."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names
from merganser.framework.math.rotations.rigid_transform import RigidTransform
from merganser.framework.math.rotations.roll_pitch_yaw import RollPitchYaw
from merganser.framework.math.rotations.rotation_matrix import RotationMatrix

if _TYPE_CHECKING:
    from merganser.framework.core.scalars.templates import ValueTemplate as _ValueTemplate
    from merganser.framework.math.arrays import eq, ge, gt, inv, le, lt, matmul, ne
    from merganser.framework.math.barycentric_mesh import BarycentricMesh
    from merganser.framework.math.bspline_basis import BsplineBasis, KnotVectorType
    from merganser.framework.math.elementwise import (
        SoftOverMax,
        SoftOverMin,
        SoftUnderMax,
        SoftUnderMin,
        abs,
        acos,
        arccos,
        arcsin,
        arctan,
        arctan2,
        asin,
        atan,
        atan2,
        ceil,
        cos,
        cosh,
        exp,
        floor,
        isnan,
        log,
        max,
        min,
        pow,
        sin,
        sinh,
        sqrt,
        tan,
        tanh,
    )
    from merganser.framework.math.matrix_equations import (
        ContinuousAlgebraicRiccatiEquation,
        DiscreteAlgebraicRiccatiEquation,
        RealContinuousLyapunovEquation,
        RealDiscreteLyapunovEquation,
    )
    from merganser.framework.math.matrix_functions import (
        BalanceQuadraticForms,
        DecomposePositiveQuadraticForm,
        DecomposePSDmatrixIntoXtransposeTimesX,
        ExtractPrincipalSubmatrix,
        IsPositiveDefinite,
        IsSymmetric,
        ToLowerTriangularColumnsFromMatrix,
        ToSymmetricMatrixFromLowerTriangularColumns,
        VectorToSkewSymmetric,
        wrap_to,
    )
    from merganser.framework.math.numerical_gradient import (
        ComputeNumericalGradient,
        NumericalGradientMethod,
        NumericalGradientOption,
    )
    from merganser.framework.math.rotations.angle_axis import AngleAxis
    from merganser.framework.math.rotations.quaternion import Quaternion
    from merganser.framework.math.rotations.quaternion_functions import (
        AreQuaternionsEqualForOrientation,
        CalculateAngularVelocityExpressedInBFromQuaternionDt,
        CalculateQuaternionDtConstraintViolation,
        CalculateQuaternionDtFromAngularVelocityExpressedInB,
        ClosestQuaternion,
        IsBothQuaternionAndQuaternionDtOK,
        IsQuaternionValid,
        QuaternionToCanonicalForm,
        UniformlyRandomAngleAxis,
        UniformlyRandomQuaternion,
        UniformlyRandomRotationMatrix,
        UniformlyRandomRPY,
        is_quaternion_in_canonical_form,
    )
    from merganser.framework.math.rotations.rigid_transform import Isometry3

    AngleAxis_ = _ValueTemplate(AngleAxis)
    BsplineBasis_ = _ValueTemplate(BsplineBasis)
    Isometry3_ = _ValueTemplate(Isometry3)
    Quaternion_ = _ValueTemplate(Quaternion)
    RigidTransform_ = _ValueTemplate(RigidTransform)
    RollPitchYaw_ = _ValueTemplate(RollPitchYaw)
    RotationMatrix_ = _ValueTemplate(RotationMatrix)
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "AngleAxis",
    "AngleAxis_",
    "AreQuaternionsEqualForOrientation",
    "BalanceQuadraticForms",
    "BarycentricMesh",
    "BsplineBasis",
    "BsplineBasis_",
    "CalculateAngularVelocityExpressedInBFromQuaternionDt",
    "CalculateQuaternionDtConstraintViolation",
    "CalculateQuaternionDtFromAngularVelocityExpressedInB",
    "ClosestQuaternion",
    "ComputeNumericalGradient",
    "ContinuousAlgebraicRiccatiEquation",
    "DecomposePSDmatrixIntoXtransposeTimesX",
    "DecomposePositiveQuadraticForm",
    "DiscreteAlgebraicRiccatiEquation",
    "ExtractPrincipalSubmatrix",
    "IsBothQuaternionAndQuaternionDtOK",
    "IsPositiveDefinite",
    "IsQuaternionValid",
    "IsSymmetric",
    "Isometry3",
    "Isometry3_",
    "KnotVectorType",
    "NumericalGradientMethod",
    "NumericalGradientOption",
    "Quaternion",
    "QuaternionToCanonicalForm",
    "Quaternion_",
    "RealContinuousLyapunovEquation",
    "RealDiscreteLyapunovEquation",
    "RigidTransform",
    "RigidTransform_",
    "RollPitchYaw",
    "RollPitchYaw_",
    "RotationMatrix",
    "RotationMatrix_",
    "SoftOverMax",
    "SoftOverMin",
    "SoftUnderMax",
    "SoftUnderMin",
    "ToLowerTriangularColumnsFromMatrix",
    "ToSymmetricMatrixFromLowerTriangularColumns",
    "UniformlyRandomAngleAxis",
    "UniformlyRandomQuaternion",
    "UniformlyRandomRPY",
    "UniformlyRandomRotationMatrix",
    "VectorToSkewSymmetric",
    "abs",
    "acos",
    "arccos",
    "arcsin",
    "arctan",
    "arctan2",
    "asin",
    "atan",
    "atan2",
    "ceil",
    "cos",
    "cosh",
    "eq",
    "exp",
    "floor",
    "ge",
    "gt",
    "inv",
    "is_quaternion_in_canonical_form",
    "isnan",
    "le",
    "log",
    "lt",
    "matmul",
    "max",
    "min",
    "ne",
    "pow",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "wrap_to",
]
