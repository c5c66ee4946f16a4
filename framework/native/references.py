"""Named tuples of arrays by reference, for compiled code.

Seven arrays are some fifty numbers, which compiled code copies in every call that hands them on (0.02 us). A kernel
that is given such a tuple calls `by_reference` once, and hands on an address; what it calls reads `tuple.name` as
before. In Python `by_reference` returns what it gets.
"""

from __future__ import annotations

from typing import Any

from merganser.framework.native.extending import tell_module

__all__ = ["Referenced", "by_reference"]


class Referenced:
    """What has the type of a reference to a tuple: an example, to compile functions that take one."""

    def __init__(self, values: Any) -> None:
        self.values = values


def by_reference(values: Any) -> Any:
    """A named tuple by its address in compiled code; good as long as the kernel runs that calls this."""
    return values


tell_module("merganser.framework.native.references_code")
