"""A browser without a window, and what it draws."""

from __future__ import annotations

import base64
import io
import itertools
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from merganser.framework.math import RigidTransform

SIZE = 400  # of pages [pixels]
_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
_numbers = itertools.count()


def chromium() -> str:
    """Where the browser is; skips the tests of a module if it, or its driver, is missing."""
    pytest.importorskip("playwright.sync_api", reason="drives a browser, extra `browser`")
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("there is no chromium here", allow_module_level=True)
    return found


@contextmanager
def open_browser() -> Iterator[Any]:
    """A browser that draws without a graphics card."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=_ARGUMENTS)
        yield browser
        browser.close()


class Page:
    """A page of a Meshcat.

    Attributes:
        page: as playwright has it.
        problems: errors that the page has reported.
        requests: what it has requested beyond its own text.
    """

    def __init__(self, browser: Any) -> None:
        self.page = browser.new_page(viewport={"width": SIZE, "height": SIZE})
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else None)
        self.page.on("request", lambda r: None if r.url.startswith(("data:", "blob:")) else self.requests.append(r.url))

    def open(self, url: str, marker: str) -> Page:
        """Opens an address, and waits until what was set last is there."""
        self.page.goto(url)
        self.wait_for(marker)
        return self

    def receive_late(self, delay: float) -> None:
        """Delays messages of servers to pages opened from now on [s], as on a busy machine."""
        self.page.add_init_script(
            f"""
            const prototype = WebSocket.prototype, {{set}} = Object.getOwnPropertyDescriptor(prototype, "onmessage");
            Object.defineProperty(prototype, "onmessage", {{
                set(listener) {{ set.call(this, event => setTimeout(() => listener(event), {1000 * delay})); }},
            }});
            """
        )

    def wait_for(self, marker: str) -> None:
        """Waits until something of this name is in the scene."""
        self.page.wait_for_function("name => viewer.scene.getObjectByName(name) !== undefined", arg=marker)

    def settle(self, meshcat: Any) -> None:
        """Waits until the page shows all that has been set."""
        self.wait_for(mark(meshcat))

    def image(self) -> np.ndarray:
        """The drawing without controls, shape [SIZE, SIZE, 4]."""
        return pixels(self.page.evaluate("viewer.capture_image()"))

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        return self.page.evaluate(script)

    def close(self) -> None:
        """Closes the page, which must have had no problems."""
        self.page.close()
        assert self.problems == [], self.problems


def pull(page: Page, slider: str, part: float) -> None:
    """Clicks on a slider, at a part of its width."""
    bar = page.page.locator(f"[data-slider='{slider}'] .bar")
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    page.page.mouse.click(box["x"] + part * box["width"], box["y"] + box["height"] / 2)


def mark(meshcat: Any) -> str:
    """Sets something that a page has when it has all that was set before; returns its name."""
    name = f"marker{next(_numbers)}"
    meshcat.SetProperty(f"/{name}", "visible", True)
    return name


def pixels(address: str) -> np.ndarray:
    """A picture from a data address."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2]))).convert("RGBA"))


def look_from_the_front(meshcat: Any, extent: float, height: float = 0.0) -> None:
    """Shows x and z from -extent to extent, around a height, without perspective, background, grid and axes."""
    X_WC = RigidTransform([0.0, -1.0, height])
    meshcat.Set2dRenderMode(X_WC, xmin=-extent, xmax=extent, ymin=-extent, ymax=extent)


def place_of(x: float, z: float, extent: float, height: float = 0.0) -> tuple[int, int]:
    """Row and column of a point in such a picture."""
    column = (x + extent) / (2 * extent) * SIZE
    row = (extent - (z - height)) / (2 * extent) * SIZE
    return int(row), int(column)


def color_of(pixel: np.ndarray) -> str:
    """The name of a color, whatever light falls on it."""
    if pixel[3] == 0:
        return "nothing"
    bright = pixel[:3] > 0.55 * max(int(pixel[:3].max()), 40)
    names = {
        (1, 0, 0): "red", (0, 1, 0): "green", (0, 0, 1): "blue", (1, 1, 0): "yellow", (1, 0, 1): "purple",
        (0, 1, 1): "cyan", (1, 1, 1): "gray", (0, 0, 0): "black",
    }  # fmt: skip
    return names[tuple(int(each) for each in bright)]


def colors_at(image: np.ndarray, points: list[tuple[float, float]], extent: float, height: float = 0.0) -> list[str]:
    """The colors at points x, z."""
    return [color_of(image[place_of(x, z, extent, height)]) for x, z in points]
