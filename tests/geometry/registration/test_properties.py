"""Properties, contact materials and colors."""

import copy
import math

import numpy as np
import pytest

from merganser.geometry import (
    AddContactMaterial,
    GeometryProperties,
    IllustrationProperties,
    MakePhongIllustrationProperties,
    PerceptionProperties,
    ProximityProperties,
    Rgba,
    Role,
    RoleAssign,
)


def test_property_comes_back_as_it_was_added() -> None:
    properties = ProximityProperties()
    properties.AddProperty("material", "name", "steel")
    assert properties.GetProperty("material", "name") == "steel"
    assert properties.HasProperty("material", "name")
    assert properties.HasGroup("material")
    assert not properties.HasProperty("material", "density")
    assert not properties.HasProperty("other", "name")
    assert properties.GetPropertyOrDefault("material", "density", 7800.0) == 7800.0
    assert properties.GetPropertyOrDefault("material", "name", "wood") == "steel"


def test_default_group_always_exists() -> None:
    properties = IllustrationProperties()
    assert properties.GetGroupNames() == {GeometryProperties.default_group_name()}
    assert properties.num_groups() == 1
    assert properties.GetPropertiesInGroup(properties.default_group_name()) == {}


def test_properties_of_a_group_come_in_boxes() -> None:
    properties = ProximityProperties()
    properties.AddProperty("g", "a", 1)
    properties.AddProperty("g", "b", [2.0])
    boxes = properties.GetPropertiesInGroup("g")
    assert {name: box.get_value() for name, box in boxes.items()} == {"a": 1, "b": [2.0]}


def test_property_is_added_only_once() -> None:
    properties = ProximityProperties()
    properties.AddProperty("g", "a", 1)
    with pytest.raises(RuntimeError, match=r"property \('g', 'a'\) exists, with value 1"):
        properties.AddProperty("g", "a", 2)
    assert properties.GetProperty("g", "a") == 1


def test_update_keeps_the_type_or_adds() -> None:
    properties = ProximityProperties()
    properties.UpdateProperty("g", "a", 1.0)
    properties.UpdateProperty("g", "a", 2.0)
    with pytest.raises(RuntimeError, match=r"\('g', 'a'\) is of type float; it cannot take a value of type str"):
        properties.UpdateProperty("g", "a", "two")
    assert properties.GetProperty("g", "a") == 2.0


def test_missing_property_names_what_there_is() -> None:
    properties = ProximityProperties()
    properties.AddProperty("g", "a", 1)
    with pytest.raises(RuntimeError, match=r"no property \('g', 'b'\); known: 'a'"):
        properties.GetProperty("g", "b")
    with pytest.raises(RuntimeError, match="no property group 'h'; known: '__default__', 'g'"):
        properties.GetProperty("h", "b")
    with pytest.raises(RuntimeError, match="no property group 'h'"):
        properties.GetPropertiesInGroup("h")


def test_removed_property_is_gone_and_its_group_stays() -> None:
    properties = ProximityProperties()
    properties.AddProperty("g", "a", 1)
    assert properties.RemoveProperty("g", "a")
    assert not properties.RemoveProperty("g", "a")
    assert not properties.HasProperty("g", "a")
    assert properties.HasGroup("g")


def test_copies_and_values_are_independent() -> None:
    value = np.zeros(2)
    properties = ProximityProperties()
    properties.AddProperty("g", "a", value)
    value[0] = 1.0
    assert properties.GetProperty("g", "a").tolist() == [0.0, 0.0]
    for other in (copy.copy(properties), copy.deepcopy(properties), PerceptionProperties(properties)):
        other.GetProperty("g", "a")[0] = 2.0
        other.RemoveProperty("g", "a")
    assert properties.GetProperty("g", "a").tolist() == [0.0, 0.0]


def test_properties_belong_to_a_role() -> None:
    with pytest.raises(TypeError, match="belong to a role"):
        GeometryProperties()
    roles = [cls().role for cls in (ProximityProperties, IllustrationProperties, PerceptionProperties)]
    assert roles == [Role.kProximity, Role.kIllustration, Role.kPerception]
    assert [int(role) for role in Role] == [0, 1, 2, 4]
    assert [int(assign) for assign in RoleAssign] == [0, 1]
    assert repr(Role.kProximity) == "<Role.kProximity: 1>"


