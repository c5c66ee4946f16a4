"""Pictures of systems: in Graphviz's language, and of diagrams as graphs with matplotlib.

In Graphviz's language, whose fragments merge into other graphs, a leaf system is a table with its input ports on the
left and its output ports on the right. A Diagram is a box around its subsystems, with nodes for its own ports.

In pictures with matplotlib, boxes are in columns from left to right along the flow of data. A wire to the next column
is a curve; one that skips a column runs above all boxes, one that leads back (feedback) below them, each in a lane of
its own. Lengths are in inches.
"""

from __future__ import annotations

import dataclasses
import html
import importlib
import io
import itertools
import shutil
import sys
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from merganser.framework.core.system.system import System

_COLOR_OF_INPUTS, _COLOR_OF_OUTPUTS = "blue", "green"
_SPLIT, _SPLIT_IN_TWO = "split", "I/O"
# A fragment may end up in any graph, so that nodes are numbered once for the whole process.
_numbers = itertools.count(1)
_number_of: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


@dataclasses.dataclass
class GraphvizFragmentParams:
    """What `DoGetGraphvizFragment` is asked for.

    Attributes:
        max_depth: how many levels of nested Diagrams to open; 0 for a single block.
        options: wishes by name; those that are not understood are ignored.
        node_id: name of the node, unique in the process.
        header_lines: lines at the top of the block, in Graphviz's HTML.
    """

    max_depth: int
    options: dict[str, str]
    node_id: str
    header_lines: list[str]


@dataclasses.dataclass
class GraphvizFragment:
    """A piece of a graph that stands for one system.

    Attributes:
        input_ports: for each input port of the system, the node (and port) where edges end.
        output_ports: for each output port of the system, the node (and port) where edges start.
        fragments: strings that make up a description of the piece when joined.
    """

    input_ports: list[str] = dataclasses.field(default_factory=list)
    output_ports: list[str] = dataclasses.field(default_factory=list)
    fragments: list[str] = dataclasses.field(default_factory=list)


# The class below has attributes of the same names.
_Fragment: TypeAlias = GraphvizFragment
_Params: TypeAlias = GraphvizFragmentParams


class GraphvizMethods:
    """What every System can do to describe itself to Graphviz."""

    GraphvizFragment: TypeAlias = _Fragment
    GraphvizFragmentParams: TypeAlias = _Params

    if TYPE_CHECKING:  # SystemBase has them
        _sys_input_ports: list[Any]
        _sys_output_ports: list[Any]

        def get_name(self) -> str: ...
        def GetSystemPathname(self) -> str: ...

    def GetGraphvizString(self, max_depth: int | None = None, options: Mapping[str, str] | None = None) -> str:
        """Returns a Graphviz description of the system, for `dot`.

        Args:
            max_depth: how many levels of nested Diagrams to open; 0 shows a Diagram as a single block. All by default.
            options: wishes by name. `{"split": "I/O"}` shows a block as two, one with the inputs and one with the
                outputs, which straightens graphs with feedback. A wish about a subsystem has its path before the
                name: `{"robot/plant/split": "I/O"}`.
        """
        fragment = self.GetGraphvizFragment(max_depth, options)
        return "".join(["digraph {\nrankdir=LR\n", *fragment.fragments, "}\n"])

    def GetGraphvizFragment(
        self, max_depth: int | None = None, options: Mapping[str, str] | None = None
    ) -> _Fragment:
        """Returns the description without `digraph { }` around it, to be merged into another graph.

        The arguments are those of `GetGraphvizString`.

        Raises:
            TypeError: the system's `DoGetGraphvizFragment` did not return a GraphvizFragment.
        """
        header = [f"<B>{html.escape(type(self).__qualname__)}</B>"]
        if self.get_name():
            header.append(f"name={html.escape(self.get_name())}")
        depth = sys.maxsize if max_depth is None else max_depth
        params = _Params(depth, dict(options or {}), _node_id(self), header)
        fragment = self.DoGetGraphvizFragment(params)
        if not isinstance(fragment, _Fragment):
            raise TypeError(
                f"System '{self.GetSystemPathname()}': DoGetGraphvizFragment must return a GraphvizFragment, got "
                f"{type(fragment).__name__}."
            )
        return fragment

    def DoGetGraphvizFragment(self, params: _Params) -> _Fragment:
        """Override to describe a system in another way, or to change `params.header_lines` before calling this."""
        node = params.node_id
        inputs, outputs = _cells(self._sys_input_ports, "u"), _cells(self._sys_output_ports, "y")
        if params.options.get(_SPLIT) != _SPLIT_IN_TWO:
            fragments = list(_table(node, params.header_lines, inputs, outputs))
            return _Fragment(_ends(node, "u", inputs), _ends(node, "y", outputs), fragments)
        left, right = f"{node}in", f"{node}out"
        marker = ['<TD BORDER="1"><FONT COLOR="gray50">(split)</FONT></TD>']
        fragments = [
            *_table(left, params.header_lines, inputs, marker),
            *_table(right, params.header_lines, marker, outputs),
        ]
        return _Fragment(_ends(left, "u", inputs), _ends(right, "y", outputs), fragments)


