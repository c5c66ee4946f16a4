"""Contacts of kinds that a program brings: adding them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from merganser.geometry import GeometryId
from merganser.multibody.contact.contact_kinds import ContactKind, contact_source_dtype, set_contact_kind
from merganser.multibody.plant.model import PlantModel
from merganser.multibody.plant.step.contact_sources import ContactOfKind
from merganser.multibody.tree import BodyIndex, RigidBody

__all__ = ["ContactsOfKinds"]


class ContactsOfKinds:
    """Adds contacts; see ContactFace.

    Args:
        model: of the plant.
    """

    def __init__(self, model: PlantModel) -> None:
        self._model, self._tree = model, model.tree

    def add_contact(
        self,
        kind: ContactKind,
        body_A: RigidBody,
        body_B: RigidBody | None = None,
        *,
        numbers: Sequence[float] = (),
        num_pairs: int = 1,
    ) -> tuple[GeometryId, GeometryId]:
        """Adds a contact of a kind that a program brings; ../contact/README.md says how to write one.

        It needs no SceneGraph, and nothing filters it.

        Args:
            kind: the record of its function.
            body_A, body_B: between which it is; B by default is the world.
            numbers: for the kind.
            num_pairs: at how many places the bodies may touch.

        Returns:
            What contact results call its two sides, as identifiers of geometries that no SceneGraph knows.

        Raises:
            TypeError: the kind is no ContactKind, or something else no body.
            ValueError: numbers are not finite, or there is no place.
            RuntimeError: the plant is finalized, a body is of another plant, or both are one, or fixed to the world.
        """
        caller = "AddContact"
        self._tree._check_not_finalized(caller)
        bodies = body_A, self._tree.world_body() if body_B is None else body_B
        for name, body in zip(("body_A", "body_B"), bodies):
            if not isinstance(body, RigidBody):
                raise TypeError(f"{caller}(): {name} must be a RigidBody, but is a {type(body).__name__}.")
            self._tree._check_mine(caller, name, body)
        set_contact_kind(np.zeros(1, contact_source_dtype)[0], kind)  # refuses what is none
        where = f"{caller}(): a {kind.name} contact of plant '{self._model.path()}'"
        if bodies[0] is bodies[1]:
            raise RuntimeError(f"{where} must be between two distinct bodies, but both are '{bodies[0].name()}'.")
        given = np.array(numbers, float)
        if given.ndim != 1 or not np.isfinite(given).all():
            raise ValueError(f"{where}: its numbers must be a list of finite ones.")
        if not (isinstance(num_pairs, (int, np.integer)) and num_pairs >= 1):
            raise ValueError(f"{where} must have one pair or more, not {num_pairs!r}.")
        ids = GeometryId.get_new_id(), GeometryId.get_new_id()
        indices = int(bodies[0].index()), int(bodies[1].index())
        self._tree.contacts.append(ContactOfKind(kind, indices, ids, int(num_pairs), tuple(given.tolist())))
        return ids

    def get_contact_sides(self) -> dict[GeometryId, tuple[BodyIndex, str]]:
        """Returns for each side of the contacts that AddContact() has added its body, and the name of the kind."""
        return {
            id: (BodyIndex(body), contact.kind.name)
            for contact in self._tree.contacts
            for id, body in zip(contact.ids, contact.bodies)
        }
