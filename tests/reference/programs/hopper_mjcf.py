"""A hopper of MuJoCo's format, with its classes of defaults, falls and lands, driven by a signal for each motor."""

import numpy as np
from pydrake.all import (
    AddMultibodyPlantSceneGraph,
    DiagramBuilder,
    DiscreteContactApproximation,
    JointIndex,
    LogVectorOutput,
    Parser,
    Simulator,
    Sine,
)

MODEL = """<mujoco model="hopper">
  <compiler angle="degree" autolimits="true"/>
  <default>
    <joint damping="0.5" armature="0.02"/>
    <geom type="capsule" friction="0.8 0.1 0.1" density="800"/>
    <default class="leg"><joint type="hinge" axis="0 -1 0"/><geom size="0.04"/></default>
    <default class="free"><joint damping="0" armature="0" limited="false"/></default>
    <motor ctrlrange="-30 30"/>
  </default>
  <asset><material name="skin" rgba="0.7 0.5 0.3 1"/></asset>
  <worldbody>
    <light pos="0 0 3"/>
    <camera name="side" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/>
    <geom name="floor" type="plane" size="10 10 0.1" friction="0.9"/>
    <body name="torso" pos="0 0 1.1">
      <joint name="x" class="free" type="slide" axis="1 0 0"/>
      <joint name="z" class="free" type="slide" axis="0 0 1"/>
      <joint name="pitch" class="free" type="hinge" axis="0 1 0"/>
      <geom name="torso" fromto="0 0 -0.05 0 0 0.2" size="0.06" material="skin"/>
      <body name="thigh" pos="0 0 -0.05" childclass="leg">
        <joint name="hip" range="-100 20"/>
        <geom name="thigh" fromto="0 0 0 0 0 -0.33" material="skin"/>
        <body name="calf" pos="0 0 -0.33" euler="0 10 0">
          <joint name="knee" range="-20 120"/>
          <geom name="calf" fromto="0 0 0 0 0 -0.32"/>
          <body name="foot" pos="0 0 -0.32">
            <inertial pos="0.03 0 0" mass="0.9" diaginertia="0.002 0.004 0.005"/>
            <joint name="ankle" range="-45 45" damping="0.2"/>
            <geom name="heel" type="sphere" size="0.05" pos="-0.08 0 -0.05"/>
            <geom name="toe" type="sphere" size="0.05" pos="0.17 0 -0.05"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="hip" joint="hip"/>
    <motor name="knee" joint="knee"/>
    <motor name="ankle" joint="ankle"/>
  </actuator>
</mujoco>"""

builder = DiagramBuilder()
plant, scene_graph = AddMultibodyPlantSceneGraph(builder, 0.001)
plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
(hopper,) = Parser(plant).AddModelsFromString(MODEL, "xml")
plant.Finalize()
motors = builder.AddSystem(Sine([4.0, 6.0, 2.0], [5.0, 7.0, 9.0], [0.0, 1.0, 2.0]))
builder.Connect(motors.get_output_port(0), plant.get_actuation_input_port())
logger = LogVectorOutput(plant.get_state_output_port(), builder, 0.01)
diagram = builder.Build()
simulator = Simulator(diagram)
context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
plant.SetPositions(context, hopper, plant.GetDefaultPositions() + [0.0, 0.0, 0.1, -0.3, 0.4, 0.1])
simulator.AdvanceTo(0.5)
state = logger.FindLog(simulator.get_context()).data()
names = [plant.get_joint(i).name() for i in plant.GetJointIndices(hopper)]
assert names[:3] == ["x", "z", "pitch"] and plant.get_joint(JointIndex(0)).name() == "x"
facts = np.zeros((12, 4))
facts[:, 0] = [plant.num_bodies(), plant.num_actuators(), plant.CalcTotalMass(context), len(names), *([0.0] * 8)]
facts[:6, 1], facts[6:, 1] = plant.GetPositionLowerLimits().clip(-9, 9), plant.GetPositionUpperLimits().clip(-9, 9)
facts[:6, 2] = plant.CalcMassMatrix(context).diagonal()
facts[:3, 3] = [plant.get_joint_actuator(i).default_gear_ratio() for i in plant.GetJointActuatorIndices()]
np.savetxt("result.txt", np.hstack([facts, state]))
