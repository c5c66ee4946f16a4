"""Reads models from USD: bodies, shapes, joints, drives and materials of UsdPhysics (package usd-core).

Here are bodies with their shapes, materials and mass properties; joints are in usd_joints.py. Of other schemas are
read: armature, damping, friction, springs and bounds on the speed of joints, and joints that mimic others, of PhysX,
Newton and MuJoCo; actuators of MuJoCo. Lengths and masses become SI, an upward y axis an upward z axis. Angles of
joints and gains of angular drives are in degrees there. One warning names what has no counterpart.
"""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry import Box, Capsule, Convex, Cylinder, Ellipsoid, InMemoryMesh, MemoryFile, Mesh, Sphere
from merganser.multibody.parsing.description import (
    BodyReference,
    CollisionExclusionDescription,
    DocumentDescription,
    FrictionDescription,
    GeometryDescription,
    GeometryReference,
    LinkDescription,
    ModelDescription,
    ShapeDescription,
)
from merganser.multibody.parsing.errors import Diagnostics, ParsingError, SourceLocation, located
from merganser.multibody.parsing.usd_joints import Array, UsdStage, read_joints, rotation
from merganser.multibody.tree import CalcSpatialInertia, RotationalInertia, SpatialInertia, UnitInertia


def read_usd(path: Path, diagnostics: Diagnostics) -> DocumentDescription:
    """Describes what a stage has of UsdPhysics, as one model.

    Args:
        path: a file .usd, .usda, .usdc or .usdz.
        diagnostics: receives a warning for what has no effect here.

    Raises:
        ImportError: usd-core is not installed.
        ParsingError: the stage cannot be opened, has no rigid body, or what it says is no model.
    """
    stage = UsdStage(path, diagnostics)
    model = ModelDescription(stage.model, stage.where)
    shapes = read_bodies(stage, model)
    if not model.links:
        raise ParsingError(stage.where, "the stage has no rigid body (PhysicsRigidBodyAPI).")
    read_joints(stage, model)
    read_filters(stage, model, shapes)
    for prim in stage.prims:
        if prim.IsA(stage.physics.Scene):
            model.gravity = _gravity(stage, stage.physics.Scene(prim))
    stage.warn()
    return DocumentDescription(stage.where, [model], depends_on_files=True)


def _gravity(stage: UsdStage, scene: Any) -> Array | None:
    """The gravity of a scene [m/s^2]: downwards without a direction; None without a magnitude."""
    size, direction = scene.GetGravityMagnitudeAttr().Get(), np.array(scene.GetGravityDirectionAttr().Get())
    if not np.isfinite(size) or size < 0.0:
        return None
    along = stage.R_WU @ (direction / np.linalg.norm(direction)) if np.any(direction) else np.array([0.0, 0.0, -1.0])
    return stage.length * float(size) * along


_OF_ARTICULATIONS = ("physxArticulation:enabledSelfCollisions", "newton:selfCollisionEnabled")


def read_filters(stage: UsdStage, model: ModelDescription, shapes: list[UsdShape]) -> None:
    """Adds to a model, whose joints are known, which of its shapes ignore each other."""
    colliding = [shape for shape in shapes if shape.collides]

    def exclude(first: list[UsdShape], second: list[UsdShape]) -> None:
        a, b = (
            tuple(GeometryReference(stage.reference(shape.owner), shape.geometry.name) for shape in some)
            for some in (first, second)
        )
        if a and b:
            model.exclusions.append(CollisionExclusionDescription(a, b, stage.where))

    def below(path: Any) -> list[UsdShape]:
        return [shape for shape in colliding if shape.prim.GetPath().HasPrefix(path)]

    for prim in stage.prims:
        for path in stage.targets(prim, "physics:filteredPairs"):
            exclude(below(prim.GetPath()), below(path))
        attributes = (prim.GetAttribute(name) for name in _OF_ARTICULATIONS if prim.HasAttribute(name))
        if next((not each.Get() for each in attributes), False):
            bodies = _articulated(stage, model, prim)
            inside = [shape for shape in colliding if stage.reference(shape.owner) in bodies]
            exclude(inside, inside)

    groups: dict[Any, list[UsdShape]] = {prim: [] for prim in stage.prims if prim.IsA(stage.physics.CollisionGroup)}
    for prim, members in groups.items():
        query = stage.physics.CollisionGroup(prim).GetCollidersCollectionAPI().ComputeMembershipQuery()
        members += [shape for shape in colliding if query.IsPathIncluded(shape.prim.GetPath())]
    if groups:
        table = stage.physics.CollisionGroup.ComputeCollisionGroupTable(next(iter(groups)).GetStage())
        for one, other in itertools.combinations_with_replacement(groups, 2):
            if not table.IsCollisionEnabled(one.GetPath(), other.GetPath()):
                exclude(groups[one], groups[other])


