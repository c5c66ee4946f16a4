"""Lights of MJCF files that stay where they are, and the one at the camera."""

from __future__ import annotations

__all__ = ["read_lights"]

import numpy as np

from merganser.framework.math import RigidTransform
from merganser.multibody.parsing.description import LightDescription
from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.report import MjcfReport
from merganser.multibody.parsing.mjcf.settings import read_flag
from merganser.multibody.parsing.mjcf.source import MjcfSource
from merganser.multibody.parsing.mjcf.tree import MjcfPart

_MODES = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
_TYPES = ("spot", "directional", "point", "image")
_DIFFUSE = [0.7, 0.7, 0.7]
_AMBIENT_OF_CAMERA, _DIFFUSE_OF_CAMERA = [0.1, 0.1, 0.1], [0.4, 0.4, 0.4]


def read_lights(source: MjcfSource, model: MjcfModel, report: MjcfReport) -> list[LightDescription]:
    """Reads the lights that shine on all that does not move; none if the file describes none.

    Args:
        source: the main file, with the light at the camera.
        model: has all others.
        report: receives what has no counterpart.

    Raises:
        ParsingError: a number is wrong.
    """
    placed = [(link, part, X_BF) for link in model.links for part, X_BF in link.lights]
    found = [_read(link, part, X_BF, report) for link, part, X_BF in placed]
    lights = [light for light in found if light is not None]
    return [*lights, *_at_camera(source)] if lights else []


def _read(link: MjcfLink, part: MjcfPart, X_BF: RigidTransform, report: MjcfReport) -> LightDescription | None:
    node = part.node
    mode = node.expect_one_of(node.attributes.get("mode", "fixed"), _MODES, "value of attribute 'mode' of <light>")
    default = "directional" if read_flag(node, "directional", False) else "spot"
    kind = node.expect_one_of(node.attributes.get("type", default), _TYPES, "value of attribute 'type' of <light>")
    color = _color(node.vector_attribute("diffuse", 3, _DIFFUSE))
    attenuation = node.vector_attribute("attenuation", 3, [1.0, 0.0, 0.0])
    cutoff = node.float_attribute("cutoff", 45.0)
    if not read_flag(node, "active", True):
        return None
    if not link.weld_root().is_world or mode not in ("fixed", "track"):
        report.add(node.location, "<light> is left out: lights are fixed to the world, and do not follow")
        return None
    if kind == "image":
        report.add(node.location, "<light type=\"image\"> is left out: lights have no pictures")
        return None
    X_WF = link.pose_in_world() @ X_BF
    direction = X_WF.rotation() @ node.vector_attribute("dir", 3, [0.0, 0.0, -1.0])
    if not direction.any():
        raise node.error(f"{node.describe()} has the dir 0 0 0, and must point where it shines.")
    position = X_WF @ node.vector_attribute("pos", 3, [0.0, 0.0, 0.0])
    return LightDescription(kind, "world", color, attenuation, position, direction, float(np.clip(cutoff, 0.0, 90.0)))


def _at_camera(source: MjcfSource) -> list[LightDescription]:
    """The light that shines from the camera, unless it is switched off."""
    ambient, diffuse, is_active = _AMBIENT_OF_CAMERA, _DIFFUSE_OF_CAMERA, 1.0
    for node in source.section("visual"):
        if node.tag == "headlight":
            ambient = node.vector_attribute("ambient", 3, ambient).tolist()
            diffuse = node.vector_attribute("diffuse", 3, diffuse).tolist()
            is_active = node.float_attribute("active", is_active)
    if not is_active:
        return []
    color = _color(np.add(ambient, diffuse))
    forward = np.array([0.0, 0.0, 1.0])
    return [LightDescription("directional", "camera", color, np.array([1.0, 0.0, 0.0]), np.zeros(3), forward)]


def _color(rgb: np.ndarray) -> tuple[float, float, float]:
    red, green, blue = np.clip(rgb, 0.0, 1.0).tolist()
    return red, green, blue
