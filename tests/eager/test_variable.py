"""Variable: what it holds, how it computes with numbers and arrays, and what it keeps from whoever holds its arrays."""

import ast
import operator
import pickle
from inspect import getsource, signature
from typing import Any

import numpy as np
import pytest

from gradviz import Device, GradientError, Parameter, RunError, Variable, functions, no_grad
from gradviz.eager.methods import INSTALLED
from tests.eager.differences import floats, positive

A = floats(2, 3)


def test_data_keep_their_dtype_and_are_a_read_only_copy() -> None:
    given = np.arange(3, dtype=np.float32)
    x = Variable(given, name="x")
    given[:] = 7
    np.testing.assert_array_equal(x.data, [0, 1, 2])
    assert x.dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        x.data[0] = 1


def test_outputs_are_read_only_views_among_them() -> None:
    x = Variable(A)
    for y in (functions.tanh(x), x.T, x[1:], x.reshape(3, 2), x.sum(), x[0, 0]):
        assert not y.data.flags.writeable


def test_what_a_leaf_and_what_an_output_know_of_themselves() -> None:
    x = Variable(A, name="x")
    y = (x * x).sum()
    assert (x.shape, x.ndim, x.size, len(x), x.rank, x.creator, x.grad) == ((2, 3), 2, 6, 2, 0, None, None)
    assert (y.shape, y.ndim, y.size, y.rank, y.creator.label) == ((), 0, 1, 2, "ReduceSum")
    assert y.creator.inputs[0].creator.inputs == (x, x)
    assert x.device == Device("cpu")


def test_only_floating_point_data_require_gradients() -> None:
    assert Variable([1.0]).requires_grad
    assert not Variable([1.0], requires_grad=False).requires_grad
    assert not Variable([1, 2]).requires_grad
    assert not Variable([True]).requires_grad


@pytest.mark.parametrize("bad", ["text", [[1.0], [1.0, 2.0]], object(), [None], {"a": 1}])
def test_what_is_no_array_of_numbers_is_refused(bad: Any) -> None:
    with pytest.raises(RunError, match="cannot be the data of a Variable") as caught:
        Variable(bad)
    assert caught.value.kind == "bad_value"


def test_a_list_of_variables_is_no_data_as_their_gradients_would_be_lost() -> None:
    with pytest.raises(RunError, match=r"functions\.stack"):
        Variable([Variable(1.0), Variable(2.0)])


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow]


@pytest.mark.parametrize("operation", OPERATORS)
@pytest.mark.parametrize(
    "other", [2.0, 3, np.float64(1.5), positive(2, 3, seed=1), positive(3), [1.0, 2.0, 3.0], [1, 2, 3]]
)
def test_arithmetic_with_what_is_no_variable_on_either_side(operation: Any, other: Any) -> None:
    array = positive(2, 3)
    x = Variable(array)
    for made, expected in [
        (operation(x, other), operation(array, np.asarray(other))),
        (operation(other, x), operation(np.asarray(other), array)),
    ]:
        assert isinstance(made, Variable)
        np.testing.assert_allclose(made.data, expected, rtol=1e-14)
        made.sum().backward()
    assert x.grad.shape == array.shape


@pytest.mark.parametrize("operation", OPERATORS)
def test_arithmetic_of_two_variables(operation: Any) -> None:
    x, y = positive(2, 3), positive(3, seed=1)
    np.testing.assert_allclose(operation(Variable(x), Variable(y)).data, operation(x, y), rtol=1e-14)


def test_numbers_do_not_change_the_dtype() -> None:
    x = Variable(np.ones(3, np.float32))
    for y in (x + 1, 1 - x, x * 2.5, 2 / x, x / 3, x**2, x**1.5, 2**x, -x, abs(x)):
        assert y.dtype == np.float32
    assert (Variable([1, 2]) * 2).dtype == np.int64
    np.testing.assert_array_equal((Variable([1, 2]) * 2 + 1).data, [3, 5])


def test_numbers_among_float32_and_float64_meet_as_in_numpy_and_gradients_come_back_in_each_dtype() -> None:
    x, y = Variable(np.ones(3, np.float32)), Variable(np.full(3, 2.0))
    z = (x * y).sum()
    z.backward()
    assert (z.dtype, x.grad.dtype, y.grad.dtype) == (np.float64, np.float32, np.float64)


