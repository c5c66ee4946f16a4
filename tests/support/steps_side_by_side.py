"""How many steps the worlds of batches take side by side."""

from __future__ import annotations

from typing import Any

import pytest

from merganser.analysis.batches import batch_simulation


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """How many steps of each world have been taken side by side, an array for each block of worlds."""
    found: list[Any] = []
    advance = batch_simulation._advance_in_lanes

    def noted(*arguments: Any) -> Any:
        rows, counts = advance(*arguments)
        found.append(counts)
        return rows, counts

    monkeypatch.setattr(batch_simulation, "_advance_in_lanes", noted)
    return found
