"""Inverse kinematics, of postures and by velocities: see README.md."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names

if _TYPE_CHECKING:
    from merganser.multibody.inverse_kinematics.differential import DoDifferentialInverseKinematics
    from merganser.multibody.inverse_kinematics.differential_integrator import DifferentialInverseKinematicsIntegrator
    from merganser.multibody.inverse_kinematics.differential_parameters import (
        DifferentialInverseKinematicsParameters,
        DifferentialInverseKinematicsResult,
        DifferentialInverseKinematicsStatus,
    )
    from merganser.multibody.inverse_kinematics.differential_system import (
        DifferentialInverseKinematicsController,
        DifferentialInverseKinematicsSystem,
    )
    from merganser.multibody.inverse_kinematics.distance_constraints import (
        DistanceConstraint,
        MinimumDistanceLowerBoundConstraint,
        MinimumDistanceUpperBoundConstraint,
    )
    from merganser.multibody.inverse_kinematics.global_inverse_kinematics import GlobalInverseKinematics
    from merganser.multibody.inverse_kinematics.inverse_kinematics import (
        InverseKinematics,
    )
    from merganser.multibody.inverse_kinematics.plant_constraints import (
        AddMultibodyPlantConstraints,
        AddUnitQuaternionConstraintOnPlant,
    )
    from merganser.multibody.inverse_kinematics.posture_constraints import (
        AngleBetweenVectorsConstraint,
        AngleBetweenVectorsCost,
        ComInPolyhedronConstraint,
        ComPositionConstraint,
        GazeTargetConstraint,
        OrientationConstraint,
        OrientationCost,
        PointToLineDistanceConstraint,
        PointToPointDistanceConstraint,
        PolyhedronConstraint,
        PositionConstraint,
        PositionCost,
        UnitQuaternionConstraint,
    )
else:
    __getattr__, __dir__ = _lazy_names(__name__)

__all__ = [
    "AddMultibodyPlantConstraints",
    "AddUnitQuaternionConstraintOnPlant",
    "AngleBetweenVectorsConstraint",
    "AngleBetweenVectorsCost",
    "ComInPolyhedronConstraint",
    "ComPositionConstraint",
    "DifferentialInverseKinematicsController",
    "DifferentialInverseKinematicsIntegrator",
    "DifferentialInverseKinematicsParameters",
    "DifferentialInverseKinematicsResult",
    "DifferentialInverseKinematicsStatus",
    "DifferentialInverseKinematicsSystem",
    "DistanceConstraint",
    "DoDifferentialInverseKinematics",
    "GazeTargetConstraint",
    "GlobalInverseKinematics",
    "InverseKinematics",
    "MinimumDistanceLowerBoundConstraint",
    "MinimumDistanceUpperBoundConstraint",
    "OrientationConstraint",
    "OrientationCost",
    "PointToLineDistanceConstraint",
    "PointToPointDistanceConstraint",
    "PolyhedronConstraint",
    "PositionConstraint",
    "PositionCost",
    "UnitQuaternionConstraint",
]
