"""Numbers drawn from expressions in random variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from merganser.framework import RandomDistribution, RandomGenerator
from merganser.framework.core.system.random_values import draw

_DISTRIBUTIONS = {
    "RANDOM_UNIFORM": RandomDistribution.kUniform,
    "RANDOM_GAUSSIAN": RandomDistribution.kGaussian,
    "RANDOM_EXPONENTIAL": RandomDistribution.kExponential,
}


def draw_expressions(expressions: Sequence[Any], generator: RandomGenerator) -> npt.NDArray[np.float64]:
    """Draws every random variable once, in the order of their numbers, and evaluates.

    Args:
        expressions: numbers, variables of a RANDOM type, or expressions in such.
        generator: where randomness comes from.

    Returns:
        Shape [len(expressions)].

    Raises:
        RuntimeError: a variable is not of a RANDOM type.
    """
    expressions = [1.0 * e for e in expressions]  # a variable becomes an expression
    variables = {v.get_id(): v for e in expressions if hasattr(e, "GetVariables") for v in e.GetVariables()}
    values: dict[Any, float] = {}
    for _, variable in sorted(variables.items()):
        distribution = _DISTRIBUTIONS.get(variable.get_type().name)
        if distribution is None:
            raise RuntimeError(
                f"The variable '{variable}' in the distribution of a joint's positions is not random: its type is "
                f"{variable.get_type().name}. Make it by Variable(name, Variable.Type.RANDOM_UNIFORM), for example."
            )
        values[variable] = float(draw(distribution, 1, generator)[0])
    return np.array([e.Evaluate(values) if hasattr(e, "Evaluate") else float(e) for e in expressions])
