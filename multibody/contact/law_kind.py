"""What a law of contact is: one record of functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class LawKind:
    """One law by which a contact of a discrete step answers velocities with an impulse.

    An impulse gamma = [t1, t2, n] at the velocity v_c = [t1, t2, n] of body B relative to body A, in which v_n < 0 is
    approach and gamma_n > 0 pushes them apart, is the slope of a convex potential: gamma = -dl/dv_c, and
    G = d^2 l/dv_c^2 is symmetric and has no negative eigenvalue. So a step has one solution, and Newton's method finds
    it (newton.py).

    The functions are kernels' helpers: loops over arrays and records, of floats and of complex numbers that carry
    derivatives alike, which decide by real parts. Before a search, the solver writes into the record `law` (law_dtype
    of layout.py) the length of the step "time_step" [s], how much the bodies give way "compliance" [1/kg], and the gap
    "gap" [m], which is negative where they overlap. What other fields mean is up to the kind.

    Attributes:
        name: such as "sap".
        set_law: (settings, constraint, velocity_in, law) sets the other numbers of `law` that `set_impulse` reads. The
            constraint (constraint_dtype) has friction, stiffness [N/m], damping d of Hunt and Crossley [s/m],
            elastic_force [N], relaxation_time [s] and beta; `velocity_in` is v_c before the step [m/s], shape [3].
        set_impulse: (law, velocity_in, impulse_out, hessian_out) sets gamma [N s], shape [3], and of G the numbers 11,
            12, 22, 1n, 2n, nn [kg], shape [6], at v_c.
        set_slip: (law, velocity_in, slip_out) sets how fast the contact slips, s of friction_directions.py [m/s], and
            1 if s grows with the slip velocity, 0 if it sticks; both are 0 before. None: searches go without.
        is_softened: whether a search that lingers goes on through softer problems, see newton.py: those of laws with
            the fields of hunt_crossley.py.
    """

    name: str
    set_law: Callable[..., None]
    set_impulse: Callable[..., None]
    set_slip: Callable[..., None] | None = None
    is_softened: bool = False
