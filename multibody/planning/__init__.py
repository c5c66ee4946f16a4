"""Robots ready for planning: see README.md."""

from merganser.multibody.planning.robot_diagram import (
    RobotDiagram,
    RobotDiagram_,
    RobotDiagramBuilder,
    RobotDiagramBuilder_,
)

__all__ = ["RobotDiagram", "RobotDiagramBuilder", "RobotDiagramBuilder_", "RobotDiagram_"]
