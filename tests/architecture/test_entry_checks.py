"""Every compiled function, and the check by which values of users come to it.

Compiled code does not look at what it is given: a wrong size or a NaN that becomes an index would read what is not its
own. So all that a user can write passes a check in Python first. This table has, for each compiled function, which
check that is and what is checked there; a function that is added without a line here fails the test.
tests/safety tries the checks with arguments that do not fit.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import NamedTuple

import pytest

import merganser.analysis
import merganser.framework
import merganser.geometry
import merganser.multibody


class Check(NamedTuple):
    """Where values are checked.

    Attributes:
        place: module of merganser and qualified name, with a colon between.
        checks: what is checked there.
    """

    place: str
    checks: str


PLANT = "multibody.plant"
STATE = Check(f"{PLANT}.arguments:checked_vector", "size, real numbers of the scalar, finite")
VECTORS = Check("framework.core.context.context:Context._checked", "size and type of time, states and parameters")
PORTS = Check("framework.core.declarations.ports:InputPort._checked_value", "type and size of what a port is fixed to")
POINTS = Check(f"{PLANT}.arguments:checked_points", "shape [3] or [3, n], finite")
ELEMENTS = Check("multibody.tree.lookup:TreeLookup._check_mine", "frames, bodies and joints are of this plant")
FORCES = Check(f"{PLANT}.arguments:check_forces", "of this plant and of its scalar")
ACTUATION = Check(f"{PLANT}.input_ports:InputPorts.read", "contiguous; bodies of the plant, finite")
RESULTS = Check("multibody.algorithms.state:output", "an array of the right type and shape that can be written to")
CACHES = Check("multibody.tree.computations:TreeComputations._check_cache", "a cache of this plant")
FRAMES = Check("geometry.scene.scene_graph:SceneGraph._calc_world_poses", "the poses of all frames, finite")
POSES = Check("geometry.proximity.queries:ProximityQueries.poses", "poses are finite")
SHAPES = Check("geometry.registration.registered:checked_shape", "measures and vertices are finite and not negative")
HYDROELASTIC = Check(
    "geometry.hydroelastic.representation:make_representation", "tetrahedra have volumes; moduli and lengths are finite"
)
PLANS = Check("analysis.plan.plan:Plan.is_current", "ports, values and logs are those that the plan was made for")
BATCHES = Check("analysis.batches.batch:_evaluate_all", "as many rows everywhere, of the sizes that the system has")
EXPORTS = Check("analysis.fmi.closed_plan:ClosedPlan", "a plan without Python; the shared library checks its callers")
STEPS = Check("analysis.integrators.base:IntegratorBase.reset_context", "the context is one of the system")
OBSERVERS = Check("analysis.estimators.observer:checked_covariance", "sizes, symmetric, positive definite, finite")
GENERATORS = Check("framework.core.system.random_values:GeneratorBox.set_value", "a generator; its words are copied")
PROGRAMS = Check(
    "framework.optimization.interior_point.problem:NonlinearProblem.__post_init__",
    "sizes; bounds are numbers in order; places of derivatives are inside",
)
GAPS = Check(
    "framework.optimization.evaluators.evaluators:EvaluatorBase._check_outputs",
    "functions have as many values as bounds",
)
POLYHEDRA = Check("geometry.optimization.sets.hpolyhedron:HPolyhedron.__init__", "A, b of as many rows, and no NaN")
CONFIGURATIONS = Check("multibody.planning.checking.edge_checks:rows_of", "as many positions as the plant, contiguous")
BODIES = Check("multibody.fem.body:FemBody.step", "sizes; meshes whose vertices are there, finite; materials in range")
MOTIONS = Check("multibody.inverse_kinematics.differential:_search", "sizes of V and of the Jacobian, finite")
COLUMNS = Check("multibody.batches.many_states:_columns", "sizes, as many columns, contiguous")
BLOCKS = Check("framework.primitives._arguments:checked_vector", "sizes, finite")

# By module, and by the names of functions in it; modules with a plain tuple mean all their functions.
CHECKS: dict[str, dict[str, tuple[Check, ...]] | tuple[Check, ...]] = {
    "analysis.controllers": (BLOCKS, VECTORS, PORTS, PLANS),
    "analysis.estimators": (OBSERVERS, PORTS),
    "analysis.fmi": (EXPORTS,),
    "analysis.integrators": (STEPS, VECTORS),
    "analysis.plan": (PLANS, VECTORS, PORTS),
    "analysis.plan.model_tape": (BATCHES, PLANS, PORTS),
    "analysis.estimators.extended_filter": (OBSERVERS, PORTS),
    "analysis.estimators.filter_workspace": (OBSERVERS, PORTS),
    "analysis.estimators.observer_operations": (OBSERVERS, PORTS),
    "analysis.batches.rows": (BATCHES, PLANS),
    "analysis.batches.rows_in_lanes": (BATCHES, PLANS),
    "analysis.estimators.unscented_filter": (OBSERVERS, PORTS),
    "framework.core.declarations.native_function": (BLOCKS, VECTORS, PORTS, PLANS),
    "framework.core.diagram.units": (BLOCKS, VECTORS, PORTS, PLANS),
    "framework.core.system.random_values": (GENERATORS,),
    "framework.native": (BLOCKS, VECTORS, PORTS, PLANS),
    "examples.plants": (VECTORS, PORTS, PLANS),
    "framework.optimization.solvers.damped_steps": (GAPS,),
    "framework.optimization.interior_point": (PROGRAMS,),
    "framework.primitives": (BLOCKS, VECTORS, PORTS, PLANS),
    "geometry.deformable": (BODIES, PORTS),
    "geometry.hydroelastic": (POSES, HYDROELASTIC),
    "geometry.optimization.sets.inscribed": (POLYHEDRA,),
    "geometry.proximity.pose_kernels": (FRAMES,),
    "geometry.proximity": (POSES, SHAPES),
    "multibody.batches.columns": (COLUMNS, STATE),
    "multibody.cenic": (STEPS, VECTORS),
    "multibody.contact": (STATE, VECTORS, POSES, SHAPES, ACTUATION, PLANS),
    "multibody.deformable.kernels": (BODIES, STATE, VECTORS, POSES, SHAPES),
    "multibody.dynamics": (STATE, VECTORS, POSES, SHAPES, ACTUATION, PLANS),
    "multibody.fem": (BODIES,),
    "multibody.gradients": (STATE, VECTORS, POSES, SHAPES, ACTUATION),
    "multibody.inverse_kinematics.reachable_motions": (MOTIONS,),
    "multibody.inverse_kinematics.posture_rows": (STATE, GAPS),
    "multibody.inverse_kinematics.rotation_gaps": (STATE, ELEMENTS),
    "multibody.planning.checking.configuration_sweep": (CONFIGURATIONS, STATE, POSES, SHAPES),
    "multibody.manipulation": (VECTORS, PORTS, PLANS),
    "multibody.kernels.lanes": (STATE, VECTORS, FORCES, ACTUATION),
    "multibody.kernels.elements": (STATE, ELEMENTS),  # compiled for fluids and force elements of users
    "multibody.kernels.constraints": (STATE, ELEMENTS),  # compiled for tendons and constraints of users
    "multibody.kernels.mobilizers": (STATE, ELEMENTS),  # compiled for joints of users
    "multibody.kernels.transmissions": (STATE, ELEMENTS, ACTUATION),  # and for transmissions of users
    "multibody.kernels.laws": (PORTS, ACTUATION),  # and for laws of users
    "multibody.kernels": {
        "calc_body_jacobians": (STATE,),
        "calc_bushing_forces": (STATE, ELEMENTS, FORCES),
        "calc_center_of_mass": (STATE, ELEMENTS),
        "calc_center_of_mass_acceleration": (STATE, ELEMENTS),
        "calc_center_of_mass_jacobian": (STATE, ELEMENTS),
        "calc_discrete_step": (STATE, VECTORS, ACTUATION),
        "calc_step_from_kinematics": (STATE, VECTORS, ACTUATION),
        "calc_element_energies": (STATE,),
        "calc_energies": (STATE,),
        "calc_force_element_derivatives": (STATE,),
        "calc_force_elements": (STATE, FORCES),
        "calc_forward_dynamics": (STATE, FORCES, RESULTS),
        "calc_forward_dynamics_derivatives": (STATE, FORCES, RESULTS),
        "calc_forward_dynamics_gradient": (STATE, ACTUATION),
        "calc_forward_dynamics_slopes": (STATE, ACTUATION),
        "calc_frame_acceleration": (STATE, ELEMENTS),
        "calc_frame_velocity": (STATE, ELEMENTS),
        "calc_generalized_forces": (STATE, FORCES),
        "geometry_poses": (STATE, POSES),
        "calc_gravity_forces": (STATE,),
        "calc_hinges_and_inertias": (STATE, CACHES),
        "calc_inverse_dynamics": (STATE, FORCES, RESULTS),
        "calc_inverse_dynamics_derivatives": (STATE, FORCES, RESULTS),
        "calc_inverse_dynamics_gradient": (STATE, FORCES),
        "calc_jacobian": (STATE, ELEMENTS, POINTS),
        "calc_jacobian_derivatives": (STATE, ELEMENTS, POINTS),
        "calc_kinematics": (STATE, CACHES),
        "calc_mean_kinematics": (STATE, CACHES),
        "calc_next_pass": (STATE, VECTORS, ACTUATION),
        "calc_constrained_forward_dynamics": (STATE, FORCES, ACTUATION),
        "calc_constrained_state_derivatives": (STATE, VECTORS, ACTUATION),
        "calc_constraint_rows": (STATE,),
        "calc_mass_matrix": (STATE, RESULTS),
        "calc_mass_matrix_by_columns": (STATE,),
        "calc_mass_matrix_derivatives": (STATE,),
        "calc_momentum": (STATE, POINTS),
        "calc_momentum_matrix": (STATE, RESULTS),
        "calc_point_accelerations": (STATE, ELEMENTS, POINTS),
        "calc_point_positions": (STATE, ELEMENTS, POINTS),
        "calc_point_velocities": (STATE, ELEMENTS, POINTS),
        "calc_pose_matrices": (STATE,),
        "calc_poses": (STATE, CACHES),
        "calc_position_kinematics": (STATE, CACHES),
        "calc_product": (STATE,),
        "calc_qdot_jacobian": (STATE, ELEMENTS, POINTS),
        "calc_qdot_to_velocity": (STATE,),
        "calc_reaction_forces": (STATE, VECTORS, ACTUATION),
        "calc_relative_pose": (STATE, ELEMENTS),
        "calc_spatial_accelerations": (STATE, RESULTS),
        "calc_state_derivatives": (STATE, VECTORS, ACTUATION),
        "calc_state_forward_dynamics_derivatives": (STATE, VECTORS, ACTUATION),
        "calc_state_inverse_dynamics": (STATE, FORCES),
        "calc_total_inertia": (STATE, ELEMENTS),
        "calc_velocity_kinematics": (STATE, CACHES),
        "calc_velocity_to_qdot": (STATE,),
        "add_input": (PORTS, ACTUATION),
        "calc_efforts": (STATE, PORTS, ACTUATION),
        "copy_pose": (STATE,),
        "is_finite": (POINTS,),
        "put_desired_state": (PORTS, ACTUATION),
        "store_efforts": (PORTS, ACTUATION),
        "apply_actuation": (PORTS, ACTUATION),
        "subtract_checked": (PORTS,),
        "copy_actuation_input": (PORTS, ACTUATION),
        "write_checked": (STATE,),
        "gather": (PORTS,),
        "plant_controller": (PORTS, ACTUATION),
    },
}
ALL_CHECKS = {
    check
    for entry in CHECKS.values()
    for checks in (entry.values() if isinstance(entry, dict) else [entry])
    for check in checks
}


def compiled_functions() -> set[tuple[str, str]]:
    """Module, without the package's name, and name of all that is compiled and can be called with values of users."""
    from merganser.framework.core.declarations.native_function import NativeFunction
    from merganser.framework.native.compiler.parallel_compilation import _kernels
    from merganser.framework.native.operations.operations import CompiledOperation

    found = set()
    for package in (merganser.framework, merganser.geometry, merganser.analysis, merganser.multibody):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name.endswith("__main__"):
                continue
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, CompiledOperation):
                    found.add((value._function.__module__, value._function.__name__))
                elif isinstance(value, NativeFunction):
                    found.add((value.__module__, value.__name__))
    return {(module.removeprefix("merganser."), name) for module, name in found | set(_kernels)}