def _articulated(stage: UsdStage, model: ModelDescription, root: Any) -> set[BodyReference]:
    """The bodies of an articulation: those below its root, or at its joint, and what joints connect with them."""
    paths = [path for path in stage.bodies if stage.prim(path).GetPath().HasPrefix(root.GetPath())]
    for relationship in ("physics:body0", "physics:body1"):
        paths += [stage.owner(stage.prim(path)) for path in stage.targets(root, relationship)]
    world, found = BodyReference.world(), {stage.reference(path) for path in paths if path}
    ends = [{joint.parent, joint.child} - {world} for joint in model.joints]
    while more := {body for pair in ends if pair & found for body in pair} - found:
        found |= more
    return found


# ---------------------------------------------------------------------- bodies

_DENSITY = 1000.0  # of bodies that have neither mass nor density [kg/m^3], as UsdPhysics says
_SHAPES: dict[str, type[Any]] = {
    "Box": Box, "Sphere": Sphere, "Cylinder": Cylinder, "Capsule": Capsule, "Ellipsoid": Ellipsoid,
}  # fmt: skip
_TO_AXIS = {  # poses that turn z into an axis
    "X": RotationMatrix.MakeYRotation(math.pi / 2),
    "Y": RotationMatrix.MakeXRotation(-math.pi / 2),
    "Z": RotationMatrix(),
}


class UsdShape(NamedTuple):
    """A shape of a stage.

    Attributes:
        prim: that has it.
        geometry: its description.
        owner: the path of its body, empty for the world.
        collides: whether it touches others.
    """

    prim: Any
    geometry: GeometryDescription
    owner: str
    collides: bool


def read_bodies(stage: UsdStage, model: ModelDescription) -> list[UsdShape]:
    """Adds all bodies and shapes to a model; returns the shapes that have mass, whether they collide or not."""
    bodies = [prim for prim in stage.prims if prim.HasAPI(stage.physics.RigidBodyAPI) and _moves(stage, prim)]
    names = [prim.GetName() for prim in bodies]
    for prim in bodies:
        name, path = prim.GetName(), str(prim.GetPath())
        is_free = names.count(name) == 1 and name != "world"
        stage.bodies[path] = name if is_free else path.strip("/").replace("/", "_")
    solid: dict[str, list[UsdShape]] = {path: [] for path in ["", *stage.bodies]}
    visuals: dict[str, list[GeometryDescription]] = {path: [] for path in solid}
    for prim in stage.prims:
        found = _geometry(stage, prim, owner := stage.owner(prim)) if prim.IsA(stage.geom.Gprim) else None
        if found is None:
            continue
        # What collides is seen, unless it is a guide.
        imageable = stage.geom.Imageable(prim)
        is_hidden = imageable.ComputePurpose() == "guide" or imageable.ComputeVisibility() == "invisible"
        if not is_hidden and found.shape.kind != "HalfSpace":
            visuals[owner].append(found)
        if prim.HasAPI(stage.physics.CollisionAPI):
            collides = bool(stage.physics.CollisionAPI(prim).GetCollisionEnabledAttr().Get())
            solid[owner].append(UsdShape(prim, found, owner, collides))
    collisions = {path: [each.geometry for each in shapes if each.collides] for path, shapes in solid.items()}
    for path, name in stage.bodies.items():
        M, X_WB = _inertia(stage, stage.prim(path), solid[path]), stage.pose_of(path)
        model.links.append(LinkDescription(name, M, stage.where, visuals[path], collisions[path], X_WB))
    model.world_visuals, model.world_collisions = visuals[""], collisions[""]
    return [shape for shapes in solid.values() for shape in shapes]


