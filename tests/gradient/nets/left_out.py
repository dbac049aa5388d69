"""What random nets leave out, because what gradviz does there is not what autograd does.

Caffe2 names the gradient of every version of x ``x_grad``, and gradviz follows it: a blob that is given under such a
name may be written over. Indices of two dimensions beside others of one are refused while a net runs, see `row_calls`.
"""

from collections.abc import Container


def may_be_written_over(gradient: str, y: str, overwritten: Container[str]) -> bool:
    """Whether `gradient`, given for `y`, has a name that a gradient of another version is written to.

    ``x = Tanh(x)`` from ``{"x": "x_grad"}``: that of the first x.
    ``x = ConstantFill(x); z = Tanh(v)`` from ``{"x": "v_grad", "z": None}``: that of v.
    """
    return "_grad" in gradient and y in overwritten
