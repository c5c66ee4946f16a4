"""Pictures of state machines: the chart of states and transitions, and which states were active when.

In a chart, the states directly in one state are in columns from left to right, by the number of transitions from the
initial one; the parts of a parallel state are below each other, with dashed borders. Lengths are in inches.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.framework import Context
from merganser.framework.primitives import StateMachine, VectorLogSink

if TYPE_CHECKING:
    from merganser.framework.primitives.state_machines.chart import Chart, State, Transition

_LINE, _CHARACTER = 0.2, 0.072  # height of a line of text, width of a character
_ROW_GAP, _MARGIN, _SMALLEST = 0.55, 0.35, (1.1, 0.5)
_BEND = 0.22  # of arrows, as a share of their length
_FACE, _INNER, _ACTIVE, _EDGE, _WIRE = "#eef3fa", "#f8fafd", "#ffe9a8", "#30507a", "#555555"


@dataclasses.dataclass
class _Box:
    """A state in a chart; x, y are the upper left corner."""

    lines: list[str]
    inside: list[_Box]
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0

    def move(self, dx: float, dy: float) -> None:
        self.x, self.y = self.x + dx, self.y + dy
        for box in self.inside:
            box.move(dx, dy)

    def middle(self) -> np.ndarray:
        return np.array([self.x + 0.5 * self.width, self.y - 0.5 * self.height])


def plot_state_machine(
    machine: StateMachine, context: Context | None = None, path: str | Path | None = None, title: str | None = None
) -> Any:
    """Draws the chart of a state machine: boxes for states, arrows for transitions, with guards and actions.

    Args:
        machine: after Finalize.
        context: of the machine, or of a diagram around it; its active states are filled. None for none.
        path: where to save the picture; its ending says the format.
        title: above the picture; by default the name of the machine.

    Returns:
        The matplotlib Figure.

    Raises:
        TypeError: it is no StateMachine.
    """
    if not isinstance(machine, StateMachine):
        raise TypeError(f"plot_state_machine takes a StateMachine, got a {type(machine).__name__}.")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    chart = machine.chart
    boxes: dict[str, _Box] = {}
    whole = _arranged(chart, None, boxes)
    active = [] if context is None else machine.GetActiveStates(machine.GetMyContextFromRoot(context))
    width, height = whole.width + 2.0 * _MARGIN, whole.height + 2.0 * _MARGIN
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(-_MARGIN, whole.width + _MARGIN), ylim=(-whole.height - _MARGIN, _MARGIN))
    axes.set_axis_off()
    axes.text(0.0, 0.12, title or machine.get_name(), ha="left", va="center", fontsize=12)
    for name, state in chart.states.items():
        is_region = state.parent is not None and state.parent.is_parallel
        _draw_state(axes, boxes[name], name in active, is_region)
        if state.is_initial:
            _draw_initial(axes, boxes[name])
    for transition in chart.transitions:
        _draw_transition(axes, transition, boxes)
    if path is not None:
        figure.savefig(path, dpi=130)
    return figure


def plot_state_trace(sink: VectorLogSink, context: Context, machine: StateMachine, axes: Any = None) -> Any:
    """Plots which states were active when, one row for each state.

    Args:
        sink: logs the output port `active` of the machine, at every step.
        context: the root context.
        machine: the state machine.
        axes: of matplotlib; a new figure's if None.

    Returns:
        The axes.

    Raises:
        ValueError: the sink does not log as many numbers as there are states.
    """
    log, names = sink.FindLog(context), machine.GetStateNames()
    times, data = log.sample_times(), log.data()
    if len(data) != len(names):
        raise ValueError(
            f"plot_state_trace: the sink must log the output port 'active' of '{machine.GetSystemPathname()}', with "
            f"{len(names)} numbers; it logs {len(data)}."
        )
    if axes is None:
        from matplotlib.figure import Figure

        axes = Figure(figsize=(8.0, 0.6 + 0.35 * len(names)), layout="constrained").subplots()
    for row, values in enumerate(data):
        # A sample shows what was active until then: a transition takes place at the beginning of the next step.
        edges = np.flatnonzero(np.diff(np.concatenate([[0.0], values[1:] > 0.5, [0.0]])))
        spans = [(times[a], times[b] - times[a]) for a, b in edges.reshape(-1, 2)]
        axes.broken_barh(spans, (row - 0.38, 0.76), facecolor="#4c78a8", edgecolor="white", linewidth=0.5)
    axes.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5), xlabel="time [s]")
    if len(times):
        axes.set_xlim(times[0], max(times[-1], times[0] + 1e-9))
    axes.grid(axis="x", alpha=0.3)
    return axes


# ---------------------------------------------------------------------- where boxes are


def _arranged(chart: Chart, state: State | None, boxes: dict[str, _Box]) -> _Box:
    """The box of a state with all that are in it, its upper left corner at the origin; of the machine for None."""
    lines = [] if state is None else [state.name, *_wrapped(state.labels)]
    children = chart.children(state)
    box = _Box(lines, [_arranged(chart, child, boxes) for child in children])
    if state is not None:
        boxes[state.name] = box
    top = _LINE * (len(lines) + 0.6)
    text_width = _CHARACTER * (max(map(len, lines), default=0) + 3)
    box.width, box.height = max(_SMALLEST[0], text_width), max(_SMALLEST[1], top)
    if not children:
        return box
    columns = [children] if state is not None and state.is_parallel else _columns(chart, state, children)
    inner = dict(zip((child.name for child in children), box.inside))
    tallest = max(sum(inner[c.name].height + _ROW_GAP for c in column) - _ROW_GAP for column in columns)
    bend = 0.35 + 0.18 * max(0, len(columns) - 1) if len(columns) > 1 else 0.3  # for arrows above and below the boxes
    x = _MARGIN
    for number, column in enumerate(columns):
        total = sum(inner[c.name].height + _ROW_GAP for c in column) - _ROW_GAP
        y = -top - bend - 0.5 * (tallest - total)
        for child in column:
            inner[child.name].move(x, y)
            y -= inner[child.name].height + _ROW_GAP
        x += max(inner[c.name].width for c in column)
        if number + 1 < len(columns):
            x += _gap(chart, set(columns[number]), set(columns[number + 1]))
    box.width = max(box.width, x + _MARGIN)
    box.height = top + tallest + 2.0 * bend
    return box


def _columns(chart: Chart, state: State | None, children: list[State]) -> list[list[State]]:
    """Children by the number of transitions from the initial one."""
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_nodes_from(child.number for child in children)
    graph.add_edges_from(
        (a.number, b.number)
        for transition in chart.transitions
        if (a := _within(transition.source, children)) and (b := _within(transition.target, children))
    )
    by_number = {child.number: child for child in children}
    layers = nx.bfs_layers(graph, chart.initial_child(state).number)
    columns = [[by_number[number] for number in sorted(layer)] for layer in layers]
    rest = [child for child in children if not any(child in column for column in columns)]
    return [*columns, rest] if rest else columns


def _within(state: State | None, children: list[State]) -> State | None:
    """That of the children which a state is or is in."""
    return next((each for each in state.lineage() if each in children), None) if state is not None else None


def _gap(chart: Chart, left: set[State], right: set[State]) -> float:
    """The width of what is written between two columns."""
    labels = []
    for transition in chart.transitions:
        ends = [_within(state, [*left, *right]) for state in (transition.source, transition.target)]
        if None not in ends and (ends[0] in left) != (ends[1] in left):
            labels.append(_label(transition))
    return 0.5 + _CHARACTER * max((len(line) for label in labels for line in label.split("\n")), default=8)


# ---------------------------------------------------------------------- drawing


def _draw_state(axes: Any, box: _Box, is_active: bool, is_region: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    face = _ACTIVE if is_active else _INNER if box.inside else _FACE
    axes.add_patch(
        FancyBboxPatch(
            (box.x, box.y - box.height), box.width, box.height, boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=face, edgecolor=_EDGE, linewidth=1.2, linestyle="--" if is_region else "-", zorder=2,
        )
    )  # fmt: skip
    for row, line in enumerate(box.lines):
        is_title = row == 0
        x = box.x + (0.12 if box.inside else 0.5 * box.width)
        axes.text(
            x, box.y - _LINE * (row + 0.75), line, ha="left" if box.inside else "center", va="center",
            fontsize=9 if is_title else 7.5, weight="bold" if is_title else "normal", zorder=4,
        )  # fmt: skip


def _draw_initial(axes: Any, box: _Box) -> None:
    """A dot with an arrow to the state that is entered first."""
    x, y = box.x + 0.18, box.y
    axes.plot([x - 0.22], [y + 0.24], marker="o", color="black", markersize=5, zorder=5)
    arrow = {"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (x, y), (x - 0.22, y + 0.24), arrowprops=arrow, zorder=5)


def _draw_transition(axes: Any, transition: Transition, boxes: dict[str, _Box]) -> None:
    from matplotlib.patches import FancyArrowPatch

    source = boxes[transition.source.name]
    target = source if transition.target is None else boxes[transition.target.name]
    if source is target:
        x, y = source.x + 0.75 * source.width, source.y
        ends, bend, at = (np.array([x - 0.12, y]), np.array([x + 0.2, y])), -1.6, np.array([x + 0.1, y + 0.42])
    else:
        # To the left as one goes, so that arrows to and fro run apart.
        ends, bend = _ends(source, target), -_BEND
        (dx, dy), middle = ends[1] - ends[0], 0.5 * (ends[0] + ends[1])
        at = middle + 0.5 * bend * np.array([dy, -dx])
    style = f"arc3,rad={bend}"
    line = "--" if transition.target is None else "-"
    axes.add_patch(
        FancyArrowPatch(
            tuple(ends[0]), tuple(ends[1]), connectionstyle=style, arrowstyle="-|>", mutation_scale=11,
            shrinkA=0, shrinkB=0, color=_WIRE, linewidth=1.1, linestyle=line, zorder=3,
        )
    )  # fmt: skip
    white = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.8}
    axes.text(*at, _label(transition), ha="center", va="center", fontsize=7.5, color="#222222", bbox=white, zorder=6)


def _ends(source: _Box, target: _Box) -> tuple[np.ndarray, np.ndarray]:
    """Where an arrow leaves and meets the borders: a little to the side that it bends to."""
    a, b = source.middle(), target.middle()
    way = (b - a) / max(float(np.linalg.norm(b - a)), 1e-9)
    side = 0.12 * np.array([-way[1], way[0]])
    return _at_border(source, a + side, way), _at_border(target, b + side, -way)


def _at_border(box: _Box, start: np.ndarray, way: np.ndarray) -> np.ndarray:
    """Where a ray from inside a box meets its border."""
    right, bottom = box.x + box.width, box.y - box.height
    shares = [
        (limit - start[i]) / way[i] for i, limits in enumerate(((box.x, right), (bottom, box.y))) for limit in limits
        if abs(way[i]) > 1e-9
    ]  # fmt: skip
    return start + min(share for share in shares if share >= 0.0) * way


def _label(transition: Transition) -> str:
    number = "" if transition.priority == np.inf else f"{transition.priority}: "
    history = {None: "", "shallow": " (H)", "deep": " (H*)"}[transition.history]
    action = f"\n/ {transition.assignments}" if transition.assignments else ""
    return f"{number}{transition.label}{history}{action}"


def _wrapped(lines: list[str], most: int = 34) -> list[str]:
    """Lines of no more characters than that, cut at commas."""
    made: list[str] = []
    for line in lines:
        parts, current = line.split(", "), ""
        for part in parts:
            joined = f"{current}, {part}" if current else part
            if current and len(joined) > most:
                made.append(f"{current},")
                joined = part
            current = joined
        made.append(current)
    return made
