"""The <compiler> of an MJCF file: how its numbers and names are to be read."""

from __future__ import annotations

__all__ = ["MjcfSettings", "read_flag", "read_settings"]

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from merganser.multibody.parsing.xml_reader import XmlNode

_EULER_AXES = frozenset("xyzXYZ")


@dataclass(frozen=True)
class MjcfSettings:
    """Settings of one MJCF file, with the defaults of the format.

    Attributes:
        folder: of the main file, to which paths are relative; None if the model is given as a string.
        unit_angle: the unit of angles [rad].
        auto_limits: a range alone makes a limit.
        euler_axes: three letters; small ones turn about axes that move along, large ones about those of the parent.
        mesh_folder, texture_folder: put before the names of files.
        strip_path: only the last part of the names of files counts.
        smallest_mass, smallest_inertia: lower bounds for each body [kg, kg m^2].
        balances_inertia: impossible principal moments become their mean.
        inertia_from_geometry: "true", "false", or "auto": where there is no <inertial>.
        inertia_groups: first and last group of the geometries that have mass.
        fits_boxes: primitives are fitted to the bounding boxes of meshes, not to their inertia.
        aligns_free_bodies: frames of free bodies are put into their principal axes.
        fuses_static_bodies: bodies without joints become part of their parents.
        discards_visuals: what only can be seen is left out.
        total_mass: of all bodies, if positive [kg].
    """

    folder: Path | None = None
    unit_angle: float = field(default=np.pi / 180.0)
    auto_limits: bool = True
    euler_axes: str = "xyz"
    mesh_folder: str = ""
    texture_folder: str = ""
    strip_path: bool = False
    smallest_mass: float = 0.0
    smallest_inertia: float = 0.0
    balances_inertia: bool = False
    inertia_from_geometry: str = "auto"
    inertia_groups: tuple[float, float] = (0.0, 5.0)
    fits_boxes: bool = False
    aligns_free_bodies: bool = False
    fuses_static_bodies: bool = False
    discards_visuals: bool = False
    total_mass: float = -1.0


def read_settings(root: XmlNode, folder: Path | None) -> MjcfSettings:
    """The settings of all <compiler> elements of a <mujoco>, of which later ones win.

    Args:
        root: the <mujoco>, with its includes in place.
        folder: of the main file.

    Raises:
        ParsingError: a value is not admissible.
    """
    attributes: dict[str, str] = {}
    nodes = list(root.find_all("compiler"))
    for node in nodes:
        attributes.update(node.attributes)
    node = XmlNode("compiler", nodes[-1].location if nodes else root.location, attributes)
    node.expect_one_of(attributes.get("coordinate", "local"), ("local",), "value of attribute 'coordinate'")
    angle = node.expect_one_of(
        attributes.get("angle", "degree"), ("degree", "radian"), "value of attribute 'angle' of <compiler>"
    )
    assets = attributes.get("assetdir", "")
    return MjcfSettings(
        folder=folder,
        unit_angle=np.pi / 180.0 if angle == "degree" else 1.0,
        auto_limits=read_flag(node, "autolimits", True),
        euler_axes=_read_euler_axes(node),
        mesh_folder=attributes.get("meshdir", assets),
        texture_folder=attributes.get("texturedir", assets),
        strip_path=read_flag(node, "strippath", False),
        smallest_mass=node.float_attribute("boundmass", 0.0),
        smallest_inertia=node.float_attribute("boundinertia", 0.0),
        balances_inertia=read_flag(node, "balanceinertia", False),
        inertia_from_geometry=node.expect_one_of(
            attributes.get("inertiafromgeom", "auto"), ("false", "true", "auto"), "value of attribute 'inertiafromgeom'"
        ),
        inertia_groups=_pair(node, "inertiagrouprange", (0.0, 5.0)),
        fits_boxes=read_flag(node, "fitaabb", False),
        aligns_free_bodies=read_flag(node, "alignfree", False),
        fuses_static_bodies=read_flag(node, "fusestatic", False),
        discards_visuals=read_flag(node, "discardvisual", False),
        total_mass=node.float_attribute("settotalmass", -1.0),
    )


def read_flag(node: XmlNode, name: str, default: bool) -> bool:
    """An attribute that is true or false."""
    value = node.attributes.get(name, "true" if default else "false")
    return node.expect_one_of(value, ("false", "true"), f"value of attribute '{name}' of <{node.tag}>") == "true"


def _pair(node: XmlNode, name: str, default: tuple[float, float]) -> tuple[float, float]:
    first, second = node.vector_attribute(name, 2, list(default)).tolist()
    return first, second


def _read_euler_axes(node: XmlNode) -> str:
    axes = node.attributes.get("eulerseq", "xyz")
    if len(axes) != 3 or not _EULER_AXES.issuperset(axes):
        raise node.error(f"attribute 'eulerseq' of <compiler> is '{axes}', expected three letters out of xyzXYZ.")
    return axes
