"""A throw with an arm of two links is improved by the gradient of its rollout, by derivatives through the dynamics."""

import numpy as np
from pydrake.all import (
    AutoDiffXd,
    ExtractGradient,
    ExtractValue,
    InitializeAutoDiff,
    InitializeAutoDiffTuple,
    MultibodyPlant,
    Parser,
    Simulator_,
    jacobian,
)

LINK = """<link name="{child}"><inertial><origin xyz="0 0 -0.25"/><mass value="{mass}"/>
<inertia ixx="0.02" iyy="0.02" izz="0.001" ixy="0" ixz="0.0005" iyz="0"/></inertial></link>
<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="0 0 {z}"/>
<axis xyz="0 1 0"/><dynamics damping="0.05"/></joint><transmission><type>SimpleTransmission</type><joint name="{name}"/>
<actuator name="{name}"/></transmission>"""
MODEL = (
    '<robot name="arm">'
    + LINK.format(name="shoulder", parent="world", child="upper", mass=1.0, z=1.0)
    + LINK.format(name="elbow", parent="upper", child="lower", mass=0.6, z=-0.5)
    + "</robot>"
)
GOAL, NUM_STEPS, TIME_STEP = np.array([0.7, 1.2]), 40, 0.01

plant = MultibodyPlant(TIME_STEP)
plant.SetUseSampledOutputPorts(False)  # its state is discrete only, then
Parser(plant).AddModelsFromString(MODEL, "urdf")
plant.Finalize()
plant_ad = plant.ToAutoDiffXd()
hand = plant_ad.GetFrameByName("lower")


def end_of_throw(knots):
    """Where the hand is when torques that are linear between three knots have acted; of floats or AutoDiffXd."""
    context = plant_ad.CreateDefaultContext()
    plant_ad.SetPositionsAndVelocities(context, np.array([AutoDiffXd(x) for x in (0.1, -0.2, 0.0, 0.0)]))
    knots = np.reshape(knots, (3, 2))
    for k in range(NUM_STEPS):
        s = 2.0 * k / NUM_STEPS
        i = int(s)
        u = knots[i] * (1.0 - (s - i)) + knots[i + 1] * (s - i)
        plant_ad.get_actuation_input_port().FixValue(context, u)
        x = plant_ad.EvalUniquePeriodicDiscreteUpdate(context)
        context.SetDiscreteState(x.get_vector().CopyToVector())
    p = plant_ad.CalcPointsPositions(context, hand, np.array([[0.0], [0.0], [-0.5]]), plant_ad.world_frame())
    return p[[0, 2], 0]


u, rows = np.array([1.0, 0.5, 0.0, 0.2, -0.5, 0.1]), []
for _ in range(4):
    p = end_of_throw(InitializeAutoDiff(u).ravel())
    error, J = ExtractValue(p).ravel() - GOAL, ExtractGradient(p)
    rows += [u.copy(), [*error, *np.linalg.svd(J)[1], 0.0, 0.0], *J]
    u -= J.T @ np.linalg.solve(J @ J.T + 1e-3 * np.eye(2), error)
assert np.linalg.norm(error) < np.linalg.norm(rows[1][:2])
rows += list(jacobian(end_of_throw, u))

# The same for masses and start, by a simulator.
mass, q = InitializeAutoDiffTuple([0.6], [0.3, -0.4])
simulator = Simulator_[AutoDiffXd](plant_ad)
context = simulator.get_mutable_context()
plant_ad.get_actuation_input_port().FixValue(context, np.array([AutoDiffXd(0.1), AutoDiffXd(0.0)]))
plant_ad.GetBodyByName("lower").SetMass(context, mass[0, 0])
plant_ad.SetPositions(context, q[:, 0])
simulator.AdvanceTo(0.2)
x = plant_ad.GetPositionsAndVelocities(context)
rows += [[*ExtractValue(row)[0], *ExtractGradient(row)[0], 0.0, 0.0] for row in x.reshape(-1, 1)]
energy = plant_ad.EvalKineticEnergy(context) + plant_ad.EvalPotentialEnergy(context)
rows.append([energy.value(), *energy.derivatives(), 0.0, 0.0])
np.savetxt("result.txt", rows)
