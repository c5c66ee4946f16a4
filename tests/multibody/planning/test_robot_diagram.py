"""RobotDiagram: a plant and its SceneGraph in one diagram that knows both."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import Diagram
from merganser.framework.autodiff import AutoDiffXd
from merganser.framework.primitives import ConstantVectorSource
from merganser.geometry import SceneGraph
from merganser.multibody.planning import RobotDiagram, RobotDiagram_, RobotDiagramBuilder, RobotDiagramBuilder_
from merganser.multibody.plant import MultibodyPlant

ARM = """
<robot name="arm">
  <link name="link"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="pin" type="continuous"><parent link="world"/><child link="link"/><axis xyz="0 1 0"/></joint>
  <transmission><type>transmission_interface/SimpleTransmission</type><joint name="pin"/><actuator name="m"/>
  </transmission>
</robot>
"""


def arm(time_step: float = 0.0) -> RobotDiagramBuilder:
    builder = RobotDiagramBuilder(time_step)
    builder.parser().AddModelsFromString(ARM, "urdf")
    return builder


def test_build_finalizes_the_plant_and_exports_all_ports_of_both() -> None:
    robot = arm().Build()
    plant, scene_graph = robot.plant(), robot.scene_graph()
    assert isinstance(robot, RobotDiagram) and plant.is_finalized() and robot.mutable_scene_graph() is scene_graph
    wired = {plant.get_geometry_query_input_port().get_name()}
    inputs = {plant.get_input_port(i).get_name() for i in range(plant.num_input_ports())} - wired
    exported = {robot.get_input_port(i).get_name() for i in range(robot.num_input_ports())}
    assert exported == {f"plant_{name}" for name in inputs}
    assert robot.num_output_ports() == plant.num_output_ports() + scene_graph.num_output_ports()
    assert robot.HasOutputPort("plant_state") and robot.HasOutputPort("scene_graph_query")


def test_contexts_of_both_are_found_in_that_of_the_diagram() -> None:
    robot = arm().Build()
    context = robot.CreateDefaultContext()
    robot.plant().SetPositions(robot.mutable_plant_context(context), [0.3])
    assert robot.GetOutputPort("plant_state").Eval(context).tolist() == [0.3, 0.0]
    assert robot.plant_context(context) is robot.plant().GetMyContextFromRoot(context)
    assert robot.scene_graph_context(context) is robot.mutable_scene_graph_context(context)
    with pytest.raises(ValueError, match="a part of another one; pass the root context"):
        robot.plant_context(robot.plant_context(context))


def test_it_simulates() -> None:
    robot = arm(0.001).Build()
    simulator = Simulator(robot)
    robot.plant().SetPositions(robot.mutable_plant_context(simulator.get_mutable_context()), [0.3])
    robot.GetInputPort("plant_actuation").FixValue(simulator.get_mutable_context(), [2.0 * 9.81 * 0.5 * np.sin(0.3)])
    simulator.AdvanceTo(0.5)
    assert robot.plant().GetPositions(robot.plant_context(simulator.get_context())) == pytest.approx([0.3], abs=1e-9)


def test_a_builder_that_was_used_for_more_exports_only_the_given_ports() -> None:
    builder = arm()
    builder.plant().Finalize()
    torque = builder.builder().AddSystem(ConstantVectorSource([1.0]))
    builder.builder().Connect(torque.get_output_port(), builder.plant().get_actuation_input_port())
    builder.builder().ExportOutput(builder.plant().get_state_output_port(), "x")
    robot = builder.Build()
    assert robot.num_input_ports() == 0
    assert [robot.get_output_port(i).get_name() for i in range(robot.num_output_ports())] == ["x"]


def test_a_plant_with_another_name_is_exported_by_no_port() -> None:
    builder = arm()
    builder.plant().set_name("robot")
    assert builder.Build().num_output_ports() == 0


def test_after_build_the_builder_says_that_it_is_used_up() -> None:
    builder = arm()
    assert not builder.IsDiagramBuilt()
    builder.Build()
    assert builder.IsDiagramBuilt()
    for use in (builder.Build, builder.builder, builder.parser, builder.plant, builder.scene_graph):
        with pytest.raises(RuntimeError, match="has made its RobotDiagram already"):
            use()


def test_conversions_know_their_plant() -> None:
    robot = arm().Build().ToAutoDiffXd()
    assert isinstance(robot, RobotDiagram_[AutoDiffXd]) and isinstance(robot, Diagram)
    assert robot.plant() is robot.GetSubsystemByName("plant") and isinstance(robot.plant(), MultibodyPlant)
    assert robot.scene_graph() is robot.GetSubsystemByName("scene_graph")
    context = robot.CreateDefaultContext()
    robot.plant().SetPositions(robot.mutable_plant_context(context), [AutoDiffXd(0.1, [1.0])])
    height = robot.plant().CalcPotentialEnergy(robot.plant_context(context))
    assert height.derivatives() == pytest.approx([2.0 * 9.81 * 0.5 * np.sin(0.1)])


def test_a_builder_of_derivatives_has_no_parser() -> None:
    builder = RobotDiagramBuilder_[AutoDiffXd](time_step=0.0)
    assert isinstance(builder.plant(), MultibodyPlant) and isinstance(builder.scene_graph(), SceneGraph)
    with pytest.raises(RuntimeError, match="models are of floats"):
        builder.parser()
    assert isinstance(builder.Build(), RobotDiagram_[AutoDiffXd])
