"""The kernels of a step, by the names with which its text (step.py) calls them.

Each is declared once, below: which kernel it is, and of which plants a step may call it. In Python all of them are
functions; in compiled code, where they are called by their addresses, those that a step does not call are 0.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from merganser.framework.native import compile_ahead
from merganser.framework.native.compiler.when_to_compile import must_compile_here
from merganser.framework.native.memory.hinted_types import hinted_address, hinted_job
from merganser.framework.native.memory.records_of_arrays import FLOAT, Code
from merganser.framework.native.memory.shared_code import feature_of, job_of, shared_names
from merganser.geometry.deformable.moving_meshes import put_meshes
from merganser.geometry.hydroelastic.surfaces import contact_surfaces, split_candidates
from merganser.geometry.proximity.broad_phase import find_candidates, find_candidates_of_few
from merganser.geometry.proximity.manifolds import contact_manifolds, contact_manifolds_in_lanes
from merganser.multibody import kernels
from merganser.multibody.contact.adhesion import adhesion_forces
from merganser.multibody.contact.contact_kinds import make_pairs_of_kinds
from merganser.multibody.contact.contact_pairs import POINTS_ALONE, drop_distant_pairs, make_contact_pairs
from merganser.multibody.contact.hydroelastic_pairs import make_hydroelastic_pairs
from merganser.multibody.contact.layout import TAMSI
from merganser.multibody.contact.penalty import friction_forces, limit_forces, penalty_forces
from merganser.multibody.contact.plant_forces import end_step
from merganser.multibody.contact.plant_problem import are_resolved, find_limits, start_step
from merganser.multibody.contact.solver import contact_velocities, tamsi_contact_velocities
from merganser.multibody.deformable.kernels.motion import end_motion, place_fixed, start_motion
from merganser.multibody.deformable.kernels.pairs import make_deformable_pairs
from merganser.multibody.deformable.kernels.problem import find_participants, pose_deformables
from merganser.multibody.fem.newton import free_motion
from merganser.multibody.fem.schur import couple_nodes, follow_nodes
from merganser.multibody.kernels import actuators, checked_arrays
from merganser.multibody.kernels.frames import geometry_poses
from merganser.multibody.kernels.laws import actuator_laws
from merganser.multibody.kernels.transmissions import transmission_forces, transmission_motion
from merganser.multibody.kernels.transmissions.armature import armature_products

if TYPE_CHECKING:
    from merganser.multibody.dynamics.records import Model


class Plant(NamedTuple):
    """The plant whose steps are to be compiled.

    Attributes:
        model: of it.
        is_complete: whether the kernels that solve contact problems are compiled, too.
        has_deformables: whether it has deformable bodies.
        couples_deformables: whether these have contacts and constraints.
    """

    model: Model
    is_complete: bool = True
    has_deformables: bool = False
    couples_deformables: bool = False

    @property
    def has_elements(self) -> bool:
        """Whether it has force elements."""
        return len(self.model.elements) > 0

    @property
    def acts_along_motion(self) -> bool:
        """Whether it has force elements or transmissions."""
        return self.has_elements or self.has_transmissions

    @property
    def has_transmissions(self) -> bool:
        """Whether it has tendons or other transmissions."""
        return len(self.model.transmissions) > 0

    @property
    def has_controllers(self) -> bool:
        """Whether it has PD controllers."""
        return len(self.model.actuators.controlled) > 0

    @property
    def constrains_steps(self) -> bool:
        """Whether there may be constraints in its discrete steps."""
        return bool(self.model.can_constrain and not self.model.is_continuous)

    @property
    def has_geometry(self) -> bool:
        """Whether it has geometries that may touch."""
        return bool(self.model.can_constrain) and len(self.model.contact.geometry.mobods) > 0

    @property
    def has_surfaces(self) -> bool:
        """Whether some of these have contact surfaces."""
        return self.has_geometry and len(self.model.contact.geometry.bodies) > 0

    @property
    def has_kinds(self) -> bool:
        """Whether it has contacts of a program's own kinds."""
        return bool(self.model.can_constrain) and len(self.model.contact.sources) > 0


class Use(NamedTuple):
    """One kernel of a step.

    Attributes:
        kernel: the kernel.
        is_needed: whether steps of a plant may call it.
        chosen: which one it is instead, where that follows from the model.
        is_small: whether it runs on objects of other scalars as it is.
        decides: whether it finds what constrains a step, for which values do: derivatives know what has been found.
    """

    kernel: Any = None
    is_needed: Callable[[Plant], object] = lambda _plant: True
    chosen: Callable[[Model], Any] | None = None
    is_small: bool = False
    decides: bool = False