def test_contact_material_adds_what_is_given() -> None:
    friction = object()
    properties = ProximityProperties()
    AddContactMaterial(properties, dissipation=2, friction=friction)
    assert properties.GetProperty("material", "hunt_crossley_dissipation") == 2.0
    assert properties.HasProperty("material", "coulomb_friction")
    assert not properties.HasProperty("material", "point_contact_stiffness")


def test_contact_material_takes_the_properties_last_too() -> None:
    properties = ProximityProperties()
    AddContactMaterial(1.0, 1e5, None, properties)
    assert properties.GetProperty("material", "point_contact_stiffness") == 1e5
    assert properties.GetProperty("material", "hunt_crossley_dissipation") == 1.0


@pytest.mark.parametrize(
    "bad",
    [
        {"dissipation": -1.0},
        {"dissipation": math.nan},
        {"point_stiffness": 0.0},
        {"point_stiffness": math.nan},
    ],
)
def test_contact_material_out_of_range_adds_nothing(bad: dict) -> None:
    properties = ProximityProperties()
    with pytest.raises(RuntimeError, match="must be finite"):
        AddContactMaterial(properties, **{"dissipation": 1.0, "point_stiffness": 1.0} | bad)
    assert not properties.HasGroup("material")


def test_contact_material_that_exists_is_refused_before_anything_is_added() -> None:
    properties = ProximityProperties()
    AddContactMaterial(properties, point_stiffness=1.0)
    with pytest.raises(RuntimeError, match=r"'point_contact_stiffness'.* exists already"):
        AddContactMaterial(properties, dissipation=1.0, point_stiffness=2.0)
    assert list(properties.GetPropertiesInGroup("material")) == ["point_contact_stiffness"]
    with pytest.raises(TypeError, match="adds to ProximityProperties"):
        AddContactMaterial(IllustrationProperties(), dissipation=1.0)


def test_phong_properties_hold_the_diffuse_color() -> None:
    properties = MakePhongIllustrationProperties([0.1, 0.2, 0.3, 0.4])
    assert properties.GetProperty("phong", "diffuse") == Rgba(0.1, 0.2, 0.3, 0.4)


def test_color_is_opaque_white_by_default() -> None:
    assert Rgba() == Rgba(1, 1, 1, 1) == Rgba(1.0, 1.0, 1.0)
    assert Rgba(0.1, 0.2, 0.3).rgba.tolist() == [0.1, 0.2, 0.3, 1.0]


def test_color_can_be_set_updated_scaled_and_multiplied() -> None:
    color = Rgba()
    color.set([0.1, 0.2, 0.3])
    assert color == Rgba(0.1, 0.2, 0.3, 1.0)
    color.set(0.4, 0.5, 0.6, a=0.5)
    color.update(g=0.25)
    assert (color.r(), color.g(), color.b(), color.a()) == (0.4, 0.25, 0.6, 0.5)
    color.rgba = [0.5, 0.5, 1.0, 0.5]
    assert color.scale_rgb(1.5) == Rgba(0.75, 0.75, 1.0, 0.5)
    assert color * color == Rgba(0.25, 0.25, 1.0, 0.25)
    assert eval(repr(color)) == color


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan])
def test_color_outside_its_range_is_refused_and_changes_nothing(bad: float) -> None:
    color = Rgba(0.1, 0.2, 0.3)
    for change in (lambda: Rgba(0, 0, bad), lambda: color.set([0, bad, 0]), lambda: color.update(r=bad)):
        with pytest.raises(RuntimeError, match=r"must lie within \[0, 1\]"):
            change()
    with pytest.raises(RuntimeError, match="3 or 4 elements; this one has 2"):
        color.set([0.1, 0.2])
    with pytest.raises(RuntimeError, match="not negative"):
        color.scale_rgb(-1.0)
    assert color == Rgba(0.1, 0.2, 0.3)
