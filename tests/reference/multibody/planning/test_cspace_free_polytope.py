"""Certificates of free polytopes against pydrake's."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
pytest.importorskip("sympy")
pytest.importorskip("clarabel")

from tests.support.arm_among_shapes import arm_diagram

pytestmark = pytest.mark.reference

C = np.vstack((np.eye(2), -np.eye(2)))
NAMES = (
    "CIrisCollisionGeometry", "CIrisGeometryType", "CSpaceSeparatingPlane", "CspaceFreePolytope",
    "CspaceFreePolytopeBase", "FindSeparationCertificateOptions", "PlaneSide", "SeparatingPlaneOrder",
    "SeparationCertificateProgramBase", "SeparationCertificateResultBase",
)  # fmt: skip


def facts(root: str, second: str, with_cross_y: bool) -> list[Any]:
    """Planes, sizes of programs, which polytopes have certificates, and what is the greatest scale."""
    lib = importlib.import_module(f"{root}.all")
    _, plant, scene_graph = arm_diagram(lib, second)
    Free = lib.CspaceFreePolytope
    options = Free.Options()
    options.with_cross_y = with_cross_y
    free = Free(plant, scene_graph, lib.SeparatingPlaneOrder.kAffine, np.array([0.1, 0.0]), options)
    name = scene_graph.model_inspector().GetName
    found: list[Any] = []
    for plane in free.separating_planes():
        sides = (plane.positive_side_geometry, plane.negative_side_geometry)
        found += [(name(side.id()), side.type().name, side.num_rationals(), int(side.body_index())) for side in sides]
        found += [int(plane.expressed_body), plane.plane_degree, [str(v) for v in plane.decision_variables]]
        found.append(sorted(str(m) for m in plane.a[1].monomial_to_coefficient_map()))
    for pair, _ in sorted(free.map_geometries_to_separating_planes().items(), key=lambda item: item[1]):
        program = free.MakeIsGeometrySeparableProgram(pair, C, np.full(4, 0.1))
        equations = program.prog().linear_equality_constraints()
        found += [program.prog().num_vars(), sum(each.evaluator().num_constraints() for each in equations)]
        certificate = program.certificate
        found += [len(certificate.positive_side_rational_lagrangians), program.plane_index]
        found.append(len(certificate.negative_side_rational_lagrangians))
    search = Free.BinarySearchOptions()
    search.scale_max, search.convergence_tol = 8.0, 0.02
    search.find_lagrangian_options.solver_id = lib.ClarabelSolver.id()
    search.find_lagrangian_options.parallelism = lib.Parallelism(1)
    result = free.BinarySearch(set(), C, np.full(4, 0.1), np.array([0.02, 0.01]), search)
    found += [result.num_iter(), np.round(result.d(), 8).tolist(), sorted(result.a())]
    polytope = result.certified_polytope()
    return [*found, np.round(polytope.A(), 8).tolist(), np.round(polytope.b(), 8).tolist()]


@pytest.mark.parametrize(("second", "with_cross_y"), [("revolute", False), ("revolute", True), ("prismatic", False)])
def test_planes_programs_and_scales_of_an_arm(second: str, with_cross_y: bool) -> None:
    assert facts("merganser", second, with_cross_y) == facts("pydrake", second, with_cross_y)


def test_all_names_of_pydrake_are_there() -> None:
    ours, theirs = (importlib.import_module(f"{root}.all") for root in ("merganser", "pydrake"))
    classes = [(getattr(ours, name), getattr(theirs, name)) for name in NAMES]
    mine, drake = ours.CspaceFreePolytope, theirs.CspaceFreePolytope
    nested = [name for name in dir(drake) if isinstance(getattr(drake, name), type) and not name.startswith("_")]
    classes += [(getattr(mine, name), getattr(drake, name)) for name in nested]
    for mine, drake in classes:
        made = [_made(cls) for cls in (mine, drake)]
        for name in dir(drake):
            if not name.startswith("_"):
                there = hasattr(mine, name) or hasattr(made[0], name) or _is_annotated(mine, name)
                assert there, f"{drake.__name__}.{name}"
        if hasattr(drake, "__members__"):
            assert {k: int(v) for k, v in mine.__members__.items()} == {k: int(v) for k, v in drake.__members__.items()}
        for name in ("max_iter", "convergence_tol", "scale_min", "scale_max", "ellipsoid_scaling", "backoff_scale",
                     "ellipsoid_margin_epsilon", "search_s_bounds_lagrangians", "terminate_at_failure", "verbose",
                     "ignore_redundant_C", "with_cross_y"):  # fmt: skip
            if hasattr(made[1], name):
                assert getattr(made[0], name) == getattr(made[1], name)


def _made(cls: Any) -> Any:
    if hasattr(cls, "__members__"):
        return next(iter(cls.__members__.values()))
    try:
        return cls()
    except TypeError:
        return None


def _is_annotated(cls: Any, name: str) -> bool:
    return any(name in getattr(base, "__annotations__", {}) for base in cls.__mro__)
