"""Tendons of MJCF files: fixed ones are linear functions of joints, which equalities may hold."""

from __future__ import annotations

__all__ = ["FixedTendon", "read_tendons"]

from dataclasses import dataclass
from math import inf

from merganser.multibody.parsing.mjcf.bodies import MjcfModel
from merganser.multibody.parsing.mjcf.joint import MjcfJoint, read_range
from merganser.multibody.parsing.mjcf.report import MjcfReport
from merganser.multibody.parsing.mjcf.tree import MjcfTree, Placement
from merganser.multibody.parsing.xml_reader import XmlNode

_FORCES = ("range", "stiffness", "damping", "frictionloss", "armature", "actuatorfrcrange")


@dataclass(frozen=True)
class FixedTendon:
    """A length that is the sum of coefficients times values of hinges and slides.

    Attributes:
        coefficients: of the joints.
        limits: of the length, which sensors tell of.
    """

    coefficients: dict[MjcfJoint, float]
    limits: tuple[float, float] = (-inf, inf)

    def reference_length(self) -> float:
        """The length in the configuration of the file."""
        return sum(c * joint.reference for joint, c in self.coefficients.items())

    def minus(self, other: FixedTendon, factor: float) -> FixedTendon:
        """This length less a multiple of another one."""
        coefficients = dict(self.coefficients)
        for joint, c in other.coefficients.items():
            coefficients[joint] = coefficients.get(joint, 0.0) - factor * c
        return FixedTendon(coefficients)


class SpatialTendon:
    """A tendon that has no counterpart, but a name."""


def read_tendons(tree: MjcfTree, model: MjcfModel, report: MjcfReport) -> None:
    """Registers the tendons of all files among their names.

    Args:
        tree: has the sections of all files.
        model: has the joints.
        report: receives what has no counterpart: spatial tendons, and forces of fixed ones.

    Raises:
        ParsingError: a name or number is wrong.
    """
    for placement in tree.placements:
        for element in placement.source.section("tendon"):
            if element.tag not in ("fixed", "spatial"):
                report.add(element.location, f"<{element.tag}> is unknown in <tendon>; left out")
                continue
            node = placement.source.defaults.filled(element)
            if node.tag == "spatial":
                _add_spatial(node, placement, report)
            else:
                _add_fixed(node, placement, model, report)


def _add_spatial(node: XmlNode, placement: Placement, report: MjcfReport) -> None:
    report.add(node.location, "<spatial> tendon is left out: there are no tendons along paths")
    references = [(child.tag, child.require_attribute(child.tag)) for child in node.find_all("site", "geom")]
    for copies, _ in placement.names.combinations(node, references):
        placement.names.add("tendon", node.attributes.get("name", ""), copies, SpatialTendon(), node)


def _add_fixed(node: XmlNode, placement: Placement, model: MjcfModel, report: MjcfReport) -> None:
    children = list(node.find_all("joint"))
    if not children:
        raise node.error(f"{node.describe()} has no <joint>; a fixed tendon needs one.")
    references = [("joint", child.require_attribute("joint")) for child in children]
    coefficients = [child.float_attribute("coef") for child in children]
    used = [name for name in _FORCES if name in node.attributes and node.attributes[name].strip("0. ")]
    if used:
        report.add(node.location, f"<fixed> tendon {', '.join(used)}: tendons make no forces here")
    limits = read_range(node, "range", "limited", placement.source.settings)
    for copies, things in placement.names.combinations(node, references):
        joints = [model.joint_of[part] for _, part in things]
        unable = next((joint for joint in joints if not joint.is_scalar), None)
        if unable is not None:
            raise node.error(f"{node.describe()} has the joint '{unable.part.name}', which is {unable.type}.")
        tendon = FixedTendon(dict(zip(joints, coefficients)), limits or (-inf, inf))
        placement.names.add("tendon", node.attributes.get("name", ""), copies, tendon, node)
