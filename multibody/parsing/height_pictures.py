"""Pictures whose brightness is a height."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def read_brightness(path: Path, most: int) -> np.ndarray:
    """The brightness of the pixels of a PNG file, 0 to 255, the lowest row first; shape [rows, columns].

    Raises:
        RuntimeError: the picture has more than `most` pixels.
    """
    from PIL import Image  # comes with matplotlib

    with Image.open(path, formats=["PNG"]) as picture:
        if picture.width * picture.height > most:
            raise RuntimeError(f"'{path}' has {picture.width} x {picture.height} pixels; {most} may be there.")
        return np.asarray(picture.convert("L"), dtype=np.float64)[::-1]
