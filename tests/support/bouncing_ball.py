"""A bouncing ball whose bounces are the events of a witness function; the same class for merganser and pydrake."""

from __future__ import annotations

import math
from typing import Any

GRAVITY = 9.81  # [m/s^2]


def make_ball(
    framework: Any,
    restitution: float = 0.8,
    direction: str = "kPositiveThenNonPositive",
    rest_speed: float = 0.0,
    log: list[float] | None = None,
) -> Any:
    """A leaf system with state (height [m], velocity [m/s]); it appends the times of its bounces to `log`.

    With a rest speed [m/s] the ball stays where it is once it bounces more slowly than that.
    """

    class Ball(framework.LeafSystem):
        def __init__(self) -> None:
            framework.LeafSystem.__init__(self)
            self.set_name("ball")
            self.DeclareContinuousState(1, 1, 0)
            self.DeclareDiscreteState(1)  # whether it is at rest
            self._floor = self.MakeWitnessFunction(
                "floor",
                getattr(framework.WitnessFunctionDirection, direction),
                lambda context: context.get_continuous_state_vector().GetAtIndex(0),
                framework.UnrestrictedUpdateEvent(system_callback=Ball._bounce),
            )

        def DoGetWitnessFunctions(self, context: Any) -> list[Any]:
            return [] if context.get_discrete_state_vector().GetAtIndex(0) else [self._floor]

        def DoCalcTimeDerivatives(self, context: Any, derivatives: Any) -> None:
            is_at_rest = context.get_discrete_state_vector().GetAtIndex(0)
            velocity = context.get_continuous_state_vector().GetAtIndex(1)
            derivatives.get_mutable_vector().SetFromVector([velocity, 0.0 if is_at_rest else -GRAVITY])

        def _bounce(self, context: Any, event: Any, state: Any) -> None:
            if log is not None:
                log.append(context.get_time())
            x = state.get_mutable_continuous_state().get_mutable_vector()
            velocity = -restitution * x.GetAtIndex(1)
            if velocity < rest_speed:
                state.get_mutable_discrete_state().set_value(0, [1.0])
                velocity = 0.0
            x.SetAtIndex(1, velocity)

    return Ball()


def bounce_times(height: float, restitution: float, number: int) -> list[float]:
    """The first bounces [s] of a ball dropped from `height` [m]: t_n = t_1 + 2 t_1 (e + ... + e^(n-1))."""
    fall = math.sqrt(2.0 * height / GRAVITY)
    return [fall + 2.0 * fall * sum(restitution**k for k in range(1, n)) for n in range(1, number + 1)]


def accumulation_time(height: float, restitution: float) -> float:
    """The limit of the times [s] of its bounces: t_1 (1 + e) / (1 - e)."""
    return math.sqrt(2.0 * height / GRAVITY) * (1.0 + restitution) / (1.0 - restitution)