def solver_of(settings: Any) -> Any:
    """The kernel that solves contact problems with these settings."""
    return tamsi_contact_velocities if settings["approximation"] == TAMSI else contact_velocities


def _dynamics_of(model: Model) -> Any:
    if model.is_continuous:
        return kernels.state_derivatives
    # A step that looks first for what constrains it has kinematics already.
    return kernels.step_from_kinematics if model.can_constrain else kernels.discrete_step


class StepCode(NamedTuple):
    """The kernels of a step; those of contact may be 0 where they are not compiled yet."""

    # Forces:
    kinematics: Code = Use(
        kernels.kinematics,
        lambda p: p.acts_along_motion or p.constrains_steps or p.has_geometry or p.has_kinds or p.has_deformables,
    )
    force_elements: Code = Use(kernels.force_elements, lambda p: p.has_elements)
    transmission_motion: Code = Use(transmission_motion, lambda p: p.has_transmissions)
    transmission_forces: Code = Use(transmission_forces, lambda p: p.has_transmissions)
    copy_actuation_input: Code = Use(actuators.copy_actuation_input, is_small=True)
    add_input: Code = Use(actuators.add_input, is_small=True)
    put_desired_state: Code = Use(actuators.put_desired_state, lambda p: p.has_controllers, is_small=True)
    laws: Code = Use(actuator_laws, lambda p: len(p.model.laws) > 0)
    efforts: Code = Use(actuators.calc_efforts, lambda p: p.has_controllers, is_small=True)
    apply_actuation: Code = Use(actuators.apply_actuation, is_small=True)
    store_efforts: Code = Use(
        actuators.store_efforts, lambda p: p.has_controllers and not p.model.is_continuous, is_small=True
    )
    is_finite: Code = Use(checked_arrays.is_finite)
    limits: Code = Use(
        is_needed=lambda p: len(p.model.limits) > 0,
        chosen=lambda model: limit_forces if model.is_continuous else find_limits,
        decides=True,
    )
    # Motion, without constraints:
    dynamics: Code = Use(is_needed=lambda p: not p.model.has_multipliers, chosen=_dynamics_of)
    next_pass: Code = Use(kernels.next_pass, lambda p: p.constrains_steps)
    armature_products: Code = Use(armature_products, lambda p: p.constrains_steps and p.has_transmissions)
    are_resolved: Code = Use(are_resolved, lambda p: p.has_controllers and not p.model.is_continuous, decides=True)
    # In continuous time:
    joint_friction: Code = Use(friction_forces, lambda p: p.model.is_continuous and len(p.model.frictions) > 0)
    constrained_dynamics: Code = Use(kernels.constrained_state_derivatives, lambda p: bool(p.model.has_multipliers))
    penalty_forces: Code = Use(penalty_forces, lambda p: p.model.is_continuous and (p.has_geometry or p.has_kinds))
    # Contact pairs:
    geometry_poses: Code = Use(geometry_poses, lambda p: p.has_geometry, decides=True)
    find_candidates: Code = Use(find_candidates, lambda p: p.has_geometry, decides=True)
    split_candidates: Code = Use(
        split_candidates,
        lambda p: p.has_geometry and p.model.contact.geometry.contact != POINTS_ALONE,
        decides=True,
    )
    contact_manifolds: Code = Use(contact_manifolds, lambda p: p.has_geometry, decides=True)
    make_contact_pairs: Code = Use(make_contact_pairs, lambda p: p.has_geometry, decides=True)
    contact_surfaces: Code = Use(contact_surfaces, lambda p: p.has_surfaces or p.couples_deformables, decides=True)
    make_hydroelastic_pairs: Code = Use(make_hydroelastic_pairs, lambda p: p.has_surfaces, decides=True)
    make_pairs_of_kinds: Code = Use(make_pairs_of_kinds, lambda p: p.has_kinds, decides=True)
    drop_distant_pairs: Code = Use(
        drop_distant_pairs, lambda p: p.constrains_steps and (p.has_geometry or p.has_kinds), decides=True
    )
    adhesion_forces: Code = Use(adhesion_forces, lambda p: p.model.contact.adheres)
    # Problem, solution, next state:
    start_step: Code = Use(start_step, lambda p: p.constrains_steps and p.is_complete, decides=True)
    solve: Code = Use(
        is_needed=lambda p: p.constrains_steps and p.is_complete,
        chosen=lambda model: solver_of(model.contact.settings),
        decides=True,
    )
    end_step: Code = Use(end_step, lambda p: p.constrains_steps)
    # Deformable bodies:
    start_motion: Code = Use(start_motion, lambda p: p.has_deformables)
    free_motion: Code = Use(free_motion, lambda p: p.has_deformables)
    end_motion: Code = Use(end_motion, lambda p: p.has_deformables)
    put_meshes: Code = Use(put_meshes, lambda p: p.couples_deformables)
    make_deformable_pairs: Code = Use(make_deformable_pairs, lambda p: p.couples_deformables)
    place_fixed: Code = Use(place_fixed, lambda p: p.couples_deformables)
    find_participants: Code = Use(find_participants, lambda p: p.couples_deformables)
    couple_nodes: Code = Use(couple_nodes, lambda p: p.couples_deformables)
    pose_deformables: Code = Use(pose_deformables, lambda p: p.couples_deformables)
    follow_nodes: Code = Use(follow_nodes, lambda p: p.couples_deformables)


