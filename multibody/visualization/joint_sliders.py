"""JointSliders: positions of a plant that users set by sliders in the browser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from merganser.framework import BasicVector, Context, Diagram, LeafSystem
from merganser.framework.core.scalars.scalars import cast_array
from merganser.framework.core.values.arguments import checked_number
from merganser.framework.math import Quaternion, RollPitchYaw
from merganser.geometry.visualizers import Meshcat
from merganser.geometry.visualizers.meshcat import repeat_until_stopped
from merganser.multibody.plant import MultibodyPlant

Array = NDArray[np.float64]

_LIMIT = 10.0  # of sliders whose joints have none, or wider ones [rad, m]
_STEP = 0.01  # [rad, m]
_FREE = 6  # positions, from which on a joint holds its body in no direction
_HALF_TURNS = np.array([math.pi, math.pi / 2, math.pi])  # of roll, pitch and yaw: all orientations [rad]
_BUTTON = "Stop JointSliders"


class JointSliders(LeafSystem):
    """A slider for each position of a plant, in the page of a Meshcat.

    Sliders have the names of joints, with the kind of position after an underscore where a joint has several, such as
    'base_qw'; where two would have one name, all have those of their model instances after a slash, too. In the page,
    the sliders of a joint with rotations and translations, such as a floating base, are a group that is folded away.

    The output is what the sliders say whenever it is asked for, also within one time; where that matters, put a
    ZeroOrderHold behind it.

    Ports:
        output `positions`: in the order of `plant.GetPositions`, shape [num_positions].

    Args:
        meshcat: where the sliders are.
        plant: whose joints they are for; finalized.
        initial_value: to begin with, shape [num_positions]; by default the default positions of the plant.
        lower_limit: of each slider, shape [num_positions], or of all; joint limits that are narrower count. -10 by
            default.
        upper_limit: the same; 10 by default.
        step: of each slider, shape [num_positions], or of all; 0.01 by default.
        decrement_keycodes: keys that take each slider one step down, see `Meshcat.AddButton`; empty for none.
        increment_keycodes: keys that take each one step up.
        turns_by_rpy: whether a quaternion has sliders for roll, pitch and yaw, in its first three places, such as
            'base_roll', instead of four for its elements; limits and keys of its last element are then ignored, and
            those of others are those of the angles [rad].

    Raises:
        TypeError: an argument has another type.
        RuntimeError: the plant is not finalized; something has not as many elements as there are positions, or is not
            finite; a lower limit is above the upper one; the Meshcat has controls of these names already.
    """

    def __init__(
        self,
        meshcat: Meshcat,
        plant: MultibodyPlant,
        initial_value: ArrayLike | None = None,
        lower_limit: ArrayLike | None = None,
        upper_limit: ArrayLike | None = None,
        step: ArrayLike | None = None,
        decrement_keycodes: Sequence[str] = (),
        increment_keycodes: Sequence[str] = (),
        *,
        turns_by_rpy: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(meshcat, Meshcat) or not isinstance(plant, MultibodyPlant):
            raise TypeError(f"JointSliders takes a Meshcat and a MultibodyPlant; given {meshcat!r} and {plant!r}.")
        size = plant.num_positions()
        rows = _rows(plant)
        self._turns = _Turns([row.start for row in rows if row.suffix == "qw"] if turns_by_rpy else [], size)
        low, high = self._turns.limits(*_limits(plant, lower_limit, upper_limit))
        steps = _each("step", _STEP if step is None else step, size)
        given = plant.GetDefaultPositions() if initial_value is None else initial_value
        self._meshcat, self._plant = meshcat, plant
        self._values = _checked("initial_value", given, size)  # where there is no slider
        self._names: list[str] = []
        keys = [
            _keycodes(name, codes, size) for name, codes in
            (("decrement_keycodes", decrement_keycodes), ("increment_keycodes", increment_keycodes))
        ]  # fmt: skip
        output = self.DeclareVectorOutputPort("positions", size, self._calc_positions, {self.time_ticket()})
        output.disable_caching_by_default()
        try:
            values = self._turns.to_sliders(self._values)
            for name, i, row in zip(self._turns.names(rows), self._turns.kept, [rows[i] for i in self._turns.kept]):
                value = values[len(self._names)]
                meshcat.AddSlider(name, low[i], high[i], steps[i], value, keys[0][i], keys[1][i])
                meshcat.put_in_group(name, row.group, is_folded=row.is_free)
                self._names.append(name)
        except BaseException:
            self.Delete()
            raise

    def Delete(self) -> None:
        """Removes the sliders; from now on the output is the initial value, or what `SetPositions` has set last."""
        for name in self._names:
            self._meshcat.DeleteSlider(name, strict=False)
        self._names = []

    def SetPositions(self, q: ArrayLike) -> None:
        """Moves the sliders to positions, which also stay when they are deleted.

        Args:
            q: shape [num_positions].

        Raises:
            RuntimeError: there are more or fewer, or one is not finite.
        """
        self._values = _checked("q", q, len(self._values))
        for name, value in zip(self._names, self._turns.to_sliders(self._values).tolist()):
            self._meshcat.SetSliderValue(name, value)

    def Run(self, diagram: Diagram, timeout: float | None = None, stop_button_keycode: str = "Escape") -> Array:
        """Moves the plant and publishes a diagram whenever a slider is moved, until a button is clicked.

        The button is 'Stop JointSliders'. The plant moves in a Context of its own, whether or not this system is
        connected to anything. Quaternions that are zero are passed over.

        Args:
            diagram: the outermost one around the plant and this system.
            timeout: after which it ends without a click [s].
            stop_button_keycode: a key that clicks the button, too; empty for none.

        Returns:
            The positions of the plant in the end, shape [num_positions].

        Raises:
            TypeError: the first argument is not a diagram.
            ValueError: the plant or this system is not in the diagram, or that is in another one.
        """
        if not isinstance(diagram, Diagram):
            raise TypeError(f"JointSliders.Run() takes the diagram around the plant; given {diagram!r}.")
        context = diagram.CreateDefaultContext()
        self.GetMyContextFromRoot(context)
        inside = self._plant.GetMyMutableContextFromRoot(context)
        shown: Array | None = None

        def publish_if_moved() -> None:
            nonlocal shown
            q = self.positions()
            if shown is None or not np.array_equal(q, shown):
                shown = q
                if move_plant(self._plant, inside, q):
                    diagram.ForcedPublish(context)

        repeat_until_stopped(publish_if_moved, self._meshcat, _BUTTON, stop_button_keycode, timeout)
        return cast_array(self._plant.GetPositions(inside), float)

    def positions(self) -> Array:
        """Positions from the sliders, shape [num_positions]."""
        if not self._names:
            return self._values.copy()
        return self._turns.to_positions(np.array([self._meshcat.GetSliderValue(name) for name in self._names]))

    def _calc_positions(self, context: Context, output: BasicVector) -> None:
        output.SetFromVector(self.positions())


def move_plant(plant: MultibodyPlant, context: Context, q: Array) -> bool:
    """Sets positions, shape [num_positions]; returns whether it could: quaternions on their way may be zero."""
    try:
        plant.SetPositions(context, q)
    except ValueError:
        return False
    return True


class _Row(NamedTuple):
    """A position of a plant.

    Attributes:
        joint: name of the joint.
        suffix: the kind of position; empty where the joint has one only.
        start: number of the position.
        owner: name of the model instance.
        group: of sliders, to which it belongs.
        is_free: whether the joint moves a body that is not held.
    """

    joint: str
    suffix: str
    start: int
    owner: str
    group: str
    is_free: bool

    def name(self, suffix: str, with_owner: bool) -> str:
        """The name of the slider."""
        return f"{self.joint}{'_' if suffix else ''}{suffix}{f'/{self.owner}' if with_owner else ''}"


def _rows(plant: MultibodyPlant) -> list[_Row]:
    """All positions."""
    joints = [plant.get_joint(index) for index in plant.GetJointIndices()]
    joints = [joint for joint in joints if joint.num_positions()]
    names = {joint.index(): plant.GetModelInstanceName(joint.model_instance()) for joint in joints}
    are_several = len(set(names.values())) > 1
    rows = []
    for joint in joints:
        owner, count = names[joint.index()], joint.num_positions()
        is_free = count >= _FREE
        group = f"Pose of {joint.child_body().name()}" if is_free else "Joints"
        for i in range(count):
            suffix = joint.position_suffix(i) if count > 1 else ""
            where = f"{group}, {owner}" if are_several else group
            rows.append(_Row(joint.name(), suffix, joint.position_start() + i, owner, where, is_free))
    return sorted(rows, key=lambda row: row.start)


class _Turns:
    """Quaternions with sliders for roll, pitch and yaw in place of their first three elements.

    Args:
        starts: where quaternions begin in positions.
        size: how many positions there are.

    Attributes:
        kept: the positions that have a slider.
    """

    def __init__(self, starts: list[int], size: int) -> None:
        self._starts = starts
        self.kept = [i for i in range(size) if i - 3 not in starts]

    def names(self, rows: list[_Row]) -> list[str]:
        """A name for each slider; none twice."""
        suffixes = {start + i: suffix for start in self._starts for i, suffix in enumerate(("roll", "pitch", "yaw"))}
        kept = [rows[i] for i in self.kept]
        plain = [row.name(suffixes.get(row.start, row.suffix), False) for row in kept]
        if len(set(plain)) == len(plain):
            return plain
        return [row.name(suffixes.get(row.start, row.suffix), True) for row in kept]

    def limits(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The same limits, but angles go around once, shape [num_positions]."""
        low, high = low.copy(), high.copy()
        for start in self._starts:
            low[start : start + 3] = np.maximum(low[start : start + 3], -_HALF_TURNS)
            high[start : start + 3] = np.minimum(high[start : start + 3], _HALF_TURNS)
        return low, high

    def to_sliders(self, q: Array) -> Array:
        """Values of sliders at positions, shape [num_sliders]."""
        values = q.copy()
        for start in self._starts:
            length = float(np.linalg.norm(q[start : start + 4]))
            wxyz = q[start : start + 4] / length if length > 0.0 else [1.0, 0.0, 0.0, 0.0]
            values[start : start + 3] = RollPitchYaw(Quaternion(wxyz)).vector()
        return values[self.kept]

    def to_positions(self, values: Array) -> Array:
        """The positions at which sliders show values, shape [num_positions]."""
        q = np.zeros(len(values) + len(self._starts))
        q[self.kept] = values
        for start in self._starts:
            q[start : start + 4] = RollPitchYaw(q[start : start + 3]).ToQuaternion().wxyz()
        return q


