"""The kernels of a plant's steps, by their names in StepCode: which ones, for Python, and as addresses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from merganser.framework.native import is_at_hand
from merganser.framework.native.memory.hinted_types import hinted_address
from merganser.geometry.hydroelastic.surfaces import contact_surfaces, split_candidates
from merganser.geometry.proximity.broad_phase import find_candidates
from merganser.geometry.proximity.manifolds import contact_manifolds
from merganser.multibody import kernels
from merganser.multibody.contact import contact_velocities, tamsi_contact_velocities
from merganser.multibody.contact.contact_kinds import make_pairs_of_kinds
from merganser.multibody.contact.contact_pairs import make_contact_pairs
from merganser.multibody.contact.geometry_poses import geometry_poses
from merganser.multibody.contact.hydroelastic_pairs import make_hydroelastic_pairs
from merganser.multibody.contact.impending import drop_distant_pairs
from merganser.multibody.contact.layout import TAMSI
from merganser.multibody.contact.penalty import friction_forces, limit_forces, penalty_forces
from merganser.multibody.contact.plant_problem import are_resolved, find_limits
from merganser.multibody.contact.plant_step import end_step, start_step
from merganser.multibody.contact.step_records import POINTS_ALONE, Model, StepCode
from merganser.multibody.kernels import actuation, checked_arrays
from merganser.multibody.plant.workspace import Workspace

if TYPE_CHECKING:
    from merganser.multibody.plant.step.dynamics import PlantDynamics

__all__ = ["are_compiled", "code_of_addresses", "code_of_functions", "kernels_of_steps", "solver_of"]

_OF_POINTS = contact_manifolds, make_contact_pairs
_OF_SURFACES = contact_surfaces, split_candidates, make_hydroelastic_pairs
_SMALL = ("copy_actuation_input", "add_input", "put_desired_state", "efforts", "apply_actuation", "store_efforts")


def solver_of(settings: Any) -> Any:
    """The kernel that solves contact problems with these settings."""
    return tamsi_contact_velocities if settings["approximation"] == TAMSI else contact_velocities


def are_compiled(dynamics: PlantDynamics) -> bool:
    """Whether the kernels are there that take long to compile; those of contact are not until something touches."""
    needed = []
    if dynamics.model.is_discrete and dynamics.can_constrain:
        needed += [start_step, solver_of(dynamics.settings.of_solver())]
    if dynamics.has_multipliers:
        needed.append(kernels.constrained_state_derivatives)
    if len(dynamics.model.contact.sources):
        needed.append(make_pairs_of_kinds)
    geometry = dynamics.contact_geometry
    if geometry.may_touch:
        needed += [find_candidates, *_OF_SURFACES] if geometry.has_surfaces else [find_candidates, *_OF_POINTS]
    return all(map(is_at_hand, needed))


def kernels_of_steps(is_continuous: bool, settings: Any, can_constrain: bool) -> StepCode:
    """The kernels.

    Args:
        is_continuous: whether derivatives are wanted.
        settings: those of the solver.
        can_constrain: whether a step looks first for what constrains it, and so has kinematics already.
    """
    free, controlled = kernels.discrete_step, kernels.controlled_step
    if can_constrain:
        free, controlled = kernels.step_from_kinematics, kernels.controlled_step_from_kinematics
    return StepCode(
        kinematics=kernels.kinematics,
        force_elements=kernels.force_elements,
        copy_actuation_input=actuation.copy_actuation_input,
        add_input=actuation.add_input,
        put_desired_state=actuation.put_desired_state,
        efforts=actuation.calc_efforts,
        apply_actuation=actuation.apply_actuation,
        store_efforts=actuation.store_efforts,
        is_finite=checked_arrays.is_finite,
        dynamics=kernels.state_derivatives if is_continuous else free,
        constrained_dynamics=kernels.constrained_state_derivatives,
        controlled_step=controlled,
        are_resolved=are_resolved,
        joint_friction=friction_forces,
        limits=limit_forces if is_continuous else find_limits,
        geometry_poses=geometry_poses,
        find_candidates=find_candidates,
        contact_manifolds=contact_manifolds,
        make_contact_pairs=make_contact_pairs,
        split_candidates=split_candidates,
        contact_surfaces=contact_surfaces,
        make_hydroelastic_pairs=make_hydroelastic_pairs,
        make_pairs_of_kinds=make_pairs_of_kinds,
        drop_distant_pairs=drop_distant_pairs,
        penalty_forces=penalty_forces,
        start_step=start_step,
        solve=solver_of(settings),
        end_step=end_step,
    )


def code_of_functions(known: StepCode, w: Workspace, kinematics: Callable[..., Any]) -> StepCode:
    """What Python calls: compiled functions, once they have been called, or what compiles them.

    Args:
        known: the kernels.
        w: workspace of the Context.
        kinematics: is called for the kinematics, which may be up to date.
    """
    codes = w.codes if w.is_float else {}  # those of other scalars take other arguments
    code = StepCode(*(codes.get(kernel) or functools.partial(w.call, kernel) for kernel in known))
    code = code._replace(kinematics=kinematics)
    if not w.is_float:
        small = {name: getattr(known, name).interpreted for name in _SMALL}
        code = code._replace(**small, is_finite=lambda _values: True)
    return code


def code_of_addresses(known: StepCode, model: Model, is_complete: bool, has_deformables: bool = False) -> StepCode:
    """The addresses of the kernels that steps of a plant need, compiled where they are not; 0 for the others.

    Args:
        known: the kernels.
        model: of the plant.
        is_complete: whether those are needed, too, that solve contact problems.
        has_deformables: whether there are deformable bodies, which may be held where rigid ones are.
    """
    needed = _needed_by(model) | ({"kinematics"} if has_deformables else set())
    if not is_complete:
        needed -= {"start_step", "solve"}
    return StepCode(*(hinted_address(getattr(known, name)) if name in needed else 0 for name in StepCode._fields))


def _needed_by(model: Model) -> set[str]:
    """The names of the kernels that steps of a plant may come to."""
    is_continuous, has_controllers = model.is_continuous, model.actuators.controlled.shape[0] > 0
    geometry = model.contact.geometry
    needed = {"is_finite", "dynamics", "apply_actuation", "copy_actuation_input", "add_input"}
    if len(model.elements):
        needed |= {"kinematics", "force_elements"}
    if has_controllers:
        needed |= {"put_desired_state", "efforts"}
        if not is_continuous:
            needed |= {"controlled_step", "store_efforts", "are_resolved"}
    if len(model.limits):
        needed.add("limits")
    if len(model.frictions) and is_continuous:
        needed.add("joint_friction")
    if model.has_multipliers:
        needed = needed - {"dynamics"} | {"constrained_dynamics"}
    if not model.can_constrain:
        return needed
    if len(geometry.mobods):
        needed |= {"kinematics", "geometry_poses", "find_candidates", "contact_manifolds", "make_contact_pairs"}
        if geometry.contact != POINTS_ALONE:
            needed |= {"split_candidates"}
        if len(geometry.bodies):
            needed |= {"contact_surfaces", "make_hydroelastic_pairs"}
    if len(model.contact.sources):
        needed |= {"kinematics", "make_pairs_of_kinds"}
    if len(geometry.mobods) or len(model.contact.sources):
        needed.add("penalty_forces" if is_continuous else "drop_distant_pairs")
    if not is_continuous:
        needed |= {"kinematics", "start_step", "solve", "end_step"}
    return needed
