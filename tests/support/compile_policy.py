"""When tests have something compiled."""

from __future__ import annotations

import pytest


def compile_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds to compile is compiled in this process, however short the simulation."""
    rule = "merganser.framework.when_to_compile"
    monkeypatch.setattr(f"{rule}.OptionalCode.is_usable", lambda _code: True)
    monkeypatch.setattr("merganser.multibody.plant.step.native_code.must_compile_here", lambda: True)
