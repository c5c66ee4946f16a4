"""Systems in Graphviz's language: fragments that merge into other graphs, whole graphs, and their pictures.

A leaf system is a table with its input ports on the left and its output ports on the right. A Diagram is a box around
its subsystems, with nodes for its own input and output ports.
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
