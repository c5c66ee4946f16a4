"""Contact, joint limits and constraints in plants of other scalars than floats: derivatives, or an error.

A plant of AutoDiffXd computes all of it with derivatives (contact_gradients.py). Expressions decide nothing: a symbolic
plant leaves contact and joint limits out and warns of it, and refuses where it sees that they act.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.contact.plant_problem import limited_position
from merganser.multibody.plant.contact_geometry import listed
from merganser.multibody.plant.step.sample import ContactSample

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.step_buffers import StepBuffers

Array = NDArray[Any]


def constrain_other_scalars(
    dynamics: Any, context: Context, w: Any, step: StepBuffers, x_free: Any, next_pass: Any, result: Array
) -> bool:
    """Makes of the next state without contact, limits and constraints the one with them.

    Args:
        dynamics, context, w: of the plant.
        step: its arrays of the step.
        x_free: the former.
        next_pass: writes to x_free what the next pass begins with, from the velocities of the last one.
        result: receives the latter.

    Returns:
        Whether there was any constraint; if not, `result` has not changed.

    Raises:
        RuntimeError: constraints act in a symbolic plant; there is no solution; or no derivatives.
    """
    if w.scalar.__name__ == "Expression":
        _refuse_or_warn(dynamics, context, w)
        return False
    if w.is_numeric:
        _refuse_complex(dynamics, context, w, x_free)
        return False
    held: bool = _gradients(dynamics, context, w, step).constrain(context, x_free, next_pass, result)
    return held


def find_forces_of_other_scalars(dynamics: Any, context: Context, w: Any) -> Array | None:
    """The forces of contacts on the bodies of a continuous plant, shape [num_mobods, 6], or None. Errors as above."""
    if w.scalar.__name__ == "Expression":
        _refuse_or_warn(dynamics, context, w)
        return None
    if w.is_numeric:
        _refuse_complex(dynamics, context, w, None)
        return None
    if not dynamics.may_touch:
        return None
    sample, F_Bo_W = _gradients(dynamics, context, w, w.step_buffers).find_penalty_forces(context)
    return None if sample is None else F_Bo_W


def find_contacts_of_other_scalars(dynamics: Any, context: Context, w: Any) -> ContactSample | None:
    """What touches in continuous time; None for expressions and complex numbers, which know no contact."""
    if w.is_numeric or w.scalar.__name__ == "Expression":
        return None
    step = dynamics.step_buffers(context, w, dynamics.inputs.actuators_in(context))
    found: ContactSample | None = _gradients(dynamics, context, w, step).find_penalty_forces(context)[0]
    return found


def _gradients(dynamics: Any, context: Context, w: Any, step: StepBuffers) -> Any:
    """What holds a plant of AutoDiffXd, made once for the arrays of its steps."""
    if step.gradients is None:
        from merganser.multibody.plant.scalars.contact_gradients import ContactGradients  # plants of floats go without

        step.gradients = ContactGradients(dynamics, context, w, step)
    return step.gradients


# ---------------------------------------------------------------------- words


def _refuse_complex(dynamics: Any, context: Context, w: Any, x_free: Array | None) -> None:
    """Raises if something may have to be held: poses go through the ports as floats, so there is no derivative."""
    what = _active_constraints(dynamics, context)
    if dynamics.may_touch:
        what = " and ".join(_possible_contacts(dynamics))
    elif not what and x_free is not None and len(dynamics.model.tree.transmissions):
        what = "tendons or actuators along transmissions"
    elif not what and x_free is not None and len(dynamics.model.contact.frictions):
        what = f"the dry friction of joints {listed(_joints_with_friction(dynamics))}"
    elif not what and x_free is not None:
        what = _limits_in_reach(dynamics, w.q.real, w.v.real, x_free[len(w.q) :].real)
    if what:
        raise RuntimeError(
            f"Plant '{dynamics.model.path()}' is constrained by {what}, of which there are no derivatives by "
            "complex numbers. Use plant.ToAutoDiffXd()."
        )


def _possible_contacts(dynamics: Any) -> list[str]:
    """What may touch, in words."""
    kinds, found = [contact.kind.name for contact in dynamics.model.tree.contacts], []
    if dynamics.contact_geometry.may_touch:
        found.append(f"contact of {dynamics.registration.num_collision_geometries()} collision geometries")
    return [*found, f"contacts of the kinds {listed(kinds)}"] if kinds else found


def _active_constraints(dynamics: Any, context: Context) -> str:
    """The active constraints of a discrete plant in words."""
    if not dynamics.model.is_discrete or not dynamics.constraints.has_any:
        return ""
    specs = dynamics.constraints.active(context)
    return f"the constraints ({', '.join(map(dynamics.constraints.describe, specs))})" if specs else ""


def _joints_with_friction(dynamics: Any) -> list[str]:
    return [joint.name() for joint in dynamics.model.tree.joints if joint._may_have_friction]


def _limits_in_reach(dynamics: Any, q: Array, v: Array, v_star: Array) -> str:
    """The joints whose limits would take part in a step, in words."""
    from merganser.multibody.contact.plant_problem import find_limits

    arrays, names = dynamics.model.contact, []
    for limit in arrays.limits:
        if find_limits.interpreted(np.array([limit]), dynamics.model.time_step, q, v, v_star):
            names += [j.name() for j in dynamics.model.tree.joints if j.position_start() == limit["q"]]
    return f"the limits of joints {listed(names)}" if names else ""


def _refuse_or_warn(dynamics: Any, context: Context, w: Any) -> None:
    """Contact, joint limits and constraints are decided by numbers; symbols know none of them.

    What certainly acts is refused: active constraints in a step, and contacts and limits at a state without variables.
    Of what may act at some values of the variables it warns once: the equations are those of free motion.
    """
    constraints = _active_constraints(dynamics, context)
    acting = [constraints] if constraints else []
    if dynamics.model.is_discrete and len(dynamics.model.tree.transmissions):
        acting.append("tendons or actuators along transmissions")
    numbers, can_touch = _numbers_of(w.x), dynamics.contact_geometry.may_touch
    if numbers is not None:
        beyond = [
            joint.name()
            for limit in dynamics.model.contact.limits
            for joint in dynamics.model.tree.joints
            if joint.position_start() == limit["q"]
            and not limit["lower"] <= limited_position(limit, numbers)[0] <= limit["upper"]
        ]
        acting += [f"the limits of joints {listed(beyond)}"] if beyond else []
        if can_touch and context.has_input(dynamics.inputs.geometry_query.get_index()):
            can_touch, touching = False, _touching(dynamics, context)
            acting += [f"contact of geometries {listed(touching)}"] if touching else []
    if acting:
        raise RuntimeError(
            f"The dynamics of plant '{dynamics.model.path()}' in symbolic expressions know free motion only, but "
            f"here {' and '.join(acting)} would act. Use a plant of floats or of AutoDiffXd"
            + (", or switch the constraints off (SetConstraintActiveStatus)." if constraints else ".")
        )
    left_out = [] if dynamics.may_touch and not can_touch else _possible_contacts(dynamics)
    if dynamics.model.is_discrete and len(dynamics.model.contact.frictions):
        left_out.append(f"the dry friction of joints {listed(_joints_with_friction(dynamics))}")
    limits = dynamics.model.contact.limits["q"].tolist()
    if limits and numbers is None:
        names = [joint.name() for joint in dynamics.model.tree.joints if joint.position_start() in limits]
        left_out.append(f"the limits of joints {listed(names)}")
    if left_out:
        dynamics.warn_once(
            "symbols",
            f"The dynamics of plant '{dynamics.model.path()}' in symbolic expressions leave out "
            f"{'; '.join(left_out)}. They hold where nothing of that acts.",
        )


def _touching(dynamics: Any, context: Context) -> list[str]:
    """Names of the geometries that touch, in a Context whose positions have no variables."""
    query = dynamics.contact_geometry.query_object(context)
    queries, inspector = query.proximity_queries(), query.inspector()
    X_WG = _numbers_of(queries.layout.world_poses(query.world_poses()))
    if X_WG is None:  # of other sources
        return []
    pairs, contacts = queries.engine.contact_manifolds(X_WG)
    rows = sorted({row for pair in contacts["pair"].tolist() for row in pairs[pair].tolist()})
    return [inspector.GetName(queries.layout.geometry_ids[row]) for row in rows]


def _numbers_of(expressions: Array) -> Array | None:
    """An array of expressions as floats; None if there are variables in it."""
    items = np.asarray(expressions).ravel().tolist()
    if any(hasattr(item, "GetVariables") and not item.GetVariables().empty() for item in items):
        return None
    values = [float(item.Evaluate() if hasattr(item, "Evaluate") else item) for item in items]
    return np.array(values).reshape(np.shape(expressions))
