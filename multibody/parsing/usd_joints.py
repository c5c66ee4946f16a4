"""Opened stages of USD, and their joints.

A UsdStage knows its units, where its prims are, which body each belongs to, and what has no counterpart. Joints have
drives, limits and springs, mimic others, and may have actuators of MuJoCo.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import AngleAxis, RigidTransform, RotationMatrix
from merganser.multibody.parsing.description import (
    ActuatorDescription,
    BodyReference,
    CouplerDescription,
    JointDescription,
    LinkDescription,
    ModelDescription,
)
from merganser.multibody.parsing.errors import Diagnostics, ParsingError, SourceLocation
from merganser.multibody.parsing.mjcf.actuator import MjcfActuator, add_actuators, read_law
from merganser.multibody.parsing.mjcf.bodies import MjcfModel
from merganser.multibody.parsing.mjcf.joint import MjcfJoint, read_range
from merganser.multibody.parsing.mjcf.settings import MjcfSettings
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.xml_reader import XmlNode
from merganser.multibody.tree import SpatialInertia

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
_LARGE = 1e30  # and more is no limit
_AXES = {"X": np.array([1.0, 0.0, 0.0]), "Y": np.array([0.0, 1.0, 0.0]), "Z": np.array([0.0, 0.0, 1.0])}
_OF_ACTUATORS = (
    "gear", "gainPrm", "biasPrm", "dynPrm", "gainType", "biasType", "dynType", "ctrlLimited", "forceLimited",
)  # fmt: skip
_ZERO = 1e-6  # smaller positions come from rounding in the file [rad or m]


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


class _End(NamedTuple):
    """An end of a joint: its body B, the pose X_BJ of the joint's frame there, and the path of the body."""

    body: BodyReference
    X_BJ: RigidTransform
    owner: str


class _OneAxis(NamedTuple):
    """One degree of freedom of a joint, in its frame.

    Attributes:
        prim: the joint's.
        name: of the joint.
        is_angle: whether it is a rotation.
        axis: "X", "Y" or "Z".
        limits: [rad or m].
        drive: name of its drive.
    """

    prim: Any
    name: str
    is_angle: bool
    axis: str
    limits: tuple[float, float]
    drive: str


def read_joints(stage: UsdStage, model: ModelDescription) -> None:
    """Adds all joints and actuators to a model, which has its bodies.

    Raises:
        ParsingError: a joint names a body that there is not.
    """
    _Joints(stage, model).read()


