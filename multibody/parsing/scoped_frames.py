"""Frames by scoped name."""

from __future__ import annotations

__all__ = ["GetScopedFrameByName", "GetScopedFrameByNameMaybe"]

from typing import Any

from merganser.multibody.tree import Frame, ScopedName


def GetScopedFrameByName(plant: Any, full_name: str) -> Frame:
    """Returns a frame by its name, which may be scoped by the name of its model instance: instance::frame.

    Raises:
        RuntimeError: there is no such frame or model instance, or there are several frames of a name without scope.
    """
    name = ScopedName.Parse(full_name)
    instance = plant.GetModelInstanceByName(name.get_namespace()) if name.get_namespace() else None
    frame: Frame = plant.GetFrameByName(name.get_element(), instance)
    return frame


def GetScopedFrameByNameMaybe(plant: Any, full_name: str) -> Frame | None:
    """Returns a frame by its name, as GetScopedFrameByName() does, or None if there is none.

    Raises:
        RuntimeError: there are several frames of a name without scope.
    """
    name = ScopedName.Parse(full_name)
    if not name.get_namespace():
        return GetScopedFrameByName(plant, full_name) if plant.HasFrameNamed(name.get_element()) else None
    if not plant.HasModelInstanceNamed(name.get_namespace()):
        return None
    instance = plant.GetModelInstanceByName(name.get_namespace())
    return GetScopedFrameByName(plant, full_name) if plant.HasFrameNamed(name.get_element(), instance) else None
