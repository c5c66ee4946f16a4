"""When systems draw in a Meshcat: periodically, as far as somebody waits for a picture."""

from __future__ import annotations

from collections.abc import Callable

from merganser.framework import Context, LeafSystem
from merganser.framework.core.declarations.events import Demand
from merganser.framework.core.inside import publish_on_demand
from merganser.geometry.visualizers.meshcat import Meshcat

__all__ = ["declare_drawing"]


def declare_drawing(
    system: LeafSystem, meshcat: Meshcat, publish_period: float, draw: Callable[[Context], None]
) -> Demand:
    """Declares the events of a system that draws.

    Args:
        system: which draws.
        meshcat: where.
        publish_period: simulated time between two pictures [s]; 0 for one after each step.
        draw: draws one picture, also when a publication is forced, and then tells the demand that it has been met.

    Returns:
        The demand for pictures.
    """
    demand = meshcat.add_demand()
    if publish_period > 0:
        system.DeclarePeriodicPublishEvent(publish_period, 0.0, draw)
        publish_on_demand(system, demand)
    else:
        system.DeclarePerStepPublishEvent(draw)
    system.DeclareForcedPublishEvent(draw)
    return demand
