"""The bodies and joints of a plant as a graph: for Graphviz, and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merganser.multibody.plant.model import PlantModel

if TYPE_CHECKING:
    from merganser.multibody.tree import Joint, RigidBody

_FACES = ("#f7f2e6", "#eef3fa", "#eaf5ea", "#f6ecf5", "#fdf0e6", "#e9f5f5")  # of model instances, in turn
_LINE, _CHARACTER, _ROW, _GAP, _MARGIN = 0.2, 0.085, 1.05, 0.35, 0.3  # lengths in inches
_LOOP_ROOM = 0.7  # for the arcs of joints that close loops


def topology_graphviz_string(model: PlantModel) -> str:
    """Returns the bodies, by model instance, and the joints between them in Graphviz's language, for `dot`."""
    tree = model.tree
    lines = ["digraph MultibodyPlant {", f'label="{_escaped(model.system.get_name())}";', "rankdir=BT;", "labelloc=t;"]
    for instance in range(tree.num_model_instances()):
        name = _escaped(tree.GetModelInstanceName(instance))
        lines += [f"subgraph cluster{instance} {{", f' label="{name}";']
        for body in tree.bodies.in_instance(instance):
            lines.append(f' body{int(body.index())} [label="{_escaped(body.name())}"];')
        lines.append("}")
    for joint in (*tree.joints, *tree.loop_joints):
        child, parent = int(joint.child_body().index()), int(joint.parent_body().index())
        label = _escaped(f"{joint.name()} [{joint.type_name()}]")
        style = ", style=dashed, constraint=false" if joint._closes_loop else ""
        lines.append(f'body{child} -> body{parent} [label="{label}"{style}];')
    return "\n".join([*lines, "}", ""])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


# ---------------------------------------------------------------------- picture


class _Box:
    """One body: its place in the picture (upper middle), the joint above it, and the bodies that hang on it."""

    def __init__(self, body: RigidBody, joint: Joint | None) -> None:
        self.body, self.joint = body, joint
        self.children: list[_Box] = []
        self.x = self.y = 0.0
        edge = 0 if joint is None else max(len(joint.name()), len(joint.type_name())) + 2
        self.width = _CHARACTER * (max(len(body.name()), edge) + 3)

    def all(self) -> Iterator[_Box]:
        yield self
        for child in self.children:
            yield from child.all()


def plot_topology(plant: Any, path: str | Path | None = None, title: str | None = None) -> Any:
    """Draws the tree of a plant: bodies as boxes, coloured by model instance, joints as lines to what moves on them.

    Joints that close loops are dashed lines between the bodies that they connect.

    Bodies that no joint connects to the world yet are drawn beside it; Finalize() connects them.

    Args:
        plant: the MultibodyPlant.
        path: where to save the picture; its ending says the format.
        title: above the picture; by default the name of the plant.

    Returns:
        The matplotlib Figure.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    roots = _make_boxes(plant._tree)
    right = 0.0
    for root in roots:
        right = _place(root, right, 0.0) + _GAP
    boxes = [box for root in roots for box in root.all()]
    bottom = min(box.y for box in boxes) - 2 * _LINE
    left = -_MARGIN - (_LOOP_ROOM if len(plant._tree.loop_joints) else 0.0)
    figure = Figure(figsize=(right + _MARGIN - left, -bottom + 2 * _MARGIN + 2 * _LINE))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(left, right + _MARGIN), ylim=(bottom - _MARGIN, _MARGIN + 2 * _LINE))
    axes.set_axis_off()
    name = title or plant.get_name() or "MultibodyPlant"
    axes.text(right / 2, 2 * _LINE, name, ha="center", va="center", fontsize=12)
    for box in boxes:
        _draw(axes, box)
    box_of = {box.body: box for box in boxes}
    for joint in plant._tree.loop_joints:
        _draw_loop(axes, joint, box_of[joint.parent_body()], box_of[joint.child_body()])
    if path is not None:
        figure.savefig(path, dpi=130)
    return figure


def _make_boxes(tree: Any) -> list[_Box]:
    """The trees of boxes, the world's first. A joint may lead away from the world to its parent or to its child."""
    joints_of: dict[Any, list[Joint]] = {}
    for joint in tree.joints:
        for body in (joint.parent_body(), joint.child_body()):
            joints_of.setdefault(body, []).append(joint)
    children = {joint.child_body() for joint in tree.joints}
    roots: list[_Box] = []
    seen: set[Any] = set()
    # Loose parts hang on a body that is not a joint's child.
    for body in [tree.world_body(), *(b for b in tree.bodies if b not in children), *tree.bodies]:
        if body not in seen:
            roots.append(_Box(body, None))
            waiting = [roots[-1]]
            seen.add(body)
            while waiting:
                box = waiting.pop()
                for joint in joints_of.get(box.body, []):
                    other = joint.child_body() if joint.parent_body() is box.body else joint.parent_body()
                    if other not in seen:
                        seen.add(other)
                        box.children.append(_Box(other, joint))
                waiting += box.children
    return roots


