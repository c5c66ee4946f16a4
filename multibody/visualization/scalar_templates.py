"""The templates of systems that draw a plant: `ContactVisualizer_[AutoDiffXd]`."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.scalars.templates import SystemTemplate
from merganser.multibody.visualization.contact_visualizer import ContactVisualizer
from merganser.multibody.visualization.joint_sliders import JointSliders


def _with_values() -> tuple[type[Any], ...]:
    """The scalars that can be drawn: expressions have no values."""
    from merganser.framework.autodiff import AutoDiffXd

    return float, AutoDiffXd


ContactVisualizer_ = SystemTemplate(ContactVisualizer, _with_values)
JointSliders_ = SystemTemplate(JointSliders, _with_values)