def _limits(plant: MultibodyPlant, lower: ArrayLike | None, upper: ArrayLike | None) -> tuple[Array, Array]:
    """Of all sliders: those that are given, as far as joints can go."""
    size = plant.num_positions()
    low = _each("lower_limit", -_LIMIT if lower is None else lower, size)
    high = _each("upper_limit", _LIMIT if upper is None else upper, size)
    if not (low <= high).all():
        i = int(np.flatnonzero(~(low <= high))[0])
        raise RuntimeError(
            f"JointSliders: the lower limit of position {i} ({plant.GetPositionNames()[i]}), {low[i]}, is above its "
            f"upper limit, {high[i]}."
        )
    high = np.clip(high, plant.GetPositionLowerLimits(), plant.GetPositionUpperLimits())
    return np.minimum(np.maximum(low, plant.GetPositionLowerLimits()), high), high


def _each(name: str, given: ArrayLike, size: int) -> Array:
    """A number for each position, from one for all or one for each."""
    if np.ndim(given) > 0:
        return _checked(name, given, size)
    value = checked_number(given, f"JointSliders: {name}")
    if math.isnan(value):
        raise RuntimeError(f"JointSliders: {name} must be a number; given {given!r}.")
    return np.full(size, value)


def _checked(name: str, given: ArrayLike, size: int) -> Array:
    """Finite numbers for all positions.

    Raises:
        TypeError: they are no numbers.
        RuntimeError: there are more or fewer, or one is not finite.
    """
    try:
        values = cast_array(np.asarray(given).ravel(), float)
    except (TypeError, ValueError):
        raise TypeError(f"JointSliders: {name} must be numbers; given {given!r}.") from None
    if len(values) != size:
        raise RuntimeError(
            f"JointSliders: {name} must have {size} elements, as the plant has positions; given {given!r}."
        )
    if not np.isfinite(values).all():
        raise RuntimeError(f"JointSliders: {name} must be finite; given {given!r}.")
    return values


def _keycodes(name: str, given: Sequence[str], size: int) -> list[str]:
    """A keycode for each position; all empty if none are given."""
    if len(given) not in (0, size):
        raise RuntimeError(
            f"JointSliders: {name} must be as many as the plant has positions, {size}, or none; given {given!r}."
        )
    return list(given) or [""] * size
