"""Fixtures of tests in a browser: `pytest_plugins = ["browser_fixtures"]`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browsers import Page, open_browser

from merganser.geometry import Meshcat


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@pytest.fixture
def page(browser: Any) -> Iterator[Page]:
    page = Page(browser)
    yield page
    page.close()


@pytest.fixture
def meshcat() -> Meshcat:
    return Meshcat(port=0)
