"""Contacts of kinds that a program brings, as a tree keeps them and as kernels take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.geometry import GeometryId
from merganser.multibody.contact.contact_kinds import ContactKind, contact_source_dtype, set_contact_kind
from merganser.multibody.tree import MultibodyTree

__all__ = ["ContactOfKind", "acting_contacts", "sources_of"]


@dataclass(frozen=True, eq=False)
class ContactOfKind:
    """A contact of two bodies, of a kind that a program brings.

    Attributes:
        kind: what makes its pairs.
        bodies: indices of A and B.
        ids: what contact results call the two sides.
        num_pairs: at how many places they may touch.
        numbers: for the kind.
    """

    kind: ContactKind
    bodies: tuple[int, int]
    ids: tuple[GeometryId, GeometryId]
    num_pairs: int
    numbers: tuple[float, ...]


def acting_contacts(tree: MultibodyTree, tree_of_mobod: NDArray[np.int64]) -> list[ContactOfKind]:
    """The contacts of kinds of a finalized tree of which one body can move, or both."""
    return [
        contact
        for contact in tree.contacts
        if any(tree_of_mobod[tree.mobod_of_body[body]] >= 0 for body in contact.bodies)
    ]


def sources_of(tree: MultibodyTree, contacts: list[ContactOfKind]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Contacts of kinds as records of contact_source_dtype, and all their numbers."""
    sources = np.zeros(len(contacts), contact_source_dtype)
    first_pair = first_number = 0
    for source, contact in zip(sources, contacts):
        set_contact_kind(source, contact.kind)
        source["mobod_A"], source["mobod_B"] = (tree.mobod_of_body[body] for body in contact.bodies)
        source["first_pair"], source["num_pairs"] = first_pair, contact.num_pairs
        source["first_number"], source["num_numbers"] = first_number, len(contact.numbers)
        first_pair, first_number = first_pair + contact.num_pairs, first_number + len(contact.numbers)
    return sources, np.array([number for contact in contacts for number in contact.numbers], float)
