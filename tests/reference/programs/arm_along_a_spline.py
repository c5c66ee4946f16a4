"""An arm of seven joints follows a spline through its joint space by inverse dynamics, with a load it does not know."""

import numpy as np
from pydrake.all import (
    AddMultibodyPlantSceneGraph,
    Demultiplexer,
    DiagramBuilder,
    InverseDynamicsController,
    LogVectorOutput,
    MultibodyPlant,
    Parser,
    PiecewisePolynomial,
    Simulator,
    SpatialInertia,
    TrajectorySource,
)

LINK = """
  <link name="link_{i}"><inertial><origin xyz="0 0 {half}"/><mass value="{mass}"/>
    <inertia ixx="{large}" iyy="{large}" izz="{small}" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="joint_{i}" type="revolute"><parent link="link_{before}"/><child link="link_{i}"/>
    <origin xyz="0 0 {offset}" rpy="{roll} 0 0"/><axis xyz="0 0 1"/>
    <limit lower="-2.9" upper="2.9" effort="300" velocity="10"/><dynamics damping="0.5"/></joint>
  <transmission><type>transmission_interface/SimpleTransmission</type><joint name="joint_{i}"/>
    <actuator name="motor_{i}"><mechanicalReduction>1</mechanicalReduction></actuator></transmission>"""


def arm_urdf():
    lines = ['<robot name="arm"><link name="link_0"/>']
    for i in range(1, 8):
        length, mass = 0.36 - 0.03 * i, 4.0 - 0.4 * i
        values = {
            "i": i, "before": i - 1, "half": 0.5 * length, "mass": mass, "large": mass * length**2 / 12,
            "small": 0.002 * mass, "offset": 0.0 if i == 1 else 0.39 - 0.03 * i,
            "roll": 0.0 if i == 1 else np.pi / 2 * (-1) ** i,
        }  # fmt: skip
        lines.append(LINK.format(**values))
    return "".join(lines) + "</robot>"


def add_arm(plant):
    parser = Parser(plant)
    parser.SetAutoRenaming(True)
    (arm,) = parser.AddModelsFromString(arm_urdf(), ".urdf")
    plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("link_0", arm))
    return arm


builder = DiagramBuilder()
plant, _ = AddMultibodyPlantSceneGraph(builder, MultibodyPlant(time_step=0.0))
arm = add_arm(plant)
load = plant.AddRigidBody("load", arm, SpatialInertia.SolidBoxWithMass(0.5, 0.05, 0.05, 0.05))
plant.WeldFrames(plant.GetFrameByName("link_7"), load.body_frame())
plant.Finalize()
assert plant.num_actuated_dofs(arm) == 7

model = MultibodyPlant(0.0)
add_arm(model)
model.Finalize()
controller = builder.AddSystem(
    InverseDynamicsController(model, kp=np.full(7, 100.0), ki=np.ones(7), kd=np.full(7, 20.0),
                              has_reference_acceleration=True)
)  # fmt: skip

rest = np.zeros(7)
knots = np.array([rest, [0.4, 0.6, -0.3, -0.9, 0.2, 0.5, 0.1], [-0.5, 0.9, 0.3, -1.2, 0.0, 0.8, -0.4], rest]).T
path = PiecewisePolynomial.CubicWithContinuousSecondDerivatives([0.0, 0.7, 1.3, 2.0], knots, rest, rest)
source = builder.AddSystem(TrajectorySource(path, output_derivative_order=2))
parts = builder.AddSystem(Demultiplexer([14, 7]))
builder.Connect(source.get_output_port(), parts.get_input_port())
builder.Connect(parts.get_output_port(0), controller.get_input_port_desired_state())
builder.Connect(parts.get_output_port(1), controller.get_input_port_desired_acceleration())
builder.Connect(plant.get_state_output_port(arm), controller.get_input_port_estimated_state())
builder.Connect(controller.get_output_port_control(), plant.get_actuation_input_port(arm))
log = LogVectorOutput(plant.get_state_output_port(), builder, publish_period=0.1)
torques = LogVectorOutput(controller.get_output_port_control(), builder, publish_period=0.1)
diagram = builder.Build()
simulator = Simulator(diagram)
simulator.get_mutable_integrator().set_target_accuracy(1e-6)
simulator.Initialize()
simulator.AdvanceTo(path.end_time())
context = simulator.get_context()
found = log.FindLog(context)
assert np.abs(found.data()[:7] - path.vector_values(found.sample_times())).max() < 0.3
np.savetxt("result.txt", np.vstack([found.data(), torques.FindLog(context).data()]))
