"""Which attributes and sections of MJCF files have a meaning here; a report names the others.

A report of an MJCF file's elements without counterpart here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from merganser.multibody.parsing.errors import Diagnostics, SourceLocation
from merganser.multibody.parsing.mjcf.settings import FLAGS
from merganser.multibody.parsing.mjcf.source import ACTUATOR_TAGS, TERRAIN, MjcfSource
from merganser.multibody.parsing.xml_reader import XmlNode

_NUM_PLACES = 8  # that are shown of one thing


@dataclass
class MjcfReport:
    """Collects what is left out or approximated, and gives one warning of it.

    Attributes:
        entries: the places of each thing, in the order in which the things were found.
    """

    entries: dict[str, list[SourceLocation]] = field(default_factory=dict)

    def add(self, location: SourceLocation, what: str) -> None:
        """Notes that something is left out or approximated.

        Args:
            location: of it.
            what: what it is, and what becomes of it; the same words for things of one kind.
        """
        places = self.entries.setdefault(what, [])
        if location not in places:
            places.append(location)

    def warn(self, location: SourceLocation, diagnostics: Diagnostics) -> None:
        """Gives one warning with everything collected, if anything was.

        Args:
            location: of the document.
            diagnostics: receives the warning.
        """
        if not self.entries:
            return

        def place(where: SourceLocation) -> tuple[bool, str, int]:
            return where.file != location.file, where.file, where.line

        found = [(what, sorted(places, key=place)) for what, places in self.entries.items()]
        ordered = sorted(found, key=lambda entry: place(entry[1][0]))
        lines = [f"  {_describe(places, location)}: {what}" for what, places in ordered]
        diagnostics.warn(location, "\n".join(["not everything in this MJCF file has a counterpart.", *lines]))


def _describe(places: list[SourceLocation], document: SourceLocation) -> str:
    """The places of one thing: `line 3`, `lines 3, 4 and 20 others`; with the file, if it is another one."""
    names = [
        str(place.line) if place.file == document.file else f"{Path(place.file).name}:{place.line}" for place in places
    ]
    shown, others = names[:_NUM_PLACES], len(names) - _NUM_PLACES
    text = ", ".join(shown) + (f" and {others} others" if others > 0 else "")
    return f"line{'s' if len(names) > 1 else ''} {text}" if places[0].file == document.file else text


_POSE = "pos quat axisangle xyaxes zaxis euler"
_ACTUATOR = (
    "name class group joint jointinparent tendon site body refsite slidersite cranksite cranklength gear damping "
    "armature ctrllimited forcelimited ctrlrange forcerange actlimited actrange lengthrange inheritrange user "
    "kp kv dampratio timeconst tausmooth area diameter bias range force scale lmin lmax vmax fpmax fvmax "
    "gaintype biastype dyntype gainprm biasprm dynprm actdim delay nsample interp"
)
# Attributes that are read, that others report, or that have no effect in MuJoCo either but on the drawing, on memory,
# on how files are saved, and on the method of its solver.
_USED: dict[str, str] = {
    "mujoco": "model",
    "compiler": "angle autolimits eulerseq coordinate meshdir texturedir assetdir strippath boundmass boundinertia "
    "balanceinertia inertiafromgeom inertiagrouprange fitaabb fusestatic discardvisual settotalmass usethread "
    "saveinertial savecompiled savecanonical convexhull exactmeshinertia passthrough conflict",
    "option": "timestep integrator gravity density viscosity wind magnetic actuatorgroupdisable cone jacobian solver "
    "iterations tolerance ls_iterations ls_tolerance noslip_iterations noslip_tolerance ccd_iterations ccd_tolerance "
    "sdf_iterations sdf_initpoints sleep_tolerance apirate",
    "body": f"name childclass mocap gravcomp {_POSE} simple user fuse",
    "frame": f"name childclass {_POSE} scale massscale",
    "inertial": f"mass diaginertia fullinertia {_POSE}",
    "joint": "name class type group pos axis springdamper limited range actuatorfrclimited actuatorfrcrange stiffness "
    "damping armature frictionloss ref springref user",
    "freejoint": "name group",
    "geom": f"name class type contype conaffinity group size material friction mass density shellinertia fromto "
    f"adhesion surfacevel hfield mesh fitscale rgba castshadow fluidshape fluidcoef user {_POSE}",
    "site": f"name class type group size fromto material mesh rgba user {_POSE}",
    "camera": f"name class mode target fovy ipd resolution sensorsize focal focalpixel principal principalpixel "
    f"orthographic projection output user {_POSE}",
    "light": "name class mode target type directional castshadow active pos dir attenuation cutoff exponent ambient "
    "diffuse specular texture intensity bulbradius softness range",
    "mesh": "name class file content_type scale refpos refquat vertex face normal texcoord smoothnormal maxhullvert "
    "inertia builtin params material",
    "hfield": "name file content_type nrow ncol elevation size",
    "texture": "name class type colorspace content_type file builtin rgb1 rgb2 mark markrgb random width height hflip "
    "vflip gridsize gridlayout fileright fileleft fileup filedown filefront fileback nchannel embed",
    "material": "name class texture texrepeat texuniform emission specular shininess reflectance metallic roughness "
    "rgba",
    "exclude": "name body1 body2",
    "key": "name time qpos qvel act mpos mquat ctrl plastic",
    "connect": "name class active body1 body2 anchor site1 site2",
    "weld": "name class active body1 body2 anchor relpose site1 site2 torquescale",
    "equality": "active",
    "equality/joint": "name class active joint1 joint2 polycoef",
    "equality/tendon": "name class active tendon1 tendon2 polycoef",
    **dict.fromkeys(ACTUATOR_TAGS, _ACTUATOR),
    "general": f"{_ACTUATOR} actearly",
    "adhesion": f"{_ACTUATOR} gain",
    "orientation": f"{_ACTUATOR} input",
    "pid": f"{_ACTUATOR} input posrange ki imax slewmax",
    "dcmotor": f"{_ACTUATOR} input motorconst resistance nominal saturation inductance cogging lugre thermal "
    "controller",
}
# Values with which an attribute that has no counterpart does nothing.
_HARMLESS = {
    "condim": "3", "priority": "0", "solmix": "1", "margin": "0", "gap": "0",
    "adhesion": "0", "align": "false", "alignfree": "false", "actuatorgravcomp": "false", "springyield": "0",
    "input": "pos", "sleep": "auto",
}  # fmt: skip
_SOLVER = ("solref", "solimp", "solreflimit", "solimplimit", "solreffriction", "solimpfriction")
_MEANING = {
    "condim": "contacts are frictional, without torsion or rolling",
    "impratio": "contacts, limits and constraints have the stiffness of the plant",
    "actuatorgravcomp": "what takes the weight of bodies acts beside actuators and their limits",
    "sleep": "bodies do not sleep", "springyield": "springs are elastic, however far they are stretched",
    "align": "the body frame stays where it is", "alignfree": "body frames stay where they are",
    **dict.fromkeys(_SOLVER, "limits, contacts and constraints have the stiffness of the plant"),
}  # fmt: skip
# Flags that change the method of MuJoCo, or what it computes besides.
_FLAGS_OF_NUMERICS = (
    "warmstart", "refsafe", "midphase", "eulerdamp", "autoreset", "nativeccd", "island", "multiccd", "energy", "fwdinv",
    "invdiscrete", "diagexact",
)  # fmt: skip
_MODES = ("sleep", "ipc", "speculative", "override")  # of MuJoCo, which are off unless a file asks for them
_DRAWING = ("visual", "statistic", "size")
_SECTIONS = {
    "custom": "is not kept",
    "extension": "is not used; plugins of MuJoCo are not run",
    "deformable": "is left out; deformable bodies of MJCF are not modelled",
}
_READ_SECTIONS = (
    "compiler", "option", "default", "asset", "worldbody", "equality", "actuator", "contact", "keyframe"
)  # fmt: skip
_SECTIONS_OF_OTHERS = ("tendon", "sensor")  # whose readers report attributes that they do not use


def report_unused(source: MjcfSource, report: MjcfReport) -> None:
    """Reports elements and attributes of a file that no reader uses or reports.

    Args:
        source: the file.
        report: receives it.
    """
    for section in source.root.children:
        if section.tag in _SECTIONS:
            for child in section.children:
                if child.attributes.get("name") == TERRAIN:
                    _report_terrain(child, source, report)
                    continue
                report.add(child.location, f"<{child.tag}> in <{section.tag}> {_SECTIONS[section.tag]}")
        elif section.tag in _READ_SECTIONS:
            _report_below(section, report)
            if section.tag == "option":
                _report_flags(section, report)
                if section.attributes.get("integrator") == "discrete":
                    what = "has no effect: steps are those of the plant"
                    report.add(section.location, f'<option> integrator="discrete" {what}')
        elif section.tag not in (*_DRAWING, *_SECTIONS_OF_OTHERS):
            report.add(section.location, f"<{section.tag}> is unknown in <mujoco>; left out")


def _report_terrain(text: XmlNode, source: MjcfSource, report: MjcfReport) -> None:
    """Reports names that are of no geom with a mesh."""
    geoms = [node for node in _all_below(source.root) if node.tag == "geom" and "mesh" in node.attributes]
    for name in sorted(source.terrain() - {node.attributes.get("name", "") for node in geoms}):
        report.add(text.location, f"<text> {TERRAIN} names '{name}', which is no geom with a mesh")


def _all_below(root: XmlNode) -> Iterator[XmlNode]:
    """An element and all elements in it, in file order."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.children)
        yield node


