"""Case: a block with the law that its results must obey."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from merganser.framework import System

Array = np.ndarray[Any, Any]


@dataclass
class Case:
    """A block, its ports, and its law.

    Attributes:
        make: make(b) makes the block, with all names in the namespace b.
        inputs, outputs: {name: size}.
        feedthrough: pairs (input, output).
        calc: calc(u, x) -> list of outputs, with u the list of inputs and x the state.
        num_continuous, num_discrete: number of state variables.
        derivatives, update: f(u, x) -> dx/dt, or the next discrete state on a forced update.
        periodic: f(u, x) -> the next discrete state on a periodic update.
        defaults: the state by default; empty if it is random, or of several groups.
        time: when all this holds [s].
        parameters: the numeric parameters that the block is given.
        is_complex: whether it computes with complex numbers, so that the complex step gives its derivatives.
        without: names of the scalar types that it cannot be converted to.
        admissible: makes inputs and a state that the block can have, of random ones.
        tolerance: relative and absolute, of what is computed in another order than here.
    """

    make: Callable[[Any], System]
    inputs: dict[str, int]
    outputs: dict[str, int]
    feedthrough: list[tuple[int, int]]
    calc: Callable[[list[Any], Any], list[Any]]
    num_continuous: int = 0
    num_discrete: int = 0
    derivatives: Callable[[list[Any], Any], Any] | None = None
    update: Callable[[list[Any], Any], Any] | None = None
    periodic: Callable[[list[Any], Any], Any] | None = None
    defaults: list[float] = field(default_factory=list)
    time: float = 0.0
    parameters: Array | None = None
    is_complex: bool = True
    without: tuple[str, ...] = ()
    admissible: Callable[[list[Array], Array], tuple[list[Array], Array]] = lambda u, x: (u, x)
    tolerance: float = 1e-14
