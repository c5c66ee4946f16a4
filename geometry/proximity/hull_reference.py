"""Hulls by reference, for compiled code.

The arrays of `Hulls` are some fifty numbers, which compiled code copies in every call that hands them on (0.02 us). A
kernel calls `by_reference` once, and hands on an address. In Python it returns what it gets.
"""

from __future__ import annotations

from merganser.framework.native.extending import tell_module
from merganser.geometry.proximity.layout import Hulls

__all__ = ["HullsSample", "by_reference"]


class HullsSample:
    """What has the type of a reference, to compile functions that take one."""

    has_one_compiled_type = True

    def __init__(self, hulls: Hulls) -> None:
        self.hulls = hulls


def by_reference(hulls: Hulls) -> Hulls:
    """The hulls as they are; in compiled code their address, which they must outlive."""
    return hulls


tell_module("merganser.geometry.proximity.hull_reference_code")
