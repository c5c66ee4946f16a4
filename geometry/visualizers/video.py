"""save_video: images, or the recording of a Meshcat, as a video."""

from __future__ import annotations

import importlib
import io
import os
import shutil
import tempfile
from base64 import b64decode
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry.images import ImageRgba8U
from merganser.geometry.sensors.image_writer import backend_for, open_video
from merganser.geometry.visualizers.meshcat import Meshcat

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_WITHOUT_SCREEN = (  # how a browser draws where there is neither a screen nor a graphics card
    "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
)  # fmt: skip


def save_video(
    filename: str | os.PathLike[str],
    source: Meshcat | Iterable[ImageRgba8U | NDArray[np.uint8]],
    *,
    fps: float = 30.0,
    width: int = 1280,
    height: int = 720,
) -> None:
    """Writes a video, .mp4, .mkv or .mov by PyAV (extra `video`), .gif, .webp or .apng by Pillow.

    Args:
        filename: of the video.
        source: images of a camera, in order, of shape [height, width, 3 or 4] if they are arrays; or a Meshcat with a
            recording that has been published, as its page shows it. A browser draws that without a window
            (extra `browser`, and Chromium).
        fps: frames in a second.
        width, height: of a Meshcat's page [pixels].

    Raises:
        ImportError: an extra is not installed.
        RuntimeError: the folder of the file does not exist; there is no browser; the Meshcat has no recording.
        ValueError: there is no such format, or no image; the rate is not positive.
    """
    video = open_video(filename, fps, backend_for(filename))

    def write(images: Iterable[ImageRgba8U | NDArray[np.uint8]]) -> None:
        is_empty = True
        for image in images:
            video.add(image if isinstance(image, ImageRgba8U) else _from_array(image))
            is_empty = False
        if is_empty:
            raise ValueError(f"save_video: no images were given for '{os.fspath(filename)}'.")
        video.save()

    if not isinstance(source, Meshcat):
        write(source)
        return
    with ThreadPoolExecutor(1) as thread:  # notebooks have an event loop in theirs, which the browser's driver refuses
        thread.submit(write, recorded_images(source, fps, width, height)).result()


def recorded_images(meshcat: Meshcat, fps: float, width: int, height: int) -> Iterator[NDArray[np.uint8]]:
    """The frames of a published recording, as a page of this size shows them, shape [height, width, 3] each.

    Raises:
        ImportError: the extra `browser` is not installed.
        RuntimeError: no browser can be started, or nothing has been recorded and published.
    """
    try:
        playwright = importlib.import_module("playwright.sync_api")
    except ImportError as error:
        raise ImportError(
            "A video of a Meshcat needs the package playwright. Install the extra: pip install 'merganser[browser]'."
        ) from error
    from PIL import Image  # takes 40 ms to import

    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, playwright.sync_playwright() as running:
        path = Path(folder, "recording.html")
        path.write_text(meshcat.StaticHtml(), encoding="utf-8")
        try:
            browser = running.chromium.launch(executable_path=found, args=_WITHOUT_SCREEN)
        except playwright.Error as error:
            raise RuntimeError(
                "A video of a Meshcat needs the browser Chromium, which cannot be started. Install it, by the system's "
                "packages or by `playwright install chromium`, or put its path into the environment variable CHROMIUM."
            ) from error
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(path.as_uri())
        page.wait_for_function("() => typeof viewer !== 'undefined' && viewer.animator !== undefined")
        duration = _seek(page, 0.0)
        if not duration > 0.0:
            raise RuntimeError("The Meshcat shows no recording: StartRecording(), simulate, PublishRecording().")
        for frame in range(int(duration * fps * (1.0 + 1e-9)) + 1):
            _seek(page, frame / fps)
            drawn = b64decode(page.evaluate("viewer.capture_image()").partition(",")[2])
            picture = Image.open(io.BytesIO(drawn)).convert("RGBA")
            white = Image.new("RGBA", picture.size, "white")
            yield np.asarray(Image.alpha_composite(white, picture))[:, :, :3]
        browser.close()


def _seek(page: Any, time: float) -> float:
    """Shows the recording of a page at a time, and waits for it; returns how long the recording is [s]."""
    duration = page.evaluate("viewer.animator.duration")
    page.evaluate(f"viewer.animator.play(), viewer.animator.pause(), viewer.animator.seek({time!r})")
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return float(duration)


def _from_array(pixels: NDArray[np.uint8]) -> ImageRgba8U:
    pixels = np.asarray(pixels)
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] not in (3, 4):
        raise ValueError(
            f"save_video: an image must have the shape [height, width, 3 or 4] and numbers from 0 to 255 (uint8); got "
            f"{pixels.shape} of {pixels.dtype}."
        )
    image = ImageRgba8U(pixels.shape[1], pixels.shape[0])
    image.mutable_data[:, :, :3] = pixels[:, :, :3]
    image.mutable_data[:, :, 3] = 255
    return image
