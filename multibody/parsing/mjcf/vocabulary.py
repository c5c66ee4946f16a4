"""Which attributes and sections of MJCF files have a meaning here; a report names the others."""

from __future__ import annotations

__all__ = ["report_unused"]

import re

from merganser.multibody.parsing.mjcf.defaults import ACTUATOR_TAGS
from merganser.multibody.parsing.mjcf.options import FLAGS
from merganser.multibody.parsing.mjcf.report import MjcfReport
from merganser.multibody.parsing.mjcf.source import MjcfSource
from merganser.multibody.parsing.xml_reader import XmlNode

_POSE = "pos quat axisangle xyaxes zaxis euler"
_ACTUATOR = (
    "name class group joint jointinparent tendon site body refsite slidersite cranksite cranklength gear damping "
    "armature ctrllimited forcelimited ctrlrange forcerange actlimited actrange lengthrange inheritrange input user "
    "kp kv dampratio timeconst gaintype biastype dyntype gainprm biasprm dynprm actdim"
)
# Attributes that are read, that others report, or that have no effect in MuJoCo either but on the drawing, on memory,
# on how files are saved, and on how its solver comes to its result.
_USED: dict[str, str] = {
    "mujoco": "model",
    "compiler": "angle autolimits eulerseq coordinate meshdir texturedir assetdir strippath boundmass boundinertia "
    "balanceinertia inertiafromgeom inertiagrouprange fitaabb fusestatic discardvisual settotalmass usethread "
    "saveinertial savecompiled savecanonical convexhull exactmeshinertia passthrough conflict",
    "option": "timestep integrator gravity density viscosity wind magnetic actuatorgroupdisable cone jacobian solver "
    "iterations tolerance ls_iterations ls_tolerance noslip_iterations noslip_tolerance ccd_iterations ccd_tolerance "
    "sdf_iterations sdf_initpoints sleep_tolerance apirate",
    "body": f"name childclass mocap {_POSE} simple user sleep fuse",
    "frame": f"name childclass {_POSE} scale massscale",
    "inertial": f"mass diaginertia fullinertia {_POSE}",
    "joint": "name class type group pos axis springdamper limited range actuatorfrclimited actuatorfrcrange stiffness "
    "damping armature frictionloss ref springref user",
    "freejoint": "name group",
    "geom": f"name class type contype conaffinity group size material friction mass density shellinertia fromto "
    f"hfield mesh fitscale rgba castshadow fluidshape fluidcoef user {_POSE}",
    "site": f"name class type group size fromto material mesh rgba user {_POSE}",
    "camera": f"name class mode target fovy ipd resolution sensorsize focal focalpixel principal principalpixel "
    f"orthographic projection output user {_POSE}",
    "light": "name class mode target type directional castshadow active pos dir attenuation cutoff exponent ambient "
    "diffuse specular texture intensity bulbradius softness range",
    "mesh": "name class file content_type scale refpos refquat vertex face normal texcoord smoothnormal maxhullvert "
    "inertia builtin params material",
    "hfield": "name file content_type nrow ncol elevation size",
    "connect": "name class active body1 body2 anchor site1 site2",
    "weld": "name class active body1 body2 anchor relpose site1 site2 torquescale",
    "equality": "active",
    "equality/joint": "name class active joint1 joint2 polycoef",
    "equality/tendon": "name class active tendon1 tendon2 polycoef",
    **dict.fromkeys(ACTUATOR_TAGS, _ACTUATOR),
}
# Values with which an attribute that has no counterpart does nothing.
_HARMLESS = {
    "condim": "3", "priority": "0", "solmix": "1", "margin": "0", "gap": "0", "gravcomp": "0",
    "adhesion": "0", "align": "false", "alignfree": "false", "actuatorgravcomp": "false", "springyield": "0",
    "delay": "0", "nsample": "0", "surfacevel": "0",
}  # fmt: skip
_SOLVER = ("solref", "solimp", "solreflimit", "solimplimit", "solreffriction", "solimpfriction")
_MEANING = {
    "condim": "contacts are frictional, without torsion or rolling",
    "impratio": "contacts, limits and constraints have the stiffness of the plant",
    "align": "the body frame stays where it is", "alignfree": "body frames stay where they are",
    **dict.fromkeys(_SOLVER, "limits, contacts and constraints have the stiffness of the plant"),
}  # fmt: skip
# Flags that change how MuJoCo comes to its result, or what it computes besides.
_FLAGS_OF_NUMERICS = (
    "warmstart", "refsafe", "midphase", "eulerdamp", "autoreset", "nativeccd", "island", "multiccd", "energy", "fwdinv",
    "invdiscrete", "sleep", "diagexact", "ipc", "speculative",
)  # fmt: skip
_DRAWING = ("visual", "statistic", "size")
_SECTIONS = {
    "custom": "is not kept",
    "extension": "is not used; plugins of MuJoCo are not run",
    "deformable": "is left out; deformable bodies of MJCF are not modelled",
}
_READ_SECTIONS = ("compiler", "option", "default", "asset", "worldbody", "equality", "actuator")
_SECTIONS_OF_OTHERS = ("contact", "tendon", "keyframe", "sensor")  # whose readers report what they do not use


def report_unused(source: MjcfSource, report: MjcfReport) -> None:
    """Names what a file says that nothing else reads or reports.

    Args:
        source: the file.
        report: receives it.
    """
    for section in source.root.children:
        if section.tag in _SECTIONS:
            for child in section.children:
                report.add(child.location, f"<{child.tag}> in <{section.tag}> {_SECTIONS[section.tag]}")
        elif section.tag in _READ_SECTIONS:
            _report_below(section, report)
            if section.tag == "option":
                _report_flags(section, report)
        elif section.tag not in (*_DRAWING, *_SECTIONS_OF_OTHERS):
            report.add(section.location, f"<{section.tag}> is unknown in <mujoco>; left out")


def _report_below(root: XmlNode, report: MjcfReport) -> None:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.children)
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
    """Flags that nobody knows, and the one that gives all contacts the properties of <option>."""
    for flag in option.find_all("flag"):
        for name, value in flag.attributes.items():
            if name not in (*FLAGS, *_FLAGS_OF_NUMERICS) and (name, value) != ("override", "disable"):
                report.add(flag.location, f"<flag> {name}=\"{value}\" has no effect")


def _is_harmless(node: XmlNode, name: str) -> bool:
    """Whether an attribute has the value with which it does nothing."""
    if name.startswith(("xmlns", "xsi:")):
        return True
    default = _HARMLESS.get(name)
    words = [re.sub(r"^(-?\d+)\.0*$", r"\1", word) for word in node.attributes[name].split()]
    return default is not None and all(word == default for word in words)
