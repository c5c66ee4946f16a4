"""Systems around a viewer: sliders for joints, contacts, inertias, and all that a plant may show; see README.md."""

from merganser.analysis import plot_sublevelset_expression, plot_sublevelset_quadratic
from merganser.framework.core.scalars.scalars import numeric_scalars as _numeric_scalars
from merganser.framework.core.scalars.templates import SystemTemplate as _SystemTemplate
from merganser.geometry.visualizers import MeshcatPoseSliders, MeshcatPoseSliders_
from merganser.multibody.visualization.apply_visualization_config import (
    AddDefaultVisualization,
    ApplyVisualizationConfig,
)
from merganser.multibody.visualization.contact_visualizer import ContactVisualizer
from merganser.multibody.visualization.frame_triads import AddFrameTriadIllustration
from merganser.multibody.visualization.meldis import Meldis
from merganser.multibody.visualization.model_visualizer import ModelVisualizer
from merganser.multibody.visualization.page_controls import DragSpring, SimulationControls
from merganser.multibody.visualization.params import (
    ContactVisualizerParams,
    StressVisualizerParams,
    VisualizationConfig,
)
from merganser.multibody.visualization.plant_visualizers import InertiaVisualizer, StressVisualizer, TendonVisualizer
from merganser.multibody.visualization.sliders import ActuatorSliders, JointSliders

ContactVisualizer_ = _SystemTemplate(ContactVisualizer, _numeric_scalars)
JointSliders_ = _SystemTemplate(JointSliders, _numeric_scalars)


__all__ = [
    "ActuatorSliders",
    "AddDefaultVisualization",
    "AddFrameTriadIllustration",
    "ApplyVisualizationConfig",
    "ContactVisualizer",
    "ContactVisualizerParams",
    "ContactVisualizer_",
    "DragSpring",
    "InertiaVisualizer",
    "JointSliders",
    "JointSliders_",
    "Meldis",
    "MeshcatPoseSliders",
    "MeshcatPoseSliders_",
    "ModelVisualizer",
    "SimulationControls",
    "StressVisualizer",
    "StressVisualizerParams",
    "TendonVisualizer",
    "VisualizationConfig",
    "plot_sublevelset_expression",
    "plot_sublevelset_quadratic",
]
