"""Derivatives of where deformable bodies are by what they are made of: closed forms, differences, and refusals."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from soft_bodies import config
from soft_scenes import SoftScene

from merganser.framework import DiagramBuilder
from merganser.framework.math import RigidTransform
from merganser.geometry import Box, GeometryInstance
from merganser.multibody.fem import MaterialModel, differentiate_equilibrium, differentiate_motion
from merganser.multibody.plant import AddMultibodyPlantSceneGraph
from merganser.multibody.tree import ForceDensityField, PrismaticJoint, SpatialInertia

EACH = pytest.mark.parametrize("model", list(MaterialModel), ids=lambda model: model.name)
NUMBERS = (
    "youngs_modulus", "poissons_ratio", "mass_density", "mass_damping_coefficient", "stiffness_damping_coefficient",
)  # fmt: skip
G, H = 9.81, 0.01


class Spring(ForceDensityField):
    """Pulls towards the plane y = 0, and the more the larger an element has become."""

    def DoEvaluateAt(self, context: Any, p_WQ: Any) -> Any:
        return np.array([0.0, -2e4 * p_WQ[1], 1e3])


class Bar:
    """A bar along z that hangs from the plane z = 0, or sticks out of it."""

    def __init__(self, gravity: Any = (0.0, 0.0, -G), size: Any = (0.1, 0.1, 0.3), field: Any = None, **material: Any):
        builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, H)
        self.plant.mutable_gravity_field().set_gravity_vector(np.array(gravity))
        model = self.plant.mutable_deformable_model()
        geometry = GeometryInstance(RigidTransform([0.0, 0.0, -0.5 * size[2]]), Box(*size), "bar")
        self.body = model.GetBody(model.RegisterDeformableBody(geometry, config(**material), 0.1))
        self.body.SetWallBoundaryCondition([0.0, 0.0, -1e-6], [0.0, 0.0, -1.0])
        if field is not None:
            model.AddExternalForce(field)
        self.plant.Finalize()
        self.diagram = builder.Build()
        self.root = self.diagram.CreateDefaultContext()
        self.context = self.plant.GetMyMutableContextFromRoot(self.root)


def moved(material: Any, name: str, share: float) -> Any:
    """A material of which one number differs."""
    other = copy.copy(material)
    value = getattr(material, name)()
    getattr(other, f"set_{name}")(value * (1.0 + share))
    return other, share * value


def test_the_tip_of_a_bar_that_hangs_by_its_end_follows_the_closed_form() -> None:
    """u = density g L^2 / (2 E), at nu = 0 to the error of the mesh; derivatives are -u / E and u / density."""
    E, density = 1e5, 1000.0
    bar = Bar(model=MaterialModel.kLinear, E=E, nu=0.0)
    found = differentiate_equilibrium(bar.body, bar.context, ["youngs_modulus", "mass_density"])
    at_tip = bar.body.reference_positions().reshape(-1, 3)[:, 2] < -0.3 + 1e-9
    u = -0.3 - found.p_WV[2, at_tip].mean()
    assert u == pytest.approx(density * G * 0.09 / (2.0 * E), rel=2e-3)
    assert found.dp_WV["youngs_modulus"][2, at_tip].mean() == pytest.approx(u / E, rel=1e-9)
    assert found.dp_WV["mass_density"][2, at_tip].mean() == pytest.approx(-u / density, rel=1e-9)
    assert not found.v_WV.any() and not found.dv_WV["youngs_modulus"].any()


@EACH
def test_rest_changes_as_differences_of_it_do(model: MaterialModel) -> None:
    bar = Bar((3.0, 1.0, -G), model=model, E=3e5, field=Spring(), averages_volume=model == MaterialModel.kCorotated)
    found = differentiate_equilibrium(bar.body, bar.context, NUMBERS)
    for name in NUMBERS[:3]:
        (more, step), (less, _) = (moved(bar.body.config(), name, share) for share in (1e-3, -1e-3))
        ends = [differentiate_equilibrium(bar.body, bar.context, [], config=other).p_WV for other in (more, less)]
        slope = (ends[0] - ends[1]) / (2.0 * step)
        assert found.dp_WV[name] == pytest.approx(slope, abs=1e-5 * abs(slope).max())
    assert not found.dp_WV["mass_damping_coefficient"].any()
    assert not found.dp_WV["stiffness_damping_coefficient"].any()


@EACH
def test_motion_changes_as_differences_of_it_do(model: MaterialModel) -> None:
    material = config(model, 1e5, mass_damping=2.0, damping=0.02, averages_volume=model == MaterialModel.kNeoHookean)
    bar = Bar((3.0, 1.0, -G), field=Spring(), E=5e5)
    n = bar.body.num_dofs() // 3
    bar.body.SetVelocities(bar.context, np.random.default_rng(1).normal(size=(3, n)))
    before = bar.body.GetPositionsAndVelocities(bar.context)
    found = differentiate_motion(bar.body, bar.context, 4, NUMBERS, material)
    for name in NUMBERS:
        (more, step), (less, _) = (moved(material, name, share) for share in (1e-3, -1e-3))
        ends = [differentiate_motion(bar.body, bar.context, 4, [], other) for other in (more, less)]
        for of, mine in ((0, found.dp_WV), (1, found.dv_WV)):
            slope = (ends[0][of] - ends[1][of]) / (2.0 * step)
            assert mine[name] == pytest.approx(slope, abs=1e-5 * abs(slope).max())
    assert (bar.body.GetPositionsAndVelocities(bar.context) == before).all()


def test_the_motion_is_that_of_the_plant() -> None:
    from merganser.analysis import Simulator

    bar = Bar((3.0, 1.0, -G))
    simulator = Simulator(bar.diagram, bar.root)
    q, v, *_ = differentiate_motion(bar.body, bar.context, 10, [])
    simulator.AdvanceTo(10 * H)
    assert bar.body.GetPositions(bar.context) == pytest.approx(q, abs=1e-13)
    assert bar.body.GetVelocities(bar.context) == pytest.approx(v, abs=1e-11)


def test_what_has_no_derivatives_is_refused_by_name() -> None:
    bar = Bar()
    with pytest.raises(ValueError, match=r"no parameter 'stiffness'; there are youngs_modulus, .*mass_density"):
        differentiate_equilibrium(bar.body, bar.context, ["stiffness"])
    with pytest.raises(ValueError, match="num_steps must not be negative; given -1"):
        differentiate_motion(bar.body, bar.context, -1, [])
    scene = SoftScene()
    scene.add_soft(Box(0.1, 0.1, 0.1), (0.0, 0.0, 0.2))
    scene.finish()
    with pytest.raises(RuntimeError, match=r"'soft 0' has proximity properties. Register it without"):
        differentiate_equilibrium(scene.model.GetBody(scene.ids[0]), scene.context, ["youngs_modulus"])
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, H)
    model = plant.mutable_deformable_model()
    ids = [
        model.RegisterDeformableBody(GeometryInstance(RigidTransform(), Box(0.1, 0.1, 0.1), name), config(), 0.05)
        for name in ("free", "towed")
    ]
    cart = plant.AddRigidBody("cart", SpatialInertia.SolidCubeWithMass(1.0, 0.1))
    plant.AddJoint(PrismaticJoint("track", plant.world_frame(), cart.body_frame(), [1.0, 0.0, 0.0]))
    model.AddFixedConstraint(ids[1], cart, RigidTransform(), Box(0.2, 0.2, 0.01), RigidTransform())
    plant.Finalize()
    context = plant.CreateDefaultContext()
    with pytest.raises(RuntimeError, match=r"'towed' is fixed to rigid body 'cart'. Weld that"):
        differentiate_motion(model.GetBody(ids[1]), context, 1, ["youngs_modulus"])
    with pytest.raises(RuntimeError, match=r"Deformable body 'free'"):
        differentiate_equilibrium(model.GetBody(ids[0]), context, ["youngs_modulus"])
