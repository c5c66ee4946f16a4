"""Native functions of users cannot hurt: exceptions are raised, indices checked, odd constants run in Python."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from merganser.analysis import Simulator
from merganser.framework import LeafSystem
from merganser.framework.core.inside import slot_of
from merganser.framework.native import Changing, add_products, device, native, product, put
from merganser.framework.native.operations.lowering import Tape
from merganser.framework.symbolic import Variable

pytest_plugins = ["compile_policy"]


@native
def constant(k, y):
    for i in range(len(y)):
        y[i] = k[i]


class Constant(LeafSystem):
    """Its output is a constant of two elements."""

    def __init__(self, k):
        super().__init__()
        self.DeclareVectorOutputPort("y", 2, constant.given(k=k))


def result_of(system, is_tape):
    context = system.CreateDefaultContext()
    if is_tape:
        Tape(context, [slot_of(system.get_output_port(), context)]).run()
    return system.get_output_port().Eval(context).tolist()


@pytest.mark.parametrize("is_tape", [False, True])
def test_constants_that_are_objects_are_kept_from_compiled_code(is_tape):
    assert result_of(Constant([Fraction(1, 2), 3]), is_tape) == [0.5, 3.0]
    assert result_of(Constant([2**70, 1]), is_tape) == [2.0**70, 1.0]
    with pytest.raises(TypeError, match="Variable"):
        result_of(Constant([Variable("x"), 1.0]), is_tape)


@pytest.mark.parametrize("is_tape", [False, True])
@pytest.mark.parametrize(
    "k", [[1, 2], np.float32([1.0, 2.0]), np.arange(1.0, 5.0)[:2], np.array([1, 9, 2], np.uint8)[::2], (True, 2)]
)
def test_arrays_of_other_types_and_strides_are_converted(k, is_tape):
    assert result_of(Constant(k), is_tape) == [1.0, 2.0]
    assert result_of(Constant(Changing(k)), is_tape) == [1.0, 2.0]


@pytest.mark.parametrize(
    "k, error, message",
    [
        ([1j, 1.0], TypeError, "real numbers, a port or a state; got an array of complex128"),
        (1j, TypeError, "real numbers, a port or a state; got complex"),
        (np.zeros((1, 1, 1)), TypeError, r"vectors or matrices of numbers; got one of shape \(1, 1, 1\)"),
        (2**64, ValueError, "integers must have at most 64 bits; got 18446744073709551616"),
        (np.array([2**63], np.uint64), ValueError, "integers must have at most 64 bits; got 9223372036854775808"),
    ],
)
def test_constants_that_no_function_can_take_are_refused(k, error, message):
    with pytest.raises(error, match=f"output port 'y' of system '::Constant': what is given for 'k' .*{message}"):
        Constant(k)


@pytest.mark.parametrize("is_tape", [False, True])
def test_a_changing_constant_keeps_its_type(is_tape):
    k = Changing([1.0, 2.0])
    block = Constant(k)
    for refused in ([Variable("x"), 1.0], np.zeros((2, 1)), [1j, 2.0], "ab"):
        with pytest.raises(TypeError, match="expected"):
            k.set(refused)
    assert result_of(block, is_tape) == [1.0, 2.0]
    values = np.array([3.0, 0.0, 4.0])
    k.set(values[::2])
    values[:] = np.nan
    assert result_of(block, is_tape) == [3.0, 4.0]
    k.set([5, 6])
    assert result_of(block, is_tape) == [5.0, 6.0]


@device
def item(x, i):
    return x[i]


@native
def past_the_end(t, xc, xdot):
    xdot[0] = 1.0 if t < 0.25 else xc[1000000000]


@native
def past_the_end_in_a_helper(t, xc, xdot):
    xdot[0] = 1.0 if t < 0.25 else item(xc, 1000000000)


@native
def refusing(t, xc, xdot):
    if t >= 0.25:
        raise ValueError("too late")
    xdot[0] = 1.0


@native
def refusing_update(t, xd, next_xd):
    if t >= 0.25:
        raise ValueError("too late")
    next_xd[0] = xd[0] + 0.125


class Moving(LeafSystem):
    def __init__(self, derivatives):
        super().__init__()
        self.DeclareContinuousState(1)
        self.DeclareTimeDerivatives(derivatives)


class Counting(LeafSystem):
    def __init__(self, update):
        super().__init__()
        self.DeclareDiscreteState(1)
        self.DeclarePeriodicDiscreteUpdateEvent(0.125, 0.0, update)


@pytest.mark.usefixtures("plan")
@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: Moving(past_the_end), IndexError, "out of bounds"),
        (lambda: Moving(past_the_end_in_a_helper), IndexError, "out of bounds"),
        (lambda: Moving(refusing), ValueError, "too late"),
        (lambda: Counting(refusing_update), ValueError, "too late"),
    ],
    ids=["index", "index in a helper", "derivatives", "update"],
)
def test_a_native_function_that_raises_ends_the_simulation_there(make, error, message):
    system = make()
    simulator = Simulator(system)
    simulator.get_mutable_integrator().set_maximum_step_size(0.01)
    simulator.Initialize()
    with pytest.raises(error, match=message):
        simulator.AdvanceTo(1.0)
    context = simulator.get_context()
    is_discrete = context.has_only_discrete_state()
    state = context.get_discrete_state_vector() if is_discrete else context.get_continuous_state_vector()
    assert 0.2 <= context.get_time() <= 0.25
    assert state.CopyToVector()[0] == pytest.approx(0.25 if is_discrete else context.get_time(), abs=1e-12)


@native
def of_list(u, k, y):
    y[0] = u[k][0]


@native
def loop_over_list(u, k, y):
    for each in u:
        y[0] += each[0]


@native
def product_with_vector(u, k, y):
    y[0] = product(k, u[0], 0)


@native
def put_too_far(u, k, y):
    put(u[0], y, k)


class OfList(LeafSystem):
    """A function of two inputs of two elements each."""

    def __init__(self, function, k, name):
        super().__init__()
        u = [self.DeclareVectorInputPort(f"u{i}", 2) for i in range(2)]
        self.DeclareVectorOutputPort("y", 2, function.given(u=u, **{name: k}))


def result_of_list(function, k, is_tape, name="k"):
    system = OfList(function, k, name)
    context = system.CreateDefaultContext()
    for i, value in enumerate(([1.0, 2.0], [3.0, 4.0])):
        system.get_input_port(i).FixValue(context, value)
    if is_tape:
        Tape(context, [slot_of(system.get_output_port(), context)]).run()
    return system.get_output_port().Eval(context)[0]


@pytest.mark.parametrize("is_tape", [False, True])
def test_lists_of_wires_are_indexed_as_in_python(is_tape):
    assert [result_of_list(of_list, k, is_tape) for k in (0, 1, -1, -2)] == [1.0, 3.0, 3.0, 1.0]
    for k in (2, -3, 10**9):
        with pytest.raises(IndexError, match="out of"):
            result_of_list(of_list, k, is_tape)


@pytest.mark.parametrize("is_tape", [False, True])
def test_functions_of_vectors_whose_sizes_do_not_fit_are_errors(is_tape):
    assert result_of_list(product_with_vector, [[2.0, 3.0]], is_tape) == 8.0
    with pytest.raises(IndexError):
        result_of_list(product_with_vector, np.ones((1, 3)), is_tape)
    assert result_of_list(put_too_far, 0, is_tape) == 1.0
    for k in (1, -1, 10**9):
        with pytest.raises(IndexError):
            result_of_list(put_too_far, k, is_tape)


def test_what_cannot_be_compiled_is_reported_at_the_first_call_for_lists_too():
    with pytest.raises(TypeError, match=r"'loop_over_list'.*cannot be compiled"):
        result_of_list(loop_over_list, 0, is_tape=False)


def test_a_native_function_does_not_write_to_arrays_that_are_read_only():
    source, result = np.ones(2), np.zeros(2)
    result.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        constant(source, result)
    assert result.tolist() == [0.0, 0.0]


@native
def sparse_product(u, rows, y):
    add_products(u[0], rows, rows, u[1], y)


@pytest.mark.parametrize("is_tape", [False, True])
def test_entries_of_sparse_matrices_must_be_in_them(is_tape):
    assert result_of_list(sparse_product, [0, 1], is_tape, "rows") == 3.0
    for last in (2, -3, 10**9):
        with pytest.raises(IndexError):
            result_of_list(sparse_product, [0, last], is_tape, "rows")
