"""Fixtures that choose when tests have something compiled: `pytest_plugins = ["compile_policy"]`."""

from __future__ import annotations

import pytest


@pytest.fixture
def compile_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes seconds to compile is compiled in this process, however short the simulation."""
    rule = "merganser.framework.native.compiler.when_to_compile"
    monkeypatch.setattr(f"{rule}.OptionalCode.is_usable", lambda _code: True)
    monkeypatch.setattr("merganser.multibody.plant.step.native_code.must_compile_here", lambda: True)


@pytest.fixture
def loop_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations step in Python."""
    monkeypatch.setenv("MERGANSER_PLAN", "never")


@pytest.fixture
def compiled_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations are compiled from their first step."""
    monkeypatch.setenv("MERGANSER_PLAN", "always")


@pytest.fixture(params=["never", "always"])
def plan(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways to simulate, in Python and compiled: the value of MERGANSER_PLAN."""
    monkeypatch.setenv("MERGANSER_PLAN", request.param)
    return str(request.param)
