"""Meldis: draws in a Meshcat what other programs send over LCM, as DrakeVisualizer does."""

from __future__ import annotations

import base64
import copy
import json
import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from merganser.framework.lcm.drake_lcm import DrakeLcm, DrakeLcmInterface, interface_of
from merganser.framework.lcm.messages.viewers import (
    lcmt_contact_results_for_viz,
    lcmt_viewer_draw,
    lcmt_viewer_geometry_data,
    lcmt_viewer_link_data,
    lcmt_viewer_load_robot,
)
from merganser.framework.math import Quaternion, RigidTransform
from merganser.geometry import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    InMemoryMesh,
    MemoryFile,
    Mesh,
    MeshcatParams,
    MeshSource,
    Rgba,
    Shape,
    Sphere,
)
from merganser.geometry.meshes import TriangleSurfaceMesh
from merganser.geometry.visualizers import Meshcat
from merganser.multibody.visualization.contact_drawing import PointContactDrawing
from merganser.multibody.visualization.params import ContactVisualizerParams

_logger = logging.getLogger("merganser.multibody")

_WAIT = 100  # for messages, at most [ms]
_PERIOD = 1 / 40  # of pictures [s]
# Of channels: where what they say is drawn, and whether it is seen at first.
_ROLES = {
    "": ("/DRAKE_VIEWER", True),
    "_ILLUSTRATION": ("/Visual Geometry", True),
    "_PROXIMITY": ("/Collision Geometry", False),
    "_PERCEPTION": ("/Perception Geometry", False),
}
_SHAPES: dict[int, tuple[type[Shape], int]] = {  # by their numbers in messages: classes, and how many sizes they have
    lcmt_viewer_geometry_data.BOX: (Box, 3),
    lcmt_viewer_geometry_data.SPHERE: (Sphere, 1),
    lcmt_viewer_geometry_data.CYLINDER: (Cylinder, 2),
    lcmt_viewer_geometry_data.CAPSULE: (Capsule, 2),
    lcmt_viewer_geometry_data.ELLIPSOID: (Ellipsoid, 3),
}


class Meldis:
    """A program that shows in the browser what others send over LCM: geometries, their poses, and contact forces.

        Meldis(meshcat_port=7000).serve_forever()

    It draws the messages of `DrakeVisualizer`, also of Drake's, and forces at contact points. Of each channel the last
    message counts. One that is damaged is left out, with a warning.

    Args:
        meshcat_host: of the Meshcat; None for that of `meshcat_params`.
        meshcat_port: of the Meshcat; None for that of `meshcat_params`.
        meshcat_params: of the Meshcat; None for the usual ones.
        environment_map: a picture of what is around the scene; None for none.
        lcm: receives the messages; None for a new DrakeLcm with the default URL. Beyond pydrake.

    Attributes:
        meshcat: where it draws.

    Raises:
        ImportError: the package lcm is not installed (extra `lcm`).
    """

    def __init__(
        self, *, meshcat_host: str | None = None, meshcat_port: int | None = None,
        meshcat_params: MeshcatParams | None = None, environment_map: Path | None = None,
        lcm: DrakeLcmInterface | None = None,
    ) -> None:  # fmt: skip
        params = MeshcatParams() if meshcat_params is None else copy.deepcopy(meshcat_params)
        params.host = params.host if meshcat_host is None else meshcat_host
        params.port = params.port if meshcat_port is None else meshcat_port
        self._lcm: DrakeLcm = interface_of(lcm, "Meldis")
        self.meshcat = Meshcat(params=params)
        if environment_map is not None:
            self.meshcat.SetEnvironmentMap(environment_map)
        self._messages: dict[str, bytes] = {}  # that have come and are not drawn yet, by their channels
        self._loaded: dict[str, bytes] = {}  # the last message to load, by the paths where it is drawn
        self._contacts = PointContactDrawing(self.meshcat, ContactVisualizerParams(prefix="/CONTACT_RESULTS"))
        self._draw: dict[str, Callable[[bytes], None]] = {"CONTACT_RESULTS": self._draw_contacts}
        for role, (path, is_visible) in _ROLES.items():
            self._draw |= {
                f"DRAKE_VIEWER_LOAD_ROBOT{role}": partial(self._load, path),
                f"DRAKE_VIEWER_DRAW{role}": partial(self._move, path),
                f"DRAKE_VIEWER_DEFORMABLE{role}": partial(self._deform, path),
            }
            self.meshcat.SetProperty(path, "visible", is_visible)
        for channel in self._draw:
            self._lcm.Subscribe(channel, partial(self._messages.__setitem__, channel))

    def serve_forever(self, *, idle_timeout: float | None = None) -> None:
        """Draws what comes, 40 times a second, until the program is interrupted.

        Args:
            idle_timeout: it returns after so long without a page that is open [s]; None for never.

        Raises:
            ValueError: the timeout is not positive.
        """
        if idle_timeout is not None and not idle_timeout > 0.0:
            raise ValueError(f"Meldis.serve_forever: idle_timeout must be positive or None; given {idle_timeout}.")
        seen = time.monotonic()
        while idle_timeout is None or time.monotonic() < seen + idle_timeout:
            start = time.monotonic()
            self.draw_messages(_WAIT)
            if self.meshcat.GetNumActiveConnections():
                seen = time.monotonic()
            time.sleep(max(0.0, start + _PERIOD - time.monotonic()))

    def draw_messages(self, timeout_millis: int = 0) -> int:
        """Draws what has come since the last time; beyond pydrake.

        Args:
            timeout_millis: how long to wait for the first message [ms].

        Returns:
            The number of messages that have come.
        """
        count = self._lcm.HandleSubscriptions(timeout_millis)
        messages, self._messages = self._messages, {}
        for channel in self._draw:  # loads before poses
            if channel in messages:
                try:
                    self._draw[channel](messages[channel])
                except (ValueError, TypeError, RuntimeError, OSError) as error:
                    _logger.warning(f"Meldis: a message on channel '{channel}' is not drawn: {error}")
        return count

    def _load(self, path: str, data: bytes) -> None:
        if self._loaded.get(path) == data:
            return
        message = lcmt_viewer_load_robot.decode(data)
        self.meshcat.Delete(path)
        self._loaded[path] = data
        for link in message.link:
            self._draw_link(_path_of(path, link.name, link.robot_num), link)

    def _deform(self, path: str, data: bytes) -> None:
        self._draw_link(f"{path}/deformable_geometries", lcmt_viewer_link_data.decode(data))

    def _draw_link(self, path: str, link: Any) -> None:
        """Draws all geometries of a link; one that cannot be drawn is left out with a warning."""
        for number, geometry in enumerate(link.geom):
            try:
                here, shape = f"{path}/{number}", _shape_of(geometry)
                self.meshcat.SetObject(here, shape, Rgba(*geometry.color))
                self.meshcat.SetTransform(here, _pose(geometry.position, geometry.quaternion))
            except (ValueError, TypeError, RuntimeError, KeyError, OSError) as error:
                _logger.warning(f"Meldis: geometry {number} of '{link.name}' is not drawn: {error}")

    def _move(self, path: str, data: bytes) -> None:
        message = lcmt_viewer_draw.decode(data)
        poses = zip(message.link_name, message.robot_num, message.position, message.quaternion, strict=True)
        for name, group, position, quaternion in poses:
            self.meshcat.SetTransform(_path_of(path, name, group), _pose(position, quaternion))

    def _draw_contacts(self, data: bytes) -> None:
        message = lcmt_contact_results_for_viz.decode(data)
        contacts = message.point_pair_contact_info
        self._contacts.update(
            [f"{each.body1_name}+{each.body2_name}" for each in contacts],
            np.array([each.contact_force for each in contacts]).reshape(-1, 3),
            np.array([each.contact_point for each in contacts]).reshape(-1, 3),
            1e-6 * message.timestamp,
        )


