"""SharedPointerSystem: keeps an object alive for as long as the Diagram it is in."""

from __future__ import annotations

from typing import Any

from merganser.framework.core.diagram.diagram_builder import DiagramBuilder
from merganser.framework.core.scalars.copying import Shared
from merganser.framework.core.system.leaf_system import LeafSystem

__all__ = ["SharedPointerSystem"]


class SharedPointerSystem(LeafSystem):
    """A system without ports or state that holds an object which other systems use.

    Args:
        value_to_hold: any object; shared, not copied, also by copies of the system and for other scalars.
    """

    def __init__(self, value_to_hold: Any) -> None:
        super().__init__()
        self._held = Shared(value_to_hold)

    @staticmethod
    def AddToBuilder(builder: DiagramBuilder, value_to_hold: Any) -> Any:
        """Adds a system that holds the object to the builder, and returns the object."""
        builder.AddSystem(SharedPointerSystem(value_to_hold))
        return value_to_hold

    def get(self) -> Any:
        """Returns the object."""
        return self._held.value
