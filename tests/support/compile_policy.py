"""When tests have something compiled."""

from __future__ import annotations

import pytest


def compile_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds to compile is compiled in this process, however short the simulation."""
    policy = "merganser.framework.background_code"
    monkeypatch.setattr(f"{policy}.BackgroundCode.is_worth_while", lambda _code, pays=None: True)
    monkeypatch.setattr(f"{policy}.must_compile_here", lambda: True)
