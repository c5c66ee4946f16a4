"""Records of settings: dataclasses that compare by their values and may be changed."""

from __future__ import annotations

__all__ = ["hash_of_type"]


def hash_of_type(record: object) -> int:
    """The hash of records whose values may change: the same for all of a type, so that equal ones have equal hashes.

    A class needs a hash for its instances to be defaults of dataclass fields.
    """
    return hash(type(record))