def test_matrix_products() -> None:
    x, w = floats(2, 3), floats(3, 4, seed=1)
    for made in (Variable(x) @ w, x @ Variable(w), Variable(x) @ Variable(w)):
        np.testing.assert_allclose(made.data, x @ w)
    np.testing.assert_allclose((Variable(x) @ [[1], [2], [3]]).data, x @ [[1], [2], [3]])


def test_in_place_operators_make_a_new_variable() -> None:
    x = Variable([1.0, 2.0])
    y = x
    y += 1
    np.testing.assert_array_equal(x.data, [1, 2])
    np.testing.assert_array_equal(y.data, [2, 3])


def test_comparisons_give_plain_truth_values() -> None:
    x, other = Variable(A), np.zeros((2, 3))
    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne):
        for right in (0, other, Variable(other)):
            assert type(compare(x, right)) is np.ndarray
            np.testing.assert_array_equal(compare(x, right), compare(A, other))


def test_variables_are_keys_by_identity() -> None:
    x, y = Variable([1.0]), Variable([1.0])
    assert {x: "x", y: "y"}[y] == "y"
    assert len({x, y, x}) == 2


def test_numpys_functions_refuse_a_variable_instead_of_losing_its_gradient() -> None:
    with pytest.raises(TypeError):
        np.tanh(Variable(A))
    with pytest.raises(TypeError):
        np.add(A, Variable(A))


METHODS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *[(name, (), {}) for name in ("sum", "mean", "var", "std", "prod", "max", "min", "argmax", "argmin", "cumsum")],
    *[(name, (1,), {}) for name in ("sum", "mean", "max", "argmin", "cumsum")],
    *[(name, (), {"axis": 0, "keepdims": True}) for name in ("sum", "mean", "var", "std", "prod", "max", "min")],
    ("reshape", (3, 2), {}),
    ("reshape", ((3, 2),), {}),
    ("reshape", (-1,), {}),
    ("transpose", (), {}),
    ("transpose", (1, 0), {}),
    ("transpose", ((1, 0),), {}),
    ("swapaxes", (0, 1), {}),
    ("flatten", (), {}),
    ("squeeze", (), {}),
    ("clip", (-0.5, 0.5), {}),
    ("repeat", (2,), {}),
    ("repeat", (2, 0), {}),
    ("take", ([0, 4],), {}),
    ("take", ([1, 0], 1), {}),
    ("astype", (np.float32,), {}),
]


@pytest.mark.parametrize(("name", "arguments", "options"), METHODS)
def test_methods_of_numpys_arrays(name: str, arguments: Any, options: Any) -> None:
    expected = np.asarray(getattr(A, name)(*arguments, **options))
    made = getattr(Variable(A), name)(*arguments, **options)
    assert made.dtype == expected.dtype
    np.testing.assert_allclose(made.data, expected, rtol=1e-14)


@pytest.mark.parametrize("array", [np.array([True, True, False]), np.array([100, 100, 3], np.int8), np.arange(3)])
def test_sums_of_truth_values_and_whole_numbers_are_those_of_numpy(array: Any) -> None:
    for made, expected in ((Variable(array).sum(), array.sum()), (Variable(array).cumsum(), array.cumsum())):
        assert made.dtype == np.int64
        np.testing.assert_array_equal(made.data, expected)


def test_attributes_of_numpys_arrays() -> None:
    x = Variable(A)
    np.testing.assert_array_equal(x.T.data, A.T)
    assert (+x) is x
    np.testing.assert_array_equal((-x).data, -A)
    np.testing.assert_array_equal(abs(x).data, abs(A))


def test_one_element_is_a_python_number_too() -> None:
    x = Variable([[2.5]])
    assert (x.item(), float(x), int(x), bool(x)) == (2.5, 2.5, 2, True)
    with pytest.raises(ValueError, match="size 1"):
        Variable(A).item()


def test_rows_can_be_gone_through() -> None:
    x = Variable(A)
    for row, expected in zip(x, A, strict=True):
        np.testing.assert_array_equal(row.data, expected)
    with pytest.raises(TypeError, match="no length"):
        len(Variable(1.0))
    with pytest.raises(TypeError):
        list(Variable(1.0))