def _report_below(root: XmlNode, report: MjcfReport) -> None:
    for node in _all_below(root):
        words = _USED.get(f"{root.tag}/{node.tag}", _USED.get(node.tag))
        if words is not None:
            _report_attributes(node, words.split(), report)
        for child in node.find_all("skin", "layer"):
            report.add(child.location, f"<{child.tag}> is not drawn")


def _report_attributes(node: XmlNode, used: list[str], report: MjcfReport) -> None:
    """Names the attributes that have no effect, those together that have none for the same reason."""
    by_meaning: dict[str, list[str]] = {}
    for name in node.attributes:
        if name not in used and not _is_harmless(node, name):
            by_meaning.setdefault(_MEANING.get(name, ""), []).append(name)
    for meaning, names in by_meaning.items():
        verb = "has" if len(names) == 1 else "have"
        reason = f": {meaning}" if meaning else ""
        report.add(node.location, f"<{node.tag}> {', '.join(sorted(names))} {verb} no effect{reason}")


def _report_flags(option: XmlNode, report: MjcfReport) -> None:
    """Reports unknown flags, and the one that gives all contacts the properties of <option>."""
    for flag in option.find_all("flag"):
        for name, value in flag.attributes.items():
            if name not in (*FLAGS, *_FLAGS_OF_NUMERICS) and not (name in _MODES and value == "disable"):
                report.add(flag.location, f'<flag> {name}="{value}" has no effect')


def _is_harmless(node: XmlNode, name: str) -> bool:
    """Whether an attribute has the value with which it does nothing."""
    if name.startswith(("xmlns", "xsi:")):
        return True
    default = _HARMLESS.get(name)
    words = [re.sub(r"^(-?\d+)\.0*$", r"\1", word) for word in node.attributes[name].split()]
    return default is not None and all(word == default for word in words)
