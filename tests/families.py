"""One test for all cases of a family: most of what a test of its own would take for each is not the case."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

import pytest


def over(cases: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Let a test, whose first argument is a case, run over `cases`, family by family; a failure names the case.

    A family is what the name of a case, its `str`, has before the first dash.
    """
    families: dict[str, list[Any]] = {}
    for case in cases:
        families.setdefault(str(case).partition("-")[0], []).append(case)

    def decorate(test: Callable[..., None]) -> Any:
        @wraps(test)
        def of_family(family: list[Any], **others: Any) -> None:
            for case in family:
                try:
                    test(case, **others)
                except Exception as error:
                    error.add_note(f"The case is {case}.")
                    raise

        _, *others = signature(test).parameters.values()
        family = Parameter("family", Parameter.POSITIONAL_OR_KEYWORD)
        of_family.__signature__ = Signature([family, *others])  # type: ignore[attr-defined]
        return pytest.mark.parametrize("family", families.values(), ids=families)(of_family)

    return decorate