def _moves(stage: UsdStage, prim: Any) -> bool:
    """Whether a body moves; if not, its shapes and joints belong to the world."""
    body = stage.physics.RigidBodyAPI(prim)
    if body.GetKinematicEnabledAttr().Get():
        stage.leave_out(prim, "a kinematic body is a part of the world, where it is")
        return False
    return bool(body.GetRigidBodyEnabledAttr().Get())


def _geometry(stage: UsdStage, prim: Any, owner: str) -> GeometryDescription | None:
    X_WG, scale = stage.pose(prim)
    size = np.abs(scale) * stage.length
    X_GS, kind, mesh = RigidTransform(), prim.GetTypeName(), None
    dimensions: tuple[float, ...] = ()

    def get(name: str) -> Any:
        return prim.GetAttribute(name).Get()

    if kind in ("Cylinder", "Capsule", "Plane"):
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
        mesh, dimensions = _mesh(stage, prim, scale * stage.length), (1.0, 1.0, 1.0)
        api = stage.physics.MeshCollisionAPI(prim)
        approximation = api.GetApproximationAttr().Get() if api else None
        if approximation in ("boundingCube", "boundingSphere", "convexDecomposition"):
            stage.leave_out(prim, f"in place of the {approximation} of a mesh, its convex hull touches others")
        kind = "Mesh" if approximation in (None, "none", "meshSimplification", "sdf") else "Convex"
    else:
        stage.leave_out(prim, f"shapes of the type {kind} have no effect")
        return None
    name = str(prim.GetPath())[len(owner) :].strip("/").replace("/", "_") or prim.GetName()
    return GeometryDescription(
        name, stage.pose_of(owner).inverse() @ X_WG @ X_GS, ShapeDescription(kind, dimensions, mesh=mesh), stage.where,
        rgba=_color(stage, prim), friction=_friction(stage, prim),
    )  # fmt: skip


def _mesh(stage: UsdStage, prim: Any, scale: Array) -> InMemoryMesh:
    """A mesh as the text of an .obj file, faces turned around if the scale mirrors it."""
    given = [prim.GetAttribute(name).Get() for name in ("points", "faceVertexCounts", "faceVertexIndices")]
    points, counts, corners = (np.array([] if each is None else each) for each in given)
    points = points.reshape(-1, 3) * scale
    if not counts.size or counts.sum() != corners.size or not (0 <= corners.min() <= corners.max() < len(points)):
        raise ParsingError(stage.where, f"{prim.GetPath()}: the mesh has no faces, or not those vertices.")
    faces = [part.tolist() for part in np.split(corners + 1, np.cumsum(counts)[:-1])]
    is_left = prim.GetAttribute("orientation").Get() == "leftHanded"
    step = -1 if is_left != bool(np.prod(scale) < 0.0) else 1
    lines = [f"v {x!r} {y!r} {z!r}" for x, y, z in points.tolist()]
    lines += [f"f {' '.join(map(str, face[::step]))}" for face in faces]
    return InMemoryMesh(mesh_file=MemoryFile("\n".join(lines), ".obj", prim.GetName()))


def _color(stage: UsdStage, prim: Any) -> Array | None:
    gprim = stage.geom.Gprim(prim)
    color, opacity = gprim.GetDisplayColorAttr().Get(), gprim.GetDisplayOpacityAttr().Get()
    if not color:
        return None
    return np.array([*color[0], opacity[0] if opacity else 1.0], dtype=np.float64)


def _material(stage: UsdStage, prim: Any) -> Any:
    """The physical material that is bound to a prim; None without one."""
    binding = stage.shade.MaterialBindingAPI(prim)
    for purpose in ("physics", stage.shade.Tokens.allPurpose):
        material = binding.ComputeBoundMaterial(purpose)[0]
        if material and material.GetPrim().HasAPI(stage.physics.MaterialAPI):
            return stage.physics.MaterialAPI(material.GetPrim())
    return None


