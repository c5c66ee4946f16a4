"""Keyframes of MJCF files: the one called `home` gives default positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.parsing.description import ModelDescription
from merganser.multibody.parsing.mjcf.bodies import MjcfModel
from merganser.multibody.parsing.mjcf.joint import MjcfJoint
from merganser.multibody.parsing.mjcf.source import MjcfSource
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport
from merganser.multibody.parsing.xml_reader import XmlNode

_HOME = "home"


def apply_home(source: MjcfSource, model: MjcfModel, description: ModelDescription, report: MjcfReport) -> None:
    """Makes the positions of the key `home` the default ones.

    Args:
        source: the main file.
        model: has the joints in MuJoCo's order.
        description: its joints and links get the default positions.
        report: names the other keys, and velocities, activations and controls.

    Raises:
        ParsingError: the key has the wrong number of positions, or a quaternion is zero.
    """
    for node in source.section("keyframe"):
        name = node.attributes.get("name", "")
        if name != _HOME:
            what = f"'{name}'" if name else "without a name"
            report.add(node.location, f"<key> {what} is not used: the key 'home' gives default positions")
            continue
        others = [other for other in ("qvel", "act", "ctrl", "mpos", "mquat", "time") if other in node.attributes]
        if others:
            report.add(node.location, f"<key> 'home': {', '.join(others)} not used, only qpos")
        if "qpos" in node.attributes:
            _apply(node, model, description)


def _apply(node: XmlNode, model: MjcfModel, description: ModelDescription) -> None:
    size = sum(joint.num_positions for joint in model.joints())
    q = node.vector_attribute("qpos", size)
    joints = {joint.name: i for i, joint in enumerate(description.joints)}
    links = {link.name: link for link in description.links}
    start = 0
    for joint in model.joints():
        values = q[start : start + joint.num_positions]
        start += joint.num_positions
        if joint.type != "free":
            place = joints[joint.name]
            default = _default_positions(node, joint, values)
            description.joints[place] = replace(description.joints[place], default_positions=default)
        else:
            rotation = RotationMatrix(Quaternion(_unit(node, joint, values[3:])))
            links[joint.name].X_WB = RigidTransform(rotation, values[:3])


def _default_positions(node: XmlNode, joint: MjcfJoint, values: np.ndarray) -> tuple[float, ...]:
    """Positions in the order of the plant."""
    if joint.type == "ball":
        return tuple(_unit(node, joint, values))
    return tuple(values)


def _unit(node: XmlNode, joint: MjcfJoint, q: np.ndarray) -> np.ndarray:
    length = float(np.linalg.norm(q))
    if not length > 0.0:
        raise node.error(f"{node.describe()} has the quaternion 0 0 0 0 for joint '{joint.name}'.")
    return q / length
