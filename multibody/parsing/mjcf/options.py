"""The <option> of an MJCF file: how MuJoCo would simulate it, of which much has a meaning here too."""

from __future__ import annotations

__all__ = ["FLAGS", "MjcfOptions", "read_options"]

from dataclasses import dataclass, field

import numpy as np

from merganser.multibody.parsing.xml_reader import XmlNode

INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast", "discrete")
# Flags that are read here; those of numerical methods, which are others here, are in vocabulary.py.
FLAGS = (
    "constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "gravity", "clampctrl",
    "filterparent", "actuation", "sensor",
)  # fmt: skip


@dataclass(frozen=True)
class MjcfOptions:
    """What the <option> elements of an MJCF file say, with the defaults of the format.

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
