"""Reads models from USD: bodies, shapes, joints, drives and materials of UsdPhysics (package usd-core).

Of other schemas are read: `armature`, `damping` and friction of joints by PhysX, Newton and MuJoCo. Lengths and masses
become SI, an upward y axis an upward z axis. Angles of joints and gains of angular drives are in degrees there.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import Box, Capsule, Cylinder, Ellipsoid, InMemoryMesh, MemoryFile, Mesh, Shape, Sphere
from merganser.multibody.parsing.description import (
    ActuatorDescription,
    BodyReference,
    DocumentDescription,
    FrictionDescription,
    GeometryDescription,
    JointDescription,
    LinkDescription,
    ModelDescription,
    ShapeDescription,
)
from merganser.multibody.parsing.errors import Diagnostics, ParsingError, SourceLocation
from merganser.multibody.tree import CalcSpatialInertia, RotationalInertia, SpatialInertia, UnitInertia

Array = NDArray[Any]
_LARGE = 1e30  # and more is no limit
_DENSITY = 1000.0  # of bodies that have neither mass nor density [kg/m^3], as UsdPhysics says
_SHAPES: dict[str, type[Any]] = {
    "Box": Box, "Sphere": Sphere, "Cylinder": Cylinder, "Capsule": Capsule, "Ellipsoid": Ellipsoid,
}  # fmt: skip
_TO_AXIS = {  # poses that turn z into an axis
    "X": RotationMatrix.MakeYRotation(math.pi / 2),
    "Y": RotationMatrix.MakeXRotation(-math.pi / 2),
    "Z": RotationMatrix(),
}
_AXES = {"X": np.array([1.0, 0.0, 0.0]), "Y": np.array([0.0, 1.0, 0.0]), "Z": np.array([0.0, 0.0, 1.0])}
_WORLD = BodyReference.world()


def read_usd(path: Path, diagnostics: Diagnostics) -> DocumentDescription:
    """Describes what a stage has of UsdPhysics, as one model.

    Args:
        path: a file .usd, .usda, .usdc or .usdz.
        diagnostics: receives a warning for what has no effect here.

    Raises:
        ImportError: usd-core is not installed.
        ParsingError: the stage cannot be opened, has no rigid body, or what it says is no model.
    """
    try:
        pxr = {name: importlib.import_module(f"pxr.{name}") for name in ("Usd", "UsdGeom", "UsdPhysics", "UsdShade")}
    except ImportError as error:
        raise ImportError(
            f"'{path}' needs the package usd-core. Install the extra: pip install 'merganser[usd]'."
        ) from error
    where = SourceLocation(str(path))
    try:
        stage = pxr["Usd"].Stage.Open(str(path))
    except Exception as error:
        said = str(error).partition(" : '")[2].partition("\n")[0].rstrip("'")  # behind places in USD's own code
        raise ParsingError(where, f"the stage cannot be opened: {said}") from error
    return _Reader(pxr, stage, where, diagnostics).read()


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


class _Reader:
    def __init__(self, pxr: dict[str, Any], stage: Any, where: SourceLocation, diagnostics: Diagnostics) -> None:
        self._usd, self._geom, self._physics = pxr["Usd"], pxr["UsdGeom"], pxr["UsdPhysics"]
        self._shade, self._stage, self._where, self._diagnostics = pxr["UsdShade"], stage, where, diagnostics
        self._length = float(self._geom.GetStageMetersPerUnit(stage))
        self._mass = float(self._physics.GetStageKilogramsPerUnit(stage))
        is_y_up = self._geom.GetStageUpAxis(stage) == "Y"
        self._R_WU = RotationMatrix.MakeXRotation(math.pi / 2) if is_y_up else RotationMatrix()
        self._poses = self._geom.XformCache()
        self._bodies: dict[str, str] = {}  # names by path
        root = stage.GetDefaultPrim()
        self._model = ModelDescription(root.GetName() if root else Path(where.file).stem, where)

    def read(self) -> DocumentDescription:
        prims = list(self._stage.Traverse(self._usd.TraverseInstanceProxies()))
        bodies = [prim for prim in prims if prim.HasAPI(self._physics.RigidBodyAPI)]
        if not bodies:
            raise ParsingError(self._where, "the stage has no rigid body (PhysicsRigidBodyAPI).")
        names = [prim.GetName() for prim in bodies]
        for prim in bodies:
            name, path = prim.GetName(), str(prim.GetPath())
            is_free = names.count(name) == 1 and name != "world"
            self._bodies[path] = name if is_free else path.strip("/").replace("/", "_")
        shapes: dict[str, list[tuple[Any, GeometryDescription, bool]]] = {path: [] for path in ["", *self._bodies]}
        for prim in prims:
            if prim.IsA(self._geom.Gprim):
                found = self._geometry(prim, owner := self._owner(prim))
                if found is not None:
                    shapes[owner].append((prim, found, prim.HasAPI(self._physics.CollisionAPI)))
            elif prim.IsA(self._physics.Scene):
                self._read_gravity(prim)
        for prim in bodies:
            self._model.links.append(self._link(prim, shapes[str(prim.GetPath())]))
        _, self._model.world_visuals, self._model.world_collisions = self._sorted(shapes[""])
        joints = [prim for prim in prims if prim.IsA(self._physics.Joint)]
        self._read_joints(joints)
        return DocumentDescription(self._where, [self._model], depends_on_files=True)

    def _warn(self, prim: Any, message: str) -> None:
        self._diagnostics.warn(self._where, f"{prim.GetPath()}: {message}")

    # ------------------------------------------------------------------ bodies and shapes

    def _owner(self, prim: Any) -> str:
        """The path of the body that a prim belongs to; empty for the world."""
        while prim and str(prim.GetPath()) not in self._bodies:
            prim = prim.GetParent()
        return str(prim.GetPath()) if prim else ""

    def _pose(self, prim: Any) -> tuple[RigidTransform, Array]:
        """The pose X_WP of a prim, and its scale along its own axes."""
        A = np.array(self._poses.GetLocalToWorldTransform(prim)).T  # points are rows there
        scale = np.linalg.norm(A[:3, :3], axis=0)
        if np.linalg.det(A[:3, :3]) < 0.0:
            scale = -scale
        if not (np.abs(scale) > 0.0).all():
            raise ParsingError(self._where, f"{prim.GetPath()}: its scale is zero.")
        R = RotationMatrix.ProjectToRotationMatrix(A[:3, :3] / scale)
        return RigidTransform(self._R_WU @ R, self._R_WU @ (self._length * A[:3, 3])), scale

    def _geometry(self, prim: Any, owner: str) -> GeometryDescription | None:
        X_WG, scale = self._pose(prim)
        unit, size = self._length, np.abs(scale) * self._length
        X_GS, kind, mesh = RigidTransform(), prim.GetTypeName(), None
        dimensions: tuple[float, ...] = ()

        def get(name: str) -> Any:
            return prim.GetAttribute(name).Get()

        if kind in ("Cylinder", "Capsule", "Plane", "Cylinder_1", "Capsule_1"):
            axis = get("axis") or "Z"
            X_GS = RigidTransform(_TO_AXIS[axis], [0.0, 0.0, 0.0])
            along = "XYZ".index(axis)
            around = float(np.delete(size, along).max())
        if kind == "Cube":
            kind, dimensions = "Box", tuple(float(get("size")) * size)
        elif kind == "Sphere":
            radii = float(get("radius")) * size
            is_round = bool(np.ptp(radii) <= 1e-6 * radii.max())
            kind, dimensions = ("Sphere", (float(radii[0]),)) if is_round else ("Ellipsoid", tuple(radii))
        elif kind in ("Cylinder", "Capsule"):
            dimensions = float(get("radius")) * around, float(get("height")) * float(size[along])
        elif kind == "Plane":
            kind = "HalfSpace"
        elif kind == "Mesh":
            mesh = self._mesh(prim, scale * unit)
            api = self._physics.MeshCollisionAPI(prim)
            approximation = api.GetApproximationAttr().Get() if api else None
            kind = "Mesh" if approximation in (None, "none", "meshSimplification", "sdf") else "Convex"
            dimensions = (1.0, 1.0, 1.0)
        else:
            self._warn(prim, f"shapes of the type {kind} have no effect.")
            return None
        X_WB = self._pose(self._stage.GetPrimAtPath(owner))[0] if owner else RigidTransform()
        name = str(prim.GetPath())[len(owner) :].strip("/").replace("/", "_") or prim.GetName()
        return GeometryDescription(
            name, X_WB.inverse() @ X_WG @ X_GS, ShapeDescription(kind, dimensions, mesh=mesh), self._where,
            rgba=self._color(prim), friction=self._friction(prim),
        )  # fmt: skip

    def _mesh(self, prim: Any, scale: Array) -> InMemoryMesh:
        """A mesh as the text of an .obj file, faces turned around if the scale mirrors it."""
        given = [prim.GetAttribute(name).Get() for name in ("points", "faceVertexCounts", "faceVertexIndices")]
        points, counts, corners = (np.array([] if each is None else each) for each in given)
        points = points.reshape(-1, 3) * scale
        if not counts.size or counts.sum() != corners.size or not (0 <= corners.min() <= corners.max() < len(points)):
            raise ParsingError(self._where, f"{prim.GetPath()}: the mesh has no faces, or not those vertices.")
        faces = [part.tolist() for part in np.split(corners + 1, np.cumsum(counts)[:-1])]
        is_left = prim.GetAttribute("orientation").Get() == "leftHanded"
        step = -1 if is_left != bool(np.prod(scale) < 0.0) else 1
        lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
        lines += [f"f {' '.join(map(str, face[::step]))}" for face in faces]
        return InMemoryMesh(mesh_file=MemoryFile("\n".join(lines), ".obj", prim.GetName()))

    def _color(self, prim: Any) -> Array | None:
        gprim = self._geom.Gprim(prim)
        color, opacity = gprim.GetDisplayColorAttr().Get(), gprim.GetDisplayOpacityAttr().Get()
        if not color:
            return None
        return np.array([*color[0], opacity[0] if opacity else 1.0], dtype=np.float64)

    def _material(self, prim: Any) -> Any:
        """The physical material that is bound to a prim; None without one."""
        binding = self._shade.MaterialBindingAPI(prim)
        for purpose in ("physics", self._shade.Tokens.allPurpose):
            material = binding.ComputeBoundMaterial(purpose)[0]
            if material and material.GetPrim().HasAPI(self._physics.MaterialAPI):
                return self._physics.MaterialAPI(material.GetPrim())
        return None

    def _friction(self, prim: Any) -> FrictionDescription | None:
        material = self._material(prim)
        if material is None:
            return None
        static = float(material.GetStaticFrictionAttr().Get())
        dynamic = float(material.GetDynamicFrictionAttr().Get())
        return FrictionDescription(max(static, dynamic), dynamic)

    def _sorted(self, shapes: list[tuple[Any, GeometryDescription, bool]]) -> tuple[list[Any], list[Any], list[Any]]:
        """Shapes with the prims that have mass, visuals and collisions; what collides is seen, unless it is a guide."""
        visuals, collisions = [], []
        for prim, shape, collides in shapes:
            imageable = self._geom.Imageable(prim)
            is_hidden = imageable.ComputePurpose() == "guide" or imageable.ComputeVisibility() == "invisible"
            if not is_hidden and shape.shape.kind != "HalfSpace":
                visuals.append(shape)
            if collides and self._physics.CollisionAPI(prim).GetCollisionEnabledAttr().Get():
                collisions.append(shape)
        return [(prim, shape) for prim, shape, collides in shapes if collides], visuals, collisions

    def _link(self, prim: Any, shapes: list[tuple[Any, GeometryDescription, bool]]) -> LinkDescription:
        solid, visuals, collisions = self._sorted(shapes)
        X_WB, _ = self._pose(prim)
        return LinkDescription(
            self._bodies[str(prim.GetPath())], self._inertia(prim, solid), self._where, visuals, collisions, X_WB
        )

    def _inertia(self, prim: Any, solid: list[tuple[Any, GeometryDescription]]) -> SpatialInertia:
        """Of a body: what its mass properties say, the rest from its shapes, by density."""
        given = self._physics.MassAPI(prim)
        mass, density, com, moments, axes = (
            attribute.Get() for attribute in (
                given.GetMassAttr(), given.GetDensityAttr(), given.GetCenterOfMassAttr(),
                given.GetDiagonalInertiaAttr(), given.GetPrincipalAxesAttr(),
            )
        ) if given else (0.0, 0.0, None, None, None)  # fmt: skip
        total: SpatialInertia | None = None
        for part, shape in solid:
            of_part = self._physics.MassAPI(part)
            material = self._material(part)
            candidates = [of_part.GetDensityAttr().Get() if of_part else 0.0, density]
            candidates.append(material.GetDensityAttr().Get() if material is not None else 0.0)
            chosen = next((float(each) for each in candidates if each), 0.0) * self._mass / self._length**3
            made = _shape(shape.shape)
            if made is None:
                continue
            M = CalcSpatialInertia(made, chosen or _DENSITY)
            part_mass = float(of_part.GetMassAttr().Get()) * self._mass if of_part else 0.0
            if part_mass > 0.0:
                M = SpatialInertia(part_mass, M.get_com(), M.get_unit_inertia())
            M = M.ReExpress(shape.X_BG.rotation()).Shift(-shape.X_BG.translation())
            total = M if total is None else total + M
        m = float(mass or 0.0) * self._mass or (0.0 if total is None else total.get_mass())
        if not m > 0.0:
            return SpatialInertia.Zero()
        has_com = com is not None and np.isfinite(com).all()
        scale = self._pose(prim)[1] * self._length
        p_BC = np.array(com) * scale if has_com else (np.zeros(3) if total is None else total.get_com())
        if moments is not None and np.any(np.array(moments)):
            is_turned = axes is not None and (axes.GetReal() or np.any(np.array(axes.GetImaginary())))
            R_BP = _rotation(axes) if is_turned else RotationMatrix()
            about_com = RotationalInertia(*(float(I) * self._mass * self._length**2 for I in moments)).ReExpress(R_BP)
            return SpatialInertia.MakeFromCentralInertia(m, p_BC, about_com)
        if total is None:
            return SpatialInertia(m, p_BC, UnitInertia.PointMass(p_BC))
        about_com = total.Shift(total.get_com()).get_unit_inertia()
        return SpatialInertia.MakeFromCentralInertia(m, p_BC, m * about_com)

    def _read_gravity(self, prim: Any) -> None:
        scene = self._physics.Scene(prim)
        size, direction = scene.GetGravityMagnitudeAttr().Get(), np.array(scene.GetGravityDirectionAttr().Get())
        if np.isfinite(size) and size >= 0.0 and np.any(direction):
            self._model.gravity = self._R_WU @ (self._length * float(size) * direction / np.linalg.norm(direction))

    # ------------------------------------------------------------------ joints

    def _read_joints(self, prims: list[Any]) -> None:
        between: dict[tuple[BodyReference, BodyReference], list[tuple[_OneAxis, RigidTransform, RigidTransform]]] = {}
        for prim in prims:
            joint = self._physics.Joint(prim)
            if not joint.GetJointEnabledAttr().Get():
                continue
            ends = [self._end(joint, number) for number in (0, 1)]
            if ends[0][0] == ends[1][0]:
                self._warn(prim, "both ends are on one body; the joint has no effect.")
                continue
            if ends[1][0] == _WORLD:
                ends.reverse()
            kind = prim.GetTypeName()
            if kind == "PhysicsFixedJoint":
                self._add_joint(prim, prim.GetName(), "fixed", ends)
            elif kind == "PhysicsSphericalJoint":
                self._add_joint(prim, prim.GetName(), "ball", ends)
            elif kind in ("PhysicsRevoluteJoint", "PhysicsPrismaticJoint", "PhysicsJoint"):
                steps = between.setdefault((ends[0][0], ends[1][0]), [])
                steps += [(axis, ends[0][1], ends[1][1]) for axis in self._axes_of(prim)]
                if not steps:
                    self._add_joint(prim, prim.GetName(), "fixed", ends)
            else:
                self._warn(prim, f"joints of the type {kind} have no effect.")
        for (parent, child), steps in between.items():
            self._add_steps(parent, child, steps)

    def _end(self, joint: Any, number: int) -> tuple[BodyReference, RigidTransform]:
        """The body at one end of a joint, and the pose X_BJ of the joint's frame there."""
        rel = joint.GetBody0Rel() if number == 0 else joint.GetBody1Rel()
        pos = (joint.GetLocalPos0Attr() if number == 0 else joint.GetLocalPos1Attr()).Get()
        rot = (joint.GetLocalRot0Attr() if number == 0 else joint.GetLocalRot1Attr()).Get()
        targets = rel.GetTargets()
        prim = self._stage.GetPrimAtPath(targets[0]) if targets else self._stage.GetPseudoRoot()
        if not prim:
            raise ParsingError(self._where, f"{joint.GetPath()}: there is no body '{targets[0]}'.")
        X_WP, scale = self._pose(prim) if targets else (RigidTransform(self._R_WU, [0.0, 0.0, 0.0]), np.ones(3))
        X_PJ = RigidTransform(_rotation(rot), np.array(pos) * scale * self._length)
        owner = self._owner(prim) if targets else ""
        if not owner:
            return _WORLD, X_WP @ X_PJ
        X_WB, _ = self._pose(self._stage.GetPrimAtPath(owner))
        return BodyReference(self._model.name, self._bodies[owner]), X_WB.inverse() @ X_WP @ X_PJ

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
        unit = math.radians(1.0) if is_angle else self._length
        low, high = (unit * float(x) if abs(x) < _LARGE else math.copysign(math.inf, x) for x in (lower, upper))
        return low, high

    def _add_steps(
        self, parent: BodyReference, child: BodyReference, steps: list[tuple[_OneAxis, RigidTransform, RigidTransform]]
    ) -> None:
        """Adds a joint for each degree of freedom between two bodies, in order.

        Bodies without mass are between them, with the child's frame at zero.
        """
        start = parent
        for number, (axis, X_PJ, X_CJ) in enumerate(steps):
            end = child
            if number + 1 < len(steps):
                end = BodyReference(self._model.name, f"{axis.name}_link")
                self._model.links.append(LinkDescription(end.body, SpatialInertia.Zero(), self._where))
            kind = "revolute" if axis.is_angle else "prismatic"
            self._add_joint(axis.prim, axis.name, kind, [(start, X_PJ if number == 0 else X_CJ), (end, X_CJ)], axis)
            start = end

    def _add_joint(
        self,
        prim: Any,
        name: str,
        kind: str,
        ends: list[tuple[BodyReference, RigidTransform]],
        axis: _OneAxis | None = None,
    ) -> None:
        (parent, X_PJ), (child, X_CJ) = ends
        taken = {joint.name for joint in self._model.joints}
        name = name if name not in taken else str(prim.GetPath()).strip("/").replace("/", "_")
        joint = JointDescription(name, kind, parent, child, self._where, X_PJ, X_CJ)
        if axis is not None:
            joint = dataclasses.replace(
                joint,
                axis_J=_AXES[axis.axis],
                position_limits=axis.limits,
                damping=_number(prim, "mjc:damping", "newton:damping"),
                friction=_number(prim, "physxJoint:jointFriction", "newton:friction", "mjc:frictionloss"),
                armature=_number(prim, "physxJoint:armature", "newton:armature", "mjc:armature"),
            )
            self._add_drive(prim, name, axis)
        self._model.joints.append(joint)

    def _add_drive(self, prim: Any, joint: str, axis: _OneAxis) -> None:
        drive = self._physics.DriveAPI.Get(prim, axis.drive)
        if not drive:
            return
        if drive.GetTypeAttr().Get() == "acceleration":
            self._warn(prim, "the drive gives accelerations, which has no effect; its gains are taken for forces.")
        of_angle = math.degrees(1.0) if axis.is_angle else 1.0
        gain = self._mass * (self._length**2 if axis.is_angle else 1.0) * of_angle
        p, d = (float(each.Get() or 0.0) * gain for each in (drive.GetStiffnessAttr(), drive.GetDampingAttr()))
        limit = drive.GetMaxForceAttr().Get()
        effort = math.inf if limit is None or not abs(limit) < _LARGE else float(limit) * self._mass
        self._model.actuators.append(
            ActuatorDescription(
                joint,
                self._model.name,
                joint,
                self._where,
                effort_limit=effort * self._length ** (2 if axis.is_angle else 1),
                controller_gains=(p, d) if p > 0.0 or d > 0.0 else None,
            )
        )


def _number(prim: Any, *names: str) -> float:
    values = (prim.GetAttribute(name).Get() for name in names if prim.HasAttribute(name))
    return next((float(value) for value in values if value is not None), 0.0)


def _rotation(q: Any) -> RotationMatrix:
    wxyz = np.array([q.GetReal(), *q.GetImaginary()], dtype=np.float64)
    w, x, y, z = wxyz / np.linalg.norm(wxyz)
    return RotationMatrix(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _shape(description: ShapeDescription) -> Shape | None:
    if description.mesh is not None:
        return Mesh(description.mesh)
    kind = _SHAPES.get(description.kind)
    return None if kind is None else kind(*description.dimensions)