_USES = StepCode()

# What computes with other numbers than floats, see plant/step/native_code.py.
_OF_OTHER_NUMBERS = (
    *(use.kernel for use in _USES if use.is_small),
    checked_arrays.is_finite,
    actuators.calc_efforts,
    kernels.kinematics,
    kernels.force_elements,
)
COMPLEX_KERNELS = *_OF_OTHER_NUMBERS, limit_forces, friction_forces, kernels.state_derivatives
KERNELS_IN_LANES = (
    *_OF_OTHER_NUMBERS,
    find_limits,
    are_resolved,
    kernels.step_from_kinematics,
    kernels.discrete_step,
    kernels.next_pass,
    end_step,
)
# Where geometries may touch:
_PAIRS_IN_LANES = geometry_poses, find_candidates_of_few, contact_manifolds_in_lanes, make_contact_pairs
CONTACT_KERNELS_IN_LANES = *_PAIRS_IN_LANES, drop_distant_pairs, start_step, contact_velocities
PENALTY_KERNELS_IN_LANES = *_PAIRS_IN_LANES, penalty_forces
# What lanes call instead.
_INSTEAD = {find_candidates: find_candidates_of_few, contact_manifolds: contact_manifolds_in_lanes}


def kernels_of(model: Model) -> StepCode:
    """The kernels of a plant's steps."""
    return StepCode(*(use.kernel if use.chosen is None else use.chosen(model) for use in _USES))


def functions_of(model: Model, function_of: Callable[[Any], Any]) -> StepCode:
    """What Python calls, where `function_of` gives the function for a kernel."""
    return StepCode(*map(function_of, kernels_of(model)))


def functions_of_other_scalars(model: Model, call: Callable[..., Any], decide: Callable[..., Any]) -> StepCode:
    """The same for other scalars than floats.

    Args:
        model: of the plant.
        call: takes a kernel and its arguments, and calls it with these scalars.
        decide: does the same with their values alone.
    """

    def function_of(kernel: Any, use: Use) -> Any:
        return kernel.interpreted if use.is_small else functools.partial(decide if use.decides else call, kernel)

    functions = StepCode(*map(function_of, kernels_of(model), _USES))
    return functions._replace(is_finite=lambda _values: True)


def addresses_of(plant: Plant, number: np.dtype[Any] = FLOAT) -> StepCode:
    """The addresses of the kernels that steps of a plant may call, compiled where they are not; 0 for the others.

    Those of contact take a minute: other processes begin with the last of them. If all code has to be there, they go on
    with what only some shapes call.

    Args:
        plant: the plant.
        number: what they compute with: floats, lanes (framework/native/memory/simd.py) or complex numbers.
    """
    needed = [kernel if use.is_needed(plant) else None for kernel, use in zip(kernels_of(plant.model), _USES)]
    if number != FLOAT:
        others = [_INSTEAD.get(kernel, kernel) for kernel in needed]
        known = *KERNELS_IN_LANES, *CONTACT_KERNELS_IN_LANES, *COMPLEX_KERNELS, *PENALTY_KERNELS_IN_LANES
        needed = [kernel if kernel in known else None for kernel in others]
    if plant.is_complete and plant.has_geometry and number == FLOAT:
        searches = [name for name in shared_names() if not feature_of(name)] if must_compile_here() else []
        jobs = [hinted_job(kernel) for kernel in reversed(needed) if kernel is not None]
        compile_ahead([*jobs, *map(job_of, searches)])
    return StepCode(*(0 if kernel is None else hinted_address(kernel, number) for kernel in needed))
