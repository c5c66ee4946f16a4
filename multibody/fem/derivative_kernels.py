"""What derivatives of a step need of its equations (assembly.py): their residual anywhere, and the tangent matrix."""

from __future__ import annotations

from merganser.framework.native import device, kernel
from merganser.multibody.fem.assembly import calc_residual, set_positions, start_step
from merganser.multibody.fem.layout import BodyArrays, NodeValues, StepWork
from merganser.multibody.fem.newton import factor_tangent
from merganser.multibody.linear.factorization import solve


@device
def calc_step_residual(
    body: BodyArrays,
    time_step: float,  # h [s]
    q_in: NodeValues,  # before the step [m], shape [3 num_nodes]
    v_in: NodeValues,  # before it [m/s]
    force_in: NodeValues,  # f_ext [N]
    v_next: NodeValues,  # after it, a solution or not [m/s]
    is_damping_kept: int,  # whether damping is that before the step
    work: StepWork,  # residual and trial are written, which is q+
) -> None:
    """Equation (2) of assembly.py."""
    start_step(body, q_in, work)
    set_positions(time_step, q_in, v_in, v_next, work.trial)
    for i in range(q_in.shape[0]):
        work.damping_positions[i] = q_in[i] if is_damping_kept != 0 else work.trial[i]
    calc_residual(body, time_step, v_in, force_in, work.trial, v_next, work)


step_residual = kernel(calc_step_residual)


@kernel
def factor_step(
    body: BodyArrays,
    time_step: float,
    q_in: NodeValues,
    v_in: NodeValues,
    force_in: NodeValues,
    v_next: NodeValues,
    is_damping_kept: int,
    work: StepWork,
) -> bool:
    """Factors A of equation (3) of assembly.py, in the panels; False if it is singular. Arguments are those above."""
    calc_step_residual(body, time_step, q_in, v_in, force_in, v_next, is_damping_kept, work)
    return factor_tangent(body, time_step, 0, is_damping_kept, work.trial, work) >= 0


@kernel
def solve_step(body: BodyArrays, work: StepWork, values_io: NodeValues) -> None:
    """Replaces forces b by A^-1 b, of the last factor_step(); zero of nodes that are held; shape [3 num_nodes]."""
    for node in range(body.unknown.shape[0]):
        if body.unknown[node] >= 0:
            for i in range(3):
                work.direction[body.unknown[node] + i] = values_io[3 * node + i]
    solve(body.trees, body.pattern, body.trees.shape[0], work.panels, work.direction)
    for node in range(body.unknown.shape[0]):
        for i in range(3):
            values_io[3 * node + i] = work.direction[body.unknown[node] + i] if body.unknown[node] >= 0 else 0.0
