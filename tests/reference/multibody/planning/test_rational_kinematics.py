"""Kinematics as rational functions against pydrake's."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")
pytest.importorskip("sympy")

from tests.support.sliding_and_turning import ROBOT

pytestmark = pytest.mark.reference

Q_STAR = np.array([0.1, 0.2, 0.3, 0.4])
Q = np.array([1.0, -2.0, 3.0, 2.2])


def facts(root: str) -> tuple[dict[str, float], list[Any]]:
    """Coefficients of poses, by texts of monomials; values."""
    lib = importlib.import_module(f"{root}.all")
    rational = importlib.import_module(f"{root}.multibody.rational")
    plant = lib.MultibodyPlant(0.0)
    lib.Parser(plant).AddModelsFromString(ROBOT, "urdf")
    plant.Finalize()
    kinematics = rational.RationalForwardKinematics(plant)
    coefficients: dict[str, float] = {}
    for a, b in ((0, 2), (2, 0), (3, 4), (4, 3), (5, 5)):
        X = kinematics.CalcBodyPoseAsMultilinearPolynomial(Q_STAR, lib.BodyIndex(b), lib.BodyIndex(a))
        for i, entry in enumerate((*X.rotation().ravel(), *X.position())):
            for monomial, c in entry.monomial_to_coefficient_map().items():
                coefficients[f"{a} {b} {i} {sorted(map(str, monomial.GetVariables()))}"] = c.Evaluate()
    f = kinematics.ConvertMultilinearPolynomialToRationalFunction(X.position()[0])
    values = [[str(v) for v in kinematics.s()], str(f.denominator())]
    s = kinematics.ComputeSValue(Q, Q_STAR)
    values += [s, kinematics.ComputeQValue(s, Q_STAR), kinematics.ComputeSValue(Q + 1.0, Q_STAR, True)]
    return coefficients, values


def test_poses_and_values_of_s() -> None:
    (ours, our_values), (theirs, their_values) = facts("merganser"), facts("pydrake")
    for name in ours.keys() | theirs.keys():
        assert ours.get(name, 0.0) == pytest.approx(theirs.get(name, 0.0), abs=1e-12), name
    assert our_values[0] == their_values[0]
    for mine, drake in zip(our_values[2:], their_values[2:]):
        assert np.allclose(mine, drake, rtol=1e-12)