class _Joints:
    def __init__(self, stage: UsdStage, model: ModelDescription) -> None:
        self._stage, self._model, self._physics = stage, model, stage.physics
        self._of_path: dict[str, _OneAxis] = {}  # joints with one degree of freedom, by their names in the model

    def read(self) -> None:
        between: dict[tuple[BodyReference, BodyReference], list[tuple[_OneAxis, _End, _End]]] = {}
        for prim in self._stage.prims:
            joint = self._physics.Joint(prim)
            if not prim.IsA(self._physics.Joint) or not joint.GetJointEnabledAttr().Get():
                continue
            first, second = self._end(joint, 0), self._end(joint, 1)
            if first.body == second.body:
                self._stage.leave_out(prim, "both ends of the joint are on one body; it has no effect")
                continue
            if second.body == BodyReference.world():
                first, second = second, first
            kind, name = prim.GetTypeName(), prim.GetName()
            if kind in ("PhysicsFixedJoint", "PhysicsSphericalJoint"):
                self._add_joint(prim, name, "fixed" if kind == "PhysicsFixedJoint" else "ball", first, second)
            elif kind in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsJoint"):
                steps = between.setdefault((first.body, second.body), [])
                axes = self._axes_of(prim)
                steps += [(axis, first, second) for axis in axes]
                if not axes:
                    self._add_joint(prim, name, "fixed", first, second)
            else:
                self._stage.leave_out(prim, f"joints of the type {kind} have no effect")
        for steps in between.values():
            self._add_steps(steps)
        for prim in self._stage.prims:
            self._add_mimic(prim)
        self._add_actuators()

    def _end(self, joint: Any, which: int) -> _End:
        rel = joint.GetBody0Rel() if which == 0 else joint.GetBody1Rel()
        pos = (joint.GetLocalPos0Attr() if which == 0 else joint.GetLocalPos1Attr()).Get()
        rot = (joint.GetLocalRot0Attr() if which == 0 else joint.GetLocalRot1Attr()).Get()
        targets = rel.GetTargets()
        prim = self._stage.prim(targets[0]) if targets else None
        if targets and not prim:
            raise ParsingError(self._stage.where, f"{joint.GetPath()}: there is no body '{targets[0]}'.")
        world = RigidTransform(self._stage.R_WU, [0.0, 0.0, 0.0]), np.ones(3)
        X_WP, scale = self._stage.pose(prim) if prim else world
        X_PJ = RigidTransform(rotation(rot), np.array(pos) * scale * self._stage.length)
        owner = self._stage.owner(prim) if prim else ""
        return _End(self._stage.reference(owner), self._stage.pose_of(owner).inverse() @ X_WP @ X_PJ, owner)

    def _axes_of(self, prim: Any) -> list[_OneAxis]:
        """The degrees of freedom of a joint, translations before rotations."""
        kind, name = prim.GetTypeName(), prim.GetName()
        if kind != "PhysicsJoint":
            is_angle = kind == "PhysicsRevoluteJoint"
            given = (prim.GetAttribute(f"physics:{which}Limit").Get() for which in ("lower", "upper"))
            axis = prim.GetAttribute("physics:axis").Get() or "X"
            limits = self._limits(next(given), next(given), is_angle)
            return [_OneAxis(prim, name, is_angle, axis, limits, "angular" if is_angle else "linear")]
        found = []
        for is_angle, axis in [(False, a) for a in "XYZ"] + [(True, a) for a in "XYZ"]:
            degree = f"{'rot' if is_angle else 'trans'}{axis}"
            limit = self._physics.LimitAPI.Get(prim, degree)
            lower, upper = (limit.GetLowAttr().Get(), limit.GetHighAttr().Get()) if limit else (-math.inf, math.inf)
            if lower <= upper:  # else it is locked
                limits = self._limits(lower, upper, is_angle)
                found.append(_OneAxis(prim, f"{name}_{degree}", is_angle, axis, limits, degree))
        return found if len(found) != 1 else [found[0]._replace(name=name)]

    def _limits(self, lower: Any, upper: Any, is_angle: bool) -> tuple[float, float]:
        unit = math.radians(1.0) if is_angle else self._stage.length
        low, high = (unit * float(x) if abs(x) < _LARGE else math.copysign(math.inf, x) for x in (lower, upper))
        return low, high

    def _add_steps(self, steps: list[tuple[_OneAxis, _End, _End]]) -> None:
        """Adds a joint for each degree of freedom between two bodies, in order.

        Bodies without mass are between them, with the child's frame at zero.
        """
        start, where = steps[0][1], self._stage.where
        for step, (axis, first, child) in enumerate(steps):
            end = child
            if step + 1 < len(steps):
                end = child._replace(body=BodyReference(self._model.name, f"{axis.name}_link"))
                self._model.links.append(LinkDescription(end.body.body, SpatialInertia.Zero(), where))
            kind = "revolute" if axis.is_angle else "prismatic"
            start = first if step == 0 else start._replace(X_BJ=child.X_BJ)
            self._add_joint(axis.prim, axis.name, kind, start, end, axis, is_alone=len(steps) == 1)
            start = end

    def _add_joint(
        self, prim: Any, name: str, kind: str, parent: _End, child: _End, axis: _OneAxis | None = None,
        is_alone: bool = False,
    ) -> None:  # fmt: skip
        taken = {joint.name for joint in self._model.joints + self._model.loop_joints}
        name = name if name not in taken else str(prim.GetPath()).strip("/").replace("/", "_")
        where = self._stage.where
        joint = JointDescription(name, kind, parent.body, child.body, where, parent.X_BJ, child.X_BJ)
        if prim.GetAttribute("physics:excludeFromArticulation").Get():
            axis_J = np.array([1.0, 0.0, 0.0]) if axis is None else _AXES[axis.axis]
            self._model.loop_joints.append(dataclasses.replace(joint, axis_J=axis_J))
            return
        if axis is not None:
            if axis.drive in ("angular", "linear"):
                self._of_path[str(prim.GetPath())] = axis._replace(name=name)
            position = self._position(prim, axis, parent, child) if is_alone else self._state(prim, axis)
            joint = dataclasses.replace(
                joint,
                axis_J=_AXES[axis.axis],
                position_limits=axis.limits,
                default_positions=(position,) if abs(position) > _ZERO else None,
                **self._passive(prim, axis),
            )
            self._add_drive(prim, name, axis)
        self._model.joints.append(joint)

    def _passive(self, prim: Any, axis: _OneAxis) -> dict[str, Any]:
        """What acts on a joint without an actuator, and the bound on its speed.

        Coefficients by the degree are those of Newton and PhysX; MuJoCo's are by the radian.
        """
        m, l = self._stage.mass, self._stage.length
        of_force, unit = (m * l**2, math.radians(1.0)) if axis.is_angle else (m, 1.0)
        to_position = unit if axis.is_angle else l
        damping = number(prim, "mjc:damping", default=number(prim, "newton:damping") / unit)
        speed = number(prim, "physxJoint:maxJointVelocity", "newton:velocityLimit", default=math.inf)
        names = "physxJoint:jointFriction", "newton:friction", "mjc:frictionloss"
        if number(prim, "mjc:ref"):
            self._stage.leave_out(prim, "mjc:ref has no effect: positions are zero where the joint's frames coincide")
        return {
            "damping": of_force * damping,
            "friction": number(prim, *names) * m * (l**2 if axis.is_angle else l),
            "armature": of_force * number(prim, "physxJoint:armature", "newton:armature", "mjc:armature"),
            "spring_stiffness": of_force * number(prim, "mjc:stiffness"),
            "spring_reference": to_position * number(prim, "mjc:springref"),
            "velocity_limit": to_position * speed if 0.0 < speed < _LARGE else math.inf,
        }

    def _position(self, prim: Any, axis: _OneAxis, parent: _End, child: _End) -> float:
        """The position of a joint [rad or m]: where the stage puts its bodies, or what it gives as the state."""
        X_WF, X_WM = (self._stage.pose_of(end.owner) @ end.X_BJ for end in (parent, child))
        X_FM, along = X_WF.inverse() @ X_WM, _AXES[axis.axis]
        turn = AngleAxis(X_FM.rotation().matrix())
        angle = turn.angle() * float(turn.axis() @ along)
        found = angle if axis.is_angle else float(X_FM.translation() @ along)
        return found if abs(found) > _ZERO else self._state(prim, axis)

    def _state(self, prim: Any, axis: _OneAxis) -> float:
        given = number(prim, f"state:{axis.drive}:physics:position", f"newton:{axis.drive}:position")
        return given * (math.radians(1.0) if axis.is_angle else self._stage.length)

    # ------------------------------------------------------------------ actuators

    def _add_drive(self, prim: Any, joint: str, axis: _OneAxis) -> None:
        drive = self._physics.DriveAPI.Get(prim, axis.drive)
        if not drive:
            return
        if drive.GetTypeAttr().Get() == "acceleration":
            self._stage.leave_out(prim, "the drive gives accelerations; its gains are taken for forces")
        if drive.GetTargetPositionAttr().Get() or drive.GetTargetVelocityAttr().Get():
            self._stage.leave_out(prim, "the target of a drive has no effect: desired states are an input of the plant")
        m, l = self._stage.mass, self._stage.length
        gain = m * (l**2 * math.degrees(1.0) if axis.is_angle else 1.0)
        p, d = (float(each.Get() or 0.0) * gain for each in (drive.GetStiffnessAttr(), drive.GetDampingAttr()))
        limit = drive.GetMaxForceAttr().Get()
        effort = math.inf if limit is None or not abs(limit) < _LARGE else float(limit) * m
        self._model.actuators.append(
            ActuatorDescription(
                joint,
                self._model.name,
                joint,
                self._stage.where,
                effort_limit=effort * l ** (2 if axis.is_angle else 1),
                controller_gains=(p, d) if p > 0.0 or d > 0.0 else None,
            )
        )

    def _add_actuators(self) -> None:
        """Adds the actuators of MuJoCo, by the rules of MJCF files."""
        report, settings, no_element = MjcfReport(), MjcfSettings(), cast(Any, None)
        found = []
        for prim in self._stage.prims:
            if prim.GetTypeName() != "MjcActuator":
                continue
            targets = self._stage.targets(prim, "mjc:target")
            axis = self._of_path.get(str(targets[0])) if targets else None
            if axis is None:
                self._stage.leave_out(prim, "an actuator is left out: it acts on no joint with one degree of freedom")
                continue
            node = XmlNode("general", self._stage.where, _attributes_of_mjcf(prim))
            joint = MjcfJoint(no_element, no_element, "hinge", np.zeros(3), np.zeros(3), name=axis.name)
            gear = float(node.attributes.get("gear", "1").split()[0])
            control = read_range(node, "ctrlrange", "ctrllimited", settings)
            found.append(MjcfActuator(node, settings, prim.GetName(), joint, read_law([node]), gear, 0.0, control))
        add_actuators(found, MjcfModel(self._model.name, [], {}), self._model, report)
        for what in report.entries:
            self._stage.leave_out(self._stage.prims[0], what)

    # ------------------------------------------------------------------ joints that follow others

    def _add_mimic(self, prim: Any) -> None:
        """Adds the equation of a joint that mimics another one: q0 = gear_ratio q1 + offset."""
        applied = applied_schemas(prim)
        of_physx = next((name.partition(":")[2] for name in applied if name.startswith("PhysxMimicJointAPI:")), "")
        if {"NewtonMimicAPI", "MjcEqualityJointAPI"} & set(applied):
            if not number(prim, "newton:mimicEnabled", default=1.0):
                return
            targets = self._stage.targets(prim, "newton:mimicJoint")
            offset, ratio = number(prim, "newton:mimicCoef0"), number(prim, "newton:mimicCoef1", default=1.0)
            if any(number(prim, f"mjc:coef{n}") for n in (2, 3, 4)):
                self._stage.leave_out(prim, "of a polynomial between joints the constant and the linear term are used")
        elif of_physx:  # q0 + gearing q1 + offset = 0
            name = f"physxMimicJoint:{of_physx}"
            targets = self._stage.targets(prim, f"{name}:referenceJoint")
            offset, ratio = -number(prim, f"{name}:offset"), -number(prim, f"{name}:gearing", default=1.0)
        else:
            return
        follower = self._of_path.get(str(prim.GetPath()))
        leader = self._of_path.get(str(targets[0])) if targets else None
        if follower is None or leader is None:
            self._stage.leave_out(prim, "a mimic is left out: it and what it follows need one degree of freedom each")
            return
        l, unit = self._stage.length, math.radians(1.0)
        ratio *= (1.0 if follower.is_angle else l) / (1.0 if leader.is_angle else l)
        offset *= unit if follower.is_angle else l
        where = self._stage.where
        self._model.couplers.append(
            CouplerDescription(self._model.name, follower.name, leader.name, ratio, offset, where)
        )


def _attributes_of_mjcf(prim: Any) -> dict[str, str]:
    """The attributes of an actuator as those of <general>: mjc:ctrlRange:min and :max as ctrlrange."""
    found: dict[str, str] = {}
    for name in _OF_ACTUATORS:
        value = prim.GetAttribute(f"mjc:{name}").Get()
        if value is not None:
            found[name.lower()] = str(value) if isinstance(value, str) else " ".join(map(repr, map(float, value)))
    for name in ("ctrlRange", "forceRange"):
        low, high = (number(prim, f"mjc:{name}:{end}") for end in ("min", "max"))
        if low < high:
            found[name.lower()] = f"{low!r} {high!r}"
    return found
