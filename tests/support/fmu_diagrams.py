"""Diagrams of all kinds that leave Python as FMUs: from a cart-pole to a deformable ball."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from merganser.analysis.controllers import LinearQuadraticRegulator, PidController
from merganser.analysis.estimators import SteadyStateKalmanFilter
from merganser.framework import Diagram, DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.framework.primitives import (
    Adder,
    ConstantVectorSource,
    Guard,
    LinearSystem,
    Multiplexer,
    Sine,
    StateMachine,
    ZeroOrderHold,
)
from merganser.framework.symbolic import Variable
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    Box,
    GeometryInstance,
    HalfSpace,
    ProximityProperties,
    Sphere,
)
from merganser.multibody.benchmarks.acrobot import AcrobotParameters, MakeAcrobotPlant
from merganser.multibody.controllers import InverseDynamics
from merganser.multibody.fem import DeformableBodyConfig
from merganser.multibody.parsing import Parser
from merganser.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    CoulombFriction,
    DiscreteContactApproximation,
    MultibodyPlant,
)
from merganser.multibody.tree import JointActuatorIndex, PdControllerGains, PrismaticJoint, SpatialInertia

MODELS = Path(__file__).resolve().parents[2] / "examples" / "models"
HOME = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0])  # of the arm [rad]
STANCE = np.tile([0.0, 0.8, -1.6], 4)  # hip roll, hip pitch and knee of each leg of the quadruped [rad]


def cart_pole_with_pid() -> Any:
    """A cart-pole under PID control, whose desired state is the input."""
    builder = DiagramBuilder()
    plant = builder.AddNamedSystem("plant", MultibodyPlant(0.0))
    Parser(plant).AddModels(str(MODELS / "cart_pole.sdf"))
    plant.Finalize()
    pid = builder.AddNamedSystem("pid", PidController(
        kp=[10.0], ki=[1.0], kd=[3.0], state_projection=np.eye(4)[[0, 2]], output_projection=np.eye(1)
    ))  # fmt: skip
    builder.Connect(plant.get_state_output_port(), pid.get_input_port_estimated_state())
    builder.Connect(pid.get_output_port(), plant.get_actuation_input_port())
    builder.ExportInput(pid.get_input_port_desired_state(), "desired")
    builder.ExportOutput(plant.get_state_output_port(), "x")
    return _with_state(builder.Build(), plant, [0.1, 0.2])


def acrobot_with_lqr() -> Any:
    """An acrobot near the upright, which a regulator keeps there."""
    builder = DiagramBuilder()
    plant = builder.AddNamedSystem("plant", MakeAcrobotPlant(AcrobotParameters(), finalize=True))
    upright, torque = plant.CreateDefaultContext(), plant.get_actuation_input_port()
    plant.SetPositions(upright, [np.pi, 0.0])
    torque.FixValue(upright, [0.0])
    Q, R = np.diag([10.0, 10.0, 1.0, 1.0]), np.eye(1)
    law = LinearQuadraticRegulator(plant, upright, Q, R, input_port_index=torque.get_index())
    regulator = builder.AddNamedSystem("regulator", law)
    builder.Connect(plant.get_state_output_port(), regulator.get_input_port())
    builder.Connect(regulator.get_output_port(), torque)
    builder.ExportOutput(plant.get_state_output_port(), "x")
    return _with_state(builder.Build(), plant, [np.pi + 0.05, -0.03])


def sampled_controller_at_two_rates() -> Any:
    """A motor whose speed is sampled every 10 ms, and whose set point every 40 ms."""
    builder = DiagramBuilder()
    motor = builder.AddNamedSystem("motor", LinearSystem([[0.0, 1.0], [0.0, -2.0]], [[0.0], [3.0]], np.eye(2)))
    reference = builder.AddNamedSystem("reference", Sine(1.0, 3.0, 0.0, 1))
    slow = builder.AddNamedSystem("slow", ZeroOrderHold(0.04, 1))
    fast = builder.AddNamedSystem("fast", ZeroOrderHold(0.01, 2))
    gain = builder.AddNamedSystem("gain", LinearSystem(D=[[20.0, -20.0, -4.0]], time_period=0.01))
    both = builder.AddNamedSystem("both", Multiplexer([1, 2]))
    builder.Connect(reference.get_output_port(0), slow.get_input_port())
    builder.Connect(motor.get_output_port(), fast.get_input_port())
    builder.Connect(slow.get_output_port(), both.get_input_port(0))
    builder.Connect(fast.get_output_port(), both.get_input_port(1))
    builder.Connect(both.get_output_port(0), gain.get_input_port())
    builder.Connect(gain.get_output_port(), motor.get_input_port())
    builder.ExportOutput(motor.get_output_port(), "x")
    builder.ExportOutput(gain.get_output_port(), "u")
    return _with_state(builder.Build())


def bouncing_ball() -> Any:
    """A ball that loses a fifth of its speed where it meets the ground."""
    machine = StateMachine("ball", continuous={"height": 1.0, "speed": 0.0}, variables={"bounces": 0.0})
    flight = machine.AddState("flight", initial=True, flow={"height": "speed", "speed": -9.81})
    machine.AddTransition(
        flight, flight, when=Guard.falls_through("height", 0.0),
        action={"speed": -0.8 * Variable("speed"), "bounces": Variable("bounces") + 1.0},
    )  # fmt: skip
    machine.Finalize()
    builder = DiagramBuilder()
    builder.AddSystem(machine)
    for name in ("height", "speed", "bounces"):
        builder.ExportOutput(machine.GetOutputPort(name), name)
    return _with_state(builder.Build())


def thermostat(when_idle: Any = None) -> Any:
    """A room that a state machine heats; `when_idle`: a law of the count in place of the usual one."""
    machine = StateMachine("machine", inputs={"temperature": 1}, outputs={"power": 1}, variables={"count": 1})
    heating = machine.AddState("heating", initial=True, outputs={"power": 6.0})
    idle = machine.AddState("idle", outputs={"power": 0.0}, entry={"count": when_idle or Variable("count") + 1.0})
    machine.AddTransition(heating, idle, when=Guard.at_least("temperature", 21.0))
    machine.AddTransition(idle, heating, when=Guard.at_most("temperature", 19.0))
    machine.Finalize()
    builder = DiagramBuilder()
    room = builder.AddNamedSystem("room", LinearSystem([[-1.0]], [[8.0]], [[1.0]], [[0.0]]))
    builder.AddSystem(machine)
    builder.Connect(machine.GetOutputPort("power"), room.get_input_port())
    builder.Connect(room.get_output_port(), machine.GetInputPort("temperature"))
    builder.ExportOutput(room.get_output_port(), "temperature")
    builder.ExportOutput(machine.GetOutputPort("count"), "count")
    return _with_state(builder.Build())


def arm_with_pd_and_gravity() -> Any:
    """An arm of seven joints, with PD control about a desired state and the forces that carry its weight."""
    builder = DiagramBuilder()
    plant = builder.AddNamedSystem("plant", MultibodyPlant(0.0))
    Parser(plant).AddModels(str(MODELS / "arm7.urdf"))
    plant.Finalize()
    gravity = builder.AddNamedSystem("gravity", InverseDynamics(plant, InverseDynamics.kGravityCompensation))
    pd = builder.AddNamedSystem("pd", PidController([200.0] * 7, [0.0] * 7, [40.0] * 7))
    total = builder.AddNamedSystem("total", Adder(2, 7))
    for block in (gravity, pd):
        builder.Connect(plant.get_state_output_port(), block.get_input_port_estimated_state())
    builder.Connect(gravity.get_output_port(), total.get_input_port(0))
    builder.Connect(pd.get_output_port(), total.get_input_port(1))
    builder.Connect(total.get_output_port(), plant.get_actuation_input_port())
    builder.ExportInput(pd.get_input_port_desired_state(), "desired")
    builder.ExportOutput(plant.get_state_output_port(), "x")
    return _with_state(builder.Build(), plant, HOME)


def arm_with_gripper_and_box() -> Any:
    """An arm that carries a box with two fingers, all joints under PD control; the fingers hold it by friction."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    parser = Parser(plant)
    parser.AddModels(str(MODELS / "arm7.urdf"))
    parser.AddModels(str(MODELS / "parallel_gripper.sdf"))
    plant.WeldFrames(plant.GetFrameByName("tool"), plant.GetFrameByName("body"))
    size = (0.04, 0.04, 0.04)
    box = plant.AddRigidBody("box", plant.AddModelInstance("box"), SpatialInertia.SolidBoxWithMass(0.2, *size))
    plant.RegisterCollisionGeometry(box, RigidTransform(), Box(*size), "box", _material())
    for n in range(plant.num_actuators()):
        gains = PdControllerGains(p=4000.0, d=200.0) if n < 7 else PdControllerGains(p=2000.0, d=40.0)
        plant.get_joint_actuator(JointActuatorIndex(n)).set_controller_gains(gains)
    plant.Finalize()
    arm, gripper = (plant.GetModelInstanceByName(name) for name in ("arm7", "parallel_gripper"))
    targets = {arm: [*(HOME + 0.1), *[0.0] * 7], gripper: [0.0] * 4}
    for instance, x in targets.items():
        source = builder.AddNamedSystem(f"desired_{int(instance)}", ConstantVectorSource(x))
        builder.Connect(source.get_output_port(), plant.get_desired_state_input_port(instance))
    builder.ExportOutput(plant.get_state_output_port(), "x")
    diagram, context = _with_state(builder.Build())
    own = plant.GetMyContextFromRoot(context)
    plant.SetPositions(own, arm, HOME)
    plant.SetPositions(own, gripper, [-0.021, 0.021])
    plant.SetFreeBodyPose(own, box, plant.GetFrameByName("grasp").CalcPoseInWorld(own))
    return diagram, context