def diagram_fragment(diagram: Any, params: GraphvizFragmentParams) -> GraphvizFragment:
    """A Diagram with its subsystems, the subsystems of these, and so on as deep as asked for."""
    node = params.node_id
    pieces = {
        system: system.GetGraphvizFragment(params.max_depth - 1, _options_of(system.get_name(), params.options))
        for system in diagram.GetSystems()
    }
    left, right = f"{node}in", f"{node}out"
    inputs, outputs = _cells(diagram._sys_input_ports, "u"), _cells(diagram._sys_output_ports, "y")
    lines = [
        f"subgraph cluster_{node} {{\n",
        f"label=<{'<BR/>'.join(params.header_lines)}>\n",
        *_port_nodes(left, "input ports", inputs, _COLOR_OF_INPUTS),
        *_port_nodes(right, "output ports", outputs, _COLOR_OF_OUTPUTS),
        *(line for piece in pieces.values() for line in piece.fragments),
        *_edges(diagram, pieces, left, right),
        "}\n",
    ]
    return GraphvizFragment(_ends(left, "u", inputs), _ends(right, "y", outputs), lines)


def _edges(diagram: Any, pieces: Mapping[System, GraphvizFragment], left: str, right: str) -> Iterator[str]:
    for (to, to_port), (start, start_port) in diagram._sys_connections.items():
        yield f"{pieces[start].output_ports[start_port]}:e -> {pieces[to].input_ports[to_port]}:w\n"
    for (to, to_port), index in diagram._sys_exported_inputs.items():
        yield f"{left}:u{index}:e -> {pieces[to].input_ports[to_port]}:w [color={_COLOR_OF_INPUTS}]\n"
    for index, (start, start_port) in enumerate(diagram._sys_exported_outputs):
        yield f"{pieces[start].output_ports[start_port]}:e -> {right}:y{index}:w [color={_COLOR_OF_OUTPUTS}]\n"


def _node_id(system: Any) -> str:
    if system not in _number_of:
        _number_of[system] = next(_numbers)
    return f"s{_number_of[system]}"