def test_numpy_reads_the_data_without_a_copy_and_copies_when_asked() -> None:
    x = Variable(A)
    assert np.shares_memory(np.asarray(x), x.data)
    copy = np.array(x)
    copy[:] = 0
    np.testing.assert_array_equal(x.data, A)
    assert np.asarray(x, np.float32).dtype == np.float32


def test_repr_tells_what_is_not_usual() -> None:
    assert repr(Variable([1.0, 2.0])) == "Variable([1., 2.])"
    assert repr(Variable(np.float32(1), requires_grad=False, name="x")) == (
        "Variable(1., dtype=float32, name='x', requires_grad=False)"
    )
    assert repr(Parameter([[1.0], [2.0]], name="w")) == "Parameter([[1.],\n           [2.]], name='w')"


def test_a_gradient_that_is_set_is_a_copy_and_fits_the_data() -> None:
    x, g = Variable(A), np.ones((2, 3))
    x.grad = g
    g[:] = 5
    np.testing.assert_array_equal(x.grad, np.ones((2, 3)))
    x.cleargrad()
    assert x.grad is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.ones(3), r"float64 \(2, 3\) as the data, got float64 \(3,\)"),
        (np.ones((2, 3), np.float32), "got float32"),
        (np.ones((2, 3), int), "got int64"),
        ([[1.0] * 3] * 2, "must be an array, not list"),
        (1.0, "must be an array, not float"),
    ],
)
def test_a_gradient_of_another_type_dtype_or_shape_is_refused_and_the_old_one_stays(bad: Any, words: str) -> None:
    x = Variable(A, name="x")
    x.grad = before = np.ones((2, 3))
    with pytest.raises(GradientError, match=words) as caught:
        x.grad = bad
    assert (caught.value.kind, caught.value.blobs) == ("bad_gradient", ("x",))
    np.testing.assert_array_equal(x.grad, before)


def test_new_data_keep_the_gradient_unless_it_does_not_fit_them_any_more() -> None:
    x = Variable(A)
    x.grad = np.ones((2, 3))
    x.data = x.data - 0.1 * x.grad
    np.testing.assert_allclose(x.data, A - 0.1)
    assert x.grad is not None
    x.data = np.ones(2)
    assert x.grad is None


def test_detach_shares_the_data_and_passes_no_gradient() -> None:
    x = Variable(A)
    y = x.detach()
    assert y.data is x.data
    assert np.shares_memory(x.T.detach().data, x.data)
    assert not y.requires_grad
    (x * y).sum().backward()
    np.testing.assert_array_equal(x.grad, A)
    assert y.grad is None


def test_no_grad_records_nothing_and_ends_with_its_block_or_function() -> None:
    x = Variable(A)

    @no_grad()
    def evaluate() -> Variable:
        return x * x

    with no_grad():
        inside = x * x
    with pytest.raises(RunError), no_grad():
        x + np.ones(7)
    assert [(y.requires_grad, y.creator) for y in (inside, evaluate())] == [(False, None)] * 2
    assert (x * x).requires_grad


def test_variables_survive_pickling() -> None:
    x = pickle.loads(pickle.dumps(Variable(A, name="x")))
    np.testing.assert_array_equal(x.data, A)
    assert x.name == "x"


