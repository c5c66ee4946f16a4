"""An arm from a URDF text holds a pose by its PD gains while a ball drops beside it and rests on the ground."""

import numpy as np
import pydrake.all as drake

ARM = """
<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><origin xyz="0 0 -0.2"/><mass value="2"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="lower"><inertial><origin xyz="0 0 -0.15"/><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="40" velocity="5"/><dynamics damping="0.1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 -0.4"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="20" velocity="5"/></joint>
  <transmission><type>transmission_interface/SimpleTransmission</type><joint name="shoulder"/>
    <actuator name="shoulder"/></transmission>
  <transmission><type>transmission_interface/SimpleTransmission</type><joint name="elbow"/>
    <actuator name="elbow"/></transmission>
</robot>
"""

builder = drake.DiagramBuilder()
plant, scene_graph = drake.AddMultibodyPlantSceneGraph(builder, time_step=2.0**-10)
(arm,) = drake.Parser(plant).AddModelsFromString(ARM, "urdf")
plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("base"), drake.RigidTransform([0.0, 0.5, 1.5]))
for name in ("shoulder", "elbow"):
    plant.GetJointActuatorByName(name).set_controller_gains(drake.PdControllerGains(p=200.0, d=20.0))
friction = drake.CoulombFriction(0.6, 0.5)
ball = plant.AddRigidBody("ball", plant.AddModelInstance("ball"), drake.SpatialInertia.SolidSphereWithMass(0.5, 0.1))
plant.RegisterCollisionGeometry(ball, drake.RigidTransform(), drake.Sphere(0.1), "ball", friction)
plant.RegisterCollisionGeometry(
    plant.world_body(), drake.RigidTransform([0.0, 0.0, -0.5]), drake.Box(4.0, 4.0, 1.0), "ground", friction
)
plant.set_discrete_contact_approximation(drake.DiscreteContactApproximation.kSap)
plant.SetDefaultFloatingBaseBodyPose(ball, drake.RigidTransform([0.0, 0.0, 0.15]))
plant.Finalize()
goal = builder.AddSystem(drake.ConstantVectorSource([0.5, -0.8, 0.0, 0.0]))
builder.Connect(goal.get_output_port(), plant.get_desired_state_input_port(arm))
log = drake.LogVectorOutput(plant.get_state_output_port(), builder, publish_period=2.0**-4)
simulator = drake.Simulator(builder.Build())
context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
plant.SetFreeBodySpatialVelocity(
    context, ball, drake.SpatialVelocity(np.zeros(3), np.array([1.0, 0.0, 0.0]))
)
simulator.AdvanceTo(1.03)
np.savetxt("result.txt", log.FindLog(simulator.get_context()).data())