def _options_of(name: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options that are meant for the subsystem of that name, or for what is inside it."""
    prefix = f"{name}/"
    return {key.removeprefix(prefix): value for key, value in options.items() if key.startswith(prefix)}


def _cells(ports: Sequence[Any], letter: str) -> list[str]:
    """A cell of a table for each port; vectors without elements are gray."""
    names = (
        f'<FONT COLOR="gray50">{html.escape(p.get_name())}</FONT>' if p._size == 0 else html.escape(p.get_name())
        for p in ports
    )
    return [f'<TD BORDER="1" PORT="{letter}{index}">{name}</TD>' for index, name in enumerate(names)]


def _ends(node: str, letter: str, cells: Sequence[str]) -> list[str]:
    return [f"{node}:{letter}{index}" for index in range(len(cells))]


def _table(node: str, header: Sequence[str], left: Sequence[str], right: Sequence[str]) -> Iterator[str]:
    """A node: header lines above two columns of cells."""
    yield f'{node} [shape=plain, label=<<TABLE BORDER="0" CELLSPACING="0">\n'
    yield f'<TR><TD BORDER="1" COLSPAN="2">{"<BR/>".join(header)}</TD></TR>\n'
    for pair in itertools.zip_longest(left, right, fillvalue="<TD></TD>"):
        yield f"<TR>{''.join(pair)}</TR>\n"
    yield "</TABLE>>]\n"


def _port_nodes(node: str, title: str, cells: Sequence[str], color: str) -> Iterator[str]:
    """The node with the input ports, or with the output ports, of a Diagram."""
    if not cells:
        return
    rows = "".join(f"<TR>{cell}</TR>" for cell in cells)
    yield f'{node} [shape=plain, label=<<TABLE COLOR="{color}" CELLSPACING="3" STYLE="rounded">'
    yield f'<TR><TD BORDER="0">{title}</TD></TR>{rows}</TABLE>>]\n'


_SECONDS = 60.0  # that a layout may take


def plot_graphviz(dot_text: str) -> Any:
    """Draws a graph in Graphviz's language.

    Args:
        dot_text: the description.

    Returns:
        What is drawn, as matplotlib has it; None in a notebook, which shows the picture.

    Raises:
        RuntimeError: Graphviz is not installed, or does not understand the description.
    """
    ipython: Any = sys.modules.get("IPython")
    if ipython is not None and hasattr(ipython.get_ipython(), "kernel"):  # in a notebook
        notebook: Any = importlib.import_module("IPython.display")
        return notebook.display(notebook.SVG(_laid_out(dot_text, "svg")))
    import matplotlib.pyplot as plt

    picture = plt.imread(io.BytesIO(_laid_out(dot_text, "png")), format="png")
    plt.axis("off")
    return plt.imshow(picture, aspect="equal")


def plot_system_graphviz(system: System, **kwargs: Any) -> Any:
    """Draws a System: its blocks, ports and wires. Without Graphviz, `plot_diagram` makes such pictures, too.

    Args:
        system: a Diagram, say.
        kwargs: as of `System.GetGraphvizString`, such as `max_depth=1`.

    Returns:
        As `plot_graphviz`.

    Raises:
        RuntimeError: Graphviz is not installed.
    """
    return plot_graphviz(system.GetGraphvizString(**kwargs))


def _laid_out(dot_text: str, kind: str) -> bytes:
    """The graph as a picture of a format of Graphviz."""
    import subprocess

    dot = shutil.which("dot")
    if dot is None:
        raise RuntimeError(
            "plot_graphviz() needs the program 'dot' of Graphviz, which is not in the PATH. Install it ('sudo apt "
            "install graphviz', 'brew install graphviz', 'conda install graphviz'), or draw by "
            "merganser.framework.plot_diagram(system), which needs matplotlib only."
        )
    done = subprocess.run([dot, f"-T{kind}"], input=dot_text.encode(), capture_output=True, timeout=_SECONDS)
    if done.returncode:
        problem = done.stderr.decode(errors="replace").strip()
        raise RuntimeError(f"plot_graphviz(): Graphviz does not understand the description: {problem}")
    return done.stdout


def diagram_graph(system: System) -> Any:
    """Returns a networkx MultiDiGraph of the direct subsystems of a Diagram.

    Nodes are system names, with attributes `system` and `kind` ("system", "input" or "output"; the latter are the
    exported ports of the Diagram). Edges have attributes `output` and `input`, the names of the ports they connect.
    """
    import networkx as nx

    graph = nx.MultiDiGraph(name=system.GetSystemName())
    subsystems = system._sys_subsystems()
    if subsystems is None:
        graph.add_node(system.GetSystemName(), system=system, kind="system")
        return graph
    for subsystem in subsystems:
        graph.add_node(subsystem.get_name(), system=subsystem, kind="system")
    diagram: Any = system
    for (to, to_port), (start, start_port) in diagram._sys_connections.items():
        graph.add_edge(
            start.get_name(),
            to.get_name(),
            output=start.get_output_port(start_port).get_name(),
            input=to.get_input_port(to_port).get_name(),
        )
    for (to, to_port), index in diagram._sys_exported_inputs.items():
        name = diagram.get_input_port(index).get_name()
        graph.add_node(f"in: {name}", system=None, kind="input")
        graph.add_edge(f"in: {name}", to.get_name(), output="", input=to.get_input_port(to_port).get_name())
    for index, (start, start_port) in enumerate(diagram._sys_exported_outputs):
        name = diagram.get_output_port(index).get_name()
        graph.add_node(f"out: {name}", system=None, kind="output")
        graph.add_edge(start.get_name(), f"out: {name}", output=start.get_output_port(start_port).get_name(), input="")
    return graph


_LINE = 0.22  # height of a line of text
_CHARACTER = 0.072  # width of a character of a port's name
_COLUMN_GAP, _ROW_GAP, _LANE, _STUB, _MARGIN = 0.9, 0.45, 0.16, 0.12, 0.25
_SIDE = _MARGIN + 4 * _STUB  # room for feedback wires beside the boxes
_FACE = {"system": "#eef3fa", "input": "#f7f2e6", "output": "#f7f2e6"}
_EDGE = {"system": "#30507a", "input": "#8a6d1f", "output": "#8a6d1f"}
_WIRES = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#e377c2")


@dataclasses.dataclass
class _Box:
    """One system: its title, the ports that have wires, and its place (x, y is the upper left corner)."""

    title: list[str]
    kind: str
    inputs: list[str] = dataclasses.field(default_factory=list)
    outputs: list[str] = dataclasses.field(default_factory=list)
    column: int = 0
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0

    def height(self) -> float:
        return _LINE * (len(self.title) + max(len(self.inputs), len(self.outputs)) + 0.5)

    def natural_width(self) -> float:
        ports = max(map(len, self.inputs), default=0) + max(map(len, self.outputs), default=0)
        return max(_CHARACTER * (ports + 4), 0.085 * (max(map(len, self.title)) + 3))

    def port_height(self, names: list[str], name: str) -> float:
        row = names.index(name) if name else 0
        return self.y - _LINE * (len(self.title) + 0.6 + row) if name else self.y - self.height() / 2


def plot_diagram(system: System, path: str | Path | None = None, title: str | None = None) -> Any:
    """Draws a Diagram: its systems as boxes, its wires from port to port.

    Args:
        system: the Diagram.
        path: where to save the picture; its ending says the format.
        title: above the picture; by default the name of the Diagram.

    Returns:
        The matplotlib Figure.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    graph = diagram_graph(system)
    boxes = _make_boxes(graph)
    columns = _columns(graph)
    right = _place(boxes, columns, graph)
    wires = [(a, b, data["output"], data["input"]) for a, b, data in graph.edges(data=True)]
    above = [w for w in wires if boxes[w[1]].column > boxes[w[0]].column + 1]
    below = [w for w in wires if boxes[w[1]].column <= boxes[w[0]].column]
    top = max(box.y for box in boxes.values()) + _LANE * (len(above) + 1)
    bottom = min(box.y - box.height() for box in boxes.values()) - _LANE * (len(below) + 1)
    width, height = right + 2 * _SIDE, top - bottom + 0.3 + 2 * _MARGIN
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(-_SIDE, right + _SIDE), ylim=(bottom - _MARGIN, top + 0.3 + _MARGIN))
    axes.set_axis_off()
    axes.text(right / 2, top + 0.3, title or system.GetSystemName(), ha="center", va="center", fontsize=12)
    colors = {name: _WIRES[i % len(_WIRES)] for i, name in enumerate(boxes)}
    for number, (start, end, output, input) in enumerate(wires):
        here, there = boxes[start], boxes[end]
        y0, y1 = here.port_height(here.outputs, output), there.port_height(there.inputs, input)
        lane = None
        if (start, end, output, input) in above:
            lane = top - _LANE * above.index((start, end, output, input))
        elif (start, end, output, input) in below:
            lane = bottom + _LANE * below.index((start, end, output, input))
        stub = _STUB * (1 + number % 4)
        _draw_wire(axes, (here.x + here.width, y0), (there.x, y1), lane, stub, colors[start])
    for box in boxes.values():
        _draw_box(axes, box)
    if path is not None:
        figure.savefig(path, dpi=130)
    return figure


