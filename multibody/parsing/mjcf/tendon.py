"""Tendons of MJCF files, and what else actuators act along: sites, slider-cranks and ball joints.

Tendons are read before actuators, which name them, and described once bodies and joints have their names.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.description import (
    JointTermDescription,
    ModelDescription,
    PathElementDescription,
    PulleyDescription,
    SiteDescription,
    SurfaceDescription,
    TransmissionDescription,
)
from merganser.multibody.parsing.mjcf.bodies import MjcfModel
from merganser.multibody.parsing.mjcf.joint import MjcfJoint, read_range
from merganser.multibody.parsing.mjcf.names import unique_name
from merganser.multibody.parsing.mjcf.tree import MjcfBody, MjcfPart, MjcfTree, Placement
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.xml_reader import XmlNode

_USED = (
    "name", "class", "group", "limited", "range", "width", "material", "rgba", "stiffness", "damping", "frictionloss",
    "springlength", "actuatorfrcrange", "actuatorfrclimited", "armature", "user",
)  # fmt: skip
_HARMLESS = ("margin",)  # where it is 0
_SURFACES = ("Sphere", "Cylinder")


@dataclass(eq=False)
class MjcfTransmission:
    """A length along which actuators act.

    Attributes:
        node: the element, with the attributes of its class.
        name: in the whole model; empty for none.
        kind: as TransmissionDescription has it.
        constants: as that has them.
        springs: its own forces, as that has them.
        limits: of its length.
        effort_range: of all actuators together.
        is_used: whether anything but sensors and constraints needs it.
    """

    node: XmlNode
    name: str
    kind: str
    constants: tuple[float, ...] = ()
    springs: dict[str, Any] = field(default_factory=dict)
    limits: tuple[float, float] = (-inf, inf)
    effort_range: tuple[float, float] = (-inf, inf)
    is_used: bool = False

    def path(self, model: MjcfModel) -> tuple[PathElementDescription, ...]:
        """What it goes through, once bodies and joints have their names."""
        raise NotImplementedError


@dataclass(eq=False)
class FixedTendon(MjcfTransmission):
    """A length that is the sum of coefficients times values of hinges and slides, or the turning of a ball.

    Attributes:
        coefficients: of the joints.
    """

    coefficients: dict[MjcfJoint, float] = field(default_factory=dict)

    @staticmethod
    def of(node: XmlNode, coefficients: dict[MjcfJoint, float]) -> FixedTendon:
        """A length that has no name."""
        return FixedTendon(node, "", "fixed", coefficients=coefficients)

    def reference_length(self) -> float:
        """The length in the configuration of the file."""
        return sum(c * joint.reference for joint, c in self.coefficients.items())

    def minus(self, other: FixedTendon, factor: float) -> FixedTendon:
        """This length less a multiple of another one."""
        coefficients = dict(self.coefficients)
        for joint, c in other.coefficients.items():
            coefficients[joint] = coefficients.get(joint, 0.0) - factor * c
        return FixedTendon.of(self.node, coefficients)

    def path(self, model: MjcfModel) -> tuple[PathElementDescription, ...]:
        """The joints."""
        return tuple(JointTermDescription(joint.name, c) for joint, c in self.coefficients.items())


@dataclass(eq=False)
class PathTendon(MjcfTransmission):
    """A length along sites, pulleys and surfaces, or a body that adheres.

    Attributes:
        elements: a pulley's divisor; or a site or surface with its body and that of the side site, if there is one; or
            a body whose frame is a site.
    """

    elements: list[Any] = field(default_factory=list)

    def is_of_free_joint(self) -> bool:
        """Whether it is a force on a free body, along no length."""
        return any(tag == "frame" for tag, *_ in self.elements)

    def path(self, model: MjcfModel) -> tuple[PathElementDescription, ...]:
        """The sites, pulleys and surfaces, or the frame of a free body and that of the world."""
        return tuple(self._element(model, *element) for element in self.elements)

    def _element(self, model: MjcfModel, tag: str, thing: Any, side: Any = None) -> PathElementDescription:
        if tag == "pulley":
            return PulleyDescription(thing)
        if tag == "site":
            return _site(model, thing)
        if tag == "frame":
            return SiteDescription(model.reference(model.link_of[thing]), RigidTransform())
        if tag == "body":
            return model.reference(model.link_of[thing])
        body, part = thing
        geometry = model.geometry_of[part].description
        reference = model.reference(model.link_of[body])
        radius, is_cylinder = geometry.shape.dimensions[0], geometry.shape.kind == "Cylinder"
        return SurfaceDescription(
            reference, geometry.X_BG, radius, is_cylinder, None if side is None else _site(model, side)
        )


def _site(model: MjcfModel, thing: tuple[MjcfBody, MjcfPart]) -> SiteDescription:
    body, part = thing
    link = model.link_of[body]
    return SiteDescription(model.reference(link), next(X for p, X in link.sites if p is part))


def read_tendons(tree: MjcfTree, model: MjcfModel, report: MjcfReport) -> list[MjcfTransmission]:
    """Registers the tendons of all files among their names, and returns them.

    Args:
        tree: has the sections of all files.
        model: has the joints and geometries.
        report: receives what has no counterpart.

    Raises:
        ParsingError: a name or number is wrong.
    """
    tendons: list[MjcfTransmission] = []
    for placement in tree.placements:
        for element in placement.source.section("tendon"):
            if element.tag not in ("fixed", "spatial"):
                report.add(element.location, f"<{element.tag}> is unknown in <tendon>; left out")
                continue
            node = placement.source.defaults.filled(element)
            read = _read_fixed if node.tag == "fixed" else _read_spatial
            for copies, tendon in read(node, placement, model):
                tendon.name = placement.names.spot.full(node.attributes.get("name", ""), copies)
                _read_springs(tendon, placement, model, report)
                placement.names.add("tendon", node.attributes.get("name", ""), copies, tendon, node)
                tendons.append(tendon)
    return tendons


def _read_fixed(node: XmlNode, placement: Placement, model: MjcfModel) -> list[tuple[Any, MjcfTransmission]]:
    children = list(node.find_all("joint"))
    if not children:
        raise node.error(f"{node.describe()} has no <joint>; a fixed tendon needs one.")
    references = [("joint", child.require_attribute("joint")) for child in children]
    coefficients = [child.float_attribute("coef") for child in children]
    made: list[tuple[Any, MjcfTransmission]] = []
    for copies, things in placement.names.combinations(node, references):
        joints = [model.joint_of[part] for _, part in things]
        unable = next((joint for joint in joints if not joint.is_scalar), None)
        if unable is not None:
            raise node.error(f"{node.describe()} has the joint '{unable.part.name}', which is {unable.type}.")
        tendon = FixedTendon(node, "", "fixed", coefficients=dict(zip(joints, coefficients)))
        made.append((copies, tendon))
    return made


def _read_spatial(node: XmlNode, placement: Placement, model: MjcfModel) -> list[tuple[Any, MjcfTransmission]]:
    references: list[tuple[str, str]] = []
    made: list[tuple[Any, MjcfTransmission]] = []
    for child in node.children:
        if child.tag in ("site", "geom"):
            references.append((child.tag, child.require_attribute(child.tag)))
        elif child.tag != "pulley":
            raise child.error(f"<{child.tag}> is no part of a <spatial> tendon: those are <site>, <geom> and <pulley>.")
        if child.tag == "geom" and child.attributes.get("sidesite"):
            references.append(("site", child.attributes["sidesite"]))
    for copies, things in placement.names.combinations(node, references):
        found, elements = iter(things), list[Any]()
        for child in node.children:
            if child.tag == "pulley":
                elements.append(("pulley", _divisor(child)))
                continue
            thing = next(found)
            if child.tag == "geom":
                _check_surface(child, model, thing[1])
            side = next(found) if child.tag == "geom" and child.attributes.get("sidesite") else None
            elements.append((child.tag, thing, side))
        _check_path(node, [tag for tag, *_ in elements])
        made.append((copies, PathTendon(node, "", "spatial", elements=elements)))
    return made


def _divisor(pulley: XmlNode) -> float:
    divisor = pulley.float_attribute("divisor")
    if not divisor > 0.0:
        raise pulley.error(f"attribute 'divisor' of <pulley> is {divisor:g}; it must be positive.")
    return divisor


def _check_surface(child: XmlNode, model: MjcfModel, part: MjcfPart) -> None:
    """Refuses geometries that nothing wraps around."""
    geometry = model.geometry_of.get(part)
    if geometry is None or geometry.description.shape.kind not in _SURFACES:
        kind = part.node.attributes.get("type", "sphere")
        raise child.error(f"{child.describe()} is a {kind}, but tendons wrap around spheres and cylinders alone.")


def _check_path(node: XmlNode, tags: list[str]) -> None:
    """Refuses paths whose branches do not begin and end with sites, or with surfaces side by side."""
    branches = " ".join(tags).split("pulley")
    for branch in (words.split() for words in branches if words.strip()):
        beside = any(a == b == "geom" for a, b in itertools.pairwise(branch))
        if len(branch) < 2 or branch[0] != "site" or branch[-1] != "site" or beside:
            raise node.error(
                f"{node.describe()} has the path {', '.join(branch)}: each branch has two sites at least, begins and "
                "ends with one, and has one between any two surfaces."
            )
    if not any(words.strip() for words in branches):
        raise node.error(f"{node.describe()} has no path; give it two <site> at least.")


def _read_springs(tendon: MjcfTransmission, placement: Placement, model: MjcfModel, report: MjcfReport) -> None:
    """Reads springs, limits, friction and what else has an effect."""
    node, settings, options = tendon.node, placement.source.settings, placement.source.options
    for name in node.attributes:
        is_harmless = name in _HARMLESS and not node.attributes[name].strip("0. ")
        if name not in _USED and not is_harmless:
            report.add(node.location, f"<{node.tag}> tendon {name} has no effect")
    coefficients = {name: node.vector_attribute(name, (1, 2, 3), [0.0]) for name in ("stiffness", "damping")}
    for name, values in coefficients.items():
        if values[1:].any():
            what = f"<{node.tag}> tendon {name} with several coefficients: only the linear one is used"
            report.add(node.location, what)
    numbers = {name: float(values[0]) for name, values in coefficients.items()}
    numbers |= {name: node.float_attribute(name, 0.0) for name in ("frictionloss", "armature")}
    for name, value in numbers.items():
        if value < 0.0:
            raise node.error(f"attribute '{name}' of {node.describe()} is {value:g}; it cannot be negative.")
    tendon.limits = read_range(node, "range", "limited", settings) or (-inf, inf)
    tendon.effort_range = read_range(node, "actuatorfrcrange", "actuatorfrclimited", settings) or (-inf, inf)
    rest = node.vector_attribute("springlength", (1, 2), [-1.0])
    if rest[0] > rest[-1]:
        raise node.error(f"attribute 'springlength' of {node.describe()} is {rest[0]:g} {rest[1]:g}, out of order.")
    springs: dict[str, Any] = {}
    if options.has_passive_forces() and (numbers["stiffness"] or numbers["damping"]):
        springs = {"stiffness": numbers["stiffness"], "damping": numbers["damping"]}
        if rest[0] >= 0.0 or len(rest) == 2:
            springs |= {"rest_lower": float(rest[0]), "rest_upper": float(rest[-1])}
        elif isinstance(tendon, FixedTendon):
            springs["rest_lower"] = sum(c * joint.spring_reference for joint, c in tendon.coefficients.items())
        else:
            springs["rest_positions"] = [joint for joint in model.joints() if joint.is_scalar]
    if options.allows("limit") and np.isfinite(tendon.limits).any():
        springs["limits"] = tendon.limits
    if numbers["frictionloss"] and options.allows("frictionloss"):
        springs["friction"] = numbers["frictionloss"]
    if numbers["armature"]:
        springs["armature"] = numbers["armature"]
    tendon.springs, tendon.is_used = springs, bool(springs)


def make_transmission(node: XmlNode, kind: str, placement: Placement, gear: Any) -> list[tuple[Any, MjcfTransmission]]:
    """What an actuator on a site, slider-crank or body acts along, for each of its replicas; its gear is in it.

    Args:
        node: the actuator.
        kind: "site", "slider-crank" or "adhesion".
        placement: of its file.
        gear: six numbers.

    Raises:
        ParsingError: a name or number is wrong.
    """
    if kind == "site":
        names = [node.attributes[name] for name in ("site", "refsite") if name in node.attributes]
        constants = tuple(map(float, [*gear[3:], *gear[:3]]))  # [moment; force]
    elif kind == "adhesion":
        names, constants = [node.attributes["body"]], ()
    else:
        names = [node.require_attribute(name) for name in ("cranksite", "slidersite")]
        rod = node.float_attribute("cranklength")
        if not rod > 0.0:
            raise node.error(f"attribute 'cranklength' of {node.describe()} is {rod:g}; it must be positive.")
        constants = rod, float(gear[0])
    made: list[tuple[Any, MjcfTransmission]] = []
    tag = "body" if kind == "adhesion" else "site"
    for copies, things in placement.names.combinations(node, [(tag, name) for name in names]):
        made.append((copies, PathTendon(node, "", kind, constants, elements=[(tag, thing) for thing in things])))
    return made


def make_free_force(node: XmlNode, body: MjcfBody, gear: Any, is_in_world: bool) -> PathTendon:
    """What an actuator on a free joint acts along: a force in the world at the origin of the body, and a moment.

    Args:
        node: the actuator.
        body: that floats.
        gear: six numbers, those of the force first.
        is_in_world: whether the moment is expressed in the world, not in the body.
    """
    constants = *map(float, [*gear[3:], *gear[:3]]), float(not is_in_world)
    return PathTendon(node, "", "site", constants, elements=[("frame", body), ("frame", body.parent)])


def add_transmissions(
    transmissions: list[MjcfTransmission], model: MjcfModel, description: ModelDescription, report: MjcfReport
) -> None:
    """Adds tendons and other transmissions that anything needs, and gives those without a name one.

    Args:
        transmissions: all of them.
        model: has bodies and joints, with their names.
        description: receives them.
        report: receives those that are along too many trees.
    """
    taken = {each.name for each in transmissions if each.name}
    for each in transmissions:
        each.name = each.name or unique_name(f"tendon{len(description.transmissions)}", taken)
        if not each.is_used and each.kind == "fixed":
            continue  # a length without forces, which constraints and sensors take from joints
        springs = dict(each.springs)
        if "rest_positions" in springs:
            springs["rest_positions"] = tuple((j.name, j.spring_reference) for j in springs["rest_positions"])
        description.transmissions.append(
            TransmissionDescription(
                each.name, model.name, each.kind, each.path(model), each.node.location, each.constants, springs
            )
        )