MISFITS: list[tuple[Any, str, str]] = [
    (lambda x: functions.tanh([1, 2]), "shape_mismatch", r"tanh\(x: int64 \(2,\)\).*floating-point"),
    (lambda x: x + np.ones(4), "shape_mismatch", r"add\(x: float64 \(2, 3\), y: float64 \(4,\)\).*do not broadcast"),
    (lambda x: x @ np.ones((2, 2)), "shape_mismatch", r"matmul\(a: float64 \(2, 3\), b: float64 \(2, 2\)\)"),
    (lambda x: x.reshape(4, 2), "shape_mismatch", r"reshape.*cannot take the shape \(4, 2\)"),
    (lambda x: x.reshape(0, -1), "shape_mismatch", r"cannot take the shape \(0, -1\)"),
    (lambda x: x.transpose(0, 0), "shape_mismatch", "Name each of 0 to 1 once"),
    (lambda x: x.sum(axis=2), "shape_mismatch", "axis 2 does not exist"),
    (lambda x: x[2], "shape_mismatch", r"get_item.*nothing at \[2\]"),
    (lambda x: x[[0, 7]], "bad_value", "index 7 is out of bounds"),
    (lambda x: x["a"], "shape_mismatch", "is no index"),
    (lambda x: functions.concat([x, np.ones(2)], 0), "shape_mismatch", "Concat along axis 0"),
    (lambda x: functions.split_axis(x, 2, 1), "shape_mismatch", "cannot be cut into 2 equal parts"),
    (lambda x: functions.split_axis(x, 2**40, 1), "shape_mismatch", "cannot be cut into 1099511627776 equal parts"),
    (lambda x: functions.broadcast_to(x, (3, 3)), "shape_mismatch", "does not stretch to"),
    (lambda x: functions.squeeze(x, 0), "shape_mismatch", "not all of size 1"),
    (lambda x: functions.expand_dims(x, 4), "shape_mismatch", "axis 4 does not exist"),
    (lambda x: functions.softmax(x[0]), "shape_mismatch", "axis 1 does not exist"),
    (lambda x: functions.softmax_cross_entropy(x, [0, 3]), "bad_value", "label 3 in row 1"),
    (lambda x: functions.embed_id([2], x), "bad_value", "2 at position 0 is none of the 2 rows"),
    (lambda x: functions.einsum("ij,jk->ik", x), "bad_argument", "2 factors"),
    (lambda x: functions.einsum("ijk->i", x), "shape_mismatch", "does not name the dimensions"),
    (lambda x: functions.einsum("i j -> ik", x), "bad_argument", "one that no factor has"),
    (lambda x: functions.pad(x, (1, 2, 3)), "shape_mismatch", "does not tell two widths"),
    (lambda x: functions.pad(x, 5, mode="reflect"), "shape_mismatch", "too few for margins"),
    (lambda x: functions.dropout(x, 1.0), "bad_argument", "below 1"),
    (lambda x: functions.linear(x, np.ones((4, 5)), np.ones(4)), "shape_mismatch", "3 features a row"),
    (lambda x: functions.apply("NoSuchType", x), "unknown_operator", "NoSuchType"),
    (lambda x: functions.apply("Tanh", x, x), "bad_arity", "takes 1 inputs"),
]


@pytest.mark.parametrize(("function", "kind", "words"), MISFITS, ids=[words for _, _, words in MISFITS])
def test_misfits_are_refused_with_the_function_the_shapes_and_a_reason(function: Any, kind: str, words: str) -> None:
    with pytest.raises(RunError, match=words) as caught:
        function(Variable(A))
    assert caught.value.kind == kind


def test_what_type_checkers_read_of_a_variable_is_what_is_installed() -> None:
    (variable,) = ast.parse(getsource(Variable)).body
    (for_types,) = [
        node for node in ast.walk(variable) if isinstance(node, ast.If) and "TYPE" in ast.unparse(node.test)
    ]
    alike = {node.name: node.args for node in for_types.body if isinstance(node, ast.FunctionDef)}
    declared = {name: args for name, args in alike.items() if name.startswith("__") or name[0] != "_"}
    for node in for_types.body:
        if isinstance(node, ast.Assign):
            declared.update({ast.unparse(target): alike[ast.unparse(node.value)] for target in node.targets})
    assert declared.keys() == INSTALLED.keys()
    for name in [name for name in declared if name != "T" and not name.startswith("__")]:
        parameters = [argument.arg for argument in declared[name].args[1:]]
        assert [*signature(INSTALLED[name]).parameters][1 : len(parameters) + 1] == parameters, name


@pytest.mark.parametrize(
    "index",
    [np.array([True, False, False]), [True], (slice(None), np.array([True, False])), (..., np.array([True, False]))],
)
def test_a_mask_of_another_length_is_refused_as_numpy_refuses_it(index: Any) -> None:
    x = np.ones((2, 3))
    with pytest.raises(IndexError):
        x[index]
    with pytest.raises(RunError, match=r"a mask of shape .* does not fit its dimensions") as caught:
        Variable(x)[index]
    assert caught.value.kind == "shape_mismatch"


def test_numbers_whose_bytes_are_in_the_other_order_are_differentiated_as_any() -> None:
    for dtype in (">f8", "<f8", ">f4"):
        x = Variable(np.array([1.0, -2.0, 3.0], dtype))
        assert x.dtype.isnative
        functions.sum(functions.relu(x) * x).backward()
        np.testing.assert_array_equal(x.grad, [2, 0, 6])
