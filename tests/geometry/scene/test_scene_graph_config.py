"""Default proximity properties, and the functions that give hydroelastic ones."""

import copy
from typing import Any

import pytest

from merganser.framework.math import RigidTransform
from merganser.geometry import (
    AddCompliantHydroelasticProperties,
    AddCompliantHydroelasticPropertiesForHalfSpace,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    DefaultProximityProperties,
    GeometryId,
    GeometryInstance,
    GeometryVersion,
    ProximityProperties,
    Role,
    RoleAssign,
    SceneGraph,
    SceneGraphConfig,
    SceneGraphInspector,
    Sphere,
)
from merganser.geometry.registration.materials import CoulombFriction, HydroelasticType


class Scene:
    def __init__(self, properties: ProximityProperties) -> None:
        self.graph = SceneGraph()
        self.source = self.graph.RegisterSource("s")
        self.ball = self.graph.RegisterAnchoredGeometry(self.source, ball(properties, "ball"))

    def in_context(self, context: Any = None) -> SceneGraphInspector:
        context = context or self.graph.CreateDefaultContext()
        return self.graph.get_query_output_port().Eval(context).inspector()


def ball(properties: ProximityProperties, name: str) -> GeometryInstance:
    instance = GeometryInstance(RigidTransform(), Sphere(1.0), name)
    instance.set_proximity_properties(properties)
    return instance


def values(inspector: SceneGraphInspector, id: GeometryId) -> dict[str, Any]:
    properties = inspector.GetProximityProperties(id)
    assert properties is not None
    return {
        f"{group}.{name}": box.get_value()
        for group in properties.GetGroupNames()
        for name, box in properties.GetPropertiesInGroup(group).items()
    }


DEFAULTS = {
    "hydroelastic.compliance_type": HydroelasticType.kUndefined,
    "hydroelastic.hydroelastic_modulus": 1e7,
    "hydroelastic.resolution_hint": 0.02,
    "material.coulomb_friction": CoulombFriction(0.5, 0.5),
    "material.hunt_crossley_dissipation": 50.0,
    "material.relaxation_time": 0.1,
    "material.point_contact_stiffness": 1e6,
}


def test_a_context_has_the_defaults_and_the_model_does_not() -> None:
    scene = Scene(ProximityProperties())
    assert values(scene.in_context(), scene.ball) == DEFAULTS
    assert values(scene.graph.model_inspector(), scene.ball) == {}


def test_properties_that_a_geometry_has_itself_stay() -> None:
    properties = ProximityProperties()
    AddContactMaterial(properties, point_stiffness=5.0, friction=CoulombFriction(0.1, 0.05))
    AddRigidHydroelasticProperties(properties)
    scene = Scene(properties)
    expected = DEFAULTS | {
        "material.point_contact_stiffness": 5.0,
        "material.coulomb_friction": CoulombFriction(0.1, 0.05),
        "hydroelastic.compliance_type": HydroelasticType.kRigid,
    }
    assert values(scene.in_context(), scene.ball) == expected


def test_roles_given_in_a_context_get_the_defaults_of_that_context() -> None:
    scene = Scene(ProximityProperties())
    context = scene.graph.CreateDefaultContext()
    scene.graph.set_config(
        SceneGraphConfig(default_proximity_properties=DefaultProximityProperties(hydroelastic_modulus=3.0))
    )
    late = scene.graph.RegisterGeometry(
        context, scene.source, SceneGraph.world_frame_id(), ball(ProximityProperties(), "late")
    )
    scene.graph.AssignRole(context, scene.source, scene.ball, ProximityProperties(), RoleAssign.kReplace)
    for id in (late, scene.ball):
        assert values(scene.in_context(context), id) == DEFAULTS
    assert values(scene.in_context(), scene.ball)["hydroelastic.hydroelastic_modulus"] == 3.0
    assert scene.graph.get_config(context) == SceneGraphConfig()


def test_none_gives_no_property() -> None:
    scene = Scene(ProximityProperties())
    defaults = DefaultProximityProperties(
        compliance_type="compliant",
        margin=1e-3,
        slab_thickness=0.3,
        static_friction=None,
        dynamic_friction=None,
        point_stiffness=None,
    )
    config = SceneGraphConfig(default_proximity_properties=defaults)
    scene.graph.set_config(config)
    defaults.margin = 7.0  # of which the copy knows nothing
    found = values(scene.in_context(), scene.ball)
    assert "material.coulomb_friction" not in found
    assert "material.point_contact_stiffness" not in found
    assert found["hydroelastic.margin"] == 1e-3
    assert found["hydroelastic.slab_thickness"] == 0.3
    assert found["hydroelastic.compliance_type"] == HydroelasticType.kCompliant


