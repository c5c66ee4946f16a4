"""`merganser simulate --video`: a video of a simulation, from where its whole motion is seen."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from merganser.analysis import Simulator
    from merganser.framework import Context, DiagramBuilder
    from merganser.framework.math import RigidTransform
    from merganser.multibody.plant import MultibodyPlant

_NAME = "video"  # of the camera
_FPS = 30.0
_SIZE = (1280, 720)  # [pixels]
_OPENING = 35.0  # of the camera, upwards [degrees]
_MARGIN = 1.18  # of the picture around the motion
_FROM_W = np.array([0.78, -0.92, 0.52]) / np.linalg.norm([0.78, -0.92, 0.52])  # direction to the camera, as in pages
_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
_FAR = 30.0  # sizes of the model, beyond which it is not followed
_LIGHT = np.array([0.93, 0.945, 0.96])  # behind the scene


class SimulationVideo:
    """A camera and its frames; the video is made when the motion is known.

    Args:
        filename: .mp4, .mkv and .mov by PyAV, .gif, .webp and .apng by Pillow.
        builder: of the diagram, which is given a camera; its plant is finalized.
        plant: whose bodies are seen.

    Raises:
        ValueError: there is no such format.
        ImportError: PyAV or VTK is not installed.
        RuntimeError: the folder of the file does not exist.
    """

    def __init__(self, filename: str, builder: DiagramBuilder, plant: MultibodyPlant) -> None:
        from merganser.geometry.rendering import LightParameter, RenderEngineVtkParams
        from merganser.geometry.sensors.image_writer import backend_for, open_video
        from merganser.multibody.sensors import ApplyCameraConfig, CameraConfig

        self._video = open_video(filename, _FPS, backend_for(filename))
        lights = [
            LightParameter(type="directional", frame=frame, direction=np.array(direction), intensity=intensity)
            for frame, direction, intensity in (("world", [-0.45, 0.55, -1.0], 0.6), ("camera", [0.0, 0.0, 1.0], 0.5))
        ]
        config = CameraConfig(
            name=_NAME, width=_SIZE[0], height=_SIZE[1], fps=_FPS, focal=CameraConfig.FovDegrees(y=_OPENING),
            renderer_class=RenderEngineVtkParams(default_clear_color=_LIGHT, lights=lights),
        )  # fmt: skip
        scene_graph: Any = builder.GetSubsystemByName("scene_graph")
        ApplyCameraConfig(config, builder, plant=plant, scene_graph=scene_graph)
        self._sensor: Any = builder.GetSubsystemByName(f"rgbd_sensor_{_NAME}")
        self._plant, self._scene_graph = plant, scene_graph
        self._frames: list[Context] = []

    def advance(self, simulator: Simulator, duration: float) -> None:
        """Advances a simulation to a time [s], and stores the state at each frame."""
        for k in range(int(duration * _FPS) + 1):
            simulator.AdvanceTo(min(k / _FPS, duration))
            self._frames.append(simulator.get_context().Clone())
        simulator.AdvanceTo(duration)

    def save(self, context: Context) -> None:
        """Draws all frames, and writes the file.

        Args:
            context: of the whole diagram, which is changed.
        """
        camera = self._sensor.GetMyMutableContextFromRoot(context)
        boxes = [self._box(context, frame) for frame in self._frames]
        first = boxes[0]
        reach = _FAR * max(float(np.linalg.norm(first[1] - first[0])), 1e-3)
        near = [box for box in boxes if np.abs(box - first.mean(axis=0)).max() < reach]
        corners = np.concatenate(near) if near else first
        X_WC = _pose_to_see(corners.min(axis=0), corners.max(axis=0))
        for frame in self._frames:
            context.SetTimeStateAndParametersFrom(frame)
            self._sensor.SetX_PB(camera, X_WC)
            self._video.add(self._sensor.color_image_output_port().Eval(camera))
        self._video.save()

    def _box(self, context: Context, frame: Context) -> NDArray[np.float64]:
        """Least and greatest coordinates of what moves, or of all, if nothing does, in a frame, shape [2, 3]."""
        context.SetTimeStateAndParametersFrom(frame)
        query = self._scene_graph.get_query_output_port().Eval(self._scene_graph.GetMyContextFromRoot(context))
        inspector, plant = query.inspector(), self._plant
        welded = {body.index() for body in plant.GetBodiesWeldedTo(plant.world_body())}
        points = []
        for frame_id in inspector.GetAllFrameIds():
            body = plant.GetBodyFromFrameId(frame_id)
            if body is None or body.index() in welded:
                continue
            X_WF = query.GetPoseInWorld(frame_id)
            points.append(X_WF.translation()[np.newaxis])
            for geometry_id in inspector.GetGeometries(frame_id):
                obb = inspector.GetObbInGeometryFrame(geometry_id)
                if obb is not None:
                    X_WB = X_WF @ inspector.GetPoseInFrame(geometry_id) @ obb.pose()
                    points.append(X_WB.multiply((_CORNERS * obb.half_width()).T).T)
        found = np.concatenate(points) if points else np.zeros((1, 3))
        return np.array([found.min(axis=0), found.max(axis=0)])


def _pose_to_see(low: NDArray[np.float64], high: NDArray[np.float64]) -> RigidTransform:
    """The pose X_WC of a camera C that sees a box along the axes of W; it looks along Cz, and Cy is downwards."""
    from merganser.framework.math import RigidTransform, RotationMatrix

    right = np.cross([0.0, 0.0, 1.0], _FROM_W)
    right /= np.linalg.norm(right)
    R_WC = RotationMatrix(np.column_stack([right, np.cross(right, _FROM_W), -_FROM_W]))
    center = (low + high) / 2
    p_C = (center + _CORNERS * np.maximum((high - low) / 2, 1e-3) - center) @ R_WC.matrix()
    tan_up = np.tan(np.deg2rad(_OPENING) / 2) / _MARGIN
    tan_right = tan_up * _SIZE[0] / _SIZE[1]
    distance = np.max(-p_C[:, 2] + np.maximum(np.abs(p_C[:, 0]) / tan_right, np.abs(p_C[:, 1]) / tan_up))
    return RigidTransform(R_WC, center + distance * _FROM_W)
