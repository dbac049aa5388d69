"""Agreement: nobody's time counts before the results are known to be the same."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt


def check_agreement(
    who: str, theirs: Mapping[str, npt.ArrayLike], ours: Mapping[str, npt.ArrayLike], rtol: float = 1e-4
) -> None:
    """Raise ArithmeticError unless `theirs` holds every array of `ours`, close to it.

    Elements may differ by `rtol` of themselves, and by as much of a tenth of the array's largest element: where terms
    cancel, float32 sums of another order differ by more than a share of the little that remains.
    """
    for name, array in ours.items():
        expected, found = np.asarray(array), np.asarray(theirs[name])
        allowed = rtol * 0.1 * float(np.abs(expected).max())
        if found.shape != expected.shape or not np.allclose(found, expected, rtol=rtol, atol=allowed):
            raise ArithmeticError(f"{who} computes another {name} than gradviz; timing the two would compare nothing.")
