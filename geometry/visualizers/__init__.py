"""Viewers: Meshcat, a scene that browsers show, and systems that draw a SceneGraph there or by matplotlib."""

import importlib
from typing import TYPE_CHECKING, Any

from merganser.geometry.rgba import Rgba
from merganser.geometry.shapes import MeshcatCone
from merganser.geometry.visualizers.animation import MeshcatAnimation
from merganser.geometry.visualizers.meshcat import Meshcat, StartMeshcat
from merganser.geometry.visualizers.meshcat_point_cloud_visualizer import MeshcatPointCloudVisualizer
from merganser.geometry.visualizers.meshcat_pose_sliders import MeshcatPoseSliders
from merganser.geometry.visualizers.meshcat_visualizer import MeshcatVisualizer
from merganser.geometry.visualizers.params import DrakeVisualizerParams, MeshcatParams, MeshcatVisualizerParams
from merganser.geometry.visualizers.planar_scenegraph_visualizer import (
    ConnectPlanarSceneGraphVisualizer,
    PlanarSceneGraphVisualizer,
)
from merganser.geometry.visualizers.pyplot_visualizer import PyPlotVisualizer
from merganser.geometry.visualizers.scalar_templates import (
    MeshcatPointCloudVisualizer_,
    MeshcatPoseSliders_,
    MeshcatVisualizer_,
)

if TYPE_CHECKING:
    from merganser.geometry.visualizers.drake_visualizer import DrakeVisualizer, DrakeVisualizer_

__all__ = [
    "ConnectPlanarSceneGraphVisualizer",
    "DrakeVisualizer",
    "DrakeVisualizerParams",
    "DrakeVisualizer_",
    "Meshcat",
    "MeshcatAnimation",
    "MeshcatCone",
    "MeshcatParams",
    "MeshcatPointCloudVisualizer",
    "MeshcatPointCloudVisualizer_",
    "MeshcatPoseSliders",
    "MeshcatPoseSliders_",
    "MeshcatVisualizer",
    "MeshcatVisualizerParams",
    "MeshcatVisualizer_",
    "PlanarSceneGraphVisualizer",
    "PyPlotVisualizer",
    "Rgba",
    "StartMeshcat",
]


if not TYPE_CHECKING:  # type checkers would take it for a promise that every name is there

    def __getattr__(name: str) -> Any:
        if name in ("DrakeVisualizer", "DrakeVisualizer_"):  # most programs send nothing
            value = globals()[name] = getattr(importlib.import_module(f"{__name__}.drake_visualizer"), name)
            return value
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