def _path_of(path: str, name: str, group: int) -> str:
    """Where a link is drawn; parts of its name are below each other."""
    return f"{path}/{group}/{name.replace('::', '/')}"


def _pose(position: Any, quaternion: Any) -> RigidTransform:
    wxyz = np.array(quaternion, float)
    return RigidTransform(Quaternion(wxyz=wxyz / np.linalg.norm(wxyz)), np.array(position, float))


def _shape_of(data: Any) -> Shape | TriangleSurfaceMesh:
    """The shape in a message.

    Raises:
        ValueError, RuntimeError, KeyError, OSError: it has none, or one that cannot be.
    """
    numbers = np.array(data.float_data, float)
    if data.type in _SHAPES:
        shape, count = _SHAPES[data.type]
        return shape(*numbers[:count].tolist())
    if data.type != lcmt_viewer_geometry_data.MESH:
        raise ValueError(f"there is no shape of number {data.type}.")
    if len(numbers) == 3:
        return Mesh(_source_of(data.string_data), scale3=numbers)
    num_vertices, num_triangles = numbers[:2].astype(int).tolist()
    if min(num_vertices, num_triangles) < 0 or len(numbers) != 2 + 3 * (num_vertices + num_triangles):
        raise ValueError(
            f"a mesh has {num_vertices} vertices and {num_triangles} triangles, but {len(numbers)} numbers."
        )
    vertices, triangles = np.split(numbers[2:], [3 * num_vertices])
    return TriangleSurfaceMesh(triangles.reshape(-1, 3).astype(int), vertices.reshape(-1, 3))


def _source_of(text: str) -> MeshSource:
    """The file of a mesh: by its path, or JSON with the file itself, as DrakeVisualizer writes it."""
    if not text.startswith("{"):
        return MeshSource(Path(text))
    content = json.loads(text)["in_memory_mesh"]
    others = content.get("supporting_files", {})
    supporting = {name: _file_of(other) for name, other in others.items()}
    return MeshSource(InMemoryMesh(mesh_file=_file_of(content["mesh_file"]), supporting_files=supporting))


def _file_of(content: dict[str, str]) -> Any:
    if "path" in content:
        return Path(content["path"])
    return MemoryFile(base64.b64decode(content["contents"]), content["extension"], content["filename_hint"])
