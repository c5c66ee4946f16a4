"""MeshcatPoseSliders: names and values of sliders, the pose that they make, and the button that ends Run()."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("umsgpack", reason="extra `view`")
import umsgpack
from viewer_clients import eventually

from merganser.analysis import Simulator
from merganser.framework import DiagramBuilder, LeafSystem, Value
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.math import RigidTransform, RollPitchYaw
from merganser.framework.primitives import ConstantValueSource
from merganser.geometry import Meshcat, MeshcatPoseSliders, MeshcatPoseSliders_

NAMES = ["pitch", "roll", "x", "y", "yaw", "z"]
POSE = RigidTransform(RollPitchYaw(0.1, 0.2, 0.3), [0.4, 0.5, 0.6])


@pytest.fixture
def meshcat() -> Meshcat:
    return Meshcat(port=0)


def pose_of(sliders: Any) -> np.ndarray:
    pose = sliders.get_output_port().Eval(sliders.CreateDefaultContext())
    return np.concatenate([RollPitchYaw(pose.rotation()).vector(), pose.translation()])


def test_sliders_make_a_pose_which_is_always_that_of_now(meshcat: Meshcat) -> None:
    sliders = MeshcatPoseSliders(meshcat)
    assert meshcat.GetSliderNames() == NAMES
    context = sliders.CreateDefaultContext()
    for x in (0.25, -0.5):
        meshcat.SetSliderValue("x", x)
        meshcat.SetSliderValue("yaw", 2 * x)
        pose = sliders.get_output_port().Eval(context)
        assert pose.IsNearlyEqualTo(RigidTransform(RollPitchYaw(0, 0, 2 * x), [x, 0, 0]), 1e-12)
    highest = [meshcat.SetSliderValue(name, 9.0) for name in NAMES]
    np.testing.assert_allclose(highest, [3.14, 3.14, 1.0, 1.0, 3.14, 1.0], atol=0.01)


def test_the_first_pose_a_prefix_limits_and_hidden_sliders(meshcat: Meshcat) -> None:
    visible = [True, True, False, True, False, True]
    sliders = MeshcatPoseSliders(meshcat, POSE, upper_limit=[1, 1, 1, 1, 1, 0.55], prefix="hand", visible=visible)
    assert meshcat.GetSliderNames() == ["hand_pitch", "hand_roll", "hand_x", "hand_z"]
    np.testing.assert_allclose(pose_of(sliders), [0.1, 0.2, 0.3, 0.4, 0.5, 0.55], atol=1e-9)
    sliders.SetPose(RigidTransform(RollPitchYaw(-0.1, 0, 0.7), [0, 5, 5]))
    np.testing.assert_allclose(pose_of(sliders), [-0.1, 0, 0.7, 0, 5, 0.55], atol=1e-9)
    sliders.Delete()
    sliders.Delete()
    assert meshcat.GetSliderNames() == []
    np.testing.assert_allclose(pose_of(sliders), [-0.1, 0, 0.7, 0, 5, 5], atol=1e-9)


def test_the_input_is_where_a_simulation_begins(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    source = builder.AddSystem(ConstantValueSource(Value(POSE)))
    sliders = builder.AddSystem(MeshcatPoseSliders(meshcat))
    builder.Connect(source.get_output_port(), sliders.get_input_port())
    simulator = Simulator(builder.Build())
    assert meshcat.GetSliderValue("x") == 0.0
    simulator.Initialize()
    assert meshcat.GetSliderValue("x") == pytest.approx(0.4)
    meshcat.SetSliderValue("x", 0.7)
    simulator.AdvanceTo(0.1)
    assert meshcat.GetSliderValue("x") == pytest.approx(0.7)


def test_times_that_never_come_are_refused(meshcat: Meshcat) -> None:
    sliders = MeshcatPoseSliders(meshcat)
    times: list[tuple[type[Exception], Any]] = [(RuntimeError, np.nan), (TypeError, "long")]
    for error, timeout in times:
        with pytest.raises(error, match=f"timeout of the button 'Stop MeshcatPoseSliders'.*{timeout}"):
            sliders.Run(sliders, sliders.CreateDefaultContext(), timeout=timeout)
        assert meshcat.GetButtonNames() == []


def test_what_does_not_fit_is_refused_and_leaves_no_sliders(meshcat: Meshcat) -> None:
    for error, text, arguments in (
        (TypeError, "lower_limit must be six numbers", {"lower_limit": [1, 2]}),
        (TypeError, "step must be six numbers", {"step": 0.1}),
        (RuntimeError, "decrement_keycodes must be six", {"decrement_keycodes": ["KeyA"]}),
        (RuntimeError, "lower_limit must not be above", {"lower_limit": [2] * 6, "upper_limit": [1] * 6}),
        (RuntimeError, "step positive", {"step": [0.1, 0.1, 0.1, 0.1, 0.1, 0.0]}),
        (TypeError, "takes a Meshcat and a RigidTransform", {"initial_pose": np.eye(4)}),
    ):
        with pytest.raises(error, match=text):
            MeshcatPoseSliders(meshcat, **arguments)
        assert meshcat.GetSliderNames() == []
    MeshcatPoseSliders(meshcat)
    with pytest.raises(RuntimeError, match="already has a slider named roll"):
        MeshcatPoseSliders(meshcat)
    assert meshcat.GetSliderNames() == NAMES  # those of the first


class Recorder(LeafSystem):
    """Writes down x of the pose at its input whenever it is published."""

    def __init__(self) -> None:
        super().__init__()
        self.DeclareAbstractInputPort("pose", Value(RigidTransform()))
        self.DeclareVectorOutputPort("x", 1, self._calc)
        self.seen: list[float] = []
        self.DeclareForcedPublishEvent(lambda context: self.seen.append(self.get_output_port().Eval(context)[0]))

    def _calc(self, context: Any, output: Any) -> None:
        output.SetFromVector([self.get_input_port().Eval(context).translation()[0]])


def test_run_publishes_each_change_until_the_button_is_clicked(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    sliders, recorder = builder.AddSystem(MeshcatPoseSliders(meshcat)), builder.AddSystem(Recorder())
    builder.Connect(sliders.get_output_port(), recorder.get_input_port())
    diagram = builder.Build()
    context = diagram.CreateDefaultContext()
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(sliders.Run(diagram, context, timeout=20.0)))
    thread.start()
    for x in (0.25, 0.5):
        meshcat.SetSliderValue("x", x)
        assert eventually(lambda: recorder.seen[-1:] == [x])  # noqa: B023
    num_published = len(recorder.seen)
    time.sleep(0.1)
    assert len(recorder.seen) == num_published
    button = {"type": "button", "name": "Stop MeshcatPoseSliders"}
    meshcat._InjectWebsocketMessage(umsgpack.packb(button))
    thread.join(5.0)
    assert results[0].translation().tolist() == [0.5, 0, 0] and meshcat.GetButtonNames() == []


def test_run_ends_after_a_time_and_leaves_no_button_after_errors(meshcat: Meshcat) -> None:
    sliders = MeshcatPoseSliders(meshcat, POSE)
    start = time.monotonic()
    pose = sliders.Run(sliders, sliders.CreateDefaultContext(), timeout=0.05)
    assert time.monotonic() - start < 2.0 and pose.IsNearlyEqualTo(POSE, 1e-9)
    with pytest.raises(ValueError, match="context"):
        sliders.Run(sliders, MeshcatPoseSliders(Meshcat(port=0)).CreateDefaultContext(), timeout=0.0)
    assert meshcat.GetButtonNames() == []


def test_the_pose_is_there_in_diagrams_of_derivatives(meshcat: Meshcat) -> None:
    builder = DiagramBuilder()
    builder.AddNamedSystem("sliders", MeshcatPoseSliders(meshcat, POSE))
    diagram = builder.Build().ToAutoDiffXd()
    sliders = diagram.GetSubsystemByName("sliders")
    assert isinstance(sliders, MeshcatPoseSliders_[AutoDiffXd])
    pose = sliders.get_output_port().Eval(sliders.GetMyContextFromRoot(diagram.CreateDefaultContext()))
    assert isinstance(pose.translation()[0], AutoDiffXd) and pose.translation()[2].value() == pytest.approx(0.6)
