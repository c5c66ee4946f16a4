"""The recording of a Meshcat as a video, and in the output of a cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from merganser.framework.math import RigidTransform
from merganser.geometry import Box, Rgba
from merganser.geometry.visualizers import Meshcat, save_video
from tests.support.browsers import chromium, look_from_the_front, open_browser

chromium()


def moving_box() -> Meshcat:
    """A red box that is on the left, then on the right."""
    meshcat = Meshcat(port=0)
    meshcat.SetObject("box", Box(0.4, 0.4, 0.4), Rgba(1.0, 0.0, 0.0))
    look_from_the_front(meshcat, extent=1.0)
    meshcat.StartRecording(frames_per_second=10)
    for time in (0.0, 0.1, 0.2):
        meshcat.SetTransform("box", RigidTransform([5.0 * time - 0.5, 0.0, 0.0]), time)
    meshcat.PublishRecording()
    return meshcat


def center_of_red(picture: Any) -> float:
    """Where the box is, as a share of the width."""
    pixels = np.asarray(picture.convert("RGB")).astype(int)
    columns = np.nonzero((pixels[:, :, 0] > 120) & (pixels[:, :, 1] < 80))[1]
    return float(columns.mean()) / pixels.shape[1]


def test_a_recording_becomes_a_video(tmp_path: Path) -> None:
    from PIL import Image

    save_video(tmp_path / "box.gif", moving_box(), fps=10, width=100, height=100)
    video = Image.open(tmp_path / "box.gif")
    found = []
    for frame in range(video.n_frames):
        video.seek(frame)
        found.append(center_of_red(video))
    assert found == pytest.approx([0.25, 0.5, 0.75], abs=0.03)


def test_a_meshcat_without_a_recording_has_no_video(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="shows no recording: StartRecording"):
        save_video(tmp_path / "box.gif", Meshcat(port=0))


def test_the_output_of_a_cell_draws_the_scene(tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!DOCTYPE html><html><body>{moving_box().StaticCell(height=200)._repr_html_()}</body></html>")
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 300, "height": 300})
        page.goto(path.as_uri())
        frame = page.frames[1]
        frame.wait_for_function("() => viewer.animator.duration > 0 && viewer.scene.getObjectByName('box')")
        assert frame.evaluate("document.body.clientHeight") == 200
