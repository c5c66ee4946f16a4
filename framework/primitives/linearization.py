"""Linear and affine approximations of any System about an operating point.

The system is evaluated once in a Context of AutoDiffXd, with all derivatives at a time; its callbacks are Python, and
add and multiply these as they do floats. Where one of them does not, Jacobians are taken by the complex step (Squire
and Trapp 1998; Martins, Sturdza and Alonso 2003),

    df/dx_j = Im f(x + i s e_j) / s,  s = 1e-100                                 (1)

which is exact to rounding, too, because nothing is subtracted. A user's callback that does not pass such
scalars through (it calls abs, compares, or reads x.real) would give a wrong answer without noticing; so unless all
systems are known to keep derivatives, these are compared with central differences

    df/dx_j ~ (f(x + h e_j) - f(x - h e_j)) / 2h,  h = 6e-6 max(1, |x_j|)        (2)

and if the two disagree by more than (2) can be wrong, the differences are used.

Whether a linear system can be steered, and whether its state can be seen (R. Kalman, 1960).

Modes are tested one by one (M. Hautus, 1969): (A, B) is stabilizable if [A - lambda I, B] has full rank for each
eigenvalue lambda of A that does not decay by itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from merganser.framework.common.indices import InputPortSelection, OutputPortSelection
from merganser.framework.core.context.context import Context
from merganser.framework.core.declarations.events import TriggerType, UnrestrictedUpdateEvent
from merganser.framework.core.declarations.execution import execute, periodic_discrete_updates, raise_if_failed
from merganser.framework.core.declarations.ports import InputPort, OutputPort
from merganser.framework.core.inside import declared_events, new_context, scalar_of
from merganser.framework.core.system.system import System
from merganser.framework.core.values.values import BasicVector
from merganser.framework.math.difference_steps import COMPLEX_STEP, DIFFERENCE_STEP
from merganser.framework.primitives.linear_system import AffineSystem, LinearSystem

Array = NDArray[Any]
ModelT = TypeVar("ModelT", bound=AffineSystem)
VectorFunction = Callable[[Array, Array], Array]  # of state and input
# (2) counts as right to this share of an element, and of the largest element of its row.
_ELEMENT_TOLERANCE = 1e-5
_ROW_TOLERANCE = 1e-7
_NOISE_FACTOR = 10.0  # or to this many times its noise: rounding, and the change that a step twice as long makes
_EPSILON = float(np.finfo(np.float64).eps)


def Linearize(
    system: System,
    context: Context,
    input_port_index: int = InputPortSelection.kUseFirstInputIfItExists,
    output_port_index: int = OutputPortSelection.kUseFirstOutputIfItExists,
    equilibrium_check_tolerance: float = 1e-6,
) -> LinearSystem:
    """Approximates a system by a linear one about an equilibrium.

    With x and u measured from the equilibrium in `context`, xdot = A x + B u, y = C x + D u; for a system
    whose only state is discrete, with one period, x[n+1] = A x[n] + B u[n].

    Args:
        system: with continuous state only, or discrete state only.
        context: the operating point; all inputs must be connected or fixed.
        input_port_index: the input u, a vector port; other inputs keep their values.
        output_port_index: the output y, a vector port.
        equilibrium_check_tolerance: largest derivative (or change in one period) that counts as none.

    Returns:
        A LinearSystem with the matrices A [n, n], B [n, m], C [p, n] and D [p, m].

    Raises:
        RuntimeError: the operating point is not an equilibrium.
    """
    A, B, f0, C, D, _, x0, _, period = _approximate(system, context, input_port_index, output_port_index)
    drift = f0 - x0 if period > 0.0 else f0
    if drift.size and not np.abs(drift).max() <= equilibrium_check_tolerance:
        what = "changes by" if period > 0.0 else "has derivatives of"
        raise RuntimeError(
            f"The operating point of system '{system.GetSystemPathname()}' is not an equilibrium: its state "
            f"{what} up to {np.abs(drift).max():.6g} (tolerance {equilibrium_check_tolerance:g}). Set the "
            "state and inputs of an equilibrium, or use FirstOrderTaylorApproximation."
        )
    return _in_units(LinearSystem(A, B, C, D, period), system, input_port_index, output_port_index)


def FirstOrderTaylorApproximation(
    system: System,
    context: Context,
    input_port_index: int = InputPortSelection.kUseFirstInputIfItExists,
    output_port_index: int = OutputPortSelection.kUseFirstOutputIfItExists,
) -> AffineSystem:
    """Approximates a system by an affine one about any operating point.

    With x and u themselves, not their deviations: xdot = A x + B u + f0 and y = C x + D u + y0, or the same
    for x[n+1]. The arguments are those of `Linearize`.
    """
    A, B, f, C, D, y, x0, u0, period = _approximate(system, context, input_port_index, output_port_index)
    model = AffineSystem(A, B, f - A @ x0 - B @ u0, C, D, y - C @ x0 - D @ u0, period)
    return _in_units(model, system, input_port_index, output_port_index)


def take_units(model: AffineSystem, input: InputPort | None, output: OutputPort | InputPort | None) -> None:
    """Gives the ports of a linear model the units of the ports that it is a model of."""
    for port, of in (
        *((model.get_input_port(i), input) for i in range(model.num_input_ports())),
        *((model.get_output_port(i), output) for i in range(model.num_output_ports())),
    ):
        units = None if of is None else of.get_units()
        if units is not None:
            port.set_units(units)


def _in_units(model: ModelT, system: System, input_port_index: int, output_port_index: int) -> ModelT:
    u, y = _input_index(system, input_port_index), _output_index(system, output_port_index)
    input, output = system.get_input_port(u) if u >= 0 else None, system.get_output_port(y) if y >= 0 else None
    take_units(model, input, output)
    return model


class Approximation(NamedTuple):
    """The first-order approximation of a system about an operating point, in continuous and sampled time.

    Attributes:
        x: the state, continuous variables first, then the discrete groups, shape [n]; without memories of blocks such
            as Backlash, which a simulator sets at both ends of its steps: here they are constants.
        u: values of the input ports, one after the other, shape [m].
        num_continuous: how many of the state variables are continuous.
        rates: period and offset [s] of each kind of periodic discrete updates.
        value: derivatives of the continuous state; then the discrete state after the updates of each rate; then the
            outputs.
        jacobian: derivatives of `value` with respect to [x; u].
    """

    x: Array
    u: Array
    num_continuous: int
    rates: tuple[tuple[float, float], ...]
    value: Array
    jacobian: Array


def approximate(
    system: System, context: Context, inputs: Sequence[InputPort], outputs: Sequence[OutputPort]
) -> Approximation:
    """Approximates derivatives, periodic updates and outputs of a system about an operating point.

    Args:
        system: without abstract state.
        context: the operating point.
        inputs: vector ports of the system or of systems inside it. What these are connected to is cut off: they keep
            their values of the operating point.
        outputs: vector ports of the system or of systems inside it.

    Raises:
        RuntimeError: the system has abstract state or unrestricted periodic updates, or derivatives are not finite.
    """
    system.ValidateContext(context)
    rates = _rates(system, context)
    x0 = _state(context).copy()
    u0 = _values(system, context, inputs)

    def function_of(dtype: Any, scalar: Any = None) -> VectorFunction:
        copy = detached(system, context, dtype, scalar)
        return lambda x, u: _evaluate(system, copy, x, u, inputs, outputs, rates)

    n, point = len(x0), np.concatenate([x0, u0])
    found = _by_autodiff(system, function_of, point, n)
    if found is not None and keeps_derivatives(context):
        value, jacobian = found
    else:
        value = function_of(np.float64)(x0, u0)
        jacobian = jacobian_of(function_of, point, n, len(value), None if found is None else found[1])
    if not np.isfinite(jacobian).all():
        raise RuntimeError(
            f"System '{system.GetSystemPathname()}' cannot be linearized: its derivatives with respect to "
            "state and input are not finite at this operating point."
        )
    return Approximation(x0, u0, context.num_continuous_states(), rates, value, jacobian)


def _approximate(system: System, context: Context, input_port_index: int, output_port_index: int) -> tuple[Any, ...]:
    """A, B, f0, C, D, y0, x0, u0 and the period of a system with one kind of state."""
    system.ValidateContext(context)
    u_index, y_index = _input_index(system, input_port_index), _output_index(system, output_port_index)
    _require_one_kind_of_state(system, context)
    inputs = [system.get_input_port(u_index)] if u_index >= 0 else []
    outputs = [system.get_output_port(y_index)] if y_index >= 0 else []
    x0, u0, _, rates, value, jacobian = approximate(system, context, inputs, outputs)
    n = len(x0)
    A, B, C, D = jacobian[:n, :n], jacobian[:n, n:], jacobian[n:, :n], jacobian[n:, n:]
    return A, B, value[:n], C, D, value[n:], x0, u0, rates[0][0] if rates else 0.0


def _evaluate(
    system: System,
    context: Context,
    x: Array,
    u: Array,
    inputs: Sequence[InputPort],
    outputs: Sequence[OutputPort],
    rates: Sequence[tuple[float, float]],
) -> Array:
    """[xdot; x_d after the updates of each rate; y] at the given state and input."""
    start, num_continuous = 0, context.num_continuous_states()
    for port in inputs:
        _context_of(system, port, context).fix_input(port.get_index(), u[start : start + port.size()])
        start += port.size()
    if num_continuous or not rates:
        context.SetContinuousState(x[:num_continuous])
    _scatter(context, x[num_continuous:])
    parts = [system.EvalTimeDerivatives(context).CopyToVector()] if num_continuous else []
    y = _values(system, context, outputs)
    for rate in rates:
        _scatter(context, x[num_continuous:])
        updates = periodic_discrete_updates(system, context)
        raise_if_failed(execute([at for at in updates if (at[1].period, at[1].offset) == rate]), context)
        parts.append(_discrete_state(context))
    return np.concatenate([*parts, y])


def _context_of(system: System, port: InputPort | OutputPort, context: Context) -> Context:
    """The context of a port's system, within that of `system`."""
    found = context.part_of(port.get_system())
    if found is None:
        raise ValueError(f"{port.GetFullDescription()} is not inside of system '{system.GetSystemPathname()}'.")
    return found


