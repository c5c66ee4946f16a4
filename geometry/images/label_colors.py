"""Labels as colors, for people."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.registration.colors import RenderLabel

# Blue, orange, green, red, purple, brown, pink, gray, olive, cyan.
_PALETTE = np.array(
    [
        [31, 119, 180, 255], [255, 127, 14, 255], [44, 160, 44, 255], [214, 39, 40, 255], [148, 103, 189, 255],
        [140, 86, 75, 255], [227, 119, 194, 255], [127, 127, 127, 255], [188, 189, 34, 255], [23, 190, 207, 255],
    ],
    np.uint8,
)  # fmt: skip
_BLACK = np.array([0, 0, 0, 255], np.uint8)


def label_colors(labels: NDArray[np.int16], background: NDArray[np.uint8] = _BLACK) -> NDArray[np.uint8]:
    """Red, green, blue and opacity of labels; there are ten colors, shape [height, width, 4].

    Args:
        labels: shape [height, width].
        background: color of reserved labels, shape [4].
    """
    colors: NDArray[np.uint8] = _PALETTE[labels % len(_PALETTE)]
    colors[labels > RenderLabel.kMaxUnreserved] = background
    return colors
