"""Elements and geometry are added to a plant together, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from merganser.geometry.scene_graph import forget_from
from merganser.multibody.plant.geometry_registration import GeometryRegistration
from merganser.multibody.tree import MultibodyTree

__all__ = ["all_or_nothing"]


@contextmanager
def all_or_nothing(plant: Any) -> Iterator[None]:
    """Takes back what was added to a plant, and to its SceneGraph, if what is inside ends in an exception.

    Inside, elements and geometry may be added before Finalize(), default poses of free bodies may be set, and gravity.

    Args:
        plant: a MultibodyPlant.
    """
    tree: MultibodyTree = plant._tree
    if tree.is_finalized():
        yield
        return
    tree_as_it_was, geometry_as_it_was = _TreeMark(tree), _GeometryMark(plant._geometry)
    try:
        yield
    except BaseException:
        geometry_as_it_was.restore()
        tree_as_it_was.restore()
        raise


class _TreeMark:
    """How many elements a tree has, which later ones follow; and gravity."""

    def __init__(self, tree: MultibodyTree) -> None:
        self._tree = tree
        self._collections = [
            (collection, collection.next_index())
            for collection in (tree.bodies, tree.frames, tree.joints, tree.loop_joints, tree.actuators)
        ]
        self._lists = [
            (items, len(items)) for items in (tree._instance_names, tree.force_elements, tree._stabilization_times)
        ]
        self._num_constraints = len(tree.constraints)
        self._gravity = np.array(tree.gravity_vector())

    def restore(self) -> None:
        """Takes out all elements that came later."""
        tree = self._tree
        for collection, index in self._collections:
            collection.forget_from(index)
        for items, length in self._lists:
            del items[length:]
        tree.constraints.forget_from(self._num_constraints)
        for of_body in (tree._default_floating_poses, tree._default_floating_dampings):
            for body in [body for body in of_body if not tree.bodies.has_index(body.index())]:
                del of_body[body]
        for bodies, joint in list(tree._joint_between.items()):
            if not tree.joints.has_index(joint.index()):
                del tree._joint_between[bodies]
        if not np.array_equal(tree.gravity_vector(), self._gravity):
            tree.gravity_field().set_gravity_vector(self._gravity)


class _GeometryMark:
    """How many frames and geometries the SceneGraph of a plant has."""

    def __init__(self, geometry: GeometryRegistration) -> None:
        self._geometry, self._scene_graph = geometry, geometry.scene_graph
        if self._scene_graph is not None:
            inspector = self._scene_graph.model_inspector()
            self._sizes = inspector.num_frames(), inspector.num_geometries()

    def restore(self) -> None:
        """Takes out all frames and geometries that came later; with them go their collision filters."""
        if self._scene_graph is None:
            return
        geometry, state = self._geometry, forget_from(self._scene_graph, *self._sizes)
        for of_body in (geometry.visual_geometries, geometry.collision_geometries):
            for body, ids in list(of_body.items()):
                ids[:] = [id for id in ids if id in state.geometries]
                if not ids:
                    del of_body[body]
        geometry.frame_ids = {body: id for body, id in geometry.frame_ids.items() if id in state.frames}
