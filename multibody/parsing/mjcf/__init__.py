"""MuJoCo's format, MJCF, read into a description; see README.md of parsing."""

from merganser.multibody.parsing.mjcf.keyframes import SetMjcfKeyframe
from merganser.multibody.parsing.mjcf.settings import MjcfOptions
from merganser.multibody.parsing.mjcf.source import LoadMjcfOptions

__all__ = ["LoadMjcfOptions", "MjcfOptions", "SetMjcfKeyframe"]
