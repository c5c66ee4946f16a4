"""A button that ends a loop: for systems of sliders that publish a diagram until the user has had enough."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from merganser.framework.core.values.arguments import checked_number
from merganser.geometry.visualizers.meshcat import Meshcat

__all__ = ["repeat_until_stopped"]

_logger = logging.getLogger("merganser.geometry")

_PAUSE = 1 / 64  # between two looks at the sliders [s]


def repeat_until_stopped(
    act: Callable[[], None], meshcat: Meshcat, name: str, keycode: str, timeout: float | None
) -> None:
    """Acts again and again until a button is clicked, or time is up; at least once.

    Args:
        act: what is done 64 times a second.
        meshcat: where the button is, while this lasts.
        name: of the button.
        keycode: a key that clicks it, too; empty for none.
        timeout: after which it ends without a click [s]; None for never.

    Raises:
        TypeError: the timeout is no number.
        RuntimeError: it is not a number (NaN); there is a slider of this name, or a button with another keycode.
    """
    duration = math.inf if timeout is None else checked_number(timeout, f"the timeout of the button '{name}'")
    if math.isnan(duration):
        raise RuntimeError(f"The timeout of the button '{name}' must be a time [s], or None for none; given {timeout}.")
    key = f" or the {keycode} key" if keycode else ""
    meshcat.AddButton(name, keycode)
    _logger.info(f"Press the '{name}' button{key} at {meshcat.web_url()} to continue.")
    end = time.monotonic() + duration
    try:
        while True:
            act()
            if meshcat.GetButtonClicks(name) or time.monotonic() >= end:
                return
            time.sleep(min(_PAUSE, max(end - time.monotonic(), 0.0)))
    finally:
        meshcat.DeleteButton(name, strict=False)
