"""Poses in MJCF files, of which the orientation may be written in five ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from merganser.framework.math import Quaternion, RigidTransform, RotationMatrix
from merganser.multibody.parsing.mjcf.settings import MjcfSettings
from merganser.multibody.parsing.urdf_and_sdf.joints import nearest_rotation_with_z
from merganser.multibody.parsing.xml_reader import XmlNode

_ALTERNATIVES = ("axisangle", "xyaxes", "zaxis", "euler")
_SMALLEST_LENGTH = 1e-14  # of a vector with a direction


def read_pose(node: XmlNode, settings: MjcfSettings, position: Sequence[float] = (0.0, 0.0, 0.0)) -> RigidTransform:
    """The pose in `pos` and one of `quat`, `axisangle`, `euler`, `xyaxes` and `zaxis`.

    Args:
        node: the element.
        settings: the unit of angles and the sequence of Euler angles.
        position: without `pos` [m].

    Raises:
        ParsingError: numbers are missing or wrong, or there are several orientations.
    """
    p = node.vector_attribute("pos", 3, list(position))
    return RigidTransform(_read_rotation(node, settings), p)


def segment_pose(node: XmlNode) -> tuple[RigidTransform, float]:
    """The pose of the middle of the segment in `fromto`, z along it, and half its length [m]."""
    ends = node.vector_attribute("fromto", 6)
    start, end = ends[:3], ends[3:]
    length = float(np.linalg.norm(end - start))
    if not length > _SMALLEST_LENGTH:
        raise node.error(f"{node.describe()} has the attribute 'fromto' {ends.tolist()}; its ends have to differ.")
    return RigidTransform(nearest_rotation_with_z((start - end) / length), 0.5 * (start + end)), 0.5 * length


def read_quaternion(node: XmlNode, name: str) -> Quaternion:
    """The quaternion [w, x, y, z] in an attribute, made to have length 1; by default no turn."""
    return Quaternion(_direction(node, name, node.vector_attribute(name, 4, [1.0, 0.0, 0.0, 0.0])))


def euler_rotation(angles: np.ndarray, axes: str) -> RotationMatrix:
    """The product of three turns.

    Args:
        angles: [rad], shape [3].
        axes: for each the axis; small letters move along.
    """
    R = np.eye(3)
    for angle, axis in zip(angles, axes):
        i = "xyz".index(axis.lower())
        turn = np.eye(3)
        j, k = (i + 1) % 3, (i + 2) % 3
        turn[j, j] = turn[k, k] = np.cos(angle)
        turn[k, j] = np.sin(angle)
        turn[j, k] = -turn[k, j]
        R = R @ turn if axis.islower() else turn @ R
    return RotationMatrix.ProjectToRotationMatrix(R)


def _read_rotation(node: XmlNode, settings: MjcfSettings) -> RotationMatrix:
    given = [name for name in _ALTERNATIVES if name in node.attributes]
    if len(given) > 1:
        names = " and ".join(f"'{name}'" for name in given)
        raise node.error(f"{node.describe()} has {names} (perhaps by its class); expected one orientation.")
    match given:
        case ["axisangle"]:
            *axis, angle = node.vector_attribute("axisangle", 4)
            return _about(_direction(node, "axisangle", np.array(axis)), angle * settings.unit_angle)
        case ["euler"]:
            angles = node.vector_attribute("euler", 3) * settings.unit_angle
            return euler_rotation(angles, settings.euler_axes)
        case ["xyaxes"]:
            return _from_two_axes(node)
        case ["zaxis"]:
            return nearest_rotation_with_z(_direction(node, "zaxis", node.vector_attribute("zaxis", 3)))
    return RotationMatrix(read_quaternion(node, "quat"))


def _about(axis: np.ndarray, angle: float) -> RotationMatrix:
    half = 0.5 * angle
    q = np.concatenate([[np.cos(half)], np.sin(half) * axis])
    return RotationMatrix(Quaternion(q / np.linalg.norm(q)))


def _from_two_axes(node: XmlNode) -> RotationMatrix:
    """x as given; y made to be at a right angle with it."""
    values = node.vector_attribute("xyaxes", 6)
    x = _direction(node, "xyaxes", values[:3])
    along = _direction(node, "xyaxes", values[3:])
    y = _direction(node, "xyaxes", along - (x @ along) * x)
    return RotationMatrix.ProjectToRotationMatrix(np.column_stack([x, y, np.cross(x, y)]))


def _direction(node: XmlNode, name: str, vector: np.ndarray) -> np.ndarray:
    """A vector of length 1; a ParsingError for one that is zero."""
    largest = float(np.abs(vector).max())
    if not largest > _SMALLEST_LENGTH:
        raise node.error(f"attribute '{name}' of {node.describe()} is {vector.tolist()}, which has no direction.")
    scaled = vector / largest  # so that squares do not overflow
    return scaled / np.linalg.norm(scaled)
