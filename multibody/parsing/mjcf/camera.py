"""Cameras of MJCF files: fixed to bodies, following them, or turning towards them."""

from __future__ import annotations

__all__ = ["X_EC", "MjcfCamera", "MjcfImage", "is_fixed", "read_cameras", "read_image"]

import math
from dataclasses import dataclass

import numpy as np

from merganser.framework.common.errors import nearest_names
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.multibody.parsing.description import CameraMotion
from merganser.multibody.parsing.mjcf.bodies import MjcfLink, MjcfModel
from merganser.multibody.parsing.mjcf.report import MjcfReport
from merganser.multibody.parsing.mjcf.tree import MjcfPart

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
        focal: focal lengths [pixels], if the file tells them.
        fov_y: vertical field of view [degrees].
    """

    width: int
    height: int
    focal: tuple[float, float] | None
    fov_y: float

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
        cameras.append(MjcfCamera(part, name, link, X_BC, read_image(part, report), motion))
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
    raise node.error(f"{node.describe()} names the target '{wanted}', which is no body. {nearest_names(wanted, links)}")


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


def read_image(part: MjcfPart, report: MjcfReport) -> MjcfImage:
    """Reads size, focal lengths and field of view of a camera.

    Args:
        part: the <camera>.
        report: receives what has no counterpart.

    Raises:
        ParsingError: a number is wrong.
    """
    width, height = _size(part)
    focal = _focal_lengths(part, width, height, report)
    fov_y = part.node.float_attribute("fovy", 45.0)
    if not 0.0 < fov_y < 180.0:
        raise part.node.error(f"{part.node.describe()} has the fovy {fov_y:g}; it is between 0 and 180 degrees.")
    return MjcfImage(width, height, focal, fov_y)


def _size(part: MjcfPart) -> tuple[int, int]:
    """Width and height of images [pixels]."""
    width, height = part.node.vector_attribute("resolution", 2, [1.0, 1.0])
    if not (width >= 1.0 and height >= 1.0 and width == int(width) and height == int(height)):
        text = part.node.attributes["resolution"]
        raise part.node.error(f"{part.node.describe()} has the resolution '{text}', expected two positive integers.")
    return (int(width), int(height)) if max(width, height) > 1.0 else _SIZE


def _focal_lengths(part: MjcfPart, width: int, height: int, report: MjcfReport) -> tuple[float, float] | None:
    """Focal lengths [pixels], of a camera with a size of its sensor; None for one with a field of view."""
    node = part.node
    sensor = node.vector_attribute("sensorsize", 2, [0.0, 0.0])
    if not sensor.all():
        return None
    if node.vector_attribute("principal", 2, [0.0, 0.0]).any() or "principalpixel" in node.attributes:
        report.add(node.location, "<camera> principal: the principal point is the middle of the image")
    pixels = np.array([width, height]) / sensor
    lengths = node.vector_attribute("focal", 2, [0.0, 0.0]) * pixels
    x, y = node.vector_attribute("focalpixel", 2, lengths.tolist()).tolist()
    if not (x > 0.0 and y > 0.0):
        raise node.error(f"{node.describe()} has a sensorsize, but no positive focal lengths.")
    return x, y
