"""Images of a camera as messages: what ApplyCameraConfig adds to send them."""

from __future__ import annotations

from typing import Any

from merganser.framework import DiagramBuilder
from merganser.framework.lcm.lcm_publisher_system import LcmPublisherSystem
from merganser.framework.lcm.messages.signals import lcmt_image_array
from merganser.geometry.images import PixelType
from merganser.geometry.sensors.lcm_images import ImageToLcmImageArrayT
from merganser.multibody.sensors.camera_config import CameraConfig

_AFTER_DELAY = 1.001  # images that are given with a delay are there a little later


def send_images(config: CameraConfig, builder: DiagramBuilder, sensor: Any, bus: Any) -> None:
    """Adds to a diagram what sends the images of a sensor, on the channel DRAKE_RGBD_CAMERA_IMAGES_<name>.

    Args:
        config: of the camera.
        builder: of the diagram.
        sensor: gives the images.
        bus: sends them.
    """
    to_lcm = ImageToLcmImageArrayT(config.do_compress)
    builder.AddNamedSystem(f"image_to_lcm_{config.name}", to_lcm)
    ports = [
        (config.depth, PixelType.kDepth16U, "depth", sensor.depth_image_16U_output_port),
        (config.rgb, PixelType.kRgba8U, "rgb", sensor.color_image_output_port),
        (config.label, PixelType.kLabel16I, "label", sensor.label_image_output_port),
    ]
    for is_wanted, pixel_type, name, output_port in ports:
        if is_wanted:
            builder.Connect(output_port(), to_lcm.DeclareImageInputPort[pixel_type](name))
    publisher = LcmPublisherSystem.Make(
        f"DRAKE_RGBD_CAMERA_IMAGES_{config.name}",
        lcmt_image_array,
        bus,
        publish_period=1.0 / config.fps,
        publish_offset=config.capture_offset + _AFTER_DELAY * config.output_delay,
    )
    builder.AddSystem(publisher)
    builder.Connect(to_lcm.image_array_t_msg_output_port(), publisher.get_input_port())
