"""Bodies without joints become part of their parents, where a file asks for that (compiler fusestatic)."""

from __future__ import annotations

__all__ = ["fuse_static_bodies"]

from dataclasses import replace

from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.mass import total_mass
from merganser.multibody.parsing.mjcf.names import unique_name
from merganser.multibody.parsing.mjcf.tree import MjcfTree

_SECTIONS = ("contact", "equality", "tendon", "actuator", "sensor", "custom", "deformable")
_BODY_ATTRIBUTES = ("body", "body1", "body2", "objname", "refname")


def fuse_static_bodies(model: MjcfModel, tree: MjcfTree) -> None:
    """Puts geometries, sites, masses and children of static bodies into their parents.

    Bodies that something refers to by name stay, as do those that the file wants to keep.

    Args:
        model: its bodies are changed.
        tree: has the sections that may refer to bodies.
    """
    named = _bodies_by_reference(tree)
    children: dict[MjcfLink, list[MjcfLink]] = {link: [] for link in model.links}
    for link in model.links[1:]:
        assert link.parent is not None
        children[link.parent].append(link)
    for link in reversed(model.links[1:]):
        attributes = link.body.node.attributes
        keeps = attributes.get("fuse") == "false" or attributes.get("mocap") == "true" or "sleep" in attributes
        if link.joints or keeps or link.body.name in named:
            continue
        _fuse(link, children[link], model)
        assert link.parent is not None
        children[link.parent] += children[link]
        model.links.remove(link)


def _fuse(link: MjcfLink, children: list[MjcfLink], model: MjcfModel) -> None:
    parent = link.parent
    assert parent is not None
    X_PB = link.X_PB
    if not parent.is_world:
        parent.mass = total_mass([parent.mass, link.mass.at(X_PB)])
    taken = {geometry.description.name for geometry in parent.geometries}
    for geometry in link.geometries:
        old = geometry.description
        geometry.description = replace(old, name=unique_name(old.name, taken), X_BG=X_PB @ old.X_BG)
        parent.geometries.append(geometry)
    parent.sites += [(part, X_PB @ X_BS) for part, X_BS in link.sites]
    parent.cameras += [(part, X_PB @ X_BC) for part, X_BC in link.cameras]
    parent.lights += [(part, X_PB @ X_BF) for part, X_BF in link.lights]
    for child in children:
        child.parent, child.X_PB = parent, X_PB @ child.X_PB
    for body in [body for body, found in model.link_of.items() if found is link]:
        model.link_of[body] = parent


def _bodies_by_reference(tree: MjcfTree) -> set[str]:
    """Names of bodies in sections other than that of the bodies."""
    names = set()
    for placement in tree.placements:
        for section in _SECTIONS:
            for node in placement.source.section(section):
                for attribute in _BODY_ATTRIBUTES:
                    if attribute in node.attributes:
                        names.add(placement.names.spot.full(node.attributes[attribute]))
    return names