def _friction(stage: UsdStage, prim: Any) -> FrictionDescription | None:
    material = _material(stage, prim)
    if material is None:
        return None
    if material.GetRestitutionAttr().Get():
        stage.leave_out(material.GetPrim(), "the restitution of a material has no effect")
    static = float(material.GetStaticFrictionAttr().Get())
    dynamic = float(material.GetDynamicFrictionAttr().Get())
    return FrictionDescription(max(static, dynamic), dynamic)


def _inertia(stage: UsdStage, prim: Any, solid: list[UsdShape]) -> SpatialInertia:
    """Of a body: what its mass properties say, the rest from its shapes, by density."""
    given = stage.physics.MassAPI(prim)
    mass, density, com, moments, axes = (
        attribute.Get() for attribute in (
            given.GetMassAttr(), given.GetDensityAttr(), given.GetCenterOfMassAttr(),
            given.GetDiagonalInertiaAttr(), given.GetPrincipalAxesAttr(),
        )
    ) if given else (0.0, 0.0, None, None, None)  # fmt: skip
    total = _of_shapes(stage, solid, density)
    m = float(mass or 0.0) * stage.mass or (0.0 if total is None else total.get_mass())
    if not m > 0.0:
        return SpatialInertia.Zero()
    has_com = com is not None and np.isfinite(com).all()
    scale = stage.pose(prim)[1] * stage.length
    p_BC = np.array(com) * scale if has_com else (np.zeros(3) if total is None else total.get_com())
    if moments is not None and np.any(np.array(moments)):
        is_turned = axes is not None and (axes.GetReal() or np.any(np.array(axes.GetImaginary())))
        R_BP = rotation(axes) if is_turned else RotationMatrix()
        about_com = RotationalInertia(*(float(I) * stage.mass * stage.length**2 for I in moments)).ReExpress(R_BP)
        return SpatialInertia.MakeFromCentralInertia(m, p_BC, about_com)
    if total is None:
        return SpatialInertia(m, p_BC, UnitInertia.PointMass(p_BC))
    about_com = total.Shift(total.get_com()).get_unit_inertia()
    return SpatialInertia.MakeFromCentralInertia(m, p_BC, m * about_com)


def _of_shapes(stage: UsdStage, solid: list[UsdShape], density: Any) -> SpatialInertia | None:
    """The inertia M_BBo_B of shapes, by masses and densities of their own, of their body, or of their materials."""
    total: SpatialInertia | None = None
    for prim, shape, *_ in solid:
        of_unit = _of_unit_density(stage, prim, shape.shape)
        if of_unit is None:
            continue
        of_part, material = stage.physics.MassAPI(prim), _material(stage, prim)
        candidates = [of_part.GetDensityAttr().Get() if of_part else 0.0, density]
        candidates.append(material.GetDensityAttr().Get() if material is not None else 0.0)
        chosen = next((float(each) for each in candidates if each), 0.0) * stage.mass / stage.length**3
        part_mass = float(of_part.GetMassAttr().Get()) * stage.mass if of_part else 0.0
        mass = part_mass or (chosen or _DENSITY) * of_unit.get_mass()
        M = SpatialInertia(mass, of_unit.get_com(), of_unit.get_unit_inertia())
        M = M.ReExpress(shape.X_BG.rotation()).Shift(-shape.X_BG.translation())
        total = M if total is None else total + M
    return total


def _of_unit_density(stage: UsdStage, prim: Any, shape: ShapeDescription) -> SpatialInertia | None:
    """The inertia of a shape with the density 1; of a mesh that encloses no positive volume that of its convex hull."""
    if shape.mesh is None:
        kind = _SHAPES.get(shape.kind)
        return None if kind is None else CalcSpatialInertia(kind(*shape.dimensions), 1.0)
    if shape.kind == "Mesh":
        try:
            return CalcSpatialInertia(Mesh(shape.mesh), 1.0)
        except ValueError:
            stage.leave_out(prim, "the mesh encloses no positive volume; the mass is that of its convex hull")
    with located(SourceLocation(f"{stage.where}: {prim.GetPath()}")):
        return CalcSpatialInertia(Convex(shape.mesh), 1.0)
