"""CameraPreview: what a camera at the pose of a page's camera sees, as a picture in that page."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

from merganser.framework import Context
from merganser.geometry.rendering import EnvironmentMap, EquirectangularMap, LightParameter, RenderEngineVtkParams
from merganser.geometry.visualizers import Meshcat
from merganser.multibody.planning import RobotDiagramBuilder
from merganser.multibody.sensors import ApplyCameraConfig, CameraConfig

_FIELD_OF_VIEW = 75.0  # of pages, in the vertical [degrees]
_QUALITY = 90  # of JPEG


class CameraPreview:
    """A color camera of a plant's scene, and its picture in a corner of the page.

    Pages report the pose of their camera if their address ends with `?tracked_camera=on`.

    Args:
        builder: is given the camera; its plant is finalized.
        meshcat: whose camera is followed, and whose page shows the picture.
        environment_map: a picture of the surroundings, as of `Meshcat.SetEnvironmentMap`; an empty path for none.
        no_lights: whether nothing shines but the surroundings.

    Raises:
        ImportError: the extra `render` is not installed.
        RuntimeError: the environment map cannot be read.
    """

    def __init__(
        self, builder: RobotDiagramBuilder, meshcat: Meshcat, environment_map: Path = Path(), no_lights: bool = False
    ) -> None:
        engine = RenderEngineVtkParams(exposure=1.0)
        if environment_map != Path():
            engine.environment_map = EnvironmentMap(texture=EquirectangularMap(path=str(environment_map)))
        if no_lights:
            engine.lights = [LightParameter(intensity=0.0)]  # without any, one would shine from the camera
        focal = CameraConfig.FovDegrees(y=_FIELD_OF_VIEW)
        config = CameraConfig(name="preview", focal=focal, renderer_class=engine)
        ApplyCameraConfig(config, builder.builder(), plant=builder.plant(), scene_graph=builder.scene_graph())
        self._sensor: Any = builder.builder().GetSubsystemByName(f"rgbd_sensor_{config.name}")
        self._meshcat = meshcat
        self._shown: Any = None  # the image in the page

    def update(self, root_context: Context) -> None:
        """Moves the camera to the pose of the page's camera, if known, and shows its image, if new.

        Args:
            root_context: of the diagram.

        Raises:
            RuntimeError: no images can be made on this machine; the message says what is missing.
        """
        X_WC = self._meshcat.GetTrackedCameraPose()
        if X_WC is None:
            return
        context = self._sensor.GetMyMutableContextFromRoot(root_context)
        if not X_WC.IsExactlyEqualTo(self._sensor.GetX_PB(context)):
            self._sensor.SetX_PB(context, X_WC)
        image = self._sensor.color_image_output_port().Eval(context)  # the same one until something moves
        if image is not self._shown:
            self._meshcat.show_preview(_as_jpeg(image.data))
            self._shown = image


def _as_jpeg(pixels: np.ndarray) -> bytes:
    """An image as a JPEG file; pixels of shape [height, width, 4], whose opacity does not count."""
    from PIL import Image as pillow  # takes 40 ms to import

    file = io.BytesIO()
    pillow.fromarray(np.ascontiguousarray(pixels[:, :, :3])).save(file, "JPEG", quality=_QUALITY)
    return file.getvalue()