def _make_boxes(graph: Any) -> dict[str, _Box]:
    boxes = {}
    for name, data in graph.nodes(data=True):
        kind = type(data["system"]).__name__ if data["system"] is not None else ""
        boxes[name] = _Box([name] if kind in ("", name) else [name, f"({kind})"], data["kind"])
    for start, end, data in graph.edges(data=True):
        for names, name in ((boxes[start].outputs, data["output"]), (boxes[end].inputs, data["input"])):
            if name and name not in names:
                names.append(name)
    return boxes


def _columns(graph: Any) -> list[list[str]]:
    """Boxes by column, so that most wires lead to the right: longest paths once feedback wires are left out."""
    import networkx as nx

    first = [name for name in graph.nodes if graph.in_degree(name) == 0] or list(graph.nodes)[:1]
    order: dict[str, int] = {}
    for source in [*first, *graph.nodes]:
        if source not in order:
            for name in nx.dfs_postorder_nodes(graph, source):
                order.setdefault(name, len(order))
    forward = nx.DiGraph()
    forward.add_nodes_from(graph.nodes)
    forward.add_edges_from((a, b) for a, b in graph.edges() if a != b and order[a] > order[b])
    column: dict[str, int] = {}
    for name in nx.topological_sort(forward):
        column[name] = max((column[before] + 1 for before in forward.predecessors(name)), default=0)
    columns: list[list[str]] = [[] for _ in range(max(column.values()) + 1)]
    for name in graph.nodes:
        columns[column[name]].append(name)
    return columns


