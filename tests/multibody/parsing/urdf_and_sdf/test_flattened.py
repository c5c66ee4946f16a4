"""Names with scopes in SDFormat up to 1.7 mean the nested models that they were before a program flattened them."""

from __future__ import annotations

import numpy as np
import pytest

from merganser.multibody.parsing import Parser, ParsingError
from merganser.multibody.plant import MultibodyPlant

INERTIA = "<inertial><mass>2</mass><inertia><ixx>.1</ixx><iyy>.2</iyy><izz>.25</izz></inertia></inertial>"


def link(name: str, pose: str = "") -> str:
    return f'<link name="{name}">{pose}{INERTIA}</link>'


def joint(name: str, parent: str, child: str, axis: str = "<xyz>0 0 1</xyz>") -> str:
    ends = f"<parent>{parent}</parent><child>{child}</child>"
    return f'<joint name="{name}" type="revolute">{ends}<axis>{axis}</axis></joint>'


def read(body: str, version: str) -> MultibodyPlant:
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(f'<sdf version="{version}">{body}</sdf>', "sdf")
    plant.Finalize()
    return plant


def scoped_names(plant: MultibodyPlant) -> set[str]:
    return {str(body.scoped_name().get_full()) for body in map(plant.get_body, range(1, plant.num_bodies()))}


def assert_same(plant: MultibodyPlant, other: MultibodyPlant) -> None:
    """The same bodies in the same places, with the same mass matrix up to the order of bodies."""
    context, other_context = plant.CreateDefaultContext(), other.CreateDefaultContext()
    assert scoped_names(plant) == scoped_names(other)
    assert plant.num_positions() == other.num_positions()
    eigenvalues = [np.linalg.eigvalsh(p.CalcMassMatrix(c)) for p, c in ((plant, context), (other, other_context))]
    np.testing.assert_allclose(*eigenvalues, atol=1e-12)
    for name in scoped_names(plant):
        scope, _, own = name.rpartition("::")
        X_WB, X_WB_other = (
            p.EvalBodyPoseInWorld(c, p.GetBodyByName(own, p.GetModelInstanceByName(scope)))
            for p, c in ((plant, context), (other, other_context))
        )
        np.testing.assert_allclose(X_WB.GetAsMatrix4(), X_WB_other.GetAsMatrix4(), atol=1e-12)


TURNED = "<pose>1 0 0 0 0 .5</pose>"
FLAT = (
    f'<model name="cart">{link("base")}{link("arm::one", TURNED)}{link("arm::hand::palm", "<pose>2 0 1 0 0 0</pose>")}'
    f'{joint("mount", "base", "arm::one")}{joint("arm::elbow", "arm::one", "arm::hand::palm")}</model>'
)
NESTED = (
    f'<model name="cart">{link("base")}<model name="arm">{link("one", TURNED)}<model name="hand">'
    f'{link("palm", "<pose>2 0 1 0 0 0</pose>")}</model>{joint("elbow", "one", "hand::palm")}</model>'
    f'{joint("mount", "base", "arm::one")}</model>'
)


@pytest.mark.parametrize("version", ["1.5", "1.6", "1.7"])
def test_scoped_names_are_nested_models(version):
    assert_same(read(FLAT, version), read(NESTED, version))


def test_frame_of_a_nested_model_says_where_it_is_and_what_it_moves_with():
    frame = (
        '<frame name="arm::__model__" attached_to="arm::two"><pose relative_to="__model__">3 0 0 0 0 1</pose></frame>'
        '<frame name="arm::tip" attached_to="arm::__model__"><pose>0 0 1 0 0 0</pose></frame>'
    )
    inner = (
        '<link name="{0}one"><pose relative_to="{0}tip"/>{1}</link><link name="{0}two"><pose relative_to="{0}tip">0 1 0'
        " 0 0 0</pose>{1}</link>"
    )
    axis = '<xyz expressed_in="{}__model__">0 1 0</xyz>'
    elbow = joint("arm::elbow", "arm::one", "arm::two", axis.format("arm::"))
    flat = f'<model name="m">{link("base")}{frame}{inner.format("arm::", INERTIA)}{elbow}</model>'
    own = '<frame name="tip"><pose>0 0 1 0 0 0</pose></frame>' + joint("elbow", "one", "two", axis.format(""))
    nested = (
        f'<model name="m">{link("base")}<model name="arm" canonical_link="two"><pose>3 0 0 0 0 1</pose>{own}'
        f"{inner.format('', INERTIA)}</model></model>"
    )
    plant = read(flat, "1.7")
    assert_same(plant, read(nested, "1.7"))
    assert plant.GetFrameByName("__model__", plant.GetModelInstanceByName("m::arm")).body().name() == "two"


def test_model_of_a_file_may_have_a_scoped_name():
    assert scoped_names(read(f'<model name="lab::cart">{link("base")}</model>', "1.7")) == {"lab::cart::base"}


def test_later_versions_know_no_scoped_names():
    with pytest.raises(ParsingError, match=r'<link name="arm::one"> has a reserved name'):
        read(FLAT, "1.8")
