"""Results of a plant as arrays by name: the same lines for either library, so that the arrays can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

Results = Iterator[tuple[str, Any]]
NUM_FRAMES = 3


@dataclass(frozen=True)
class Side:
    """One of the two plants, with its Context.

    Args:
        lib: all names of its library (joint_mechanisms.library).
        plant: finalized.
        context: of the plant.
        frame_names: model instances and names of the frames to choose from, which both plants have.
        seed: of frames, points and forces; the same on both sides.
    """

    lib: SimpleNamespace
    plant: Any
    context: Any
    frame_names: tuple[tuple[int, str], ...]
    seed: int = 0

    def random(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def frames(self, rng: np.random.Generator) -> list[Any]:
        """Three frames, the same on both sides."""
        chosen = [self.frame_names[i] for i in rng.integers(len(self.frame_names), size=NUM_FRAMES)]
        return [self.plant.GetFrameByName(name, self.lib.ModelInstanceIndex(i)) for i, name in chosen]

    def bodies(self) -> list[Any]:
        return [self.plant.get_body(self.lib.BodyIndex(i)) for i in range(1, self.plant.num_bodies())]

    def instances(self) -> list[Any]:
        """Every other model instance that has bodies, or the only one."""
        indices = [self.lib.ModelInstanceIndex(i) for i in range(1, self.plant.num_model_instances())]
        return [i for i in indices if self.plant.GetBodyIndices(i)][::2]

    def has_bushings(self) -> bool:
        """Whether there are force elements that pydrake leaves out of the potential energy."""
        kind = self.lib.LinearBushingRollPitchYaw
        numbers = range(self.plant.num_force_elements())
        return any(isinstance(self.plant.get_force_element(self.lib.ForceElementIndex(i)), kind) for i in numbers)

    def forces(self, rng: np.random.Generator) -> Any:
        """Those of the force elements, and random ones on all bodies and velocities."""
        forces = self.lib.MultibodyForces(self.plant)
        self.plant.CalcForceElementsContribution(self.context, forces)
        for body in self.bodies():
            F_Bo_W = rng.normal(size=6)
            body.AddInForceInWorld(self.context, self.lib.SpatialForce(F_Bo_W[:3], F_Bo_W[3:]), forces)
        forces.mutable_generalized_forces()[:] += rng.normal(size=self.plant.num_velocities())
        return forces

    def fix_inputs(self, effort: Any = 1.0) -> None:
        """Random actuation, up to `effort`, and random applied forces."""
        rng, plant, context, lib = self.random(), self.plant, self.context, self.lib
        plant.get_actuation_input_port().FixValue(context, effort * rng.uniform(-1, 1, plant.num_actuated_dofs()))
        plant.get_applied_generalized_force_input_port().FixValue(context, rng.normal(size=plant.num_velocities()))
        forces = []
        for body in self.bodies()[::2]:
            force = lib.ExternallyAppliedSpatialForce()
            force.body_index = body.index()
            force.p_BoBq_B = rng.normal(size=3)
            force.F_Bq_W = lib.SpatialForce(rng.normal(size=3), rng.normal(size=3))
            forces.append(force)
        plant.get_applied_spatial_force_input_port().FixValue(context, forces)


def kinematics(side: Side) -> Results:
    plant, context, rng = side.plant, side.context, side.random()
    yield "body_poses", [X_WB.GetAsMatrix34() for X_WB in plant.get_body_poses_output_port().Eval(context)]
    velocities = plant.get_body_spatial_velocities_output_port().Eval(context)
    yield "body_spatial_velocities", [V_WB_W.get_coeffs() for V_WB_W in velocities]
    A, B, E = side.frames(rng)
    points = rng.normal(size=(3, 2))
    yield "CalcRelativeTransform", plant.CalcRelativeTransform(context, A, B).GetAsMatrix34()
    yield "CalcPointsPositions", plant.CalcPointsPositions(context, B, points, A)
    body = side.bodies()[-1]
    yield "EvalBodyPoseInWorld", plant.EvalBodyPoseInWorld(context, body).GetAsMatrix34()
    yield "EvalBodySpatialVelocityInWorld", plant.EvalBodySpatialVelocityInWorld(context, body).get_coeffs()
    yield "Frame.CalcSpatialVelocity", B.CalcSpatialVelocity(context, A, E).get_coeffs()
    v, qdot = rng.normal(size=plant.num_velocities()), rng.normal(size=plant.num_positions())
    yield "MapVelocityToQDot", plant.MapVelocityToQDot(context, v)
    yield "MapQDotToVelocity", plant.MapQDotToVelocity(context, qdot)
    yield "MakeVelocityToQDotMap", plant.MakeVelocityToQDotMap(context).toarray()
    yield "MakeQDotToVelocityMap", plant.MakeQDotToVelocityMap(context).toarray()


def matrices_and_energies(side: Side) -> Results:
    plant, context = side.plant, side.context
    for name in ("CalcMassMatrix", "CalcMassMatrixViaInverseDynamics", "CalcBiasTerm", "CalcGravityGeneralizedForces"):
        yield name, getattr(plant, name)(context)
    yield "CalcKineticEnergy", plant.CalcKineticEnergy(context)
    if not side.has_bushings():
        for name in ("CalcPotentialEnergy", "CalcConservativePower", "CalcNonConservativePower"):
            yield name, getattr(plant, name)(context)


def jacobians(side: Side) -> Results:
    plant, context, rng = side.plant, side.context, side.random()
    A, B, E = side.frames(rng)
    points = rng.normal(size=(3, 2))
    for name in ("kV", "kQDot"):
        s = getattr(side.lib.JacobianWrtVariable, name)
        spatial = plant.CalcJacobianSpatialVelocity(context, s, B, points[:, 0], A, E)
        yield f"CalcJacobianSpatialVelocity {name}", spatial
        yield f"CalcJacobianAngularVelocity {name}", plant.CalcJacobianAngularVelocity(context, s, B, A, E)
        translational = plant.CalcJacobianTranslationalVelocity(context, s, B, points, A, E)
        yield f"CalcJacobianTranslationalVelocity {name}", translational
        of_center = plant.CalcJacobianCenterOfMassTranslationalVelocity(context, s, A, E)
        yield f"CalcJacobianCenterOfMassTranslationalVelocity {name}", of_center
    v = side.lib.JacobianWrtVariable.kV
    yield "CalcJacobianPositionVector", plant.CalcJacobianPositionVector(context, B, points, A, E)
    bias = plant.CalcBiasSpatialAcceleration(context, v, B, points[:, 0], A, E)
    yield "CalcBiasSpatialAcceleration", bias.get_coeffs()
    translational = plant.CalcBiasTranslationalAcceleration(context, v, B, points, A, E)
    yield "CalcBiasTranslationalAcceleration", translational
    of_center = plant.CalcBiasCenterOfMassTranslationalAcceleration(context, v, A, E)
    yield "CalcBiasCenterOfMassTranslationalAcceleration", of_center
    accelerations = plant.CalcSpatialAccelerationsFromVdot(context, rng.normal(size=plant.num_velocities()))
    yield "CalcSpatialAccelerationsFromVdot", [A_WB_W.get_coeffs() for A_WB_W in accelerations]


def sums_over_bodies(side: Side) -> Results:
    plant, context, rng = side.plant, side.context, side.random()
    p_WoP_W = rng.normal(size=3)
    for selection in ((), (side.instances(),)):
        momentum = plant.CalcSpatialMomentumInWorldAboutPoint(context, *selection, p_WoP_W)
        yield "CalcSpatialMomentumInWorldAboutPoint", momentum.get_coeffs()
        yield "CalcTotalMass", plant.CalcTotalMass(context, *selection)
        for what in ("PositionInWorld", "TranslationalVelocityInWorld"):
            yield f"CalcCenterOfMass{what}", getattr(plant, f"CalcCenterOfMass{what}")(context, *selection)
    bodies = [body.index() for body in side.bodies()[::2]]
    yield "CalcSpatialInertia", plant.CalcSpatialInertia(context, plant.world_frame(), bodies).CopyToFullMatrix6()


def dynamics(side: Side) -> Results:
    """With the inputs that the Context has."""
    plant, context, rng = side.plant, side.context, side.random()
    vdot = rng.normal(size=plant.num_velocities())
    forces = side.forces(rng)
    yield "CalcForceElementsContribution", forces.generalized_forces()
    yield "forces on bodies", [body.GetForceInWorld(context, forces).get_coeffs() for body in side.bodies()]
    yield "CalcInverseDynamics", plant.CalcInverseDynamics(context, vdot, forces)
    yield "CalcGeneralizedForces", plant.CalcGeneralizedForces(context, forces)
    if plant.time_step() == 0.0:
        yield "EvalTimeDerivatives", plant.EvalTimeDerivatives(context).CopyToVector()
    of_center = plant.CalcCenterOfMassTranslationalAccelerationInWorld(context)
    yield "CalcCenterOfMassTranslationalAccelerationInWorld", of_center
    A, B, E = side.frames(rng)
    yield "Frame.CalcSpatialAcceleration", B.CalcSpatialAcceleration(context, A, E).get_coeffs()
    yield from ports_of_dynamics(side)


def ports_of_dynamics(side: Side) -> Results:
    plant, context = side.plant, side.context
    yield "generalized_acceleration", plant.get_generalized_acceleration_output_port().Eval(context)
    yield "net_actuation", plant.get_net_actuation_output_port().Eval(context)
    for name in ("body_spatial_accelerations", "reaction_forces"):
        yield name, [value.get_coeffs() for value in plant.GetOutputPort(name).Eval(context)]


def discrete_step(side: Side) -> Results:
    """Of a discrete plant, with the inputs that the Context has."""
    update = side.plant.AllocateDiscreteVariables()
    side.plant.CalcForcedDiscreteVariableUpdate(side.context, update)
    yield "discrete step", update.get_vector(0).CopyToVector()
    yield from ports_of_dynamics(side)


CONTINUOUS: tuple[Callable[[Side], Results], ...] = (
    kinematics, matrices_and_energies, jacobians, sums_over_bodies, dynamics,
)  # fmt: skip


def assert_equal(ours: Any, theirs: Any, what: str = "", tolerance: float = 1e-10) -> None:
    """Relative to the largest element, or to 1."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape, what
    scale = max(1.0, np.abs(theirs).max(initial=0.0))
    np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0.0, atol=tolerance, err_msg=what)


def compare(ours: Side, theirs: Side, *functions: Callable[[Side], Results]) -> None:
    """Asserts that both sides compute the same to 1e-9."""
    for function in functions:
        for (what, mine), (_, reference) in zip(function(ours), function(theirs), strict=True):
            assert_equal(mine, reference, what)
