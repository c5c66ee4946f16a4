"""MeshcatSignalPlot: signals over time beside the scene of a Meshcat, while a simulation runs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from merganser.framework import BasicVector, Context, DiagramBuilder, LeafSystem, OutputPort
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.core.values.arguments import require_types
from merganser.geometry.visualizers.meshcat import Meshcat, declare_drawing


class MeshcatSignalPlot(LeafSystem):
    """Plots elements of a vector over time in the pages of a Meshcat; users of a page choose which. Beyond pydrake.

    A sample is taken when a page waits for a picture, as pictures are.

    Ports:
        input `signals`: shape [size].

    Args:
        meshcat: in whose pages.
        title: the heading of the plot.
        names: of the elements that can be seen.
        size: of the input; by default as many as there are names.
        elements: which of the input have these names; by default the first ones.
        shown, span, is_folded: as of `Meshcat.set_plot`.
        publish_period: simulated time between two samples [s]; 0 for one after each step.

    Raises:
        TypeError: an argument has another type.
        ValueError: names and elements do not go together; as of `Meshcat.set_plot`.
        RuntimeError: the period is negative.
    """

    _keeps_derivatives = True

    def __init__(
        self,
        meshcat: Meshcat,
        title: str,
        names: Sequence[str],
        *,
        size: int | None = None,
        elements: Sequence[int] | None = None,
        shown: Sequence[str] | None = None,
        span: float = 10.0,
        is_folded: bool = False,
        publish_period: float = 1 / 32.0,
    ) -> None:
        super().__init__()
        require_types("MeshcatSignalPlot", meshcat=(meshcat, Meshcat))
        size = len(names) if size is None else size
        self._elements = np.arange(len(names)) if elements is None else np.array(elements, dtype=np.intp)
        if len(self._elements) != len(names) or not np.all((self._elements >= 0) & (self._elements < size)):
            raise ValueError(
                f"MeshcatSignalPlot: {len(names)} names need as many elements of an input of {size}, numbered from 0; "
                f"given {self._elements.tolist()}."
            )
        if not (publish_period >= 0 and math.isfinite(publish_period)):
            raise RuntimeError(f"MeshcatSignalPlot: publish_period must not be negative; given {publish_period}.")
        self._meshcat, self._title = meshcat, title
        self._port = self.DeclareVectorInputPort("signals", BasicVector(size))
        meshcat.set_plot(title, names, shown, span, is_folded)
        self._demand = declare_drawing(self, meshcat, publish_period, self._draw)

    @staticmethod
    def AddToBuilder(
        builder: DiagramBuilder,
        port: OutputPort,
        meshcat: Meshcat,
        title: str,
        names: Sequence[str] | None = None,
        *,
        elements: Sequence[int] | None = None,
        shown: Sequence[str] | None = None,
        span: float = 10.0,
        is_folded: bool = False,
        publish_period: float = 1 / 32.0,
    ) -> MeshcatSignalPlot:
        """Adds a plot of a port's signals to a diagram.

        Args:
            builder: of the diagram.
            port: whose signals.
            names: by default those of the port's elements, counted from 0.
            meshcat, title, elements, shown, span, is_folded, publish_period: as of the class.

        Returns:
            The system.
        """
        require_types("MeshcatSignalPlot.AddToBuilder", builder=(builder, DiagramBuilder), port=(port, OutputPort))
        chosen = range(port.size()) if elements is None else elements
        plot = MeshcatSignalPlot(
            meshcat, title, [f"{port.get_name()}[{i}]" for i in chosen] if names is None else names, size=port.size(),
            elements=elements, shown=shown, span=span, is_folded=is_folded, publish_period=publish_period,
        )  # fmt: skip
        builder.AddSystem(plot)
        builder.Connect(port, plot.get_input_port())
        return plot

    def _draw(self, context: Context) -> None:
        time, *values = cast_array([context.get_time(), *self._port.Eval(context)[self._elements]], float).tolist()
        self._meshcat.add_sample(self._title, time, values)
        self._demand.note_met()
