"""Viewers: Meshcat, a scene that browsers show, and systems that draw a SceneGraph there."""

import importlib
from typing import TYPE_CHECKING, Any

from merganser.geometry.rgba import Rgba
from merganser.geometry.shapes import MeshcatCone
from merganser.geometry.visualizers.animation import MeshcatAnimation
from merganser.geometry.visualizers.meshcat import Meshcat, StartMeshcat
from merganser.geometry.visualizers.meshcat_point_cloud_visualizer import MeshcatPointCloudVisualizer
from merganser.geometry.visualizers.meshcat_visualizer import MeshcatVisualizer
from merganser.geometry.visualizers.params import DrakeVisualizerParams, MeshcatParams, MeshcatVisualizerParams
from merganser.geometry.visualizers.scalar_templates import MeshcatPointCloudVisualizer_, MeshcatVisualizer_

if TYPE_CHECKING:
    from merganser.geometry.visualizers.drake_visualizer import DrakeVisualizer, DrakeVisualizer_

__all__ = [
    "DrakeVisualizer",
    "DrakeVisualizerParams",
    "DrakeVisualizer_",
    "Meshcat",
    "MeshcatAnimation",
    "MeshcatCone",
    "MeshcatParams",
    "MeshcatPointCloudVisualizer",
    "MeshcatPointCloudVisualizer_",
    "MeshcatVisualizer",
    "MeshcatVisualizerParams",
    "MeshcatVisualizer_",
    "Rgba",
    "StartMeshcat",
]


def __getattr__(name: str) -> Any:
    if name in ("DrakeVisualizer", "DrakeVisualizer_"):  # most programs send nothing
        value = globals()[name] = getattr(importlib.import_module(f"{__name__}.drake_visualizer"), name)
        return value
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
