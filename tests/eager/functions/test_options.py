"""What is no array in a call must be what it stands for: anything else is refused by name, and nothing is rounded."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradviz import RunError, Variable
from gradviz import functions as F

X, IMAGES = Variable(np.ones((2, 3))), Variable(np.ones((1, 4, 5, 5)))

REFUSED: dict[str, Callable[[], Any]] = {
    "softmax: axis=0.5 must be an integer": lambda: F.softmax(X, axis=0.5),  # type: ignore[arg-type]
    "normalize: axis=1.9 must be an integer": lambda: F.normalize(X, axis=1.9),  # type: ignore[arg-type]
    "argmax: axis=x must be an integer": lambda: F.argmax(X, axis="x"),  # type: ignore[arg-type]
    "sum: axis=1.0 must be an integer, or several": lambda: X.sum(axis=1.0),  # type: ignore[arg-type]
    "mean: keepdims=2 must be True or False": lambda: F.mean(X, keepdims=2),  # type: ignore[arg-type]
    "reshape: shape=3.0 must be an integer, or several": lambda: X.reshape(3.0),
    "transpose: axes=Ellipsis must be an integer, or several": lambda: F.transpose(X, ...),  # type: ignore[arg-type]
    "get_item: slice=1.5 must be an integer": lambda: X[1.5:],
    "is no index, as its lists are not of one length": lambda: X[[[0, 1], [1]]],
    "concat: xs=3 must be a list of arrays": lambda: F.concat(3, axis=0),  # type: ignore[arg-type]
    "pad: pad_width=[0.5, 0.5, 0.5, 0.5]": lambda: F.pad(X, 0.5),
    "split_axis(x: float64 (0,)): axis 0 has no elements, and 1099511627776 parts": lambda: F.split_axis(
        np.ones(0), 2**40, 0
    ),
    "tile: reps=1000000000000000000000000000000": lambda: F.tile(X, 10**30),
    "elu: alpha=1 must be a number": lambda: F.elu(X, alpha="1"),  # type: ignore[arg-type]
    "clip: max={} must be a number": lambda: F.clip(X, max={}),  # type: ignore[arg-type]
    "softplus: beta=0 must be other than 0": lambda: F.softplus(X, beta=0),
    "matmul: transa=0.5 must be True or False": lambda: F.matmul(X, X, transa=0.5),  # type: ignore[arg-type]
    "einsum: subscripts=0 must be text": lambda: F.einsum(0, X),  # type: ignore[arg-type]
    "cast: dtype=Ellipsis must be a dtype": lambda: F.cast(X, ...),
    "convolution_2d: groups=1.5 must be an integer": lambda: F.convolution_2d(IMAGES, IMAGES, groups=1.5),  # type: ignore[arg-type]
    "group_normalization: groups=2.7 must be an integer": lambda: F.group_normalization(
        IMAGES,
        2.7,
        np.ones(4),
        np.ones(4),  # type: ignore[arg-type]
    ),
    "local_response_normalization: n=2.5 must be an integer": lambda: F.local_response_normalization(IMAGES, n=2.5),  # type: ignore[arg-type]
    "max_pooling_2d: ksize=(1, 2, 3) must be one integer or two": lambda: F.max_pooling_2d(IMAGES, (1, 2, 3)),
    "apply: outputs=1.5 must be an integer": lambda: F.apply("Tanh", X, outputs=1.5),  # type: ignore[arg-type]
    "apply: type=None must be text": lambda: F.apply(None, X),  # type: ignore[arg-type]
    "Tanh has 1 outputs: y; not 3": lambda: F.apply("Tanh", X, outputs=3),
    "Tanh has 1 outputs: y; not 0": lambda: F.apply("Tanh", X, outputs=0),
    "TopK has 2 to 3 outputs: values, indices, flat; not 1": lambda: F.apply("TopK", X, k=1),
    "-1 is beyond the numbers of uint8": lambda: Variable(np.ones(2, np.uint8)) + -1,
    "truth values have no difference": lambda: Variable(np.ones(2, bool)) - Variable(np.ones(2, bool)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_an_option_cannot_be_is_refused_by_name(words: str) -> None:
    with pytest.raises(RunError) as caught:
        REFUSED[words]()
    text = str(caught.value).replace("'", "")
    assert words in text
    assert caught.value.ways_out


def test_numbers_of_numpy_and_variables_of_one_element_are_options_too() -> None:
    np.testing.assert_array_equal(F.sum(X, axis=np.int64(1), keepdims=np.True_).data, np.full((2, 1), 3.0))
    np.testing.assert_array_equal(F.leaky_relu(-X, slope=Variable(0.5)).data, np.full((2, 3), -0.5))
    np.testing.assert_array_equal(F.reshape(X, np.array([3, 2])).data, np.ones((3, 2)))