def _place(boxes: dict[str, _Box], columns: list[list[str]], graph: Any) -> float:
    """Gives every box its place; returns the right edge of the last column."""
    x = 0.0
    for number, names in enumerate(columns):
        # Near the boxes that feed it, so that few wires cross.
        middles = {
            name: [boxes[b].y - boxes[b].height() / 2 for b in graph.predecessors(name) if boxes[b].column < number]
            for name in names
        }
        if number > 0:
            names.sort(key=lambda name: -sum(middles[name]) / max(len(middles[name]), 1))
        width = max(boxes[name].natural_width() for name in names)
        total = sum(boxes[name].height() for name in names) + _ROW_GAP * (len(names) - 1)
        y = total / 2
        for name in names:
            box = boxes[name]
            box.column, box.x, box.y, box.width = number, x, y, width
            y -= box.height() + _ROW_GAP
        x += width + _COLUMN_GAP
    return x - _COLUMN_GAP


def _draw_wire(
    axes: Any,
    start: tuple[float, float],
    end: tuple[float, float],
    lane: float | None,
    stub: float,
    color: str,
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Curve

    (x0, y0), (x1, y1) = start, end
    if lane is None:
        middle = (x0 + x1) / 2
        points = [(x0, y0), (middle, y0), (middle, y1), (x1, y1)]
        codes = [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
    else:
        points = [(x0, y0), (x0 + stub, y0), (x0 + stub, lane), (x1 - stub, lane), (x1 - stub, y1), (x1, y1)]
        codes = [Curve.MOVETO] + [Curve.LINETO] * 5
    axes.add_patch(
        PathPatch(Curve(points, codes), fill=False, edgecolor=color, linewidth=1.3, joinstyle="round", zorder=1)
    )
    axes.plot([x1 - 0.05], [y1], marker=">", color=color, markersize=5, zorder=3)


def _draw_box(axes: Any, box: _Box) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(
        FancyBboxPatch(
            (box.x, box.y - box.height()), box.width, box.height(), boxstyle="round,pad=0,rounding_size=0.06",
            facecolor=_FACE[box.kind], edgecolor=_EDGE[box.kind], linewidth=1.2, zorder=2,
        )
    )  # fmt: skip
    middle = box.x + box.width / 2
    for row, line in enumerate(box.title):
        weight = "bold" if row == 0 else "normal"
        axes.text(
            middle,
            box.y - _LINE * (row + 0.6),
            line,
            ha="center",
            va="center",
            fontsize=9,
            weight=weight,
            zorder=4,
        )
    for names, x, side in (
        (box.inputs, box.x + 0.09, "left"),
        (box.outputs, box.x + box.width - 0.09, "right"),
    ):
        for name in names:
            axes.text(
                x,
                box.port_height(names, name),
                name,
                ha=side,
                va="center",
                fontsize=8,
                color="#333333",
                zorder=4,
            )
