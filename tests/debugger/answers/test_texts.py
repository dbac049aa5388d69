"""The text of typical answers reads as it was agreed on: ``texts/*.txt``; of one, its HTML too."""

from pathlib import Path

import pytest

from tests.debugger.answers.typical import TYPICAL

TEXTS = Path(__file__).parent / "texts"


@pytest.mark.parametrize("name", TYPICAL)
def test_the_text_of_an_answer(name):
    assert f"{TYPICAL[name]()}\n" == (TEXTS / f"{name}.txt").read_text(encoding="utf-8")


def test_the_html_of_an_answer():
    assert TYPICAL["why_none"]()._repr_html_() == (
        "<p><b>label@0 has no gradient; not computed, which is not zero. Every way from it to a y is cut:</b></p>"
        "<ul><li>label@0: SoftmaxWithLoss #6 has a rule that gives this input no gradient.</li></ul>"
    )
    html = TYPICAL["paths"]()._repr_html_()
    assert "<caption>The gradient of x@0 comes along 3 paths from loss@0 (loss_autogen_grad@0)</caption>" in html
    assert '<th scope="col" style="text-align: right; white-space: nowrap">share</th>' in html
    assert '<td style="text-align: right; white-space: nowrap">46.2 %</td>' in html
    assert '<td style="text-align: left">x@0 → #1 → triple@0 → #2 → s@0 → #3 → loss@0</td>' in html
