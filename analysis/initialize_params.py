"""InitializeParams: options of `Simulator.Initialize`."""

from __future__ import annotations

import dataclasses

from merganser.framework.core.records import hash_of_type

__all__ = ["InitializeParams"]


@dataclasses.dataclass
class InitializeParams:
    """Options of `Simulator.Initialize`.

    Attributes:
        suppress_initialization_events: whether to leave out initialization events, because the state in the
            context is already the one to start from.
    """

    __hash__ = hash_of_type

    suppress_initialization_events: bool = False
