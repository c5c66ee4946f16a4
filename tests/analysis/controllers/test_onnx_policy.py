"""OnnxPolicy: actions are those of the network, at once or every period."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.analysis.controllers import OnnxPolicy
from merganser.framework import DiagramBuilder
from merganser.framework.primitives import Integrator, LogVectorOutput

_W = np.array([[1.0, -2.0], [0.5, 3.0], [0.25, 0.0]], dtype=np.float32)  # three observations, two actions


def network(path: Path, shape: list[object] | None = None, num_inputs: int = 1) -> Path:
    """Writes tanh(W' x)."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    inputs = [helper.make_tensor_value_info(f"obs{n}", floats, shape or ["batch", 3]) for n in range(num_inputs)]
    nodes = [helper.make_node("MatMul", ["obs0", "W"], ["y"]), helper.make_node("Tanh", ["y"], ["action"])]
    outputs = [helper.make_tensor_value_info("action", floats, [*(shape or ["batch", 3])[:-1], 2])]
    graph = helper.make_graph(nodes, "policy", inputs, outputs, [onnx.numpy_helper.from_array(_W, "W")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("shape", [["batch", 3], [1, 3], [3]])
def test_actions_are_those_of_the_network(tmp_path: Path, shape: list[object]) -> None:
    policy = OnnxPolicy(network(tmp_path / "policy.onnx", shape))
    context = policy.CreateDefaultContext()
    x = np.array([0.1, -0.2, 0.3])
    policy.get_input_port().FixValue(context, x)
    np.testing.assert_allclose(policy.get_output_port().Eval(context), np.tanh(x @ _W), atol=1e-6)


def test_an_action_is_held_for_a_period(tmp_path: Path) -> None:
    builder = DiagramBuilder()
    policy = builder.AddSystem(OnnxPolicy(network(tmp_path / "policy.onnx"), period=0.5))
    clock = builder.AddSystem(Integrator(3))
    builder.ExportInput(clock.get_input_port(), "rate")
    builder.Connect(clock.get_output_port(), policy.get_input_port())
    sink = LogVectorOutput(policy.get_output_port(), builder, 0.25)
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    diagram.get_input_port().FixValue(context, [1.0, 0.0, 0.0])
    Simulator(diagram, context).AdvanceTo(1.25)
    actions = sink.FindLog(context).data()
    np.testing.assert_allclose(actions[0], np.tanh([0.0, 0.0, 0.0, 0.5, 0.5, 1.0]), atol=1e-6)


def test_copies_of_a_diagram_have_policies_of_their_own(tmp_path: Path) -> None:
    builder = DiagramBuilder()
    policy = builder.AddSystem(OnnxPolicy(network(tmp_path / "policy.onnx")))
    builder.ExportInput(policy.get_input_port(), "x")
    builder.ExportOutput(policy.get_output_port(), "u")
    diagram = builder.Build()
    for copied in (copy.deepcopy(diagram), pickle.loads(pickle.dumps(diagram))):
        assert copied.GetSystems()[0] is not policy
        context = copied.CreateDefaultContext()
        copied.get_input_port().FixValue(context, [0.1, 0.2, 0.3])
        wanted = np.tanh(np.array([0.1, 0.2, 0.3]) @ _W)
        np.testing.assert_allclose(copied.get_output_port().Eval(context), wanted, atol=1e-6)


def test_what_does_not_fit_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = network(tmp_path / "policy.onnx")
    with pytest.raises(FileNotFoundError, match=r"no file '.*absent\.onnx'"):
        OnnxPolicy(tmp_path / "absent.onnx")
    with pytest.raises(ValueError, match=r"must be positive, got 0\.0 s"):
        OnnxPolicy(path, period=0.0)
    with pytest.raises(ValueError, match=r"'obs0' of .* has shape \[4, 3\]"):
        OnnxPolicy(network(tmp_path / "batch.onnx", [4, 3]))
    with pytest.raises(ValueError, match="has the inputs obs0, obs1; a policy has one"):
        OnnxPolicy(network(tmp_path / "two.onnx", num_inputs=2))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError, match=r"pip install 'merganser\[onnx\]'"):
        OnnxPolicy(path)