def _values(system: System, context: Context, ports: Sequence[InputPort] | Sequence[OutputPort]) -> Array:
    """Values of vector ports, one after the other."""
    values = [port.Eval(_context_of(system, port, context)) for port in ports]
    return np.concatenate(values) if values else np.zeros(0)


def jacobian_of(
    function_of: Callable[[Any], VectorFunction], point: Array, n: int, m: int, exact: Array | None = None
) -> Array:
    """Derivatives of f(x, u), shape [m, size of point], where x is point[:n].

    Args:
        function_of: makes f for numbers of a dtype.
        point: x and u.
        n: size of x.
        m: size of f.
        exact: what they are, if no callback drops derivatives; taken by the complex step if it is not given.
    """
    f = function_of(np.float64)
    differences, rounding = _by_differences(f, point, n, m, DIFFERENCE_STEP)
    if exact is None:
        try:
            exact = by_complex_step(function_of(np.complex128), point, n, m)
        except Exception:  # some callback does not take complex numbers
            return differences
    deviation, size = np.abs(exact - differences), np.abs(differences)
    tolerance = _ELEMENT_TOLERANCE * size + _ROW_TOLERANCE * size.max(axis=1, keepdims=True, initial=0.0)
    tolerance += _NOISE_FACTOR * rounding
    if (deviation <= tolerance).all():
        return exact
    doubled, _ = _by_differences(f, point, n, m, 2.0 * DIFFERENCE_STEP)
    tolerance += _NOISE_FACTOR * np.abs(doubled - differences)
    return exact if (deviation <= tolerance).all() else differences


