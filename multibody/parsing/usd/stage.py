"""An opened stage of USD: its units, where its prims are, which body each belongs to, and what has no counterpart."""

from __future__ import annotations

import importlib
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.parsing.description import BodyReference
from merganser.multibody.parsing.errors import Diagnostics, ParsingError, SourceLocation

Array = NDArray[Any]
_NUM_PATHS = 4  # that are shown of one thing
_OF_PHYSICS = ("Physics", "Physx", "Newton", "Mjc")  # how names of schemas begin that change a motion
_READ = {  # schemas that have a counterpart, and those that say only how another program computes or draws
    "PhysicsArticulationRootAPI", "PhysicsCollisionAPI", "PhysicsCollisionGroup", "PhysicsDriveAPI",
    "PhysicsDistanceJoint", "PhysicsFilteredPairsAPI", "PhysicsFixedJoint", "PhysicsJoint", "PhysicsJointStateAPI",
    "PhysicsLimitAPI", "PhysicsMassAPI", "PhysicsMaterialAPI", "PhysicsMeshCollisionAPI", "PhysicsPrismaticJoint",
    "PhysicsRevoluteJoint", "PhysicsRigidBodyAPI", "PhysicsScene", "PhysicsSphericalJoint", "PhysxArticulationAPI",
    "PhysxCollisionAPI", "PhysxConvexHullCollisionAPI", "PhysxJointAPI", "PhysxMimicJointAPI", "PhysxSceneAPI",
    "PhysxTriangleMeshCollisionAPI", "NewtonArticulationRootAPI", "NewtonJointAPI", "NewtonMimicAPI", "NewtonSceneAPI",
    "MjcActuator", "MjcCollisionAPI", "MjcEqualityJointAPI", "MjcJointAPI", "MjcSceneAPI", "MjcSiteAPI",
}  # fmt: skip


class UsdStage:
    """A stage, opened.

    Args:
        path: of its file.
        diagnostics: receives one warning of what has no counterpart.

    Attributes:
        usd, geom, physics, shade: the modules of the package pxr.
        where: the file.
        prims: all, instances included.
        bodies: names by path, of the prims that are rigid bodies, set by the reader of bodies.
        model: the name of the model.
        length, mass: the units of the stage [m, kg].
        R_WU: turns the stage's frame U, whose y axis may be upward, into the world W.

    Raises:
        ImportError: usd-core is not installed.
        ParsingError: the file cannot be opened.
    """

    def __init__(self, path: Path, diagnostics: Diagnostics) -> None:
        names = ("Usd", "UsdGeom", "UsdPhysics", "UsdShade")
        try:
            self.usd, self.geom, self.physics, self.shade = (importlib.import_module(f"pxr.{each}") for each in names)
        except ImportError as error:
            raise ImportError(
                f"'{path}' needs the package usd-core. Install the extra: pip install 'merganser[usd]'."
            ) from error
        self.where, self._diagnostics = SourceLocation(str(path)), diagnostics
        try:
            self._stage = self.usd.Stage.Open(str(path))
        except Exception as error:
            said = str(error).partition(" : '")[2].partition("\n")[0].rstrip("'")  # behind places in USD's own code
            raise ParsingError(self.where, f"the stage cannot be opened: {said}") from error
        self.length = float(self.geom.GetStageMetersPerUnit(self._stage))
        self.mass = float(self.physics.GetStageKilogramsPerUnit(self._stage))
        is_y_up = self.geom.GetStageUpAxis(self._stage) == "Y"
        self.R_WU = RotationMatrix.MakeXRotation(math.pi / 2) if is_y_up else RotationMatrix()
        self._poses = self.geom.XformCache()
        self.prims = list(self._stage.Traverse(self.usd.TraverseInstanceProxies()))
        self.bodies: dict[str, str] = {}
        root = self._stage.GetDefaultPrim()
        self.model = str(root.GetName() if root else path.stem)
        self._left_out: dict[str, list[str]] = {}

    def prim(self, path: Any) -> Any:
        """The prim at a path; false without one."""
        return self._stage.GetPrimAtPath(path)

    def targets(self, prim: Any, relationship: str) -> list[Any]:
        """The paths to which a relationship of a prim points."""
        found = prim.GetRelationship(relationship)
        return list(found.GetTargets()) if found else []

    def owner(self, prim: Any) -> str:
        """The path of the body that a prim belongs to; empty for the world."""
        while prim and str(prim.GetPath()) not in self.bodies:
            prim = prim.GetParent()
        return str(prim.GetPath()) if prim else ""

    def reference(self, owner: str) -> BodyReference:
        """The body at a path, or the world for an empty one."""
        return BodyReference(self.model, self.bodies[owner]) if owner else BodyReference.world()

    def pose(self, prim: Any) -> tuple[RigidTransform, Array]:
        """The pose X_WP of a prim, and its scale along its own axes."""
        A = np.array(self._poses.GetLocalToWorldTransform(prim)).T  # points are rows there
        scale = np.linalg.norm(A[:3, :3], axis=0)
        if np.linalg.det(A[:3, :3]) < 0.0:
            scale = -scale
        if not (np.abs(scale) > 0.0).all():
            raise ParsingError(self.where, f"{prim.GetPath()}: its scale is zero.")
        R = RotationMatrix.ProjectToRotationMatrix(A[:3, :3] / scale)
        return RigidTransform(self.R_WU @ R, self.R_WU @ (self.length * A[:3, 3])), scale

    def pose_of(self, owner: str) -> RigidTransform:
        """The pose X_WB of the body at a path, or of the world for an empty one."""
        return self.pose(self.prim(owner))[0] if owner else RigidTransform()

    def leave_out(self, prim: Any, what: str) -> None:
        """Notes what of a prim has no counterpart: the same words for things of one kind."""
        paths = self._left_out.setdefault(what, [])
        if str(prim.GetPath()) not in paths:
            paths.append(str(prim.GetPath()))

    def warn(self) -> None:
        """Gives one warning of all that has no counterpart, if there is any."""
        for prim in self.prims:
            for name in (str(prim.GetTypeName()), *(each.partition(":")[0] for each in applied_schemas(prim))):
                if name.startswith(_OF_PHYSICS) and name not in _READ:
                    self.leave_out(prim, f"{name} has no effect")
        lines = []
        for what, paths in self._left_out.items():
            others = f" and {len(paths) - _NUM_PATHS} others" if len(paths) > _NUM_PATHS else ""
            lines.append(f"  {', '.join(paths[:_NUM_PATHS])}{others}: {what}")
        if lines:
            text = "\n".join(["not everything in this stage has a counterpart.", *lines])
            self._diagnostics.warn(self.where, text)


def applied_schemas(prim: Any) -> list[str]:
    """The schemas that have been applied to a prim, also those whose package is not installed."""
    applied = prim.GetMetadata("apiSchemas")
    return [str(name) for name in applied.GetAppliedItems()] if applied else []


def number(prim: Any, *names: str, default: float = 0.0) -> float:
    """The first of these attributes that the file gives a prim; where schemas are installed, others have defaults."""
    attributes = map(prim.GetAttribute, names)
    values = (attribute.Get() for attribute in attributes if attribute.HasAuthoredValue())
    return next((float(value) for value in values if value is not None), default)


def rotation(q: Any) -> RotationMatrix:
    """A quaternion of USD as a rotation."""
    wxyz = np.array([q.GetReal(), *q.GetImaginary()], dtype=np.float64)
    w, x, y, z = wxyz / np.linalg.norm(wxyz)
    return RotationMatrix(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
