"""Functions of MultibodyPlant: frames and shapes in a SceneGraph."""

from __future__ import annotations

from merganser.multibody.plant.contact_geometry import ContactGeometry
from merganser.multibody.plant.delegation import from_part
from merganser.multibody.plant.geometry_registration import GeometryRegistration

__all__ = ["GeometryFace"]


class GeometryFace:
    """Frames of the bodies in a SceneGraph, and the shapes fixed to them."""

    _geometry: GeometryRegistration
    _contact_geometry: ContactGeometry

    # ------------------------------------------------------------------ source and frames

    RegisterAsSourceForSceneGraph = from_part(GeometryRegistration.register_as_source_for_scene_graph)
    geometry_source_is_registered = from_part(GeometryRegistration.geometry_source_is_registered)
    get_source_id = from_part(GeometryRegistration.get_source_id)
    AddRigidBody = from_part(GeometryRegistration.add_rigid_body)
    RenameModelInstance = from_part(GeometryRegistration.rename_model_instance)
    GetBodyFrameIdIfExists = from_part(GeometryRegistration.get_body_frame_id_if_exists)
    GetBodyFrameIdOrThrow = from_part(GeometryRegistration.get_body_frame_id_or_throw)
    GetBodyFromFrameId = from_part(GeometryRegistration.get_body_from_frame_id)

    # ------------------------------------------------------------------ shapes

    RegisterVisualGeometry = from_part(GeometryRegistration.register_visual_geometry)
    RegisterCollisionGeometry = from_part(GeometryRegistration.register_collision_geometry)
    GetVisualGeometriesForBody = from_part(GeometryRegistration.get_visual_geometries_for_body)
    GetCollisionGeometriesForBody = from_part(GeometryRegistration.get_collision_geometries_for_body)
    num_collision_geometries = from_part(GeometryRegistration.num_collision_geometries)
    num_visual_geometries = from_part(GeometryRegistration.num_visual_geometries)

    # ------------------------------------------------------------------ collision filters

    CollectRegisteredGeometries = from_part(GeometryRegistration.collect_registered_geometries)
    EvalSceneGraphInspector = from_part(ContactGeometry.eval_inspector)
