"""Reads models from USD: bodies, shapes, joints, drives and materials of UsdPhysics (package usd-core).

Of other schemas are read: armature, damping, friction, springs and bounds on the speed of joints, and joints that mimic
others, of PhysX, Newton and MuJoCo; actuators of MuJoCo. Lengths and masses become SI, an upward y axis an upward z
axis. Angles of joints and gains of angular drives are in degrees there. One warning names what has no counterpart.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from merganser.multibody.parsing.description import (
    BodyReference,
    CollisionExclusionDescription,
    DocumentDescription,
    GeometryReference,
    ModelDescription,
)
from merganser.multibody.parsing.errors import Diagnostics, ParsingError
from merganser.multibody.parsing.usd.bodies import UsdShape, read_bodies
from merganser.multibody.parsing.usd.joints import read_joints
from merganser.multibody.parsing.usd.stage import Array, UsdStage


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