def checks_of(module: str, name: str) -> tuple[Check, ...]:
    """The checks of a compiled function: those of the longest part of its module's name that is in the table."""
    parts = module.split(".")
    known = next((p for n in range(len(parts), 0, -1) if (p := ".".join(parts[:n])) in CHECKS), None)
    entry = CHECKS[known] if known is not None else ()
    return entry.get(name, ()) if isinstance(entry, dict) else entry


def test_every_compiled_function_has_a_check():
    functions = {(m, n) for m, n in compiled_functions() if m.split(".")[0] in ("framework", *map(_top, CHECKS))}
    assert [f"{module}:{name}" for module, name in sorted(functions) if not checks_of(module, name)] == []


def test_the_table_names_no_function_that_is_not_there():
    names = {name for _, name in compiled_functions()}
    assert [name for entry in CHECKS.values() if isinstance(entry, dict) for name in entry if name not in names] == []


@pytest.mark.parametrize("check", sorted(ALL_CHECKS), ids=lambda check: check.place)
def test_the_check_is_there(check):
    module, _, name = check.place.partition(":")
    place = importlib.import_module(f"merganser.{module}")
    for part in name.split("."):
        place = getattr(place, part)
    assert callable(place)


def _top(module: str) -> str:
    return module.split(".")[0]
