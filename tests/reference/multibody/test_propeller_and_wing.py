"""Propellers and wings against pydrake's."""

from __future__ import annotations

import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pydrake", reason="compares with pydrake, extra `reference`")

pytestmark = pytest.mark.reference


def library(root: str, names: dict[str, str]) -> SimpleNamespace:
    found: dict[str, Any] = {}
    for module, wanted in names.items():
        found |= {name: getattr(importlib.import_module(f"{root}.{module}"), name) for name in wanted.split()}
    return SimpleNamespace(**found)


ELEMENTS = "Propeller PropellerInfo Wing"
OURS = library(
    "merganser",
    {"multibody.plant": ELEMENTS, "multibody.tree": "BodyIndex", "multibody.math": "SpatialVelocity",
     "framework": "Value", "framework.math": "RigidTransform RollPitchYaw"},
)  # fmt: skip
THEIRS = library(
    "pydrake",
    {"multibody.plant": ELEMENTS, "multibody.tree": "BodyIndex", "multibody.math": "SpatialVelocity",
     "common.value": "Value", "math": "RigidTransform RollPitchYaw"},
)  # fmt: skip


def poses(lib: SimpleNamespace, rng: np.random.Generator, count: int) -> list[Any]:
    return [lib.RigidTransform(lib.RollPitchYaw(*rng.normal(size=3)), rng.normal(size=3)) for _ in range(count)]


def numbers(forces: list[Any]) -> Any:
    return np.array([[int(f.body_index), *f.p_BoBq_B, *f.F_Bq_W.get_coeffs()] for f in forces])


def propeller_forces(lib: SimpleNamespace, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    X_WB, X_BP = poses(lib, rng, 4), poses(lib, rng, 3)
    infos = [lib.PropellerInfo(lib.BodyIndex(i + 1), X, *rng.normal(size=2).tolist()) for i, X in enumerate(X_BP)]
    propeller = lib.Propeller(infos)
    context = propeller.CreateDefaultContext()
    propeller.get_command_input_port().FixValue(context, rng.normal(size=3))
    propeller.get_body_poses_input_port().FixValue(context, lib.Value(X_WB))
    return numbers(propeller.get_spatial_forces_output_port().Eval(context))


def wing_forces(lib: SimpleNamespace, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    X_WB, (X_BA,) = poses(lib, rng, 3), poses(lib, rng, 1)
    V_WB = [lib.SpatialVelocity(3.0 * rng.normal(size=3), 10.0 * rng.normal(size=3)) for _ in range(3)]
    wing = lib.Wing(body_index=lib.BodyIndex(2), surface_area=0.7, X_BodyWing=X_BA, fluid_density=1.3)
    context = wing.CreateDefaultContext()
    wing.get_body_poses_input_port().FixValue(context, lib.Value(X_WB))
    wing.get_body_spatial_velocities_input_port().FixValue(context, lib.Value(V_WB))
    if seed % 2:
        wing.get_wind_velocity_input_port().FixValue(context, rng.normal(size=3))
    if seed % 3:
        wing.get_fluid_density_input_port().FixValue(context, [rng.uniform(0.5, 2.0)])
    center = wing.get_aerodynamic_center_output_port().Eval(context)
    return np.append(numbers(wing.get_spatial_force_output_port().Eval(context)).ravel(), center)


def ports(system: Any) -> list[str]:
    inputs = [system.get_input_port(i).get_name() for i in range(system.num_input_ports())]
    return inputs + [system.get_output_port(i).get_name() for i in range(system.num_output_ports())]


@pytest.mark.parametrize("seed", range(6))
def test_forces_agree(seed: int) -> None:
    np.testing.assert_allclose(propeller_forces(OURS, seed), propeller_forces(THEIRS, seed), atol=1e-12)
    np.testing.assert_allclose(wing_forces(OURS, seed), wing_forces(THEIRS, seed), rtol=1e-12, atol=1e-12)


def test_ports_have_the_same_names() -> None:
    for make in (lambda lib: lib.Propeller(lib.BodyIndex(1)), lambda lib: lib.Wing(lib.BodyIndex(1), 1.0)):
        assert ports(make(OURS)) == ports(make(THEIRS))
