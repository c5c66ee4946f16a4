"""The templates of the viewers: `MeshcatVisualizer_[AutoDiffXd]`."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.templates import SystemTemplate
from merganser.geometry.visualizers.drake_visualizer import DrakeVisualizer
from merganser.geometry.visualizers.meshcat_point_cloud_visualizer import MeshcatPointCloudVisualizer
from merganser.geometry.visualizers.meshcat_visualizer import MeshcatVisualizer

__all__ = ["DrakeVisualizer_", "MeshcatPointCloudVisualizer_", "MeshcatVisualizer_"]


def _with_values() -> tuple[type[Any], ...]:
    """The scalars that can be drawn: expressions have no values."""
    from merganser.framework.autodiff import AutoDiffXd

    return float, AutoDiffXd


DrakeVisualizer_ = SystemTemplate(DrakeVisualizer, _with_values)
MeshcatVisualizer_ = SystemTemplate(MeshcatVisualizer, _with_values)
MeshcatPointCloudVisualizer_ = SystemTemplate(MeshcatPointCloudVisualizer, _with_values)