def keeps_derivatives(context: Context) -> bool:
    """Whether all systems are of classes that are known to compute with AutoDiffXd as they do with floats."""
    leaves = (leaf.system for leaf in context.layout.leaves())
    return all(leaf._keeps_derivatives and type(leaf).__module__.startswith("merganser.") for leaf in leaves)


def _by_autodiff(system: System, function_of: Callable[..., VectorFunction], point: Array, n: int) -> Any:
    """f and its Jacobian by one evaluation in a Context of AutoDiffXd; None if some callback does not take these."""
    if scalar_of(system) is not float or not point.size:
        return None
    from merganser.framework.autodiff import AutoDiffXd, InitializeAutoDiff
    from merganser.framework.autodiff.blocks import values_and_gradient

    variables = InitializeAutoDiff(point).ravel()
    try:
        value, jacobian = values_and_gradient(list(function_of(object, AutoDiffXd)(variables[:n], variables[n:])))
    except Exception:  # what is wrong shows again where floats or complex numbers are evaluated
        return None
    return value, np.zeros((len(value), len(point))) if jacobian is None else np.array(jacobian)


def by_complex_step(f: VectorFunction, point: Array, n: int, m: int) -> Array:
    """The Jacobian by (1); raises if a callback converts a complex number to float."""
    jacobian = np.empty((m, len(point)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        for j in range(len(point)):
            z = point.astype(np.complex128)
            z[j] += 1j * COMPLEX_STEP
            jacobian[:, j] = f(z[:n], z[n:]).imag / COMPLEX_STEP  # (1)
    return jacobian


def _by_differences(f: VectorFunction, point: Array, n: int, m: int, step: float) -> tuple[Array, Array]:
    """The Jacobian by (2), and its rounding error."""
    jacobian, rounding = np.empty((m, len(point))), np.empty((m, len(point)))
    for j in range(len(point)):
        h = step * max(1.0, abs(point[j]))
        up, down = point.copy(), point.copy()
        up[j] += h
        down[j] -= h
        f_up, f_down = f(up[:n], up[n:]), f(down[:n], down[n:])
        jacobian[:, j] = (f_up - f_down) / (up[j] - down[j])  # (2)
        rounding[:, j] = _EPSILON * (np.abs(f_up) + np.abs(f_down)) / (up[j] - down[j])
    return jacobian, rounding


def detached(system: System, context: Context, dtype: Any, scalar: type[Any] | None = None) -> Context:
    """A context for the system alone, with the values of `context`, of numbers of a dtype or objects of a type."""
    copy: Context = new_context(system, dtype, scalar)
    copy.SetStateAndParametersFrom(context)
    copy.put_time(context.store.flat[0])
    copy.store.accuracy = context.store.accuracy
    for index, source in enumerate(context.sources):
        if source is not None:
            value = context.require_input(index)
            copy.fix_input(index, value.value() if isinstance(value, BasicVector) else value.Clone())
    copy.copy_fixed_inputs_from(context)
    return copy


def _state(context: Context) -> Array:
    """The continuous state, then the discrete groups that updates change one after the other."""
    continuous: Array = context.peek_state().get_continuous_state().get_vector().value()
    return np.concatenate([continuous, _discrete_state(context)])


def _discrete_state(context: Context) -> Array:
    groups = context.peek_state().get_discrete_state().get_data()
    values = [groups[number].value() for number in _groups_of_updates(context)]
    return np.concatenate(values) if values else np.zeros(0, context.store.flat.dtype)


def _groups_of_updates(context: Context) -> list[int]:
    """The numbers of the discrete groups, without memories that a simulator sets at both ends of its steps."""
    systems = [leaf.system for leaf in context.layout.leaves()]
    owners = [system for system in systems for _ in system._sys_discrete_models]
    return [number for number, owner in enumerate(owners) if not owner._sys_is_piecewise]


def _scatter(context: Context, x: Array) -> None:
    """Sets the discrete groups of `_discrete_state`."""
    numbers, start = _groups_of_updates(context), 0
    for number in numbers:
        group = context.get_mutable_discrete_state().get_data()[number]
        group.get_mutable_value()[:] = x[start : start + group.size()]
        start += group.size()


def _rates(system: System, context: Context) -> tuple[tuple[float, float], ...]:
    """Periods and offsets of the periodic discrete updates, each once."""
    path = system.GetSystemPathname()
    for leaf in (leaf.system for leaf in context.layout.leaves() if leaf.system._sys_abstract_state_models):
        if not getattr(leaf, "changes_abstract_state_at_events_only", False):
            raise RuntimeError(
                f"System '{path}' has abstract state and cannot be linearized: {type(leaf).__name__} "
                f"'{leaf.GetSystemPathname()}' declares it.{leaf._sys_without_abstract_state}"
            )
    if not context.num_discrete_state_groups():
        return ()
    periodic = declared_events(system, context, TriggerType.kPeriodic)
    if any(event.kind is UnrestrictedUpdateEvent for _, event in periodic):
        raise RuntimeError(f"System '{path}' has periodic unrestricted updates and cannot be linearized.")
    return tuple(sorted({(event.period, event.offset) for _, event in periodic_discrete_updates(system, context)}))


def _require_one_kind_of_state(system: System, context: Context) -> None:
    """Raises for a system that is neither a continuous nor a discrete one with a single period."""
    path, rates = system.GetSystemPathname(), _rates(system, context)
    if not context.num_discrete_state_groups():
        return
    if context.num_continuous_states():
        raise RuntimeError(
            f"System '{path}' has continuous and discrete state and cannot be linearized as one; LinearizeBetween of "
            "merganser.analysis.frequency gives the discrete system of its samples."
        )
    if len(rates) != 1:
        raise RuntimeError(
            f"System '{path}' has discrete updates with {len(rates)} different periods and offsets; it "
            "takes exactly one to be linearized."
        )


def _input_index(system: System, index: int) -> int:
    if index == InputPortSelection.kNoInput or (
        index == InputPortSelection.kUseFirstInputIfItExists and system.num_input_ports() == 0
    ):
        return -1
    port = system.get_input_port(0 if index == InputPortSelection.kUseFirstInputIfItExists else int(index))
    return int(_vector_port(port))


def _output_index(system: System, index: int) -> int:
    if index == OutputPortSelection.kNoOutput or (
        index == OutputPortSelection.kUseFirstOutputIfItExists and system.num_output_ports() == 0
    ):
        return -1
    port = system.get_output_port(0 if index == OutputPortSelection.kUseFirstOutputIfItExists else int(index))
    return int(_vector_port(port))


def _vector_port(port: Any) -> int:
    if port._size is None:
        raise ValueError(f"{port.GetFullDescription()} is abstract; only vector ports can be linearized.")
    return port.get_index()


def ControllabilityMatrix(sys: LinearSystem) -> Array:
    """[B, A B, ..., A^(n-1) B], shape [n, n num_inputs], for a system with n state variables."""
    A, blocks = sys.A(), [sys.B()]
    for _ in range(1, sys.num_states()):
        blocks.append(A @ blocks[-1])
    return np.hstack(blocks)


def ObservabilityMatrix(sys: LinearSystem) -> Array:
    """[C; C A; ...; C A^(n-1)], shape [n num_outputs, n], for a system with n state variables."""
    A, blocks = sys.A(), [sys.C()]
    for _ in range(1, sys.num_states()):
        blocks.append(blocks[-1] @ A)
    return np.vstack(blocks)


def IsControllable(sys: LinearSystem, threshold: float | None = None) -> bool:
    """Whether inputs can take the state anywhere: the controllability matrix has rank n.

    Args:
        sys: the system.
        threshold: singular values of this share of the largest one, or less, count as zero; by default rounding errors.
    """
    return _rank(ControllabilityMatrix(sys), threshold) == sys.num_states()


def IsObservable(sys: LinearSystem, threshold: float | None = None) -> bool:
    """Whether the state follows from the outputs: the observability matrix has rank n. As `IsControllable`."""
    return _rank(ObservabilityMatrix(sys), threshold) == sys.num_states()


def IsStabilizable(sys: LinearSystem, threshold: float | None = None) -> bool:
    """Whether inputs reach every mode that does not decay by itself. The arguments are those of `IsControllable`."""
    return _reaches_lasting_modes(sys.A(), sys.B(), sys.time_period() > 0.0, threshold)


def IsDetectable(sys: LinearSystem, threshold: float | None = None) -> bool:
    """Whether outputs show every mode that does not decay by itself. The arguments are those of `IsControllable`."""
    return _reaches_lasting_modes(sys.A().T, sys.C().T, sys.time_period() > 0.0, threshold)


def _reaches_lasting_modes(A: Array, B: Array, is_discrete: bool, threshold: float | None) -> bool:
    n = len(A)
    for mode in np.linalg.eigvals(A):
        decays = abs(mode) < 1.0 if is_discrete else mode.real < 0.0
        if not decays and _rank(np.hstack([A - mode * np.eye(n), B]), threshold) < n:
            return False
    return True


def _rank(matrix: Array, threshold: float | None) -> int:
    if matrix.size == 0:
        return 0
    sizes = np.linalg.svd(matrix, compute_uv=False)
    share = max(matrix.shape) * np.finfo(np.float64).eps if threshold is None else threshold
    return int(np.count_nonzero(sizes > share * sizes[0]))
