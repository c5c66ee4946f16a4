"""Sensors of MJCF files: what each is about, for the system that measures it (multibody/sensors/mjcf_sensors.py)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.parsing.description import (
    BodyReference,
    ModelDescription,
    ShapeDescription,
)
from merganser.multibody.parsing.errors import located
from merganser.multibody.parsing.instrument_description import SensorDescription, SensorSampling
from merganser.multibody.parsing.mjcf.actuator_force import MAX_SAMPLES, word_of
from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.camera import X_EC, is_fixed, read_image
from merganser.multibody.parsing.mjcf.names import Copies, unique_name
from merganser.multibody.parsing.mjcf.tendon import FixedTendon
from merganser.multibody.parsing.mjcf.tree import MjcfBody, MjcfTree, Placement
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.xml_reader import XmlNode

_Frame = tuple[BodyReference, RigidTransform]
# Sensors, by what they are of.
_SENSORS = {
    "site": ("accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer", "touch", "rangefinder"),
    "joint": (
        "jointpos", "jointvel", "jointlimitpos", "jointlimitvel", "jointlimitfrc", "jointactuatorfrc", "ballquat",
        "ballangvel",
    ),
    "tendon": (
        "tendonpos", "tendonvel", "tendonlimitpos", "tendonlimitvel", "tendonlimitfrc", "tendonactuatorfrc",
    ),
    "actuator": ("actuatorpos", "actuatorvel", "actuatorfrc"),
    "body": ("subtreecom", "subtreelinvel", "subtreeangmom"),
    "frames": (
        "framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel", "framelinacc",
        "frameangacc", "insidesite", "camprojection",
    ),
    "nothing": ("clock", "e_potential", "e_kinetic"),
}  # fmt: skip
_OF = {kind: what for what, kinds in _SENSORS.items() for kind in kinds}
_OBJECTS = ("site", "body", "xbody", "geom", "camera")
_NAMED = {"xbody": "body"}  # whose name is that of another kind
_LEFT_OUT = {
    **dict.fromkeys(("distance", "normal", "fromto"), "ask the query object of the scene graph"),
    **dict.fromkeys(("contact", "tactile"), "the plant reports contacts in its contact results"),
    "user": "its numbers come from the program",
    "plugin": "plugins of MuJoCo are not run",
}


def add_sensors(tree: MjcfTree, model: MjcfModel, description: ModelDescription, report: MjcfReport) -> None:
    """Adds the sensors of all <sensor> sections, in MuJoCo's order.

    Args:
        tree: has the sections of all files; names of tendons are known.
        model: has bodies and joints, with their names.
        description: has the actuators, and receives the sensors.
        report: receives what has no counterpart.

    Raises:
        ParsingError: a name or number is wrong.
    """
    taken: set[str] = set()
    for placement in tree.placements:
        writer = _SensorWriter(placement, model, description, report, taken)
        for node in placement.source.section("sensor"):
            writer.add(node)


@dataclass
class _SensorWriter:
    """Adds the sensors of one file."""

    placement: Placement
    model: MjcfModel
    description: ModelDescription
    report: MjcfReport
    taken: set[str] = field(default_factory=set)

    def add(self, node: XmlNode) -> None:
        """Adds a sensor, once for every replica of what it is about."""
        kind = node.tag
        if kind in _LEFT_OUT:
            self.report.add(node.location, f"<{kind}> in <sensor> is left out: {_LEFT_OUT[kind]}")
        elif kind == "rangefinder" and ("camera" in node.attributes or node.attributes.get("data", "dist") != "dist"):
            what = "<rangefinder> of a camera, or with other data than distances, is left out: take a depth image"
            self.report.add(node.location, what)
        elif kind not in _OF:
            self.report.add(node.location, f"<{kind}> is unknown in <sensor>; left out")
        elif _OF[kind] == "frames":
            self._add_of_frames(node)
        elif _OF[kind] == "actuator":
            self._add_of_actuator(node)
        elif _OF[kind] == "nothing":
            self._write(node, (), {})
        else:
            references = [(_OF[kind], node.require_attribute(_OF[kind]))]
            for copies, things in self.placement.names.combinations(node, references):
                found, why = self._describe(node, things[0])
                if why:
                    self.report.add(node.location, f"<{kind}> in <sensor> is left out: {why}")
                else:
                    self._write(node, copies, found)

    def _describe(self, node: XmlNode, thing: Any) -> tuple[dict[str, Any], str]:
        """The object of a sensor of one thing, or why it is left out."""
        kind = node.tag
        if _OF[kind] == "site":
            return self._of_site(node, *thing)
        if _OF[kind] == "body":
            return {"bodies": tuple(map(self.model.reference, self.model.subtree(self.model.link_of[thing])))}, ""
        if _OF[kind] == "tendon":
            if kind == "tendonactuatorfrc":
                return {"actuators": self._acting_on(thing.name, True)}, ""
            if not isinstance(thing, FixedTendon) or kind == "tendonlimitfrc":
                return self._within(node, {"transmission": thing.name}, thing.limits)
            joints = tuple((joint.name, c) for joint, c in thing.coefficients.items())
            return self._within(node, {"joints": joints}, thing.limits)
        joint = self.model.joint_of[thing[1]]
        needs_ball = kind in ("ballquat", "ballangvel")
        may_be_ball = needs_ball or kind.startswith("jointlimit")
        if not (may_be_ball if joint.type == "ball" else joint.is_scalar and not needs_ball):
            raise node.error(f"{node.describe()} is of joint '{joint.part.name}', which is {joint.type}.")
        if kind == "jointactuatorfrc":
            acting = tuple((name, 1.0) for name, _ in self._acting_on(joint.name, False))
            return {"joints": ((joint.name, 1.0),), "actuators": acting}, ""
        return self._within(node, {"joints": ((joint.name, 1.0),)}, joint.limits)

    def _acting_on(self, name: str, is_transmission: bool) -> tuple[tuple[str, float], ...]:
        """The actuators of a joint or transmission, with their gears."""
        acting = [each for each in self.description.actuators if each.joint == name]
        return tuple((e.name, e.gear_ratio) for e in acting if e.is_along_transmission == is_transmission)

    def _within(self, node: XmlNode, what: dict[str, Any], limits: tuple[float, float]) -> tuple[dict[str, Any], str]:
        """The object of a sensor, with its limits if it measures them."""
        if "limit" not in node.tag:
            return what, ""
        if node.tag.endswith("limitfrc") and not self.placement.source.options.allows("limit"):
            return {}, "limits have no forces, as a <flag> says"
        return {**what, "limits": limits}, "" if np.isfinite(limits).any() else "what it is about has no limits"

    def _of_site(self, node: XmlNode, body: MjcfBody, site: Any) -> tuple[dict[str, Any], str]:
        link = self.model.link_of[body]
        what: dict[str, Any] = {"frames": (self._frame(link, next(X for p, X in link.sites if p is site)),)}
        if node.tag == "magnetometer":
            what["constants"] = self.placement.source.options.magnetic
        if node.tag == "touch":
            what["shape"] = _shape_of_site(site.node)
        if node.tag in ("force", "torque") and link.is_world:
            return {}, "the world is fixed to nothing"
        return what, ""

    # -- frames ----------------------------------------------------------------------------------------------

    def _add_of_frames(self, node: XmlNode) -> None:
        """A sensor of a frame, and perhaps of another one that it is measured against."""
        if node.tag == "camprojection":
            references = [(kind, node.require_attribute(kind)) for kind in ("site", "camera")]
        else:
            references = [self._frame_reference(node, "objtype", "objname")]
            if node.tag == "insidesite":
                references.append(("site", node.require_attribute("site")))
            elif node.attributes.get("refname"):
                references.append(self._frame_reference(node, "reftype", "refname"))
        names = [(_NAMED.get(kind, kind), name) for kind, name in references]
        for copies, things in self.placement.names.combinations(node, names):
            found = [self._frame_of(kind, thing) for (kind, _), thing in zip(references, things)]
            frames = [frame for frame in found if frame is not None]
            if len(frames) < len(found):
                why = _NO_CAMERA if node.tag == "camprojection" else _NO_FRAME
                self.report.add(node.location, f"<{node.tag}> in <sensor> is left out: {why}")
                continue
            what: dict[str, Any] = {"frames": tuple(frames)}
            if node.tag == "insidesite":
                what["shape"] = _shape_of_site(things[1][1].node)
            elif node.tag == "camprojection":
                seen, (body, X_BE) = frames
                image = read_image(things[1][1])
                what["frames"] = seen, (body, X_BE @ X_EC)
                what["constants"] = np.array([*image.focal_lengths(), 0.5 * image.width, 0.5 * image.height])
            self._write(node, copies, what)

    def _frame_reference(self, node: XmlNode, of_type: str, of_name: str) -> tuple[str, str]:
        kind = node.require_attribute(of_type)
        node.expect_one_of(kind, _OBJECTS, f"value of attribute '{of_type}' of <{node.tag}>")
        return kind, node.require_attribute(of_name)

    def _frame_of(self, kind: str, thing: Any) -> _Frame | None:
        """The frame of a thing in MuJoCo, if it has one here."""
        if kind in ("body", "xbody"):
            link = self.model.link_of[thing]
            if kind == "xbody" or link.is_world:
                return self._frame(link, RigidTransform())
            _, axes = link.mass.principal()
            if np.linalg.det(axes) < 0.0:
                axes = -axes
            R = RotationMatrix.ProjectToRotationMatrix(axes)
            return self._frame(link, RigidTransform(R, link.mass.p_SoScm_S))
        body, part = thing
        link = self.model.link_of[body]
        if kind == "geom":
            geometry = self.model.geometry_of.get(part)
            if geometry is None or geometry.description.shape.kind == "Mesh":
                return None
            return self._frame(link, geometry.description.X_BG)
        if kind == "camera" and not is_fixed(part):
            return None
        placed = link.sites if kind == "site" else link.cameras
        return self._frame(link, next(X for p, X in placed if p is part))

    def _frame(self, link: MjcfLink, X_BF: RigidTransform) -> _Frame:
        return self.model.reference(link), X_BF

    # -- actuators, and what all have in common --------------------------------------------------------------

    def _add_of_actuator(self, node: XmlNode) -> None:
        name = self.placement.names.spot.full(node.require_attribute("actuator"))
        actuator = next((each for each in self.description.actuators if each.name == name), None)
        if actuator is None:
            self.report.add(node.location, f"<{node.tag}> in <sensor> is left out, as its actuator is")
            return
        what: dict[str, Any] = {"actuators": ((actuator.name, actuator.gear_ratio),)}
        name = "transmission" if actuator.is_along_transmission else "joints"
        what[name] = actuator.joint if actuator.is_along_transmission else ((actuator.joint, 1.0),)
        self._write(node, (), what)

    def _write(self, node: XmlNode, copies: Copies, what: dict[str, Any]) -> None:
        for name in node.attributes:
            if name not in _ATTRIBUTES:
                self.report.add(node.location, f"<{node.tag}> {name} has no effect")
        cutoff, sampling = node.float_attribute("cutoff", 0.0), _sampling(node, self.report)
        wanted = self.placement.names.spot.full(node.attributes.get("name", ""), copies)
        name = unique_name(wanted or f"{node.tag}{len(self.description.sensors)}", self.taken)
        self.description.sensors.append(
            SensorDescription(node.tag, name, node.location, cutoff=cutoff, sampling=sampling, **what)
        )


_ATTRIBUTES = (
    "name", "cutoff", "noise", "user", "interp", "site", "joint", "tendon", "actuator", "body", "camera", "data",
    "objtype", "objname", "reftype", "refname", "nsample", "delay", "interval",
)  # fmt: skip
_NO_CAMERA = "its camera is not fixed to a body, or is left out"
_NO_FRAME = "it is about a mesh, whose frame is another one here, or about what is left out"


def _sampling(node: XmlNode, report: MjcfReport) -> SensorSampling | None:
    """When a sensor measures, and how late; None for always and at once."""
    delay, num_samples = node.float_attribute("delay", 0.0), node.float_attribute("nsample", 0.0)
    period, phase = [*node.vector_attribute("interval", (1, 2), [0.0]), 0.0][:2]
    interpolation = word_of(node, "interp", "zoh", ("zoh", "linear", "cubic"))
    if not 0.0 <= num_samples <= MAX_SAMPLES or num_samples % 1.0 or (delay and not num_samples):
        raise node.error(
            f"{node.describe()} has the delay {delay:g} and nsample {num_samples:g}; expected a whole number of "
            f"samples up to {MAX_SAMPLES}, and one at least for a delay."
        )
    if period < 0.0 or not -period <= phase <= 0.0:
        raise node.error(f"{node.describe()} has the interval {period:g} {phase:g}; the phase is from -interval to 0.")
    if not num_samples or not (delay or period):
        if period:
            report.add(node.location, f"<{node.tag}> interval has no effect without nsample")
        return None
    if interpolation == "cubic":
        report.add(node.location, f"<{node.tag}> interp cubic is linear here")
    offset = float(phase % period) if period else 0.0
    with located(node.location):
        return SensorSampling(delay, int(num_samples), float(period) or None, offset, interpolation != "zoh")


def _shape_of_site(node: XmlNode) -> ShapeDescription:
    """The shape of a site, for contacts in it."""
    kind = node.attributes.get("type", "sphere")
    size = [*node.vector_attribute("size", (1, 2, 3), [0.005] * 3), 0.005, 0.005][:3]
    if "fromto" in node.attributes:
        ends = node.vector_attribute("fromto", 6)
        half = 0.5 * float(np.linalg.norm(ends[3:] - ends[:3]))
        size = [size[0], half, 0.0] if kind in ("capsule", "cylinder") else [size[0], size[0], half]
    match kind:
        case "sphere":
            return ShapeDescription("Sphere", (size[0],))
        case "box":
            return ShapeDescription("Box", tuple(2.0 * length for length in size))
        case "ellipsoid":
            return ShapeDescription("Ellipsoid", tuple(size))
        case "capsule" | "cylinder":
            return ShapeDescription(kind.capitalize(), (size[0], 2.0 * size[1]))
    raise node.error(f"{node.describe()} has the type '{kind}', in which no contacts can be counted.")
