"""SystemVisitor: walks a tree of systems without knowing their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from merganser.framework.core.diagram.diagram import Diagram
    from merganser.framework.core.system.system import System


class SystemVisitor:
    """Override both methods and pass the visitor to `system.Accept`.

    A Diagram calls only `VisitDiagram`; to go on, that calls `Accept` of the subsystems it wants to visit.
    """

    def VisitSystem(self, system: System) -> None:
        """Called for a leaf system."""

    def VisitDiagram(self, diagram: Diagram) -> None:
        """Called for a Diagram."""
