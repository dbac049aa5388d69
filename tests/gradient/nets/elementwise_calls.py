"""Calls of operators that treat each element for itself, drawn to fit the blobs of a draft."""

import numpy as np

from tests.gradient.reference.elementwise import ARITHMETIC, PASSED, QUESTIONS

from .call import WIDE, Call, Range, Shape
from .pick import Pick

EVERYWHERE = ("Atan", "Cos", "Cube", "Erf", "Gelu", "Mish", "Negative", "NegateGradient", "Scale", "Sigmoid", "Sin")
EVERYWHERE += ("Cbrt", "Reciprocal", "Softplus", "Softsign", "Sqr", "Swish", "Tan", "Tanh")
SMOOTH: dict[str, Range] = {
    **dict.fromkeys(EVERYWHERE, WIDE),
    **dict.fromkeys(("Exp", "Cosh", "Sinh"), (-4.0, 4.0)),
    **dict.fromkeys(("Acos", "Asin"), (-0.9, 0.9)),
    **dict.fromkeys(("Log", "Sqrt", "Rsqrt", "Pow"), (0.05, 60.0)),
    "Logit": (0.05, 0.95),
}
"""Functions of one array and where they are taken."""

KINKED = ("Abs", "Clip", "Elu", "HardSigmoid", "LeakyRelu", "PRelu", "Relu", "ReluN", "Selu", "ThresholdedRelu")

ARGUMENTS = {
    "Clip": {"min": -0.5, "max": 0.9},
    "Elu": {"alpha": 0.4},
    "Gelu": {"fast_gelu": 1},
    "HardSigmoid": {"alpha": 0.3, "beta": 0.4},
    "LeakyRelu": {"alpha": 0.3},
    "ReluN": {"n": 1.1},
    "Scale": {"scale": -1.5},
    "Selu": {"alpha": 1.2, "scale": 0.8},
    "ThresholdedRelu": {"alpha": 0.5},
}
"""Arguments, half of the time; the others take their defaults."""

ALWAYS = ("Clip", "Scale", "ReluN")
CONSTANTS = ("ConstantFill", "ConstantFill", "RangeFill", "DiagonalFill", "Range", "OneHot", "BatchOneHot", "ArgMax")
CONSTANTS += ("Shape", "Size")


def function(pick: Pick) -> Call:
    type = pick.one_of([*SMOOTH, *KINKED])
    x = pick.floats(within=SMOOTH.get(type, WIDE))
    if type == "Pow":
        return Call(type, [x], {"exponent": pick.one_of((2.0, 3.0, -1.0, 0.5, 1.7))})
    if type == "PRelu":
        shape = pick.shape(x)
        channels = pick.floats((shape[1],) if len(shape) > 1 else ())
        return Call(type, [x, channels])
    return Call(type, [x], ARGUMENTS.get(type, {}) if type in ALWAYS or pick.chance(0.5) else {})


def stretching_to(shape: Shape, *, legacy: bool = False) -> list[Shape]:
    """Shapes that broadcast to `shape`."""
    if legacy:
        return [shape[-1:], shape[:1], shape, ()]
    column = (*shape[:-1], 1) if shape else ()
    return [shape, shape, shape[-1:], column, ()]


def pair(pick: Pick) -> Call:
    type = pick.one_of((*ARITHMETIC, *ARITHMETIC, "Pow"))
    x = pick.floats(within=(0.1, 5.0) if type == "Pow" else WIDE)
    if pick.chance(0.15):
        return Call(type, [x, x])
    shape, args = pick.shape(x), {}
    if pick.chance(0.2) and shape:
        other = pick.one_of(stretching_to(shape, legacy=True))
        args = {"broadcast": 1}
        if len(other) == 1 and other == shape[:1] and len(shape) > 1:
            args["axis"] = 0
    else:
        other = pick.one_of(stretching_to(shape))
    y = pick.floats(other, within=(-3.0, 3.0) if type == "Pow" else WIDE)
    is_swapped = not args and type in ("Add", "Sub", "Mul") and pick.chance(0.3)
    return Call(type, [y, x] if is_swapped else [x, y], args)


def several(pick: Pick) -> Call:
    """Arrays of one shape into one; a blob may come several times."""
    first = pick.floats()
    shape = pick.shape(first)
    names = [first, *(pick.floats(shape) for _ in range(pick.random.randint(0, 3)))]
    if pick.chance(0.25):
        names.append(pick.one_of(names))
    return Call(pick.one_of(("Sum", "Sum", "Sum", "Mean", "Max", "Min")), names)


