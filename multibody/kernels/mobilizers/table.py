"""The table of the kinds of mobilizers: what the kernels, the joints and the tree are driven by."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.kernels.mobilizers import (
    ball_rpy,
    curvilinear,
    planar,
    prismatic,
    quaternion_floating,
    revolute,
    rpy_floating,
    screw,
    universal,
    weld,
)
from merganser.multibody.kernels.mobilizers.kind import MobilizerKind

__all__ = ["MOBILIZERS", "carries_mask", "kind_of", "kinds_in", "number_of", "quaternion_starts"]

MOBILIZERS: tuple[MobilizerKind, ...] = (
    weld.KIND,
    revolute.KIND,
    prismatic.KIND,
    quaternion_floating.KIND,
    screw.KIND,
    planar.KIND,
    ball_rpy.KIND,
    rpy_floating.KIND,
    universal.KIND,
    curvilinear.KIND,
)

_kinds = list(MOBILIZERS)  # by their numbers; those of users follow as they come


def kind_of(number: int) -> MobilizerKind:
    """The kind of mobilizer that has this number in topology records.

    Raises:
        RuntimeError: there is none.
    """
    if not 0 <= number < len(_kinds):
        raise RuntimeError(
            f"There is no kind of mobilizer with number {number}: known are "
            f"{', '.join(f'{k} ({kind.name})' for k, kind in enumerate(_kinds))}."
        )
    return _kinds[number]


def number_of(kind: Any) -> int:
    """The number of a kind of mobilizer in topology records; one of a user gets its own when it is first asked for.

    Raises:
        TypeError: it is no MobilizerKind.
    """
    if not isinstance(kind, MobilizerKind):
        raise TypeError(f"The kind of a joint must be a MobilizerKind, not a {type(kind).__name__}: {kind!r}.")
    if kind.number is not None:
        return kind.number
    if kind not in _kinds:
        _kinds.append(kind)
    return _kinds.index(kind)


def kinds_in(topology: NDArray[Any]) -> list[MobilizerKind]:
    """The kinds of mobilizers that there are in topology records, each once."""
    return [kind_of(number) for number in sorted(set(topology["mobilizer"].tolist()))]


def quaternion_starts(topology: NDArray[Any]) -> NDArray[np.int64]:
    """Where in q the quaternions start."""
    starts = [
        topology["q_start"][topology["mobilizer"] == number_of(kind)] + kind.quaternion_start
        for kind in kinds_in(topology)
        if kind.quaternion_start is not None
    ]
    return np.sort(np.concatenate(starts)) if starts else np.zeros(0, np.int64)


def carries_mask(kind: MobilizerKind) -> int:
    """The pairs (l, k) of a kind for which velocity l carries velocity k, as bits 6 l + k (about_one_point.py)."""
    return sum(1 << (6 * l + k) for l, k in kind.carries or ())
