"""The <compiler> of an MJCF file: how its numbers and names are to be read.

The <option> of an MJCF file: how MuJoCo would simulate it, of which much has a meaning here too.
"""

from __future__ import annotations

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


INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")
# Flags that are read here; those of numerical methods, which are others here, are in vocabulary.py.
FLAGS = (
    "constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl",
    "filterparent", "actuation", "sensor",
)  # fmt: skip


@dataclass(frozen=True)
class MjcfOptions:
    """The <option> elements of an MJCF file, with the defaults of the format.

    Attributes:
        time_step: of MuJoCo's steps [s].
        integrator: of MuJoCo: Euler, RK4, implicit, implicitfast or discrete.
        gravity: in the world [m/s^2], shape [3]; None if the file does not say.
        density: of the fluid around the bodies [kg/m^3]; 0 for none.
        viscosity: of that fluid [Pa s].
        wind: velocity of that fluid in the world [m/s], shape [3].
        magnetic: magnetic flux density in the world, in any unit, shape [3].
        disabled: the flags that are switched off, such as "contact".
        disabled_actuator_groups: groups of actuators that do nothing.
    """

    time_step: float = 0.002
    integrator: str = "Euler"
    gravity: np.ndarray | None = None
    density: float = 0.0
    viscosity: float = 0.0
    wind: np.ndarray = field(default_factory=lambda: np.zeros(3))
    magnetic: np.ndarray = field(default_factory=lambda: np.array([0.0, -0.5, 0.0]))
    disabled: frozenset[str] = frozenset()
    disabled_actuator_groups: frozenset[int] = frozenset()

    def allows(self, flag: str) -> bool:
        """Whether a flag is on; without "constraint" there are no limits, contacts, equalities and dry friction."""
        needs_constraints = flag in ("equality", "frictionloss", "limit", "contact")
        return flag not in self.disabled and not (needs_constraints and "constraint" in self.disabled)

    def has_passive_forces(self) -> bool:
        """Whether fluids and compensation of gravity act: springs and dampers, switched off together, end these too."""
        return self.allows("spring") or self.allows("damper")


def read_options(root: XmlNode) -> MjcfOptions:
    """The options of a file; of those that are given more than once the last counts, flag by flag.

    Args:
        root: the <mujoco>, with its includes in place.

    Raises:
        ParsingError: a value is not admissible.
    """
    nodes = list(root.find_all("option"))
    attributes = {name: value for node in nodes for name, value in node.attributes.items()}
    node = XmlNode("option", nodes[-1].location if nodes else root.location, attributes)
    disabled = _read_disabled(nodes)
    gravity = node.vector_attribute("gravity", 3) if "gravity" in attributes else None
    time_step = node.float_attribute("timestep", 0.002)
    density, viscosity = (node.float_attribute(name, 0.0) for name in ("density", "viscosity"))
    if not time_step > 0.0:
        raise node.error(f"attribute 'timestep' of <option> is {time_step:g}; it has to be positive.")
    for name, value in (("density", density), ("viscosity", viscosity)):
        if value < 0.0:
            raise node.error(f"attribute '{name}' of <option> is {value:g}; it cannot be negative.")
    integrator = attributes.get("integrator", "Euler")
    return MjcfOptions(
        time_step,
        node.expect_one_of(integrator, INTEGRATORS, "value of attribute 'integrator' of <option>"),
        np.zeros(3) if "gravity" in disabled else gravity,
        density,
        viscosity,
        node.vector_attribute("wind", 3, [0.0, 0.0, 0.0]),
        node.vector_attribute("magnetic", 3, [0.0, -0.5, 0.0]),
        disabled,
        _read_groups(node),
    )


def _read_disabled(options: list[XmlNode]) -> frozenset[str]:
    words: dict[str, str] = {}
    for flag in (flag for option in options for flag in option.find_all("flag")):
        for name in FLAGS:
            if name in flag.attributes:
                what = f"value of attribute '{name}' of <flag>"
                words[name] = flag.expect_one_of(flag.attributes[name], ("enable", "disable"), what)
    return frozenset(name for name, word in words.items() if word == "disable")


def _read_groups(node: XmlNode) -> frozenset[int]:
    text = node.attributes.get("actuatorgroupdisable", "")
    numbers = node.numbers(text, len(text.split()), "attribute 'actuatorgroupdisable' of <option>")
    return frozenset(int(number) for number in numbers)
