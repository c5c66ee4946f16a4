"""Compiled functions take few arguments: what belongs together is a record. Those that take more say why."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = "framework", "geometry", "analysis", "multibody", "examples/plants"
MOST = 12

ALGORITHM = (
    "buffers of an algorithm of kernels/, which also runs over lanes: there each argument says by its name what it is"
)
ABOVE = "the records that would hold these are those of contact/ and plant/, which kernels/ does not know"
REPORT = "each result is an array of its own for its caller"
INLINED = "a part of one loop, whose variables these are"
GEOMETRY = "the velocity of one point along three directions; a record of them would be made for each contact"
FACE = "a polygon, pressures and the pair that it comes from, which its callers hold as variables"
INPUTS = "it reads the arrays of the plant and writes those of one step, one by one"

REASONS = {
    "geometry/hydroelastic/surfaces.py:_add_face": FACE,
    "geometry/proximity/refine.py:_next_direction": INLINED,
    "multibody/deformable/kernels/problem.py:calc_deformable_forces": REPORT,
    "multibody/contact/plant_forces.py:calc_contact_forces": REPORT,
    "multibody/contact/plant_problem.py:add_point": GEOMETRY,
    "multibody/contact/plant_forces.py:calc_forces": REPORT,
    "multibody/contact/plant_problem.py:start_step": "what is posed follows model, state and free motion; "
    "model.contact and state would be records of dynamics/records.py, which call this one by its address",
    "multibody/dynamics/linearized_inputs.py:linearize_inputs": INPUTS,
    "multibody/inverse_kinematics/posture_rows.py:calc_measures": ALGORITHM,
    "multibody/inverse_kinematics/posture_rows.py:curve_postures": ALGORITHM,
    "multibody/kernels/actuators.py:calc_efforts": ABOVE,
    "multibody/kernels/constrained_dynamics.py:calc_constrained_forward_dynamics": ALGORITHM,
    "multibody/kernels/constrained_dynamics.py:calc_constrained_state_derivatives": ALGORITHM,
    "multibody/kernels/forward_dynamics_derivatives.py:calc_forward_dynamics_gradient": ALGORITHM,
    "multibody/kernels/forward_dynamics_derivatives.py:calc_forward_dynamics_slopes": ALGORITHM,
    "multibody/kernels/forward_dynamics_derivatives.py:calc_inverse_dynamics_gradient": ALGORITHM,
    "multibody/kernels/force_elements.py:calc_force_element_derivatives": ALGORITHM,
    "multibody/kernels/forward_dynamics_derivatives.py:calc_state_forward_dynamics_derivatives": ALGORITHM,
    "multibody/kernels/step.py:calc_discrete_step": ALGORITHM,
    "multibody/kernels/step.py:calc_step_from_kinematics": ALGORITHM,
    "multibody/kernels/step.py:calc_next_pass": ALGORITHM,
    "multibody/kernels/configuration_derivatives.py:_set_derivatives": ALGORITHM,
}
_DECORATED = re.compile(r"^@(kernel|device|inlined)$", re.MULTILINE)


def test_compiled_functions_take_twelve_arguments_at_most_or_say_why() -> None:
    many = {
        f"{path.relative_to(ROOT)}:{function.name}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if _DECORATED.search(text := path.read_text())
        for function in ast.parse(text).body
        if isinstance(function, ast.FunctionDef) and _is_compiled(function) and len(function.args.args) > MOST
    }
    assert many - REASONS.keys() == set(), f"more than {MOST} arguments: group them into records, or say why"
    assert REASONS.keys() - many == set(), "these no longer need a reason"


def _is_compiled(function: ast.FunctionDef) -> bool:
    return any(getattr(d, "id", None) in ("kernel", "device", "inlined") for d in function.decorator_list)
