"""Cameras that send their images as messages."""

from __future__ import annotations

from typing import Any

import pytest
from rendered_scenes import need_renderer

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, Value
from merganser.framework.lcm import ApplyLcmBusConfig, DrakeLcm, DrakeLcmParams, LcmBuses
from merganser.framework.lcm.messages import lcmt_image_array
from merganser.framework.math import RigidTransform
from merganser.framework.schema import Rotation, Transform
from merganser.geometry import Sphere
from merganser.geometry.sensors import LcmImageArrayToImages
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.sensors import ApplyCameraConfig, CameraConfig

need_renderer()

DOWN = Transform(translation=[0.0, 0.0, 3.0], rotation=Rotation.Rpy(deg=[180.0, 0.0, 0.0]))


def ball() -> DiagramBuilder:
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
    plant.RegisterVisualGeometry(plant.world_body(), RigidTransform(), Sphere(0.5), "ball", [1.0, 0.0, 0.0, 1.0])
    plant.Finalize()
    return builder


def config(**settings: Any) -> CameraConfig:
    return CameraConfig(name="top", width=32, height=24, X_PB=DOWN, fps=10.0, **settings)


@pytest.mark.parametrize("is_compressed", [False, True])
def test_images_are_sent_at_the_rate_of_the_camera(is_compressed: bool) -> None:
    builder, lcm, got = ball(), DrakeLcm("memq://"), []
    ApplyCameraConfig(config(depth=True, label=True, do_compress=is_compressed), builder, lcm=lcm)
    lcm.Subscribe("DRAKE_RGBD_CAMERA_IMAGES_top", lambda data: got.append(lcmt_image_array.decode(data)))
    Simulator(builder.Build()).AdvanceTo(0.25)
    assert lcm.HandleSubscriptions(0) == 3
    assert [message.header.utime for message in got] == [0, 100_000, 200_000]
    assert [image.header.frame_name for image in got[0].images] == ["depth", "rgb", "label"]
    unpack = LcmImageArrayToImages()
    context = unpack.CreateDefaultContext()
    unpack.image_array_t_input_port().FixValue(context, Value(got[0]))
    red, green, _, _ = unpack.color_image_output_port().Eval(context).at(16, 12)
    assert red > 100 and green < 50
    (depth,) = unpack.depth_image_output_port().Eval(context).at(16, 12)
    assert depth == pytest.approx(2.5, abs=5e-3)  # the sphere has facets


def test_the_bus_of_a_camera_is_found_by_its_name() -> None:
    builder = ball()
    buses = ApplyLcmBusConfig({"arm": DrakeLcmParams(lcm_url="memq://"), "default": None}, builder)
    before = len(builder.GetSystems())
    ApplyCameraConfig(config(), builder, lcm_buses=buses)  # to nowhere
    assert len(builder.GetSystems()) == before + 1
    other = CameraConfig(name="other", lcm_bus="arm")
    ApplyCameraConfig(other, builder, lcm_buses=buses)
    assert builder.HasSubsystemNamed("image_to_lcm_other")


def test_a_bus_that_is_not_there_is_named_and_nothing_added() -> None:
    builder = ball()
    before = len(builder.GetSystems())
    with pytest.raises(RuntimeError, match="non-default LCM bus 'left'"):
        ApplyCameraConfig(config(lcm_bus="left"), builder)
    with pytest.raises(RuntimeError, match="ApplyCameraConfig requested an LCM bus 'left' that does not exist"):
        ApplyCameraConfig(config(lcm_bus="left"), builder, lcm_buses=LcmBuses())
    assert len(builder.GetSystems()) == before