def quadruped() -> Any:
    """A quadruped that comes down on the ground, its joints under PD control."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.002)
    Parser(plant).AddModels(str(MODELS / "quadruped.urdf"))
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", _material())
    for n in range(plant.num_actuators()):
        plant.get_joint_actuator(JointActuatorIndex(n)).set_controller_gains(PdControllerGains(p=100.0, d=3.0))
    plant.Finalize()
    desired = builder.AddNamedSystem("desired", ConstantVectorSource([*STANCE, *[0.0] * len(STANCE)]))
    instance = plant.GetModelInstanceByName("quadruped")
    builder.Connect(desired.get_output_port(), plant.get_desired_state_input_port(instance))
    builder.ExportOutput(plant.get_state_output_port(), "x")
    return _with_state(builder.Build(), plant, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.02 + 0.4 * np.cos(0.8), *STANCE])


def kalman_filter() -> Any:
    """A filter that estimates the state of a pendulum from its angle, which is disturbed by a vibration."""
    builder = DiagramBuilder()
    pendulum = LinearSystem([[0.0, 1.0], [-9.0, -0.2]], [[0.0], [1.0]], [[1.0, 0.0]])
    filtered = SteadyStateKalmanFilter(pendulum, np.diag([0.0, 0.1]), [[0.01]])
    plant = builder.AddNamedSystem("pendulum", pendulum)
    observer = builder.AddNamedSystem("observer", filtered)
    vibration = builder.AddNamedSystem("vibration", Sine(0.05, 60.0, 0.0, 1))
    measured = builder.AddNamedSystem("measured", Adder(2, 1))
    builder.Connect(plant.get_output_port(), measured.get_input_port(0))
    builder.Connect(vibration.get_output_port(0), measured.get_input_port(1))
    builder.Connect(measured.get_output_port(), observer.get_observed_system_output_input_port())
    builder.ExportInput(plant.get_input_port(), "u")
    builder.ConnectInput("u", observer.get_observed_system_input_input_port())
    builder.ExportOutput(plant.get_output_port(), "angle")
    builder.ExportOutput(observer.get_estimated_state_output_port(), "estimate")
    return _with_state(builder.Build())


def soft_ball() -> Any:
    """A deformable ball on a table, under a plate that comes down on it."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.01)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    plant.RegisterCollisionGeometry(
        plant.world_body(), RigidTransform([0.0, 0.0, -0.05]), Box(0.6, 0.4, 0.1), "table", _material(hydroelastic=True)
    )
    config = DeformableBodyConfig()
    config.set_youngs_modulus(2e4)
    config.set_poissons_ratio(0.4)
    config.set_mass_density(1000.0)
    config.set_stiffness_damping_coefficient(0.01)
    ball = GeometryInstance(RigidTransform([0.0, 0.0, 0.042]), Sphere(0.04), "ball")
    ball.set_proximity_properties(_material())
    plant.mutable_deformable_model().RegisterDeformableBody(ball, config, 0.03)
    size = (0.1, 0.1, 0.01)
    plate = plant.AddRigidBody("plate", SpatialInertia.SolidBoxWithMass(0.2, *size))
    plant.RegisterCollisionGeometry(plate, RigidTransform(), Box(*size), "plate", _material(hydroelastic=True))
    plant.AddJoint(PrismaticJoint("slide", plant.world_frame(), plate.body_frame(), [0.0, 0.0, 1.0]))
    plant.Finalize()
    builder.ExportOutput(plant.get_state_output_port(), "x")
    return _with_state(builder.Build(), plant, [0.095])