def _place(box: _Box, left: float, y: float) -> float:
    """Places a box above the middle of what hangs on it; returns the right edge of all that."""
    box.y = y
    right = left
    for child in box.children:
        right = _place(child, right, y - _ROW) + _GAP
    right = max(right - _GAP, left + box.width)
    middles = [child.x for child in box.children] or [left + box.width / 2]
    box.x = (middles[0] + middles[-1]) / 2
    return right


def _draw(axes: Any, box: _Box) -> None:
    """Draws a box with the lines to those below, and names and types of their joints."""
    from matplotlib.patches import FancyBboxPatch

    width = _CHARACTER * (len(box.body.name()) + 3)
    face = _FACES[int(box.body.model_instance()) % len(_FACES)]
    patch = FancyBboxPatch(
        (box.x - width / 2, box.y - 1.5 * _LINE), width, 1.5 * _LINE, boxstyle="round,pad=0,rounding_size=0.05",
        facecolor=face, edgecolor="#30507a", linewidth=1.1, zorder=2,
    )  # fmt: skip
    axes.add_patch(patch)
    axes.text(box.x, box.y - 0.75 * _LINE, box.body.name(), ha="center", va="center", fontsize=9, zorder=3)
    for child in box.children:
        assert child.joint is not None
        axes.plot([box.x, child.x], [box.y - 1.5 * _LINE, child.y], color="#777777", linewidth=1.0, zorder=1)
        label = f"{child.joint.name()}\n[{child.joint.type_name()}]"
        axes.text(
            child.x, child.y + 0.12, label, ha="center", va="bottom", fontsize=7, color="#444444", zorder=3,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.85},
        )  # fmt: skip


def _draw_loop(axes: Any, joint: Joint, parent: _Box, child: _Box) -> None:
    """Draws a joint that closes a loop, as a dashed arc that bulges to the left or below, with its name and type."""
    from matplotlib.patches import FancyArrowPatch

    x0, x1 = (box.x - _CHARACTER * (len(box.body.name()) + 3) / 2 for box in (parent, child))
    y0, y1 = (box.y - 0.75 * _LINE for box in (parent, child))
    length = max(((x1 - x0) ** 2 + (y1 - y0) ** 2) ** 0.5, _LINE)
    bulge = (1.0 if (y0, x1) >= (y1, x0) else -1.0) * min(0.35, 2.0 * _LOOP_ROOM / length)
    arc = FancyArrowPatch(
        (x0, y0), (x1, y1), connectionstyle=f"arc3,rad={bulge}", arrowstyle="-", linestyle="dashed", color="#a05030",
        linewidth=1.0, shrinkA=0.0, shrinkB=0.0, zorder=1,
    )  # fmt: skip
    axes.add_patch(arc)
    axes.text(
        (x0 + x1) / 2 + bulge * (y1 - y0) / 2, (y0 + y1) / 2 - bulge * (x1 - x0) / 2,
        f"{joint.name()}\n[{joint.type_name()}]", ha="center", va="center", fontsize=7, color="#a05030", zorder=3,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.85},
    )  # fmt: skip
