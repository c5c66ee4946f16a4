"""MuJoCo's format, MJCF, read into a description; see README.md of parsing."""

from merganser.multibody.parsing.mjcf.load_options import LoadMjcfOptions
from merganser.multibody.parsing.mjcf.settings import MjcfOptions

__all__ = ["LoadMjcfOptions", "MjcfOptions"]
