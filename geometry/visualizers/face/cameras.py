"""From where the scene is seen, and in which surroundings.

The client has its own world, with y upwards: [x, y, z] of W is [x, z, -y] there.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.geometry.visualizers.encoding import Message, encode
from merganser.geometry.visualizers.face.drawing import DrawingFace
from merganser.geometry.visualizers.objects import camera_object, picture
from merganser.geometry.visualizers.params import OrthographicCamera, PerspectiveCamera

_DEFAULT_CAMERA = "/Cameras/default/rotated"
_DEFAULT_POSITION = [0.0, 1.0, 3.0]  # in the client's world
_Z_W = np.array([0.0, 0.0, 1.0])
_MEDIA_TYPES = {".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
_R_WThree = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])


class CameraFace(DrawingFace):
    """The functions of Meshcat about cameras and the background."""

    def SetCamera(self, camera: PerspectiveCamera | OrthographicCamera, path: str = "/Cameras/default/rotated") -> None:
        """Replaces the camera, which keeps its place and its target.

        Raises:
            TypeError: the first argument is not a camera.
        """
        if not isinstance(camera, (PerspectiveCamera, OrthographicCamera)):
            raise TypeError(
                "Meshcat.SetCamera() takes a Meshcat.PerspectiveCamera or a Meshcat.OrthographicCamera; given "
                f"{camera!r}."
            )
        if path == _DEFAULT_CAMERA:
            self._has_perspective = isinstance(camera, PerspectiveCamera)
        self.set_object(path, camera_object(camera))
        # The client puts it at its origin, and has it look there.
        place = self._scene.get_at(f"{path}/<object>", "property position")
        target = self._scene.get_other("target")
        if place is not None:
            self._scene.set_at(f"{path}/<object>", "property position", place)
        elif path == _DEFAULT_CAMERA:
            self._scene.set_other("first place", first_place())
        if target is not None:
            self._scene.set_other("target", target)

    def SetCameraTarget(self, target_in_world: ArrayLike) -> None:
        """Turns the camera to a point T, p_WT [m], shape [3]; a camera without perspective stays as it is.

        Raises:
            TypeError: the position is not three finite numbers.
        """
        p_WT = _position("SetCameraTarget", "target_in_world", target_in_world)
        if self._has_perspective:
            self._set_target(p_WT, _Z_W)

    def SetCameraPose(self, camera_in_world: ArrayLike, target_in_world: ArrayLike) -> None:
        """Puts the camera C at a place, from which it looks at a point T, with the z axis of W upwards.

        Args:
            camera_in_world: p_WC [m], shape [3].
            target_in_world: p_WT [m], shape [3].

        Raises:
            TypeError: a position is not three finite numbers.
        """
        p_WC = _position("SetCameraPose", "camera_in_world", camera_in_world)
        p_WT = _position("SetCameraPose", "target_in_world", target_in_world)
        self.SetTransform("/Cameras/default", RigidTransform())
        self._set_position(_to_three(p_WC))
        self._set_target(p_WT, _Z_W)

    def GetTrackedCameraPose(self) -> RigidTransform | None:
        """Returns the pose X_WC of the camera of the page that was last moved, z forward and y downwards.

        Pages report it if their address ends with `?tracked_camera=on`. None before the first report, after the
        page that reported last has left, or if its camera is without perspective.
        """
        pose = self._inbox.camera
        if pose is None:
            return None
        # three.js' cameras look along -z, with y upwards.
        R_WC = _R_WThree @ pose[:3, :3] @ np.diag([1.0, -1.0, -1.0])
        return RigidTransform(RotationMatrix.ProjectToRotationMatrix(R_WC), _R_WThree @ pose[:3, 3])

    def Set2dRenderMode(
        self,
        X_WC: RigidTransform = RigidTransform([0.0, -1.0, 0.0]),  # noqa: B008
        xmin: float = -1.0,
        xmax: float = 1.0,
        ymin: float = -1.0,
        ymax: float = 1.0,
    ) -> None:
        """Shows the scene without perspective, background, grid and axes.

        Args:
            X_WC: pose of the camera, which looks along Cy; Cx is to the right and Cz upwards.
            xmin: what is at the left edge, in Cx [m].
            xmax: at the right edge.
            ymin: at the lower edge, in Cz [m].
            ymax: at the upper edge.

        Raises:
            TypeError: the pose is none.
        """
        if not isinstance(X_WC, RigidTransform):
            raise TypeError(f"Meshcat.Set2dRenderMode(): X_WC must be a RigidTransform; given {X_WC!r}.")
        p_WC, R_WC = X_WC.translation(), X_WC.rotation().matrix()
        self.SetTransform("/Cameras/default", RigidTransform())
        self.SetCamera(OrthographicCamera(left=xmin, right=xmax, bottom=ymin, top=ymax))
        self._set_position(_to_three(p_WC))
        self._set_target(p_WC + R_WC[:, 1], R_WC[:, 2])
        for path in ("/Background", "/Grid", "/Axes"):
            self.SetProperty(path, "visible", False)

    def ResetRenderMode(self) -> None:
        """Shows the scene as at the beginning: with the camera where all is seen, background, grid and axes."""
        self.SetTransform("/Cameras/default", RigidTransform())
        self._scene.forget_at(f"{_DEFAULT_CAMERA}/<object>", "property position")
        self._scene.remove_other("target")
        self.SetCamera(PerspectiveCamera())
        for path in ("/Background", "/Grid", "/Axes"):
            self.SetProperty(path, "visible", True)

    def SetEnvironmentMap(self, image_path: str | os.PathLike[str]) -> None:
        """Sets the picture of the surroundings that shiny materials reflect, in equirectangular projection.

        Args:
            image_path: a file in a format that browsers show; empty for none.

        Raises:
            RuntimeError: the file cannot be read.
        """
        content = ""
        if os.fspath(image_path):
            try:
                contents = Path(image_path).read_bytes()
            except OSError as error:
                raise RuntimeError(
                    f"Meshcat.SetEnvironmentMap(): cannot read '{image_path}': {error.strerror}."
                ) from error
            content = picture(contents, _MEDIA_TYPES.get(Path(image_path).suffix.lower(), "image/png"))
        self._scene.set_other("environment", encode({"type": "set_environment_map", "picture": content}))

    def show_preview(self, jpeg: bytes | None) -> None:
        """Shows a picture, a JPEG file, in a corner of the page, instead of the last one; None removes it.

        Static pages do not have it.
        """
        if jpeg is not None:
            self._scene.set_other("preview", _preview(picture(jpeg, "image/jpeg")))
        elif self._scene.get_other("preview") is not None:
            self._scene.remove_other("preview", _preview(""))

    def _set_position(self, position: list[float]) -> None:
        self.SetProperty(f"{_DEFAULT_CAMERA}/<object>", "position", position)

    def _set_target(self, p_WT: NDArray[np.float64], up_W: NDArray[np.float64]) -> None:
        """Turns the camera to T, with a given upward direction."""
        command = {"type": "set_target", "value": _to_three(p_WT), "up": _to_three(up_W)}
        self._scene.set_other("target", encode(command))

    _has_perspective = True


def first_place() -> Message:
    """The command for the initial pose of the camera, from which it sees the whole model."""
    path = f"{_DEFAULT_CAMERA}/<object>"
    command = {"type": "set_property", "path": path, "property": "position", "value": _DEFAULT_POSITION}
    return encode({**command, "is_first": True})


def _preview(address: str) -> Message:
    return encode({"type": "show_preview", "picture": address})


def _to_three(p_W: NDArray[np.float64]) -> list[float]:
    x, y, z = p_W.tolist()
    return [x, z, -y]


def _position(function: str, name: str, value: ArrayLike) -> NDArray[np.float64]:
    try:
        position = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        position = np.empty(0)
    if position.shape not in ((3,), (3, 1)) or not np.isfinite(position).all():
        raise TypeError(f"Meshcat.{function}(): {name} must be three finite numbers; given {value!r}.")
    return position.reshape(3)
