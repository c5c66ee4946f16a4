"""Humanoids on a floating pelvis, as URDF text: of 36 degrees of freedom, 22 without arms, 62 with hands."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Link(NamedTuple):
    """A link and the joint that holds it, of the same name.

    Attributes:
        parent: the link that the joint is fixed to.
        axis: of the joint, in the frame of the link.
        origin: of the joint in the parent [m].
        length: of the link, a box that hangs below its joint [m].
        width: of the box, along x and y [m].
        mass: of the box [kg].
    """

    name: str
    parent: str
    axis: str
    origin: tuple[float, float, float]
    length: float
    width: float
    mass: float


# Name, axis, origin, length, width and mass of a link that hangs on the one before it.
_Part: TypeAlias = tuple[str, str, tuple[float, float, float], float, float, float]

_ROLL, _PITCH, _YAW = "1 0 0", "0 1 0", "0 0 1"


def _trunk() -> list[Link]:
    return [
        Link("waist_yaw", "pelvis", _YAW, (0.0, 0.0, 0.1), -0.1, 0.16, 3.0),
        Link("waist_pitch", "waist_yaw", _PITCH, (0.0, 0.0, 0.1), -0.4, 0.28, 18.0),
        Link("neck_yaw", "waist_pitch", _YAW, (0.0, 0.0, 0.45), -0.08, 0.08, 0.8),
        Link("neck_pitch", "neck_yaw", _PITCH, (0.0, 0.0, 0.08), -0.2, 0.16, 4.0),
    ]


def _arm(side: str, y: float) -> list[Link]:
    parts = [
        ("shoulder_pitch", _PITCH, (0.0, 0.2 * y, 0.36), 0.06, 0.08, 1.5),
        ("shoulder_roll", _ROLL, (0.0, 0.04 * y, -0.02), 0.06, 0.08, 1.2),
        ("shoulder_yaw", _YAW, (0.01, 0.0, -0.06), 0.22, 0.08, 1.8),
        ("elbow", _PITCH, (0.02, 0.0, -0.22), 0.1, 0.07, 1.0),
        ("wrist_yaw", _YAW, (-0.02, 0.0, -0.1), 0.14, 0.06, 0.9),
        ("wrist_pitch", _PITCH, (0.0, 0.0, -0.14), 0.04, 0.05, 0.3),
        ("wrist_roll", _ROLL, (0.0, 0.0, -0.04), 0.16, 0.07, 0.5),
    ]
    return _limb(side, "waist_pitch", parts)


def _hand(side: str) -> list[Link]:
    """A thumb of four joints and three fingers of three."""
    links = []
    for finger, x in (("thumb", -0.04), ("index", 0.0), ("middle", 0.02), ("ring", 0.04)):
        parts: list[_Part] = [(f"{finger}_0", _ROLL, (x, 0.0, -0.16), 0.03, 0.015, 0.02)]
        for i in range(1, 4 if finger == "thumb" else 3):
            parts.append((f"{finger}_{i}", _PITCH, (0.0, 0.0, -0.03), 0.03, 0.015, 0.02))
        links += _limb(side, f"{side}_wrist_roll", parts)
    return links


def _leg(side: str, y: float) -> list[Link]:
    parts = [
        ("hip_yaw", _YAW, (0.0, 0.1 * y, -0.05), 0.05, 0.1, 2.0),
        ("hip_roll", _ROLL, (0.02, 0.0, -0.05), 0.06, 0.1, 2.2),
        ("hip_pitch", _PITCH, (-0.02, 0.02 * y, -0.06), 0.38, 0.14, 6.5),
        ("knee", _PITCH, (0.0, 0.0, -0.38), 0.38, 0.1, 3.8),
        ("ankle_pitch", _PITCH, (0.0, 0.0, -0.38), 0.04, 0.06, 0.4),
        ("ankle_roll", _ROLL, (0.0, 0.0, -0.04), 0.06, 0.16, 1.3),
    ]
    return _limb(side, "pelvis", parts)


def _limb(side: str, parent: str, parts: list[_Part]) -> list[Link]:
    links = []
    for name, axis, origin, length, width, mass in parts:
        links.append(Link(f"{side}_{name}", parent, axis, origin, length, width, mass))
        parent = links[-1].name
    return links


def _inertial(length: float, width: float, mass: float) -> str:
    """A box whose centre is half a length below the joint (above it, if the length is negative), and a bit aside."""
    across, along = mass / 12.0 * (width**2 + length**2), mass / 6.0 * width**2
    return (
        f'<inertial><origin xyz="{0.1 * width} 0 {-0.5 * length}" rpy="0 0.1 0"/><mass value="{mass}"/>'
        f'<inertia ixx="{across}" iyy="{across}" izz="{along}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )


def humanoid_urdf(*, has_arms: bool = True, has_hands: bool = False) -> str:
    """The text of the URDF file: a pelvis, a trunk with a head, two legs of six joints.

    Args:
        has_arms: whether there are two arms, of seven joints.
        has_hands: whether there are hands on them, of thirteen joints.
    """
    links = _trunk()
    for side, y in (("left", 1.0), ("right", -1.0)):
        links += _arm(side, y) if has_arms else []
        links += _hand(side) if has_hands else []
        links += _leg(side, y)
    lines = ['<robot name="humanoid">', f'<link name="pelvis">{_inertial(0.15, 0.25, 11.0)}</link>']
    for link in links:
        x, y, z = link.origin
        lines += [
            f'<link name="{link.name}">{_inertial(link.length, link.width, link.mass)}</link>',
            f'<joint name="{link.name}" type="revolute"><parent link="{link.parent}"/><child link="{link.name}"/>',
            f'<origin xyz="{x} {y} {z}"/><axis xyz="{link.axis}"/>',
            '<limit lower="-3" upper="3" effort="300" velocity="30"/><dynamics damping="0.1"/></joint>',
            f'<transmission name="{link.name}"><type>SimpleTransmission</type>'
            f'<joint name="{link.name}"/><actuator name="{link.name}"/></transmission>',
        ]
    return "\n".join([*lines, "</robot>"])
