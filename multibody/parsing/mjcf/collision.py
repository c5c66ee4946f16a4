"""Which geometries of an MJCF file touch: bits of types, neighbours in the tree, excluded bodies and chosen pairs.

Two geometries touch if the type of one meets the affinity of the other, unless their bodies are welded together, or
welded to parent and child, or excluded. Geometries of a <pair> touch whatever their bits say.

The plant by itself lets bodies ignore each other that are neighbours along a joint, also if one of them cannot move,
which MuJoCo does not.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from merganser.multibody.parsing.description import CollisionExclusionDescription, GeometryReference, ModelDescription
from merganser.multibody.parsing.errors import SourceLocation
from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.geometry import MjcfGeometry
from merganser.multibody.parsing.mjcf.tree import MjcfTree
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport

Pairs = set[frozenset[MjcfGeometry]]


def touching_geometries(model: MjcfModel, pairs: Pairs) -> set[MjcfGeometry]:
    """The geometries that can touch something: those with bits, and those of pairs."""
    chosen = {geometry for pair in pairs for geometry in pair}
    return {g for link in model.links for g in link.geometries if g.may_touch or g in chosen}


def read_pairs(tree: MjcfTree, model: MjcfModel, report: MjcfReport) -> Pairs:
    """The pairs of geometries in <contact> that touch whatever their bits say.

    Raises:
        ParsingError: there is no such geometry.
    """
    pairs: Pairs = set()
    for placement in tree.placements:
        for node in placement.source.section("contact"):
            if node.tag != "pair":
                continue
            others = sorted(node.attributes.keys() - {"name", "class", "geom1", "geom2"})
            if others:
                why = "it takes the contact properties of its geometries"
                report.add(node.location, f"<pair> {', '.join(others)}: no effect, {why}")
            references = [("geom", node.require_attribute(name)) for name in ("geom1", "geom2")]
            for _, things in placement.names.combinations(node, references):
                found = [model.geometry_of.get(part) for _, part in things]
                if None not in found:
                    pairs.add(frozenset(g for g in found if g is not None))
    return pairs


def add_exclusions(
    tree: MjcfTree,
    model: MjcfModel,
    touching: set[MjcfGeometry],
    pairs: Pairs,
    description: ModelDescription,
    report: MjcfReport,
) -> None:
    """Adds the exclusions that follow from bits, the tree and <exclude>.

    Args:
        tree: has the <contact> sections.
        model: has the bodies.
        touching: geometries with the proximity role.
        pairs: these touch nevertheless.
        description: receives the exclusions.
        report: names geometries that touch in MuJoCo, but not here.

    Raises:
        ParsingError: there is no such body.
    """
    location = description.location
    own_geometries = {link: [g for g in link.geometries if g in touching] for link in model.links}
    references = {
        g: GeometryReference(model.reference(link), g.description.name)
        for link, geometries in own_geometries.items()
        for g in geometries
    }
    excluded = [(a, b, location) for a, b in _incompatible(own_geometries)]
    ignores_parents = tree.world.source.options.allows("filterparent")
    neighbours = _neighbours(model, ignores_parents)
    excluded += [(_of(a, own_geometries), _of(b, own_geometries), location) for a, b in neighbours]
    excluded += [
        (own_geometries[a], own_geometries[b], where) for a, b, where in _excluded_bodies(tree, model)
    ]
    _report_neighbours(own_geometries, pairs, ignores_parents, report)
    for first, second, where in excluded:
        for part_of_first, part_of_second in _without_pairs(first, second, pairs):
            description.exclusions.append(
                CollisionExclusionDescription(
                    tuple(references[g] for g in part_of_first), tuple(references[g] for g in part_of_second), where
                )
            )


def _report_neighbours(
    own: dict[MjcfLink, list[MjcfGeometry]], pairs: Pairs, ignores_parents: bool, report: MjcfReport
) -> None:
    """Names bodies that ignore each other because of the joint between them, though MuJoCo lets them touch."""
    for link, geometries in own.items():
        parent = link.parent
        if parent is None or parent.is_world or len(link.joints) > 1:
            continue
        may_touch = link.joints and (parent.weld_root().is_world or not ignores_parents)
        chosen = [frozenset((g, other)) in pairs for g in geometries for other in own[parent]]
        if any(chosen) or (may_touch and any(_meet(g, other) for g in geometries for other in own[parent])):
            node = link.body.node
            report.add(node.location, f"<body> '{link.name}' does not touch '{parent.name}', its neighbour in the tree")


def _meet(first: MjcfGeometry, second: MjcfGeometry) -> bool:
    return bool(first.contype & second.conaffinity or second.contype & first.conaffinity)


def _of(links: list[MjcfLink], own: dict[MjcfLink, list[MjcfGeometry]]) -> list[MjcfGeometry]:
    return [g for link in links for g in own[link]]


def _incompatible(
    own: dict[MjcfLink, list[MjcfGeometry]],
) -> Iterator[tuple[list[MjcfGeometry], list[MjcfGeometry]]]:
    """Groups of geometries with the same bits, in pairs that do not meet; a group may not meet itself."""
    groups: dict[tuple[int, int], list[MjcfGeometry]] = defaultdict(list)
    for geometries in own.values():
        for g in geometries:
            groups[g.contype, g.conaffinity].append(g)
    bits = list(groups)
    for i, (type_1, affinity_1) in enumerate(bits):
        for type_2, affinity_2 in bits[i:]:
            if not (type_1 & affinity_2 or type_2 & affinity_1):
                yield groups[type_1, affinity_1], groups[type_2, affinity_2]


def _neighbours(
    model: MjcfModel, ignores_parents: bool
) -> Iterator[tuple[list[MjcfLink], list[MjcfLink]]]:
    """Bodies welded together, with those that are welded to their parent, if that moves and is to be ignored."""
    if not ignores_parents:
        return
    welded: dict[MjcfLink, list[MjcfLink]] = defaultdict(list)
    for link in model.links:
        welded[link.weld_root()].append(link)
    for root, links in welded.items():
        if root.parent is not None and not root.parent.weld_root().is_world:
            yield welded[root.parent.weld_root()], links


def _excluded_bodies(tree: MjcfTree, model: MjcfModel) -> Iterator[tuple[MjcfLink, MjcfLink, SourceLocation]]:
    for placement in tree.placements:
        for node in placement.source.section("contact"):
            if node.tag == "exclude":
                references = [("body", node.require_attribute(name)) for name in ("body1", "body2")]
                for _, (first, second) in placement.names.combinations(node, references):
                    yield model.link_of[first], model.link_of[second], node.location


def _without_pairs(
    first: list[MjcfGeometry], second: list[MjcfGeometry], pairs: Pairs
) -> Iterator[tuple[list[MjcfGeometry], list[MjcfGeometry]]]:
    """Both lists, or, for geometries that touch some of the other list, what they do not touch of it."""
    if not (first and second):
        return
    chosen = {g for pair in pairs for g in pair}
    free = [g for g in first if g not in chosen]
    if free:
        yield free, second
    for g in first:
        if g in chosen:
            others = [other for other in second if frozenset((g, other)) not in pairs]
            if others:
                yield [g], others
