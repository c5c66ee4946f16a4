"""The sky that a model file describes, as the background of a page."""

from __future__ import annotations

from merganser.geometry.visualizers import Meshcat
from merganser.multibody.parsing import Parser


def show_sky(parser: Parser, meshcat: Meshcat) -> None:
    """Shows the sky of the last file with one that a parser has read, if there is any, behind the scene."""
    if parser._sky is None:
        return
    above, horizon = parser._sky.tolist()
    meshcat.SetProperty("/Background", "top_color", above)
    meshcat.SetProperty("/Background", "bottom_color", horizon)
    meshcat.SetProperty("/Background", "sky", True)