def _material(hydroelastic: bool = False) -> ProximityProperties:
    properties = ProximityProperties()
    AddContactMaterial(friction=CoulombFriction(0.8, 0.8), dissipation=5.0, properties=properties)
    if hydroelastic:
        AddCompliantHydroelasticProperties(resolution_hint=0.02, hydroelastic_modulus=1e6, properties=properties)
    return properties


def _with_state(diagram: Diagram, plant: Any = None, positions: Any = None) -> tuple[Diagram, Any]:
    """A diagram, and a context of it in which a plant has these positions; inputs are zero."""
    context = diagram.CreateDefaultContext()
    if plant is not None:
        plant.SetPositions(plant.GetMyContextFromRoot(context), positions)
    for n in range(diagram.num_input_ports()):
        port = diagram.get_input_port(n)
        port.FixValue(context, np.zeros(port.size()))
    return diagram, context


DIAGRAMS = {
    "cart-pole with PID": (cart_pole_with_pid, 0.004),
    "acrobot with LQR": (acrobot_with_lqr, 0.004),
    "sampled controller at two rates": (sampled_controller_at_two_rates, 0.004),
    "bouncing ball": (bouncing_ball, None),
    "thermostat": (thermostat, None),
    "arm with PD and gravity": (arm_with_pd_and_gravity, 0.002),
    "arm with gripper and box": (arm_with_gripper_and_box, 0.01),
    "quadruped": (quadruped, 0.01),
    "Kalman filter": (kalman_filter, 0.004),
    "soft ball": (soft_ball, 0.01),
}
