"""The templates of the viewers: `MeshcatVisualizer_[AutoDiffXd]`."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.scalars.templates import SystemTemplate
from merganser.geometry.visualizers.meshcat_pose_sliders import MeshcatPoseSliders
from merganser.geometry.visualizers.meshcat_visualizer import MeshcatPointCloudVisualizer, MeshcatVisualizer


def float_and_derivatives() -> tuple[type[Any], ...]:
    """The scalars that can be drawn: expressions have no values."""
    from merganser.framework.autodiff import AutoDiffXd

    return float, AutoDiffXd


MeshcatVisualizer_ = SystemTemplate(MeshcatVisualizer, float_and_derivatives)
MeshcatPointCloudVisualizer_ = SystemTemplate(MeshcatPointCloudVisualizer, float_and_derivatives)
MeshcatPoseSliders_ = SystemTemplate(MeshcatPoseSliders, float_and_derivatives)
