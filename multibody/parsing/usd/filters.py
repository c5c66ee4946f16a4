"""Which shapes of a USD stage ignore each other: filtered pairs, collision groups, and articulations."""

from __future__ import annotations

import itertools
from typing import Any

from merganser.multibody.parsing.description import (
    BodyReference,
    CollisionExclusionDescription,
    GeometryReference,
    ModelDescription,
)
from merganser.multibody.parsing.usd.bodies import UsdShape
from merganser.multibody.parsing.usd.stage import UsdStage

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
