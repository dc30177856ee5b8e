"""The defects of tests/planted, which scripts/planted compiles and has found: what each one replaces is there."""

from __future__ import annotations

import runpy

import pytest

from launching import ROOT

DEFECTS = runpy.run_path(str(ROOT / "scripts" / "planted"), run_name="planted")["read_defects"]()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_what_a_defect_replaces_is_there_once(defect):
    assert (ROOT / defect.file).read_text().count(defect.right) == 1
