"""A finalized tree once more, as the inside of another plant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from merganser.multibody.tree.element_collection import ElementCollection

if TYPE_CHECKING:
    from merganser.multibody.tree.tree import MultibodyTree

def copy_finalized_tree(tree: MultibodyTree, plant: Any) -> MultibodyTree:
    """Returns a tree that is equal to a finalized one and belongs to another plant.

    The elements are others, since each knows its plant and has defaults that may be set. Everything that they and the
    tree refer to beside elements is shared: Finalize() has made it for good, or it is replaced, never changed in place,
    when a default is set.
    """
    originals: list[Any] = [
        *tree.bodies, *tree.frames, *tree.joints, *tree.loop_joints, *tree.actuators, *tree.force_elements,
        *tree._mobilizer_objects, *tree._added_mobilizers.values(),
    ]  # fmt: skip
    copied: Any = object.__new__(type(tree))
    copies = {id(original): object.__new__(type(original)) for original in originals}
    copies |= {id(tree): copied, id(tree.plant): plant}
    for original in originals:
        content = vars(copies[id(original)])
        for name, value in vars(original).items():
            content[name] = copies.get(id(value), value)
    for name, value in vars(tree).items():
        setattr(copied, name, _with_copies(value, copies, copied))
    copied._joint_between = {}  # of use before Finalize() only
    # These are filled when first read, and not changed afterwards.
    copied._fixed_parameters, copied._fixed_frames = tree._fixed_parameters, tree._fixed_frames
    result: MultibodyTree = copied
    return result


def _with_copies(value: Any, copies: dict[int, Any], tree: MultibodyTree) -> Any:
    """An attribute of a tree with its elements replaced by copies; lists and dictionaries are new."""
    if type(value) is list:
        return [copies.get(id(item), item) for item in value]
    if type(value) is dict:
        return {copies.get(id(key), key): copies.get(id(item), item) for key, item in value.items()}
    if isinstance(value, ElementCollection):
        return value.with_copies(copies, tree.GetModelInstanceName, tree._plant_name)
    return copies.get(id(value), value)
