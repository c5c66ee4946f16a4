"""Small programs of all kinds, which together call the kernels that users' programs call.

They are what `merganser compile` runs: a topic is a list of them, and a line for each comes from its docstring.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

TIME_STEP = 0.001  # of discrete plants [s]


# ---------------------------------------------------------------------- blocks


def operations_of_blocks() -> None:
    """operations of blocks"""
    from merganser.framework.core.inside import declared_events
    from merganser.framework.native.operations.operations import OPERATIONS, address_of

    for name in OPERATIONS:
        address_of(name)
    for block in blocks():
        context = block.CreateDefaultContext()
        parts: list[Any] = [*block._sys_cache_entries, *(event for _, event in declared_events(block, context))]
        for part in parts:
            code = part.native and part.native.resolve(context)
            if code is not None:
                address_of(code.operation)


def blocks() -> list[Any]:
    """Blocks that together have all native functions."""
    from merganser.analysis.controllers import PidController
    from merganser.framework import RandomDistribution, trajectories
    from merganser.framework import primitives as p
    from merganser.framework.math import BarycentricMesh
    from merganser.multibody.manipulation import SchunkWsgPdController

    one, inputs = [1.0], [p.SelectorParams.InputPortParams(size=1)]
    outputs = [p.SelectorParams.OutputPortParams(selections=[p.SelectorParams.OutputSelection()])]
    number = trajectories.PiecewisePolynomial([one])
    return [
        p.Gain(one), p.Adder(1, 1), p.Multiplexer([1]), p.Sine(one, one, one), p.Sine(one, one, one, False),
        p.Saturation(one, one), p.Saturation(input_size=1), p.FirstOrderLowPassFilter(one), p.MatrixGain([one]),
        p.LinearSystem([one], [one], [one], [one]), p.DiscreteTimeIntegrator(1, 1.0), p.DiscreteTimeDelay(1.0, 1, 1),
        p.DiscreteDerivative(1, 1.0), p.DiscreteDerivative(1, 1.0, False), p.WrapToSystem(1), p.Demultiplexer(2),
        p.Selector(p.SelectorParams(inputs=inputs, outputs=outputs)), p.SparseMatrixGain([one]),
        p.MultilayerPerceptron([True], [1], [p.PerceptronActivationType.kTanh]),
        p.BarycentricMeshSystem(BarycentricMesh([[0.0, 1.0]]), [[0.0, 1.0]]),
        p.LinearTransformDensity(RandomDistribution.kUniform, 1, 1),
        p.RandomSource(RandomDistribution.kUniform, 1, 1.0), p.TrajectoryLinearSystem(number, number, number, number),
        PidController([[1.0, 0.0], [0.0, 1.0]], [one], one, one, one), SchunkWsgPdController(),
    ]  # fmt: skip


def loop() -> None:
    """the loop of the simulator"""
    from merganser.analysis import Simulator
    from merganser.analysis.integrators.compiled_steps import STEPS, evaluate_here
    from merganser.analysis.plan.loop import LOOP
    from merganser.framework import DiagramBuilder
    from merganser.framework.native.compiler.kernels import kernel_address
    from merganser.framework.native.operations.operation_list import RUN
    from merganser.framework.primitives import Integrator, Sine

    LOOP.address()
    STEPS.address()
    RUN.address()
    kernel_address(evaluate_here, 0, 0)  # by the address of an integrator's problem
    builder = DiagramBuilder()
    sine, integrator = builder.AddSystem(Sine([1.0], [1.0], [0.0])), builder.AddSystem(Integrator(1))
    builder.Connect(sine.get_output_port(0), integrator.get_input_port())
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(1.0)
    context = simulator.get_mutable_context()
    for k in range(2):
        context.SetTime(float(k))
        simulator.get_system().EvalTimeDerivatives(context)


# ---------------------------------------------------------------------- robots


def add_arm(plant: Any, add_shape: Callable[[Any], Any] = lambda link: None, limit: float = math.inf) -> None:
    from merganser.multibody.tree import RevoluteJoint, SpatialInertia

    parent, axis = plant.world_frame(), (0.0, 1.0, 0.0)
    for name in ("upper", "lower"):
        link = plant.AddRigidBody(name, SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.5))
        add_shape(link)
        joint = plant.AddJoint(RevoluteJoint(name, parent, link.body_frame(), axis, -limit, limit, 0.1))
        plant.AddJointActuator(name, joint)
        parent = link.body_frame()
    plant.Finalize()


def simulate_arm(time_step: float, limit: float = math.inf) -> None:
    import numpy as np

    from merganser.analysis import Simulator
    from merganser.framework import DiagramBuilder
    from merganser.multibody.controllers import InverseDynamicsController
    from merganser.multibody.plant import MultibodyPlant

    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(time_step))
    add_arm(plant, limit=limit)
    gains = np.ones(2)
    control = builder.AddSystem(InverseDynamicsController(plant, gains, gains, gains, False))
    builder.Connect(plant.get_state_output_port(), control.get_input_port_estimated_state())
    builder.Connect(control.get_output_port_control(), plant.get_actuation_input_port())
    simulator = Simulator(builder.Build())
    context = control.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    control.get_input_port_desired_state().FixValue(context, np.zeros(4))
    simulator.AdvanceTo(10 * TIME_STEP)


def discrete_arms() -> None:
    """robots in discrete time"""
    from merganser.multibody.dynamics.operation import STEP
    from merganser.multibody.kernels.operations import CONTROLLER, GATHER

    simulate_arm(TIME_STEP)
    for operation in (STEP, CONTROLLER, GATHER):
        operation.address()


def continuous_arms() -> None:
    """robots in continuous time"""
    from merganser.multibody.dynamics.operation import DERIVATIVES

    for limit in (math.inf, 0.5):
        simulate_arm(0.0, limit)
    DERIVATIVES.address()


def controlled_arm() -> None:
    """motors with controllers, and limits of joints"""
    import numpy as np

    from merganser.analysis import Simulator
    from merganser.framework import DiagramBuilder
    from merganser.multibody.plant import MultibodyPlant
    from merganser.multibody.tree import JointActuatorIndex, PdControllerGains, PrismaticJoint, SpatialInertia

    builder = DiagramBuilder()
    plant = builder.AddSystem(MultibodyPlant(TIME_STEP))
    slide = plant.AddRigidBody("slide", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    on_slide = PrismaticJoint("slide", plant.world_frame(), slide.body_frame(), np.array([1.0, 0.0, 0.0]), -0.1, 0.1)
    plant.AddJointActuator("slide", plant.AddJoint(on_slide), 10.0)
    add_arm(plant)
    for n in range(plant.num_actuators()):
        plant.get_joint_actuator(JointActuatorIndex(n)).set_controller_gains(PdControllerGains(p=100.0, d=3.0))
    simulator = Simulator(builder.Build())
    context, instance = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()), slide.model_instance()
    plant.get_desired_state_input_port(instance).FixValue(context, np.ones(2 * plant.num_actuators()))
    simulator.AdvanceTo(10 * TIME_STEP)
    plant.get_net_actuation_output_port().Eval(context)


def tendons_and_muscles() -> None:
    """tendons and muscles"""
    import numpy as np

    from merganser.analysis import Simulator
    from merganser.framework.math import RigidTransform
    from merganser.multibody.plant import MultibodyPlant
    from merganser.multibody.tree import (
        ActuatorLaw,
        MuscleCurves,
        RevoluteJoint,
        SpatialInertia,
        SpatialTendon,
        TendonSite,
        TendonWrap,
    )

    for time_step in (TIME_STEP, 0.0):
        plant = MultibodyPlant(time_step)
        world = plant.world_body()
        bone = plant.AddRigidBody("bone", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
        plant.AddJoint(RevoluteJoint("knee", plant.world_frame(), bone.body_frame(), (0.0, 1.0, 0.0)))
        knee = TendonWrap(world, RigidTransform(), 0.05)
        path: list[Any] = [TendonSite(world, [-0.2, 0.0, 0.1]), knee, TendonSite(bone, [0.2, 0.0, 0.1])]
        tendon = plant.AddTransmission(SpatialTendon("tendon", path))
        tendon.set_limits(0.0, 1.0)
        curves = MuscleCurves(1.0, (0.1, 0.5))
        plant.AddActuator("muscle", tendon).set_law(ActuatorLaw("muscle", (0.01, 0.04), muscle=curves))
        plant.Finalize()
        simulator = Simulator(plant)
        plant.get_actuation_input_port().FixValue(simulator.get_mutable_context(), np.ones(1))
        simulator.AdvanceTo(10 * TIME_STEP)


def logged_ports() -> None:
    """logs of all that a robot gives out"""
    import numpy as np

    from merganser.analysis import Simulator
    from merganser.framework import DiagramBuilder, OutputPortIndex, PortDataType
    from merganser.framework.primitives import LogVectorOutput
    from merganser.multibody.plant import MultibodyPlant

    for time_step in (TIME_STEP, 0.0):
        builder = DiagramBuilder()
        plant = builder.AddSystem(MultibodyPlant(time_step))
        add_arm(plant)
        ports = [plant.get_output_port(OutputPortIndex(n)) for n in range(plant.num_output_ports())]
        for port in ports:
            if port.get_data_type() is PortDataType.kVectorValued:
                LogVectorOutput(port, builder, publish_period=TIME_STEP)
        simulator = Simulator(builder.Build())
        own = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        plant.get_actuation_input_port().FixValue(own, np.zeros(2))
        simulator.AdvanceTo(10 * TIME_STEP)


def kinematics_and_dynamics() -> None:
    """kinematics and dynamics of robots"""
    import numpy as np

    from merganser.multibody.plant import MultibodyPlant
    from merganser.multibody.tree import JacobianWrtVariable, MultibodyForces

    plant = MultibodyPlant(0.0)
    add_arm(plant)
    ask_all(plant, np.array([0.1, 0.2, 0.3, 0.4]), MultibodyForces(plant))
    context = plant.CreateDefaultContext()
    plant.CalcSpatialMomentumInWorldAboutPoint(context, np.zeros(3))
    plant.MapQDotToVelocity(context, plant.MapVelocityToQDot(context, np.zeros(plant.num_velocities())))
    plant.SetPositions(context, np.array([0.3, 0.1]))
    plant.CalcInverseDynamics(context, np.zeros(plant.num_velocities()), MultibodyForces(plant))
    plant.SetPositions(context, np.array([0.2, 0.1]))
    lower, world = plant.GetBodyByName("lower"), plant.world_frame()
    plant.EvalBodyPoseInWorld(context, lower)  # poses alone, and then the rest
    plant.CalcSpatialInertia(context, world, [lower.index()])
    plant.CalcJacobianSpatialVelocity(context, JacobianWrtVariable.kV, lower.body_frame(), np.zeros(3), world, world)
    plant.get_reaction_forces_output_port().Eval(context)


def gradients() -> None:
    """derivatives of kinematics and dynamics"""
    import numpy as np

    from merganser.framework.autodiff import AutoDiffXd, InitializeAutoDiff
    from merganser.framework.native.compiler.when_to_compile import missing
    from merganser.multibody.plant import MultibodyPlant
    from merganser.multibody.tree import MultibodyForces_, RevoluteJoint, RevoluteSpring, SpatialInertia

    for is_alone in (True, False):  # coordinates of floating bodies have kernels of their own
        plant = MultibodyPlant(0.0)
        if not is_alone:
            plant.AddRigidBody("loose", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
        add_arm(plant)
        with_derivatives = plant.ToAutoDiffXd()
        x, n = plant.GetPositionsAndVelocities(plant.CreateDefaultContext()) + 0.1, plant.num_positions()
        only_q = np.array([*InitializeAutoDiff(x[:n]).ravel(), *map(AutoDiffXd, x[n:])])
        for state in (InitializeAutoDiff(x).ravel(), only_q):  # some kernels are for derivatives by positions alone
            ask_all(with_derivatives, state, MultibodyForces_[AutoDiffXd](with_derivatives))
        derive_dynamics(plant)
    springy = MultibodyPlant(0.0)
    body = springy.AddRigidBody("body", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    hinge = RevoluteJoint("hinge", springy.world_frame(), body.body_frame(), np.array([1.0, 0.0, 0.0]))
    springy.AddForceElement(RevoluteSpring(springy.AddJoint(hinge), 0.0, 1.0))
    springy.Finalize()
    derive_dynamics(springy)
    for code in missing():
        code.load().address()


def derive_dynamics(plant: Any) -> None:
    import numpy as np

    from merganser.multibody.algorithms import forward_dynamics_derivatives, inverse_dynamics_derivatives

    context, vdot = plant.CreateDefaultContext(), np.zeros(plant.num_velocities())
    for along in (False, True):
        inverse_dynamics_derivatives(plant, context, vdot, along_velocities=along)
        forward_dynamics_derivatives(plant, context, along_velocities=along)


def gradients_of_contact() -> None:
    """derivatives of contact"""
    from merganser.framework.autodiff import ExtractValue, InitializeAutoDiff
    from merganser.framework.native.compiler.when_to_compile import compiled_at_once, missing
    from merganser.geometry import Box

    diagram = scene_of_two(Box(0.1, 0.1, 0.1), "sap", TIME_STEP)
    plant, context = diagram.GetSubsystemByName("plant"), diagram.CreateDefaultContext()
    for _ in range(2):  # in Python, then compiled
        with compiled_at_once():
            plant.DifferentiateStep(plant.GetMyContextFromRoot(context))
    with_derivatives = diagram.ToAutoDiffXd()
    plant, context = with_derivatives.GetSubsystemByName("plant"), with_derivatives.CreateDefaultContext()
    own, scene_graph = plant.GetMyMutableContextFromRoot(context), with_derivatives.GetSubsystemByName("scene_graph")
    plant.SetPositionsAndVelocities(own, InitializeAutoDiff(ExtractValue(plant.GetPositionsAndVelocities(own))).ravel())
    after = context.Clone()
    with_derivatives.CalcForcedUnrestrictedUpdate(context, after.get_mutable_state())
    plant.get_contact_results_output_port().Eval(plant.GetMyContextFromRoot(after))
    query = scene_graph.get_query_output_port().Eval(scene_graph.GetMyContextFromRoot(context))
    query.ComputeSignedDistancePairwiseClosestPoints()
    for code in missing():
        code.load().address()


def ask_all(plant: Any, state: Any, forces: Any) -> None:
    """Asks a plant of any scalar type for what it knows of its arm."""
    import numpy as np

    from merganser.multibody.tree import JacobianWrtVariable

    context, world = plant.CreateDefaultContext(), plant.world_frame()
    body = plant.GetBodyByName("lower")
    frame = body.body_frame()
    plant.get_actuation_input_port().FixValue(context, 0.0 * state[: plant.num_actuated_dofs()])
    plant.SetPositionsAndVelocities(context, state)
    plant.EvalBodyPoseInWorld(context, body)
    plant.EvalBodySpatialVelocityInWorld(context, body)
    plant.CalcRelativeTransform(context, world, frame)
    plant.CalcPointsPositions(context, frame, np.zeros(3), world)
    plant.CalcMassMatrix(context)
    plant.CalcBiasTerm(context)
    plant.CalcGravityGeneralizedForces(context)
    plant.CalcInverseDynamics(context, 0.0 * state[: plant.num_velocities()], forces)
    plant.EvalTimeDerivatives(context)
    plant.CalcCenterOfMassPositionInWorld(context)
    plant.CalcKineticEnergy(context)
    plant.CalcPotentialEnergy(context)
    for wrt in (JacobianWrtVariable.kV, JacobianWrtVariable.kQDot):
        plant.CalcJacobianSpatialVelocity(context, wrt, frame, np.zeros(3), world, world)
    plant.CalcBiasSpatialAcceleration(context, JacobianWrtVariable.kV, frame, np.zeros(3), world, world)
    plant.CalcJacobianCenterOfMassTranslationalVelocity(context, JacobianWrtVariable.kV, world, world)


# ---------------------------------------------------------------------- contact


def simulate_contact(shape: Any, approximation: str = "sap", time_step: float = TIME_STEP) -> None:
    """Two bodies that lie on the ground and on each other, and are asked for; in continuous time with error control."""
    import numpy as np

    from merganser.analysis import ApplySimulatorConfig, Simulator, SimulatorConfig

    simulator = Simulator(scene_of_two(shape, approximation, time_step))
    if time_step == 0.0:
        ApplySimulatorConfig(SimulatorConfig(integration_scheme="cenic"), simulator)
    simulator.AdvanceTo(5 * TIME_STEP)
    diagram: Any = simulator.get_system()
    scene_graph = diagram.GetSubsystemByName("scene_graph")
    context = scene_graph.GetMyContextFromRoot(simulator.get_context())
    query = scene_graph.get_query_output_port().Eval(context)
    query.ComputePointPairPenetration()
    query.ComputeSignedDistancePairwiseClosestPoints()
    query.ComputeSignedDistanceToPoint(np.array([0.3, 0.0, 0.3]))


def scene_of_two(shape: Any, approximation: str, time_step: float) -> Any:
    """A diagram with the two bodies."""
    import numpy as np

    from merganser.framework import DiagramBuilder
    from merganser.framework.math import RigidTransform
    from merganser.geometry import HalfSpace
    from merganser.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
    from merganser.multibody.tree import SpatialInertia

    builder, rough = DiagramBuilder(), CoulombFriction(0.5, 0.5)
    config = MultibodyPlantConfig(time_step=time_step, discrete_contact_approximation=approximation)
    plant, _ = AddMultibodyPlant(config, builder)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), HalfSpace(), "ground", rough)
    for i in range(2):
        body = plant.AddRigidBody(f"body {i}", SpatialInertia.SolidBoxWithMass(1.0, 0.1, 0.1, 0.1))
        plant.RegisterCollisionGeometry(body, RigidTransform(), shape, f"shape {i}", rough)
        plant.SetDefaultFloatingBaseBodyPose(body, RigidTransform(np.array([0.0, 0.0, 0.049 + 0.098 * i])))
    plant.Finalize()
    return builder.Build()


def contact_of_boxes() -> None:
    """contact of boxes, spheres, cylinders and their like"""
    from merganser.geometry import Box
    from merganser.multibody.dynamics.operation import CONTACT_FORCES, STEP

    simulate_contact(Box(0.1, 0.1, 0.1))
    for operation in (STEP, CONTACT_FORCES):
        operation.address()


def contact_of_meshes() -> None:
    """contact of convex meshes"""
    import numpy as np

    from merganser.geometry import Convex

    corners = np.array(list(itertools.product((-0.05, 0.05), repeat=3))).T
    simulate_contact(Convex(corners, "cube"))


def pressure_patches() -> None:
    """contact by pressure fields"""
    import numpy as np

    from merganser.analysis import Simulator
    from merganser.framework import DiagramBuilder
    from merganser.framework.math import RigidTransform
    from merganser.geometry import (
        AddCompliantHydroelasticProperties,
        AddContactMaterial,
        AddRigidHydroelasticProperties,
        Box,
        ProximityProperties,
        Sphere,
    )
    from merganser.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
    from merganser.multibody.tree import SpatialInertia

    builder, soft, rigid = DiagramBuilder(), ProximityProperties(), ProximityProperties()
    for properties in (soft, rigid):
        AddContactMaterial(friction=CoulombFriction(0.5, 0.5), properties=properties)
    AddCompliantHydroelasticProperties(0.05, 1e6, soft)
    AddRigidHydroelasticProperties(0.2, rigid)
    plant, _ = AddMultibodyPlant(MultibodyPlantConfig(time_step=TIME_STEP, contact_model="hydroelastic"), builder)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform(), Box(1.0, 1.0, 0.1), "table", rigid)
    for i in range(2):
        ball = plant.AddRigidBody(f"ball {i}", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
        plant.RegisterCollisionGeometry(ball, RigidTransform(), Sphere(0.1), f"ball {i}", soft)
        plant.SetDefaultFloatingBaseBodyPose(ball, RigidTransform(np.array([0.0, 0.0, 0.149 + 0.199 * i])))
    plant.Finalize()
    simulator = Simulator(builder.Build())
    simulator.AdvanceTo(5 * TIME_STEP)
    plant.get_contact_results_output_port().Eval(plant.GetMyContextFromRoot(simulator.get_context()))


def searches() -> None:
    """searches for pairs of shapes without formulas"""
    import merganser.geometry.proximity  # noqa: F401  # where they are
    from merganser.framework.native import kernel_address
    from merganser.framework.native.memory.shared_code import job_of, shared_names

    for name in shared_names():
        kernel, arguments = job_of(name)
        kernel_address(kernel, *arguments)


def other_solvers() -> None:
    """contact with other approximations"""
    from merganser.geometry import Sphere

    for approximation in ("tamsi", "lagged"):
        simulate_contact(Sphere(0.05), approximation)


def contact_under_error_control() -> None:
    """contact under error control"""
    from merganser.framework.native import PreparedKernel
    from merganser.geometry import Sphere
    from merganser.multibody.cenic.attempt import try_contact_step
    from merganser.multibody.dynamics.operation import INPUTS, SLOPES

    simulate_contact(Sphere(0.05), "lagged", 0.0)
    for operation in (SLOPES, INPUTS):
        operation.address()
    PreparedKernel(try_contact_step, 0).address()


def collision_checks() -> None:
    """checks of collisions for planning"""
    import numpy as np

    from merganser.framework.math import RigidTransform
    from merganser.framework.native.compiler.when_to_compile import compiled_at_once
    from merganser.geometry import Box
    from merganser.multibody.planning import RobotDiagramBuilder, SceneGraphCollisionChecker
    from merganser.multibody.plant import CoulombFriction
    from merganser.multibody.tree import ModelInstanceIndex

    builder = RobotDiagramBuilder(time_step=0.0)
    plant = builder.plant()
    add_arm(plant, lambda body: plant.RegisterCollisionGeometry(
        body, RigidTransform(), Box(0.1, 0.1, 0.5), "shape", CoulombFriction(0.5, 0.5)
    ))  # fmt: skip
    checker = SceneGraphCollisionChecker(
        model=builder.Build(), robot_model_instances=[ModelInstanceIndex(1)], edge_step_size=0.1
    )
    checker.CheckConfigCollisionFree([0.0, 0.0])
    checker.CheckEdgeCollisionFree([0.0, 0.0], [0.1, 0.1])
    checker.CalcRobotClearance([0.0, 0.0], 1.0)
    with compiled_at_once():
        checker.CheckConfigsCollisionFree(np.zeros((100, 2)))  # side by side


# ---------------------------------------------------------------------- soft bodies


def soft_ball() -> None:
    """deformable bodies"""
    import numpy as np

    from merganser.analysis import Simulator
    from merganser.framework import DiagramBuilder
    from merganser.framework.math import RigidTransform
    from merganser.geometry import (
        AddCompliantHydroelasticProperties,
        AddContactMaterial,
        Box,
        GeometryInstance,
        ProximityProperties,
        Sphere,
    )
    from merganser.multibody.dynamics.operation import STEP_WITH_DEFORMABLES
    from merganser.multibody.fem import DeformableBodyConfig
    from merganser.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
    from merganser.multibody.tree import SpatialInertia

    def touch() -> ProximityProperties:
        properties = ProximityProperties()
        AddContactMaterial(friction=CoulombFriction(0.5, 0.5), properties=properties)
        return properties

    builder, hard = DiagramBuilder(), touch()
    AddCompliantHydroelasticProperties(resolution_hint=0.05, hydroelastic_modulus=1e6, properties=hard)
    config = MultibodyPlantConfig(time_step=10 * TIME_STEP, discrete_contact_approximation="lagged")
    plant, _ = AddMultibodyPlant(config, builder)
    body = plant.AddRigidBody("plate", SpatialInertia.SolidBoxWithMass(1.0, 0.4, 0.4, 0.1))
    plant.RegisterCollisionGeometry(body, RigidTransform(), Box(0.4, 0.4, 0.1), "plate", hard)
    hand = plant.AddRigidBody("hand", SpatialInertia.SolidBoxWithMass(0.1, 0.1, 0.1, 0.1))
    X_WBall = RigidTransform(np.array([0.0, 0.0, 0.0995 + 0.05]))
    ball = GeometryInstance(X_WBall, Sphere(0.1), "ball")
    ball.set_proximity_properties(touch())
    model = plant.mutable_deformable_model()
    soft = model.GetBody(model.RegisterDeformableBody(ball, DeformableBodyConfig(), 0.1))
    soft.AddFixedConstraint(hand, X_WBall, Box(0.1, 0.1, 0.05), RigidTransform(np.array([0.0, 0.0, 0.2495])))
    plant.Finalize()
    Simulator(builder.Build()).AdvanceTo(50 * TIME_STEP)
    soft.fem_body().deformed_points(soft.reference_positions())
    STEP_WITH_DEFORMABLES.address()


def soft_material() -> None:
    """derivatives of deformable bodies"""
    import numpy as np

    from merganser.framework import DiagramBuilder
    from merganser.framework.math import RigidTransform
    from merganser.geometry import Box, GeometryInstance
    from merganser.multibody.fem import (
        DeformableBodyConfig,
        MaterialModel,
        differentiate_equilibrium,
        differentiate_motion,
    )
    from merganser.multibody.plant import AddMultibodyPlantSceneGraph

    builder, material = DiagramBuilder(), DeformableBodyConfig()
    material.set_material_model(MaterialModel.kNeoHookean)
    plant, _ = AddMultibodyPlantSceneGraph(builder, 10 * TIME_STEP)
    shape = GeometryInstance(RigidTransform(np.array([0.0, 0.0, -0.05])), Box(0.1, 0.1, 0.1), "cube")
    model = plant.mutable_deformable_model()
    cube = model.GetBody(model.RegisterDeformableBody(shape, material, 0.1))
    cube.SetWallBoundaryCondition(np.array([0.0, 0.0, -1e-6]), np.array([0.0, 0.0, -1.0]))
    plant.Finalize()
    context = plant.GetMyContextFromRoot(builder.Build().CreateDefaultContext())
    differentiate_equilibrium(cube, context, ("youngs_modulus",))
    differentiate_motion(cube, context, 2, ("youngs_modulus",))
