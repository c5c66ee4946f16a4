"""The cameras of an MJCF file, as records and as sensors of a diagram.

Some follow bodies, or turn towards them. With a point P, the origin of a body or the mass centre of several, and all as
the file puts it at first (0),

    R_WC = R_WC0,   p_WC = p_WP + p_WC0 - p_WP0                                           (1)

of a camera that follows P. One that turns towards P stays at its place in its body; with e_z upwards in the world,

    Cz = (p_WP - p_WC) / |p_WP - p_WC|,   Cx = Cz x e_z / |Cz x e_z|,   Cy = Cz x Cx      (2)

where a vector without length has the direction of x, as in MuJoCo.

Source: the XML reference of MuJoCo, on cameras.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.framework import Context, DiagramBuilder, LeafSystem, Value
from merganser.framework.math import RigidTransform, RotationMatrix
from merganser.framework.schema import Transform
from merganser.geometry import FrameId, FramePoseVector, GeometryFrame
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.rendering import LightParameter, RenderEngineVtkParams
from merganser.geometry.sensors import RgbdSensor
from merganser.multibody.parsing import Parser
from merganser.multibody.parsing.description import ModelDescription
from merganser.multibody.parsing.instrument_description import CameraDescription, CameraMotion
from merganser.multibody.parsing.parser import described_model
from merganser.multibody.plant import MultibodyPlant
from merganser.multibody.sensors.camera_config import ApplyCameraConfig, CameraConfig, add_camera, find_system
from merganser.multibody.sensors.mjcf_sensors import PlantFinder
from merganser.multibody.tree import ModelInstanceIndex


def GetMjcfCameraConfigs(parser: Parser, model_instance: ModelInstanceIndex | None = None) -> dict[str, CameraConfig]:
    """Describes the cameras of an MJCF file that are fixed to bodies; AddMjcfCameras() knows the others, too.

    Each is fixed to a frame of the plant that has its name: x to the right of the image, y down, z forward. Sizes of
    images, focal lengths and the vertical field of view are those of the file; images are 640 x 480 if it gives no
    resolution. The background has the mean colour of the sky that the file describes, if there is one. Lights of the
    file that do not move, and that at its cameras, are those of a renderer `<model>_lights`, which casts no shadows; if
    the file has none, cameras have the usual renderer. All else, such as the depth range, is as in a new CameraConfig,
    and may be changed.

    Args:
        parser: that has read the file into its plant, which is finalized now.
        model_instance: of the file; it may be left out if the parser has read one with sensors or cameras.

    Returns:
        The records, by the names of the cameras.

    Raises:
        RuntimeError: the plant is not finalized, or the parser has read no such model.
    """
    plant, instance, model = described_model("GetMjcfCameraConfigs", parser, model_instance, ("sensors", "cameras"))
    scope = plant.GetModelInstanceName(instance)
    return {
        camera.name: _config(model, scope, camera, Transform(base_frame=f"{scope}::{camera.frame}"))
        for camera in model.cameras
        if camera.motion is None
    }


def _config(model: ModelDescription, scope: str, camera: CameraDescription, X_PB: Transform) -> CameraConfig:
    """The record of a camera of the model instance `scope`, with its pose."""
    background = CameraConfig().background if model.sky is None else Rgba(*model.sky[1])
    focal: Any = CameraConfig.FovDegrees(y=camera.fov_y)
    if camera.focal is not None:
        focal = CameraConfig.FocalLength(x=camera.focal[0], y=camera.focal[1])
    config = CameraConfig(
        name=camera.name, width=camera.width, height=camera.height, focal=focal, background=background, X_PB=X_PB
    )
    if camera.center is not None:
        config.center_x, config.center_y = camera.center
    if model.lights:
        config.renderer_name = f"{scope}_lights"
        lights = [
            LightParameter(
                type=light.kind, color=Rgba(*light.color), attenuation_values=light.attenuation,
                position=light.position, frame=light.frame, direction=light.direction, cone_angle=light.cone_angle,
            )
            for light in model.lights
        ]  # fmt: skip
        config.renderer_class = RenderEngineVtkParams(default_clear_color=background.rgba[:3], lights=lights)
    return config


def AddMjcfCameras(
    builder: DiagramBuilder, parser: Parser, model_instance: ModelInstanceIndex | None = None
) -> dict[str, RgbdSensor]:
    """Adds the cameras of an MJCF file to a diagram: an RgbdSensor `rgbd_sensor_<camera>` for each, and a renderer.

    Those that follow bodies or turn towards them are fixed to frames of the scene graph, which a system
    `<model>_moving_cameras` moves.

    Args:
        builder: of the diagram with the plant of the parser, and with the scene graph named "scene_graph".
        parser: see GetMjcfCameraConfigs(), which gives the records for those who want to change something first.
        model_instance: of the file.

    Returns:
        The sensors, by the names of the cameras.

    Raises:
        RuntimeError: as GetMjcfCameraConfigs(), and as ApplyCameraConfig().
    """
    fixed = GetMjcfCameraConfigs(parser, model_instance)
    plant, instance, model = described_model("AddMjcfCameras", parser, model_instance, ("sensors", "cameras"))
    for config in fixed.values():
        ApplyCameraConfig(config, builder, plant=plant)
    moving = [camera for camera in model.cameras if camera.motion is not None]
    if moving:
        _add_moving(builder, plant, instance, model, moving)
    sensors: dict[str, Any] = {
        camera.name: builder.GetSubsystemByName(f"rgbd_sensor_{camera.name}") for camera in model.cameras
    }
    return sensors


def _add_moving(
    builder: DiagramBuilder, plant: MultibodyPlant, instance: ModelInstanceIndex, model: ModelDescription,
    cameras: list[CameraDescription],
) -> None:  # fmt: skip
    scene_graph = find_system(builder, "scene_graph")
    scope = plant.GetModelInstanceName(instance)
    name = f"{scope.replace('::', '_')}_moving_cameras"
    source = scene_graph.RegisterSource(name)
    frames = []
    for camera in cameras:
        assert camera.motion is not None
        frame = scene_graph.RegisterFrame(source, GeometryFrame(camera.name))
        config = _config(model, scope, camera, Transform())
        add_camera(config, builder, scene_graph, frame, RigidTransform(), config.MakeCameras())
        frames.append((frame, camera.motion))
    poses = builder.AddNamedSystem(name, MovingCameras(PlantFinder(plant, instance), frames))
    builder.Connect(plant.get_body_poses_output_port(), poses.get_input_port())
    builder.Connect(poses.get_output_port(), scene_graph.get_source_pose_port(source))


Array = NDArray[np.float64]


class MovingCameras(LeafSystem):
    """Poses of cameras as frames of a scene graph.

    Ports:
        input `body_poses`: of a plant.
        output `geometry_pose`: poses of the frames.

    Args:
        finder: of the plant and the model.
        cameras: frames, and how they move.
    """

    def __init__(self, finder: PlantFinder, cameras: Sequence[tuple[FrameId, CameraMotion]]) -> None:
        super().__init__()
        self._frames = [(frame, _Camera(finder, motion)) for frame, motion in cameras]
        self._poses = self.DeclareAbstractInputPort("body_poses", Value([]))
        self.DeclareAbstractOutputPort(
            "geometry_pose", lambda: Value(FramePoseVector()), self._calc, {self._poses.ticket()}
        )

    def _calc(self, context: Context, output: Any) -> None:
        X_WB = self._poses.Eval(context)
        poses = FramePoseVector()
        for frame, camera in self._frames:
            poses.set_value(frame, camera.calc_pose(X_WB))
        output.set_value(poses)


class _Camera:
    """One camera, in terms of the numbers of bodies in the plant."""

    def __init__(self, finder: PlantFinder, motion: CameraMotion) -> None:
        self._motion = motion
        self._body, self._first = finder.number_of(motion.body), finder.number_of(motion.bodies[0])
        world = finder.number_of(type(motion.body).world())
        bodies = [b for b in motion.bodies if finder.number_of(b) != world] if motion.is_of_center else []
        self._weighed = [finder.weigh(body) for body in bodies]
        self._mass = sum(body.mass for body in self._weighed)

    def calc_pose(self, X_WB: Any) -> RigidTransform:
        """X_WC."""
        motion, p_WP = self._motion, self._point(X_WB)
        if not motion.is_turning:  # (1)
            return RigidTransform(motion.X_WC.rotation(), p_WP + motion.X_WC.translation() - motion.p_WoP_W)
        p_WC = X_WB[self._body] @ motion.X_BC.translation()
        C_z = -_direction(p_WC - p_WP)  # (2)
        C_x = _direction(np.cross(C_z, [0.0, 0.0, 1.0]))
        axes = np.column_stack([C_x, np.cross(C_z, C_x), C_z])
        return RigidTransform(RotationMatrix.ProjectToRotationMatrix(axes), p_WC)

    def _point(self, X_WB: Any) -> Array:
        """p_WP."""
        if not self._mass > 0.0:
            return np.array(X_WB[self._first].translation())
        moments = [body.mass * (X_WB[body.index] @ body.p_BoBcm_B) for body in self._weighed]
        return np.asarray(np.sum(moments, axis=0) / self._mass)


def _direction(a: Array) -> Array:
    length = float(np.linalg.norm(a))
    return a / length if length > 1e-15 else np.array([1.0, 0.0, 0.0])