def test_contexts_of_one_model_have_one_version_and_one_layout() -> None:
    scene = Scene(ProximityProperties())
    first, second = (scene.in_context() for _ in range(2))
    assert first.geometry_version().IsSameAs(second.geometry_version(), Role.kProximity)
    before = GeometryVersion(second.geometry_version())
    scene.graph.RegisterAnchoredGeometry(scene.source, ball(ProximityProperties(), "another"))
    assert not scene.in_context().geometry_version().IsSameAs(before, Role.kProximity)
    states = [scene.graph._state(scene.graph.CreateDefaultContext()) for _ in range(2)]
    assert states[0].proximity_layout() is states[1].proximity_layout()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"compliance_type": "soft"}, "compliance_type must be one of 'undefined', 'rigid', 'compliant'"),
        ({"hydroelastic_modulus": 0.0}, "hydroelastic_modulus must be positive"),
        ({"resolution_hint": float("inf")}, "resolution_hint must be positive and finite"),
        ({"slab_thickness": -1.0}, "slab_thickness must be positive and finite"),
        ({"margin": -1.0}, "margin must be finite and not negative"),
        ({"dynamic_friction": 2.0}, r"dynamic_friction \(2.0\) must not exceed"),
        ({"dynamic_friction": None}, "must both have a value"),
        ({"hunt_crossley_dissipation": float("nan")}, "hunt_crossley_dissipation must be not negative"),
        ({"relaxation_time": float("inf")}, "relaxation_time must be finite"),
        ({"point_stiffness": 0}, "point_stiffness must be positive"),
    ],
)
def test_impossible_defaults_are_refused_and_change_nothing(values: dict[str, Any], message: str) -> None:
    graph = SceneGraph()
    config = SceneGraphConfig(default_proximity_properties=DefaultProximityProperties(**values))
    with pytest.raises(RuntimeError, match=message):
        graph.set_config(config)
    assert graph.get_config() == SceneGraphConfig()


def test_configuration_of_the_wrong_type_is_refused() -> None:
    graph = SceneGraph()
    with pytest.raises(TypeError, match="A SceneGraphConfig was expected"):
        graph.set_config(DefaultProximityProperties())
    with pytest.raises(TypeError, match="point_stiffness must be a number or None; given 'a'"):
        graph.set_config(SceneGraphConfig(default_proximity_properties=DefaultProximityProperties(point_stiffness="a")))
    with pytest.warns(UserWarning, match="no setting 'no_such_field'"):
        DefaultProximityProperties(no_such_field=1.0)


def test_hydroelastic_properties_are_added_under_their_names() -> None:
    cases: list[tuple[Any, tuple[float, ...], dict[str, Any]]] = [
        (AddRigidHydroelasticProperties, (), {"compliance_type": HydroelasticType.kRigid}),
        (
            AddRigidHydroelasticProperties,
            (0.1,),
            {"compliance_type": HydroelasticType.kRigid, "resolution_hint": 0.1},
        ),
        (
            AddCompliantHydroelasticProperties,
            (0.1, 1e7),
            {"compliance_type": HydroelasticType.kCompliant, "resolution_hint": 0.1, "hydroelastic_modulus": 1e7},
        ),
        (
            AddCompliantHydroelasticPropertiesForHalfSpace,
            (0.1, 1e7),
            {"compliance_type": HydroelasticType.kCompliant, "slab_thickness": 0.1, "hydroelastic_modulus": 1e7},
        ),
    ]
    for add, numbers, expected in cases:
        properties = ProximityProperties()
        add(*numbers, properties)
        group = properties.GetPropertiesInGroup("hydroelastic")
        assert {name: box.get_value() for name, box in group.items()} == expected
        before = copy.copy(properties).GetPropertiesInGroup("hydroelastic").keys()
        with pytest.raises(RuntimeError, match="exists already"):
            add(*numbers, properties=properties)
        assert properties.GetPropertiesInGroup("hydroelastic").keys() == before


def test_impossible_hydroelastic_properties_are_refused_and_nothing_is_added() -> None:
    properties = ProximityProperties()
    for act in (
        lambda: AddRigidHydroelasticProperties(-1.0, properties),
        lambda: AddCompliantHydroelasticProperties(float("nan"), 1e7, properties),
        lambda: AddCompliantHydroelasticProperties(0.1, 0.0, properties),
        lambda: AddCompliantHydroelasticPropertiesForHalfSpace(0.0, 1e7, properties),
    ):
        with pytest.raises(RuntimeError, match="must be positive"):
            act()
    assert not properties.HasGroup("hydroelastic")
    with pytest.raises(TypeError, match="adds to ProximityProperties; given None"):
        AddRigidHydroelasticProperties(0.1, None)
