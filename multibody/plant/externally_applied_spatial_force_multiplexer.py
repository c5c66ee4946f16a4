"""Lists of applied forces, one after the other."""

from __future__ import annotations

from typing import Any

from merganser.framework import Context, InputPort, LeafSystem, Value, kUseDefaultName

__all__ = ["ExternallyAppliedSpatialForceMultiplexer"]


class ExternallyAppliedSpatialForceMultiplexer(LeafSystem):
    """Joins lists of ExternallyAppliedSpatialForce into one, y0 = u0 + u1 + ...

    A plant has one input port for applied forces; this lets several systems push.

    Args:
        num_inputs: how many lists, 0 or more.

    Raises:
        ValueError: num_inputs is negative.
    """

    def __init__(self, num_inputs: int) -> None:
        super().__init__()
        if num_inputs < 0:
            raise ValueError(
                f"ExternallyAppliedSpatialForceMultiplexer: num_inputs must be 0 or more, got {num_inputs}."
            )
        self._lists: list[InputPort] = [
            self.DeclareAbstractInputPort(kUseDefaultName, Value([])) for _ in range(num_inputs)
        ]
        self.DeclareAbstractOutputPort(
            kUseDefaultName, lambda: Value([]), self._calc_forces, {self.all_input_ports_ticket()}
        )

    def _calc_forces(self, context: Context, output: Any) -> None:
        output.set_value([force for port in self._lists for force in port.Eval(context)])
