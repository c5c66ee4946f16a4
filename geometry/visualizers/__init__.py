"""Viewers: Meshcat, a scene that browsers show, and systems that draw a SceneGraph there."""

from merganser.geometry.rgba import Rgba
from merganser.geometry.shapes import MeshcatCone
from merganser.geometry.visualizers.animation import MeshcatAnimation
from merganser.geometry.visualizers.drake_visualizer import DrakeVisualizer
from merganser.geometry.visualizers.meshcat import Meshcat, StartMeshcat
from merganser.geometry.visualizers.meshcat_point_cloud_visualizer import MeshcatPointCloudVisualizer
from merganser.geometry.visualizers.meshcat_visualizer import MeshcatVisualizer
from merganser.geometry.visualizers.params import DrakeVisualizerParams, MeshcatParams, MeshcatVisualizerParams
from merganser.geometry.visualizers.scalar_templates import (
    DrakeVisualizer_,
    MeshcatPointCloudVisualizer_,
    MeshcatVisualizer_,
)

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
