"""Contact, joint limits and constraints in plants of expressions and complex numbers: a warning, or an error.

A plant of AutoDiffXd computes all of it with derivatives (contact_gradients.py). Expressions decide nothing: a symbolic
plant leaves contact and joint limits out and warns of it, and refuses where it sees that they act.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from merganser.multibody.contact.plant_problem import find_limits, limited_position, start_step
from merganser.multibody.plant.contact_geometry import listed
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.framework import Context
    from merganser.multibody.plant.step.dynamics import PlantDynamics

Array = NDArray[Any]

_NAMES = list(inspect.signature(start_step.interpreted).parameters)
_SOURCES, _X_STAR = map(_NAMES.index, ("sources", "x_star_in"))


def check_other_scalars(dynamics: PlantDynamics, context: Context, w: Workspace) -> None:
    """Looks whether dynamics can be computed without floats where there may be contact, limits or constraints.

    Expressions leave out what may act, with a warning.

    Raises:
        RuntimeError: contact, limits or constraints act in a symbolic plant; or complex numbers may touch, whose poses
            go through the ports as floats, so that there is no derivative.
    """
    if w.scalar.__name__ == "Expression":
        _refuse_or_warn(dynamics, context, w)
    elif w.is_numeric and dynamics.may_touch:
        raise _no_complex_derivatives(dynamics, " and ".join(_possible_contacts(dynamics)))


def refuse_complex(dynamics: PlantDynamics, context: Context, w: Workspace, *given: Any) -> None:
    """Raises in the place of the kernel start_step(), whose arguments are given, about what constrains the step."""
    what, x_star, sources = _active_constraints(dynamics, context), given[_X_STAR], given[_SOURCES]
    if not what and (dynamics.model.contact.has_tendons or (sources.drives["v"] >= len(w.v)).any()):
        what = "tendons or actuators along transmissions"
    if not what and len(dynamics.model.contact.frictions):
        what = f"the dry friction of joints {listed(_joints_with_friction(dynamics))}"
    raise _no_complex_derivatives(
        dynamics, what or _limits_in_reach(dynamics, w.q.real, w.v.real, x_star[len(w.q) :].real)
    )


# ---------------------------------------------------------------------- words


def _no_complex_derivatives(dynamics: PlantDynamics, what: str) -> RuntimeError:
    return RuntimeError(
        f"Plant '{dynamics.model.path()}' is constrained by {what}, of which there are no derivatives by "
        "complex numbers. Use plant.ToAutoDiffXd()."
    )


def _possible_contacts(dynamics: PlantDynamics) -> list[str]:
    """What may touch, in words."""
    kinds, found = [contact.kind.name for contact in dynamics.model.tree.contacts], []
    if dynamics.contact_geometry.may_touch:
        found.append(f"contact of {dynamics.registration.num_collision_geometries()} collision geometries")
    return [*found, f"contacts of the kinds {listed(kinds)}"] if kinds else found


def _active_constraints(dynamics: PlantDynamics, context: Context) -> str:
    """The active constraints of a discrete plant in words."""
    if not dynamics.model.is_discrete or not dynamics.constraints.has_any:
        return ""
    specs = dynamics.constraints.active(context)
    return f"the constraints ({', '.join(map(dynamics.constraints.describe, specs))})" if specs else ""


def _joints_with_friction(dynamics: PlantDynamics) -> list[str]:
    return [joint.name() for joint in dynamics.model.tree.joints if joint._may_have_friction]


def _limits_in_reach(dynamics: PlantDynamics, q: Array, v: Array, v_star: Array) -> str:
    """The joints whose limits would take part in a step, in words."""
    arrays, names = dynamics.model.contact, []
    for limit in arrays.limits:
        if find_limits.interpreted(np.array([limit]), dynamics.model.time_step, q, v, v_star):
            names += [j.name() for j in dynamics.model.tree.joints if j.position_start() == limit["q"]]
    return f"the limits of joints {listed(names)}" if names else ""


def _refuse_or_warn(dynamics: PlantDynamics, context: Context, w: Workspace) -> None:
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


def _touching(dynamics: PlantDynamics, context: Context) -> list[str]:
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
