"""Models in USD: read_usd makes a description of a stage."""

from merganser.multibody.parsing.usd.reader import read_usd

__all__ = ["read_usd"]
