"""Descriptions of systems for Graphviz."""

import re

import pytest

from merganser.framework import DiagramBuilder, LeafSystem
from merganser.framework.primitives import Adder, Gain


def nested():
    """A Gain and an Adder in a Diagram 'inner' in a Diagram 'outer'."""
    builder = DiagramBuilder()
    gain = builder.AddNamedSystem("gain & more", Gain(2.0, 2))
    total = builder.AddNamedSystem("total", Adder(2, 2))
    builder.Connect(gain.get_output_port(), total.get_input_port(0))
    builder.ExportInput(gain.get_input_port(), "in")
    builder.ExportOutput(total.get_output_port(), "out")
    inner = builder.Build()
    inner.set_name("inner")
    builder = DiagramBuilder()
    builder.AddSystem(inner)
    builder.ExportInput(inner.get_input_port(), "far in")
    outer = builder.Build()
    outer.set_name("outer")
    return outer


def edges(text):
    return re.findall(r"^(\S+):e -> (\S+):w", text, flags=re.MULTILINE)


def test_diagram_shows_everything_inside():
    text = nested().GetGraphvizString()
    assert text.startswith("digraph {") and text.count("{") == text.count("}")
    assert text.count("subgraph") == 2 and len(edges(text)) == 4
    for name in ("name=outer", "name=inner", "name=gain &amp; more", "name=total", "<B>Adder</B>"):
        assert name in text


def test_edges_lead_from_ports_to_ports_that_exist():
    text = nested().GetGraphvizString()
    blocks = dict(re.findall(r"^(s\w+) (\[shape=plain.*?>>\])", text, flags=re.MULTILINE | re.DOTALL))
    for end in (end for edge in edges(text) for end in edge):
        node, port = end.split(":")
        assert f'PORT="{port}"' in blocks[node]


def test_depth_limits_what_is_opened():
    outer = nested()
    assert outer.GetGraphvizString(max_depth=0).count("subgraph") == 0
    closed = outer.GetGraphvizString(1)
    assert closed.count("subgraph") == 1 and "name=inner" in closed and "name=total" not in closed
    assert len(edges(closed)) == 1
    assert outer.GetGraphvizString(2) == outer.GetGraphvizString()


def test_split_blocks_have_inputs_and_outputs_apart():
    outer = nested()
    text = outer.GetGraphvizString(options={"inner/total/split": "I/O", "total/split": "I/O", "unknown": "1"})
    assert text.count("(split)") == 2
    ((_, into),) = [edge for edge in edges(text) if edge[0].endswith(":y0") and edge[1].endswith("in:u0")]
    out = [start for start, end in edges(text) if start.endswith("out:y0")]
    assert out == [into.replace("in:u0", "out:y0")]


def test_a_fragment_knows_its_edges():
    outer = nested()
    fragment = outer.GetGraphvizFragment()
    ((node, port),) = [end.split(":") for end in fragment.input_ports]
    assert fragment.output_ports == [] and port == "u0" and any(line.startswith(node) for line in fragment.fragments)
    assert "".join(fragment.fragments) in outer.GetGraphvizString()
    gain = Gain(1.0, 1)
    fragment, other = gain.GetGraphvizFragment(), Gain(1.0, 1).GetGraphvizFragment()
    assert len(fragment.input_ports) == len(fragment.output_ports) == 1
    assert fragment.input_ports != other.input_ports and fragment == gain.GetGraphvizFragment()


class Labelled(LeafSystem):
    def __init__(self):
        super().__init__()
        self.asked = None
        self.DeclareVectorInputPort("none", 0)

    def DoGetGraphvizFragment(self, params):
        self.asked = params
        params.header_lines.append("my label")
        return LeafSystem.DoGetGraphvizFragment(self, params)


def test_block_can_describe_itself():
    builder = DiagramBuilder()
    block = builder.AddNamedSystem("mine", Labelled())
    text = builder.Build().GetGraphvizString(max_depth=3, options={"mine/color": "red", "color": "blue"})
    assert "name=mine<BR/>my label" in text and '<FONT COLOR="gray50">none</FONT>' in text
    assert (block.asked.max_depth, block.asked.options) == (2, {"color": "red"})
    assert block.asked.header_lines == ["<B>Labelled</B>", "name=mine", "my label"]
    assert isinstance(block.asked, LeafSystem.GraphvizFragmentParams)
    assert isinstance(block.GetGraphvizFragment(), LeafSystem.GraphvizFragment)


def test_description_of_another_type_is_refused():
    class Wrong(LeafSystem):
        def DoGetGraphvizFragment(self, params):
            return "node"

    with pytest.raises(TypeError, match="'::Wrong': DoGetGraphvizFragment must return a GraphvizFragment, got str"):
        Wrong().GetGraphvizString()
