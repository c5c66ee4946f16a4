"""The <default> classes of an MJCF file: attributes of elements that do not say otherwise."""

from __future__ import annotations

__all__ = ["ACTUATOR_TAGS", "ActuatorDefault", "MjcfDefaults", "read_defaults"]

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from merganser.framework.common.errors import nearest_names
from merganser.multibody.parsing.xml_reader import XmlNode

ACTUATOR_TAGS = (
    "general", "motor", "position", "velocity", "intvelocity", "orientation", "pid", "damper", "cylinder", "muscle",
    "adhesion", "dcmotor", "plugin",
)  # fmt: skip
_MAIN = "main"
# Elements whose defaults stand under another name.
_DEFAULT_TAGS = {
    **dict.fromkeys(("connect", "weld", "flex", "flexstrain"), "equality"),
    **dict.fromkeys(("spatial", "fixed"), "tendon"),
}

# An actuator element of a class, as written: each changes the one actuator that the class describes.
ActuatorDefault = XmlNode


@dataclass(frozen=True)
class _Class:
    """What a class says: attributes by tag, and the actuator elements one after the other."""

    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    actuators: tuple[ActuatorDefault, ...] = ()


@dataclass
class MjcfDefaults:
    """The classes of one file by name; `main` is that of elements without a class."""

    classes: dict[str, _Class] = field(default_factory=lambda: {_MAIN: _Class()})
    main: str = _MAIN

    def filled(self, node: XmlNode, inherited: str = "", tag: str = "") -> XmlNode:
        """An element with the attributes of its class where it has none of its own.

        Args:
            node: the element, which may name its class.
            inherited: class of the elements around it, empty for none.
            tag: of the defaults, if it is not that of the element.

        Raises:
            ParsingError: there is no such class.
        """
        found = self._find(node, inherited)
        attributes = found.attributes.get(tag or _DEFAULT_TAGS.get(node.tag, node.tag), {})
        return replace(node, attributes={**attributes, **node.attributes}) if attributes else node

    def filled_actuator(self, node: XmlNode) -> XmlNode:
        """An actuator with what all kinds of actuators share, from its class: ranges, gear and the like."""
        attributes: dict[str, str] = {}
        for default in self.actuators(node):
            attributes.update(default.attributes)
        return replace(node, attributes={**attributes, **node.attributes})

    def actuators(self, node: XmlNode) -> tuple[ActuatorDefault, ...]:
        """The elements that describe the actuator of an actuator's class, in their order."""
        return self._find(node, "").actuators

    def _find(self, node: XmlNode, inherited: str) -> _Class:
        name = node.attributes.get("class") or inherited or self.main
        if name not in self.classes:
            hint = nearest_names(name, self.classes)
            raise node.error(f"{node.describe()} has the class '{name}', which is none. {hint}")
        return self.classes[name]

    def check(self, node: XmlNode, name: str) -> str:
        """Returns the name of a class that an element names for those in it."""
        if name and name not in self.classes:
            hint = nearest_names(name, self.classes)
            raise node.error(f"{node.describe()} has the childclass '{name}', which is none. {hint}")
        return name


def read_defaults(root: XmlNode) -> MjcfDefaults:
    """All classes of a <mujoco>, each with what it inherits from those around it.

    Raises:
        ParsingError: a nested class has no name, or a name is used twice.
    """
    defaults = MjcfDefaults()
    for node in root.find_all("default"):
        name = node.attributes.get("class") or defaults.main
        if name != defaults.main and len(defaults.classes) == 1:  # the outermost class may have another name
            defaults.main = name
            defaults.classes[name] = defaults.classes.pop(_MAIN)
        for class_name, description in _classes(node, name, defaults.classes.get(name, _Class()), defaults):
            defaults.classes[class_name] = description
    return defaults


def _classes(node: XmlNode, name: str, base: _Class, defaults: MjcfDefaults) -> Iterator[tuple[str, _Class]]:
    """A class and those nested in it."""
    attributes = {tag: dict(values) for tag, values in base.attributes.items()}
    actuators = list(base.actuators)
    for child in node.children:
        if child.tag in ACTUATOR_TAGS:
            actuators.append(child)
        elif child.tag != "default":
            attributes.setdefault(child.tag, {}).update(child.attributes)
    own = _Class(attributes, tuple(actuators))
    yield name, own
    for child in node.find_all("default"):
        child_name = child.attributes.get("class", "")
        if not child_name:
            raise child.error("a <default> inside another one needs an attribute 'class'.")
        if child_name in defaults.classes:
            raise child.error(f"a second class is named '{child_name}'. Rename one of them.")
        yield from _classes(child, child_name, own, defaults)
