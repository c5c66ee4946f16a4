"""A Furuta pendulum, an arm that turns with a rod at its end, stands upright, if it begins near enough."""

import numpy as np
from pydrake.all import (
    AddMultibodyPlantSceneGraph,
    DiagramBuilder,
    IsControllable,
    Linearize,
    LinearQuadraticRegulator,
    LogVectorOutput,
    Parser,
    Saturation,
    Simulator,
    WrapToSystem,
)

MODEL = """<robot name="furuta">
  <link name="arm"><inertial><origin xyz="0.08 0 0"/><mass value="0.2"/>
    <inertia ixx="1e-5" iyy="4e-4" izz="4e-4" ixy="0" ixz="1e-6" iyz="0"/></inertial></link>
  <link name="rod"><inertial><origin xyz="0 0 -0.15"/><mass value="0.1"/>
    <inertia ixx="8e-4" iyy="8e-4" izz="1e-5" ixy="0" ixz="0" iyz="2e-6"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="world"/><child link="arm"/><origin xyz="0 0 0.5"/>
    <axis xyz="0 0 1"/><dynamics damping="0.002"/></joint>
  <joint name="swing" type="continuous"><parent link="arm"/><child link="rod"/><origin xyz="0.2 0 0"/>
    <axis xyz="1 0 0"/><dynamics damping="0.0005"/></joint>
  <transmission><type>transmission_interface/SimpleTransmission</type><joint name="turn"/>
    <actuator name="motor"/></transmission>
</robot>"""
UPRIGHT = np.array([0.0, np.pi, 0.0, 0.0])


def make_regulator(plant):
    context = plant.CreateDefaultContext()
    plant.get_actuation_input_port().FixValue(context, [0.0])
    context.SetContinuousState(UPRIGHT)
    port = plant.get_actuation_input_port().get_index()
    Q, R = np.diag([5.0, 20.0, 1.0, 1.0]), [10.0]
    state = plant.get_state_output_port().get_index()
    linear = Linearize(plant, context, input_port_index=port, output_port_index=state)
    assert IsControllable(linear)
    K, S = LinearQuadraticRegulator(linear.A(), linear.B(), Q, np.diag(R))
    regulator = LinearQuadraticRegulator(plant, context, Q, R, input_port_index=port)
    assert np.allclose(regulator.D(), -K, rtol=1e-6)
    return regulator, S


builder = DiagramBuilder()
plant, scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
Parser(plant).AddModelsFromString(MODEL, "urdf")
plant.Finalize()
regulator, S = make_regulator(plant)
builder.AddNamedSystem("regulator", regulator)
wrap = builder.AddSystem(WrapToSystem(4))
wrap.set_interval(1, 0.0, 2.0 * np.pi)
limit = builder.AddSystem(Saturation([-0.4], [0.4]))
builder.Connect(plant.get_state_output_port(), wrap.get_input_port())
builder.Connect(wrap.get_output_port(), regulator.get_input_port())
builder.Connect(regulator.get_output_port(), limit.get_input_port())
builder.Connect(limit.get_output_port(), plant.get_actuation_input_port())
logger = LogVectorOutput(limit.get_output_port(), builder, 0.05)
diagram = builder.Build()
simulator = Simulator(diagram)
simulator.get_mutable_integrator().set_target_accuracy(1e-8)
rows = [S.diagonal(), regulator.D()[0]]
for angle in (0.05, -0.3, 0.3 + 2.0 * np.pi, 1.4):
    context = simulator.get_mutable_context()
    context.SetTime(0.0)
    plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(context), UPRIGHT + [0.2, angle, 0.0, -0.1])
    simulator.Initialize()
    logger.FindMutableLog(context).Clear()
    simulator.AdvanceTo(1.0)
    state = plant.GetPositionsAndVelocities(plant.GetMyContextFromRoot(context))
    rows += [state, np.resize(logger.FindLog(context).data()[0, ::6], 4)]
np.savetxt("result.txt", rows)
