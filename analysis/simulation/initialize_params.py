"""InitializeParams: options of `Simulator.Initialize`."""

from __future__ import annotations

import dataclasses

from merganser.framework.common.records import settings


@settings
@dataclasses.dataclass
class InitializeParams:
    """Options of `Simulator.Initialize`.

    Attributes:
        suppress_initialization_events: whether to leave out initialization events, because the state in the
            context is already the one to start from.
    """

    suppress_initialization_events: bool = False
