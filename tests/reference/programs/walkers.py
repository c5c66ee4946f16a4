"""A compass gait walks down a ramp, with what it looks like, and a rimless wheel rolls after it."""

import numpy as np
from pydrake.examples import CompassGait, CompassGaitGeometry, CompassGaitParams, RimlessWheel
from pydrake.geometry import SceneGraph
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder
from pydrake.systems.primitives import ConstantVectorSource, LogVectorOutput

builder = DiagramBuilder()
scene_graph = builder.AddSystem(SceneGraph())
gait, wheel = builder.AddSystem(CompassGait()), builder.AddSystem(RimlessWheel())
torque = builder.AddSystem(ConstantVectorSource([0.0]))
builder.Connect(torque.get_output_port(0), gait.get_input_port(0))
CompassGaitGeometry.AddToBuilder(
    builder, gait.get_floating_base_state_output_port(), CompassGaitParams(), scene_graph
)
logs = [LogVectorOutput(system.get_minimal_state_output_port(), builder, 0.1) for system in (gait, wheel)]
diagram = builder.Build()
simulator = Simulator(diagram)
context = simulator.get_mutable_context()
context.SetAccuracy(1e-9)
simulator.get_mutable_integrator().set_target_accuracy(1e-9)
gait.GetMyMutableContextFromRoot(context).SetContinuousState([0.0, 0.0, 0.4, -2.0])
wheel.GetMyMutableContextFromRoot(context).SetContinuousState([0.0, 4.0])
simulator.AdvanceTo(2.0)
samples = [log.FindLog(context).data() for log in logs]
query = scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(context))
inspector = query.inspector()
names = ("left_leg", "right_leg_mass", "hip")
places = {
    inspector.GetName(geometry): query.GetPoseInWorld(geometry).translation()
    for geometry in inspector.GetAllGeometryIds()
}
np.savetxt("result.txt", np.concatenate([*map(np.ravel, samples), *(places[name] for name in names)]))
