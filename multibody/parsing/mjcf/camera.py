"""Cameras of MJCF files: fixed to bodies, following them, or turning towards them.

Lights of MJCF files that stay where they are, and the one at the camera.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from merganser.framework.common.errors import nearest_names
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.parsing.instrument_description import CameraMotion, LightDescription
from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.settings import read_flag
from merganser.multibody.parsing.mjcf.source import MjcfSource
from merganser.multibody.parsing.mjcf.tree import MjcfPart
from merganser.multibody.parsing.mjcf.vocabulary import MjcfReport

_TRACKING, _TARGETING = ("track", "trackcom"), ("targetbody", "targetbodycom")
_MODES = ("fixed", *_TRACKING, *_TARGETING)
_SIZE = (640, 480)  # of images of cameras whose file does not say [pixels]
# MuJoCo's cameras look along -z, with y up; those here along z, with y down.
X_EC = RigidTransform(RotationMatrix(np.diag([1.0, -1.0, -1.0])))


@dataclass(frozen=True)
class MjcfImage:
    """The images of a camera.

    Attributes:
        width, height: [pixels].
        focal: focal lengths [pixels], if the file has them.
        fov_y: vertical field of view [degrees].
        center: the principal point [pixels], if it is not the middle.
    """

    width: int
    height: int
    focal: tuple[float, float] | None
    fov_y: float
    center: tuple[float, float] | None = None

    def focal_lengths(self) -> tuple[float, float]:
        """Focal lengths in x and y [pixels]."""
        if self.focal is not None:
            return self.focal
        length = 0.5 * self.height / math.tan(0.5 * math.radians(self.fov_y))
        return length, length


@dataclass(frozen=True, eq=False)
class MjcfCamera:
    """A camera C on a body B, which looks along Cz, with Cy down.

    Attributes:
        part: the element.
        name: unique.
        link: the body.
        X_BC: pose in it where the file puts the model.
        image: its images.
        motion: how it moves, if it is not fixed to the body.
    """

    part: MjcfPart
    name: str
    link: MjcfLink
    X_BC: RigidTransform
    image: MjcfImage
    motion: CameraMotion | None


def read_cameras(model: MjcfModel, report: MjcfReport) -> list[MjcfCamera]:
    """Reads all cameras; those without a name are called after their number.

    Args:
        model: its bodies have their names.
        report: receives what has no counterpart.

    Raises:
        ParsingError: a number or name is wrong.
    """
    cameras = []
    placed = [(link, part, X_BE) for link in model.links for part, X_BE in link.cameras]
    for number, (link, part, X_BE) in enumerate(placed):
        if _is_left_out(part, report):
            continue
        X_BC, name = X_BE @ X_EC, part.name or f"camera{number}"
        motion = None if is_fixed(part) else _read_motion(part, link, X_BC, model)
        cameras.append(MjcfCamera(part, name, link, X_BC, read_image(part), motion))
    return cameras


def is_fixed(part: MjcfPart) -> bool:
    """Whether a camera is fixed to its body."""
    node = part.node
    mode = node.expect_one_of(node.attributes.get("mode", "fixed"), _MODES, "value of attribute 'mode' of <camera>")
    return mode == "fixed" or (mode in _TARGETING and not node.attributes.get("target"))


def _read_motion(part: MjcfPart, link: MjcfLink, X_BC: RigidTransform, model: MjcfModel) -> CameraMotion:
    """How a camera moves that is not fixed to its body."""
    mode = part.node.attributes["mode"]
    followed = link if mode in _TRACKING else _target(part, model)
    is_of_center = mode.endswith("com")
    bodies = tuple(map(model.reference, model.subtree(followed))) if is_of_center else (model.reference(followed),)
    return CameraMotion(
        mode in _TARGETING, is_of_center, bodies or (model.reference(followed),), model.reference(link), X_BC,
        link.pose_in_world() @ X_BC, _middle(model.subtree(followed) if is_of_center else [], followed),
    )  # fmt: skip


def _target(part: MjcfPart, model: MjcfModel) -> MjcfLink:
    """The body at which a camera looks."""
    node, wanted = part.node, part.node.attributes["target"]
    if wanted == "world":
        return model.links[0]
    links = {link.body.name: link for link in model.links if link.body.name}
    for name in part.spot.candidates(wanted):
        if name in links:
            return links[name]
    hint = nearest_names(wanted, links)
    raise node.error(f"{node.describe()} names the target '{wanted}', which is not a body. {hint}")


def _middle(links: list[MjcfLink], root: MjcfLink) -> np.ndarray:
    """The mass centre of bodies where the file puts them, or the origin of `root` if they have no mass [m]."""
    total = sum(link.mass.mass for link in links)
    if not total > 0.0:
        return np.array(root.pose_in_world().translation())
    moments = [link.mass.mass * (link.pose_in_world() @ link.mass.p_SoScm_S) for link in links]
    return np.asarray(np.sum(moments, axis=0) / total)


def _is_left_out(part: MjcfPart, report: MjcfReport) -> bool:
    node = part.node
    if node.attributes.get("projection") == "orthographic" or node.attributes.get("orthographic") == "true":
        report.add(node.location, "<camera> with an orthographic projection is left out: cameras are pinhole cameras")
        return True
    return False


def read_image(part: MjcfPart) -> MjcfImage:
    """Reads size, focal lengths, field of view and principal point of a camera.

    Args:
        part: the <camera>.

    Raises:
        ParsingError: a number is wrong.
    """
    width, height = _size(part)
    focal, center = _intrinsics(part, width, height)
    fov_y = part.node.float_attribute("fovy", 45.0)
    if not 0.0 < fov_y < 180.0:
        raise part.node.error(f"{part.node.describe()} has the fovy {fov_y:g}; it is between 0 and 180 degrees.")
    return MjcfImage(width, height, focal, fov_y, center)


def _size(part: MjcfPart) -> tuple[int, int]:
    """Width and height of images [pixels]."""
    width, height = part.node.vector_attribute("resolution", 2, [1.0, 1.0])
    if not (width >= 1.0 and height >= 1.0 and width == int(width) and height == int(height)):
        text = part.node.attributes["resolution"]
        raise part.node.error(f"{part.node.describe()} has the resolution '{text}', expected two positive integers.")
    return (int(width), int(height)) if max(width, height) > 1.0 else _SIZE


def _intrinsics(
    part: MjcfPart, width: int, height: int
) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    """Focal lengths and principal point [pixels], of a camera with a size of its sensor; None for each that is not so.

    The file gives the middle of the sensor as seen from the principal point, in x to the right and y down.
    """
    node = part.node
    sensor = node.vector_attribute("sensorsize", 2, [0.0, 0.0])
    if not sensor.all():
        return None, None
    pixels = np.array([width, height]) / sensor
    lengths = node.vector_attribute("focal", 2, [0.0, 0.0]) * pixels
    x, y = node.vector_attribute("focalpixel", 2, lengths.tolist()).tolist()
    if not (x > 0.0 and y > 0.0):
        raise node.error(f"{node.describe()} has a sensorsize, but no positive focal lengths.")
    offset = node.vector_attribute("principal", 2, [0.0, 0.0]) * pixels
    right, down = node.vector_attribute("principalpixel", 2, offset.tolist()).tolist()
    return (x, y), (0.5 * width - 0.5 - right, 0.5 * height - 0.5 - down) if right or down else None


_LIGHTS = ("fixed", "track", "trackcom", "targetbody", "targetbodycom")
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
    mode = node.expect_one_of(node.attributes.get("mode", "fixed"), _LIGHTS, "value of attribute 'mode' of <light>")
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
