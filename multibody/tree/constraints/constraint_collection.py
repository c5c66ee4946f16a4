"""All constraints of a plant."""

from __future__ import annotations

from collections.abc import Iterator

from merganser.multibody.tree.constraints.specs import (
    BallConstraintSpec,
    ConstraintOfKind,
    ConstraintSpec,
    CouplerConstraintSpec,
    DistanceConstraintSpec,
    MultibodyConstraintId,
    WeldConstraintSpec,
)

_TYPES = (
    CouplerConstraintSpec, DistanceConstraintSpec, BallConstraintSpec, WeldConstraintSpec, ConstraintOfKind
)  # fmt: skip


class ConstraintCollection:
    """Constraints by id; iteration takes couplers, distances, balls, welds, then others, of each the older first."""

    def __init__(self) -> None:
        self._specs: dict[MultibodyConstraintId, ConstraintSpec] = {}

    def __len__(self) -> int:
        return len(self._specs)

    def __iter__(self) -> Iterator[ConstraintSpec]:
        return (spec for of_type in _TYPES for spec in self._specs.values() if isinstance(spec, of_type))

    def __contains__(self, id: object) -> bool:
        return id in self._specs

    def add(self, spec: ConstraintSpec) -> None:
        """Adds a constraint, or puts it in the place of the one with its id."""
        self._specs[spec.id] = spec

    def remove(self, id: MultibodyConstraintId) -> None:
        """Forgets a constraint, which must be there."""
        del self._specs[id]

    def forget_from(self, count: int) -> None:
        """Forgets all constraints but the oldest ones, of which there are `count`."""
        for id in list(self._specs)[count:]:
            del self._specs[id]

    def get(self, id: MultibodyConstraintId) -> ConstraintSpec | None:
        """Returns the constraint of this id, None if unknown."""
        return self._specs.get(id)
