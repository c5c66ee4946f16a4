"""Small programs of estimators, studies and optimization, for `merganser compile`; see compiled_programs.py."""

from __future__ import annotations

from typing import Any

from merganser.compiled_programs import TIME_STEP, add_arm, scene_of_two

# ---------------------------------------------------------------------- estimators, studies


def filters() -> None:
    """Kalman filters"""
    import numpy as np

    from merganser.analysis import Simulator
    from merganser.analysis.estimators import ExtendedKalmanFilter, UnscentedKalmanFilter
    from merganser.framework.primitives import LinearSystem

    one = np.eye(1)
    model = LinearSystem(one, one, one, one, time_period=10 * TIME_STEP)
    for kind in (ExtendedKalmanFilter, UnscentedKalmanFilter):
        estimator: Any = kind(model, model.CreateDefaultContext(), one, one, np.zeros(1), one)
        simulator = Simulator(estimator)
        for port in (
            estimator.get_observed_system_input_input_port(), estimator.get_observed_system_output_input_port()
        ):  # fmt: skip
            port.FixValue(simulator.get_mutable_context(), np.zeros(1))
        simulator.AdvanceTo(20 * TIME_STEP)


def worlds() -> None:
    """simulations side by side"""
    from merganser.analysis import BatchSimulator
    from merganser.analysis.batches.rows_in_lanes import LOOP
    from merganser.geometry import Box
    from merganser.multibody.dynamics.operation import DERIVATIVES_IN_LANES, STEPS_IN_LANES

    system = scene_of_two(Box(0.1, 0.1, 0.1), "lagged", TIME_STEP)
    batch = BatchSimulator(system)
    batch.advance(worlds := batch.make_worlds(2), TIME_STEP)
    worlds.eval_output(system.GetSubsystemByName("plant").GetOutputPort("state"))
    for operation in (LOOP.load(), STEPS_IN_LANES, DERIVATIVES_IN_LANES):
        operation.address()


# ---------------------------------------------------------------------- optimization


def nonlinear_program() -> None:
    """nonlinear programs, and postures"""
    from merganser.framework.math import RotationMatrix
    from merganser.framework.optimization import InteriorPointSolver, SlsqpSolver
    from merganser.multibody.inverse_kinematics import InverseKinematics
    from merganser.multibody.plant import MultibodyPlant

    plant = MultibodyPlant(0.0)
    add_arm(plant, limit=3.0)
    problem = InverseKinematics(plant)
    turned, hand = RotationMatrix.MakeYRotation(0.5), plant.GetFrameByName("lower")
    problem.AddOrientationConstraint(plant.world_frame(), turned, hand, RotationMatrix(), 0.1)
    problem.prog().AddCost((problem.q()[0] - 1.0) ** 4)
    for solver in (SlsqpSolver(), InteriorPointSolver()):
        solver.Solve(problem.prog(), [0.3, 0.1])


def slopes() -> None:
    """optimization of trajectories"""
    import numpy as np

    from merganser.analysis.system_dynamics import SystemDynamics
    from merganser.examples.pendulums import AcrobotPlant, PendulumPlant

    for model in (AcrobotPlant(), PendulumPlant()):
        context: Any = model.CreateDefaultContext()
        rows = np.zeros((2_000, 1 + context.num_continuous_states()))
        SystemDynamics(model, context, 0, "compile").at(rows)  # as many as pay to be compiled