def weighted_sum(pick: Pick) -> Call:
    first = pick.floats()
    names = [first, *(pick.floats(pick.shape(first)) for _ in range(pick.random.randint(0, 2)))]
    weights = [pick.floats(pick.one_of(((), (1,)))) for _ in names]
    args = {"grad_on_w": 1} if pick.chance(0.5) else {}
    return Call("WeightedSum", [name for both in zip(names, weights, strict=True) for name in both], args)


def passed(pick: Pick) -> Call:
    type = pick.one_of([name for name in PASSED if name != "StopGradient"])
    integers = pick.existing(lambda value: value.dtype in ("int64", "int32", "bool"))
    if type in ("Alias", "Copy") and integers is not None and pick.chance(0.15):
        return Call(type, [integers])
    x = pick.floats()
    return Call(type, [x, pick.floats()] if type == "CopyOnDeviceLike" else [x])


def cast(pick: Pick) -> Call:
    exact = pick.existing(lambda value: value.dtype != "float64")
    if exact is not None and pick.chance(0.6):
        return Call("Cast", [exact], {"to": "float64"})
    return Call("Cast", [pick.floats()], {"to": pick.one_of(("float64", "int64", "int32", "bool"))})


def dropout(pick: Pick) -> Call:
    return Call("Dropout", [pick.floats()], {"is_test": 1, "ratio": 0.3}, outputs=pick.random.randint(1, 2))


def question(pick: Pick) -> Call:
    """Truth values, of numbers or of other truth values."""
    x = pick.floats()
    truth = pick.existing(lambda value: value.dtype == "bool")
    if truth is not None and pick.chance(0.3):
        type = pick.one_of(("And", "Or", "Xor", "Not"))
        return Call(type, [truth] if type == "Not" else [truth, pick.truths(pick.shape(truth))])
    if pick.chance(0.1):
        return Call("IsNaN", [x])
    type = pick.one_of([name for name in QUESTIONS if name not in ("And", "Or", "Xor")])
    return Call(type, [x, pick.floats(pick.one_of(stretching_to(pick.shape(x))))])


def choice(pick: Pick) -> Call:
    type = pick.one_of(("Where", "Where", "Conditional"))
    x = pick.floats(lambda shape: type == "Where" or bool(shape))
    shape = pick.shape(x)
    by_rows = bool(shape) and (type == "Conditional" or pick.chance(0.3))
    args = {"broadcast_on_rows": 1} if by_rows and type == "Where" else {}
    return Call(type, [pick.truths(shape[:1] if by_rows else shape), x, pick.floats(shape)], args)


def constant(pick: Pick) -> Call:
    """Values that no gradient passes."""
    type = pick.one_of(CONSTANTS)
    match type:
        case "ArgMax":
            args = {"axis": pick.one_of((-1, 0))} if pick.chance(0.5) else {"keepdims": 0}
            return Call(pick.one_of(("ArgMax", "ArgMin")), [pick.floats(lambda shape: bool(shape))], args)
        case "Range":
            return Call(type, [pick.feed(np.array(float(pick.random.randint(2, 4))), "x")])
        case "OneHot":
            return Call(type, [pick.integers((pick.random.randint(2, 4),), 3), pick.integers((), 5, 3)])
        case "BatchOneHot":
            x = pick.floats(lambda shape: len(shape) == 2)
            columns = pick.shape(x)[1]
            return Call(type, [x, pick.list_of([1] * columns), pick.floats((columns,))])
        case "DiagonalFill":
            return Call(type, [pick.floats(lambda shape: len(shape) == 2)], {"value": 1.5})
    x = pick.floats()
    if type == "ConstantFill" and pick.chance(0.3):
        return Call(type, [], {"shape": list(pick.shape(x)), "value": 0.7, "dtype": "float64"})
    if type == "Shape" and pick.shape(x) and pick.chance(0.3):
        return Call(type, [x], {"axes": [len(pick.shape(x)) - 1]})
    return Call(type, [x], {"value": 0.7} if type == "ConstantFill" else {})


def stop_gradient(pick: Pick) -> Call:
    return Call("StopGradient", [pick.floats()], naming="in place" if pick.chance(0.3) else None)


def zero_gradient(pick: Pick) -> Call:
    return Call(pick.one_of(("ZeroGradient", "ZeroGradient", "Print")), [pick.floats()], outputs=0)


def without_rule(pick: Pick) -> Call:
    type = pick.one_of(("Floor", "Floor", "Ceil", "Sign", "Sign", "Mod"))
    if type != "Mod":
        return Call(type, [pick.floats()])
    args = {"divisor": 3, "sign_follow_divisor": pick.random.randint(0, 1)}
    return Call(type, [pick.integers((3,), 6, -5)], args)
