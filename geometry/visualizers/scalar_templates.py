"""The templates of the viewers: `MeshcatVisualizer_[AutoDiffXd]`."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.templates import SystemTemplate
from merganser.geometry.visualizers.meshcat_point_cloud_visualizer import MeshcatPointCloudVisualizer
from merganser.geometry.visualizers.meshcat_pose_sliders import MeshcatPoseSliders
from merganser.geometry.visualizers.meshcat_visualizer import MeshcatVisualizer

__all__ = ["MeshcatPointCloudVisualizer_", "MeshcatPoseSliders_", "MeshcatVisualizer_"]


def _with_values() -> tuple[type[Any], ...]:
    """The scalars that can be drawn: expressions have no values."""
    from merganser.framework.autodiff import AutoDiffXd

    return float, AutoDiffXd


MeshcatVisualizer_ = SystemTemplate(MeshcatVisualizer, _with_values)
MeshcatPointCloudVisualizer_ = SystemTemplate(MeshcatPointCloudVisualizer, _with_values)
MeshcatPoseSliders_ = SystemTemplate(MeshcatPoseSliders, _with_values)
