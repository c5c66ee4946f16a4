"""All that a plant which is not finalized, its SceneGraph and its parser know, as plain values that can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from merganser.framework import System
from merganser.geometry.registration.properties import GeometryVersion
from merganser.geometry.scene.collision_filters import CollisionFilters

_PLAIN = (int, float, str, bytes, bool, type(None))
_MADE_WHEN_NEEDED = ("_pose_layouts", "_proximity_layouts", "_resolved")


def picture_of(plant: Any, parser: Any = None) -> Any:
    """Every attribute of every object that a plant or a parser has, but for what only makes answers faster."""
    parts = [plant._tree, plant._geometry]
    graph = plant._geometry.scene_graph
    if graph is not None:
        ids = list(graph._model.filters._slots)
        parts += [graph._model, graph._model.filters.excluded(ids) if ids else None]
    if parser is not None:
        parts += [parser._package_map, parser._filter_groups]
    return _picture(parts, {})


def _picture(value: Any, seen: dict[int, int]) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.ndarray):
        return value.shape, value.tobytes() if value.dtype != object else len(value)
    if isinstance(value, dict):
        return [(_picture(key, seen), _picture(item, seen)) for key, item in value.items()]
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, (_picture(item, seen) for item in value)))
    if isinstance(value, (list, tuple)):
        return [_picture(item, seen) for item in value]
    kind = type(value)
    if isinstance(value, (System, GeometryVersion, CollisionFilters)) or not kind.__module__.startswith("merganser"):
        return kind.__name__
    if id(value) in seen:
        return kind.__name__, seen[id(value)]
    seen[id(value)] = len(seen)
    slots = (name for cls in kind.__mro__ for name in getattr(cls, "__slots__", ()))
    names = [*slots, *getattr(value, "__dict__", ())]
    attributes = [(name, getattr(value, name, None)) for name in names if name not in _MADE_WHEN_NEEDED]
    return kind.__name__, [(name, _picture(item, seen)) for name, item in attributes]
