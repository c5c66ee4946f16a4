"""Viewers: Meshcat, a scene that browsers show, and systems that draw a SceneGraph there or by matplotlib."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from merganser.framework.common.lazy_names import lazy_names as _lazy_names
from merganser.framework.core.scalars.scalars import numeric_scalars as _numeric_scalars
from merganser.framework.core.scalars.templates import SystemTemplate as _SystemTemplate
from merganser.geometry.registration.colors import Rgba
from merganser.geometry.shapes import MeshcatCone
from merganser.geometry.visualizers.animation import MeshcatAnimation
from merganser.geometry.visualizers.meshcat import Meshcat, StartMeshcat
from merganser.geometry.visualizers.meshcat_systems import MeshcatPoseSliders, MeshcatSignalPlot
from merganser.geometry.visualizers.meshcat_visualizer import MeshcatPointCloudVisualizer, MeshcatVisualizer
from merganser.geometry.visualizers.params import (
    DrakeVisualizerParams,
    MeshcatParams,
    MeshcatVisualizerParams,
    MeshcatVisualizerSurfaceVelocityData,
)
from merganser.geometry.visualizers.pyplot_visualizer import (
    ConnectPlanarSceneGraphVisualizer,
    PlanarSceneGraphVisualizer,
    PyPlotVisualizer,
)

MeshcatPointCloudVisualizer_ = _SystemTemplate(MeshcatPointCloudVisualizer, _numeric_scalars)
MeshcatPoseSliders_ = _SystemTemplate(MeshcatPoseSliders, _numeric_scalars)
MeshcatVisualizer_ = _SystemTemplate(MeshcatVisualizer, _numeric_scalars)


if _TYPE_CHECKING:
    from merganser.geometry.visualizers.drake_visualizer import DrakeVisualizer, DrakeVisualizer_
    from merganser.geometry.visualizers.rerun_and_viser import RerunVisualizer, ViserVisualizer
    from merganser.geometry.visualizers.video import save_video
else:
    __getattr__, __dir__ = _lazy_names(__name__)

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
    "MeshcatSignalPlot",
    "MeshcatVisualizer",
    "MeshcatVisualizerParams",
    "MeshcatVisualizerSurfaceVelocityData",
    "MeshcatVisualizer_",
    "PlanarSceneGraphVisualizer",
    "PyPlotVisualizer",
    "RerunVisualizer",
    "Rgba",
    "StartMeshcat",
    "ViserVisualizer",
    "save_video",
]
