"""Names of contacts in a viewer: by their bodies, and by geometries where that is ambiguous."""

from __future__ import annotations

from merganser.geometry import GeometryId, SceneGraphInspector
from merganser.multibody.plant import MultibodyPlant


class ContactNames:
    """Names of geometries: 'model.body.geometry', without the model where no other one has a body of this name, and
    without the geometry where it is the only one of its body with contacts. Contacts of kinds that a
    program brings have the name of the kind in the place of geometries.

    Args:
        plant: whose bodies they belong to.
        inspector: of the SceneGraph; without it geometries are named by their ids.
    """

    def __init__(self, plant: MultibodyPlant, inspector: SceneGraphInspector | None) -> None:
        self._plant = plant
        self._inspector = inspector
        self._known: dict[GeometryId, str] = {}
        self._bodies = {
            geometry_id: plant.get_body(index)
            for index in plant.GetBodyIndices()
            for geometry_id in plant.GetCollisionGeometriesForBody(plant.get_body(index))
        }
        self._of_kinds = plant.GetContactSides()

    def pair(self, id_A: GeometryId, id_B: GeometryId) -> str:
        """The name of the contact of two geometries."""
        return f"{self._name(id_A)}+{self._name(id_B)}"

    def _name(self, geometry_id: GeometryId) -> str:
        name = self._known.get(geometry_id)
        if name is None:
            name = self._known[geometry_id] = self._make_name(geometry_id)
        return name

    def _make_name(self, geometry_id: GeometryId) -> str:
        inspector, body = self._inspector, self._bodies.get(geometry_id)
        if geometry_id in self._of_kinds:
            index, kind = self._of_kinds[geometry_id]
            return f"{self._plant.get_body(index).name()}.{kind}"
        name = f"Id({geometry_id.get_value()})"
        if inspector is not None:
            name = inspector.GetName(geometry_id).rpartition("::")[2]
        if body is None:
            return name
        parts = [body.name()]
        if self._plant.NumBodiesWithName(body.name()) > 1:
            parts.insert(0, self._plant.GetModelInstanceName(body.model_instance()))
        if len(self._plant.GetCollisionGeometriesForBody(body)) > 1:
            parts.append(name)
        return ".".join(parts)
