"""Where operators make NaN or infinity of what is finite, and what to do."""

from __future__ import annotations

from typing import NamedTuple


class Singular(NamedTuple):
    """An operator that makes NaN or infinity of something finite: forward and backward, and what to do; `instead`: what
    to do where it is forward, if that is something else."""

    forward: str = ""
    backward: str = ""
    way_out: str = ""
    instead: str = ""

    def ways_out(self, *, forward: bool = False) -> tuple[str, ...]:
        """The way out, where there is one."""
        way_out = self.instead if forward and self.instead else self.way_out
        return (way_out,) if way_out else ()


LOG = Singular(
    "log(0) is -Inf, and of a negative number NaN",
    "the derivative of log at 0 is infinite",
    "Keep it away from 0: x.clamp_min(1e-12).",
)
NORM = Singular(
    "the norm is beyond the largest number",
    "the derivative of the norm at 0 does not exist",
    "Add something small: torch.sqrt(x.square().sum() + 1e-12).",
    "Divide by something large first, or compute it in a wider type: x.double().norm().",
)
PRODUCT = Singular(
    "a product is beyond the largest number", "", "Make it smaller, by normalization or a smaller learning rate."
)
SINGULAR = {
    **dict.fromkeys(("log2", "log10"), LOG),
    **{
        name: Singular(
            f"{name} does not exist beyond -1 and 1",
            f"the derivative of {name} at 1 and -1 is infinite",
            "Keep it inside: x.clamp(-1 + 1e-6, 1 - 1e-6).",
        )
        for name in ("acos", "asin", "atanh")
    },
    "sqrt": Singular(
        "the square root of a negative number is NaN",
        "the derivative of sqrt at 0 is infinite",
        "Add something small first: torch.sqrt(x + 1e-12).",
    ),
    "rsqrt": Singular("1 / sqrt(0) is Inf", "its derivative at 0 is infinite", "Add something small: x + 1e-12."),
    "log": LOG._replace(
        way_out="Keep it away from 0: torch.log(x.clamp_min(1e-12)), or use log_softmax, logsigmoid, xlogy."
    ),
    "log1p": Singular("log1p(-1) is -Inf, and below NaN", "its derivative at -1 is infinite", "Keep it above -1."),
    "div": Singular(
        "something is divided by 0",
        "the derivative of a division by 0 is infinite",
        "Keep the divisor away from 0: y.clamp_min(1e-12).",
    ),
    "reciprocal": Singular("1 / 0 is Inf", "the derivative of 1 / x at 0 is infinite", "Keep x away from 0."),
    "pow": Singular(
        "a power of 0 or of a negative number does not exist",
        "the derivative of this power at 0 is infinite",
        "Keep the base away from 0: x.clamp_min(1e-12).",
    ),
    "exp": Singular(
        "exp is beyond the largest number, in float32 from 89 on",
        "exp is Inf, and 0 times Inf is NaN",
        "Subtract the maximum first, as torch.softmax and torch.logsumexp do.",
    ),
    **dict.fromkeys(("norm", "linalg_vector_norm"), NORM),
    "atan2": Singular("", "the derivative of atan2 at (0, 0) does not exist", "Keep one of both away from 0."),
    "std": Singular(
        "the deviation of one element is NaN",
        "the derivative of std is infinite where nothing deviates",
        "Use var(), or torch.sqrt(x.var() + 1e-12).",
        "Say correction=0, or give more elements.",
    ),
    "var": Singular(
        "the variance of one element is NaN",
        "the variance of one element has no derivative",
        "Say correction=0, or give more elements.",
    ),
    "mean": Singular("the mean of nothing is NaN", "the mean of nothing has no derivative", "Leave empty tensors out."),
    "softmax": Singular(
        "of a row in which all is -Inf softmax is NaN",
        "softmax is NaN there",
        "Leave one element of each row unmasked.",
    ),
    "log_softmax": Singular(
        "of a row with Inf, or in which all is -Inf, log_softmax is NaN",
        "log_softmax is NaN there",
        "Leave one element of each row unmasked.",
    ),
    "logit": Singular(
        "logit of 0 or 1 is infinite, and beyond these it is NaN",
        "the derivative of logit at 0 and 1 is infinite",
        "Keep it inside: x.clamp(1e-6, 1 - 1e-6).",
    ),
    "erfinv": Singular(
        "erfinv of 1 or -1 is infinite, and beyond these it is NaN",
        "the derivative of erfinv at 1 and -1 is infinite",
        "Keep it inside: x.clamp(-1 + 1e-6, 1 - 1e-6).",
    ),
    "acosh": Singular("acosh does not exist below 1", "the derivative of acosh at 1 is infinite", "Keep it above 1."),
    "xlogy": Singular(
        "the logarithm of a negative number is NaN",
        "its derivative is infinite or NaN where the logarithm is of 0",
        "Keep what the logarithm is of away from 0: torch.xlogy(x, y.clamp_min(1e-12)).",
    ),
    "hypot": Singular("", "the derivative of hypot at (0, 0) does not exist", "Keep one of both away from 0."),
    "linalg_slogdet": Singular(
        "the logarithm of a determinant of 0 is -Inf, and of a negative one NaN",
        "the derivative of a determinant's logarithm is infinite where that is 0",
        "Use torch.linalg.slogdet, which tells the sign, or add something small to the diagonal.",
    ),
    "linalg_eigh": Singular(
        "",
        "eigenvectors of equal eigenvalues have no derivative",
        "Use eigenvalues alone, torch.linalg.eigvalsh, or make them differ.",
    ),
    "linalg_svd": Singular(
        "",
        "singular vectors of equal singular values have no derivative",
        "Use singular values alone, torch.linalg.svdvals, or make them differ.",
    ),
    "ctc_loss": Singular(
        "a target longer than its input can spell has the loss Inf",
        "",
        "Leave such targets out, or say zero_infinity=True.",
    ),
    "cdist": Singular("", "the derivative of a distance at 0 does not exist", "Add something small."),
    "nll_loss": Singular("every target is ignored, and the mean of nothing is NaN", "", "Leave such batches out."),
    "prod": Singular("the product is beyond the largest number", "its derivative divides by 0"),
    **dict.fromkeys(("addmm", "mm", "bmm", "baddbmm", "convolution", "mul"), PRODUCT),
    "mse_loss": PRODUCT._replace(forward="a square is beyond the largest number"),
}
"""By type of operator."""


OVERFLOW = PRODUCT._replace(forward="a power is beyond the largest number")
"""Of a square, a cube and so on."""


UNDEFINED = {
    "log", "log2", "log10", "log1p", "div", "reciprocal", "sqrt", "rsqrt", "acos", "asin", "atanh", "acosh", "logit",
    "erfinv", "xlogy", "linalg_slogdet", "ctc_loss",
}  # fmt: skip
"""Whose infinities and NaN no type would change."""

GROWS = {"exp", "pow", "var", "std"}
"""Whose result may be beyond the largest number, or the mean of nothing."""

USUAL = {"exp", "mean", "var", "softmax", "log_softmax", "pow", "div"}
"""Which most models have, and which seldom do it backward."""
