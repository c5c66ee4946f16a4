"""Videos of images, and what a cell of a notebook shows of a Meshcat."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from merganser.geometry.images import ImageRgba8U
from merganser.geometry.visualizers import Meshcat, save_video

pytest.importorskip("tornado", reason="serves pages by the extra `view`")


def colored(color: tuple[int, int, int]) -> Any:
    return np.full((48, 64, 3), color, dtype=np.uint8)


def test_images_become_a_video(tmp_path: Path) -> None:
    av = pytest.importorskip("av", reason="writes videos by the extra `video`")
    image = ImageRgba8U(64, 48)
    image.mutable_data[:] = (0, 0, 255, 255)
    save_video(tmp_path / "colors.mp4", [colored((255, 0, 0)), colored((0, 255, 0)), image], fps=10)
    with av.open(str(tmp_path / "colors.mp4")) as file:
        frames = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
        assert file.streams.video[0].average_rate == 10
    assert [np.argmax(frame.mean(axis=(0, 1))) for frame in frames] == [0, 1, 2]


@pytest.mark.parametrize(
    ("name", "images", "message"),
    [
        ("a.txt", [colored((0, 0, 0))], r"Videos are \.mp4, .*; given '.*a\.txt'"),
        ("a.gif", [], r"no images were given for '.*a\.gif'"),
        ("a.gif", [np.zeros((4, 4))], r"\(uint8\); got \(4, 4\) of float64"),
    ],
)
def test_what_is_no_video_is_refused(name: str, images: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        save_video(tmp_path / name, images)
    assert not (tmp_path / name).exists()


def test_a_video_needs_a_path_and_a_rate(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="must be a path; given 7"):
        save_video(7, [])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"fps .* must be positive and finite; given 0\.0"):
        save_video(tmp_path / "a.gif", [colored((0, 0, 0))], fps=0.0)


def test_the_extra_of_a_meshcats_video_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(ImportError, match=r"needs the package playwright.*pip install 'merganser\[browser\]'"):
        save_video(tmp_path / "a.gif", Meshcat(port=0))


def test_a_cell_shows_the_live_page_and_in_colab_the_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    meshcat = Meshcat(port=0)
    assert f'<iframe src="{meshcat.web_url()}"' in meshcat._repr_html_()
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    cell = meshcat._repr_html_()
    assert meshcat.web_url() not in cell and 'srcdoc="&lt;!DOCTYPE html&gt;' in cell
    assert "height: 90px" in meshcat.StaticCell(height=90)._repr_html_()
