"""Models of the protocol in shared memory (models/*.pml): Spin tries all their runs, and finds each planted defect."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

MODELS = Path(__file__).parent / "models"
LIMIT = 120
pytestmark = pytest.mark.skipif(not (shutil.which("spin") and shutil.which("cc")), reason="no spin, or no C compiler")

RIGHT = [
    ("queues",),
    ("starved",),
    ("single_copy",),
    ("sleep",),
    ("sleep", "THREADS=2"),
    ("sleep", "TIMES_OUT", "NO_FENCE_BEFORE_WAKE"),
    ("segment",),
]
STUCK, WRONG = "invalid end state", "assertion violated"
WITH_DEFECT = {
    ("queues", "RING_OVERRUN"): WRONG,
    ("queues", "FASTEST_READER_COUNTS"): WRONG,
    ("queues", "LINE_BEFORE_SLOT"): WRONG,
    ("queues", "COUNTER_BEFORE_SLOT"): WRONG,
    ("starved", "SLOTS_ONLY"): STUCK,
    ("single_copy", "CLAIMED_BLINDLY"): WRONG,
    ("single_copy", "WITHDRAWN_BLINDLY"): WRONG,
    ("single_copy", "CLAIMED_PART_NOT_AWAITED"): WRONG,
    ("single_copy", "NO_NUMBERS"): WRONG,
    ("single_copy", "PIECE_NOT_AWAITED"): WRONG,
    ("sleep", "NO_FENCE_BEFORE_WAKE"): STUCK,
    ("sleep", "NO_FENCE_BEFORE_SLEEP"): STUCK,
    ("sleep", "NO_LAST_LOOK"): STUCK,
    ("sleep", "SLEEPER_NOT_WOKEN"): STUCK,
    ("sleep", "THREADS=2", "ANOTHERS_ANNOUNCEMENT"): STUCK,
    ("sleep", "THREADS=2", "WITHDRAWN_BLINDLY"): STUCK,
    ("segment", "NOT_ALL_LET_GO"): WRONG,
    ("segment", "LET_GO_EARLY"): WRONG,
    ("segment", "CLEARED_ON_ARRIVAL"): STUCK,
}


def search(folder: Path, name: str, *definitions: str, of_safety: bool) -> str:
    """What the search says: of safety, or of progress, where ranks that could go on do so at last."""

    def run(*words: str) -> str:
        return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True, timeout=LIMIT).stdout

    run("spin", "-a", *(f"-D{definition}" for definition in definitions), str(MODELS / f"{name}.pml"))
    kind = ["-DSAFETY", "-DNOCLAIM"] if of_safety else ["-DNFAIR=3"]
    run("cc", "-O1", "-w", *kind, "-o", "pan", "pan.c")
    said = run("./pan", "-m100000", *([] if of_safety else ["-a", "-f"]))
    assert "max search depth too small" not in said, said
    return said


@pytest.mark.parametrize("model", RIGHT, ids=" ".join)
@pytest.mark.parametrize("of_safety", [True, False], ids=["safety", "progress"])
def test_nothing_goes_wrong_in_any_run(model, of_safety, tmp_path):
    said = search(tmp_path, *model, of_safety=of_safety)
    assert "errors: 0" in said, said


@pytest.mark.parametrize("model", WITH_DEFECT, ids=" ".join)
def test_a_defect_is_found(model, tmp_path):
    said = search(tmp_path, *model, of_safety=True)
    assert "errors: 1" in said and WITH_DEFECT[model] in said, said


def test_all_models_and_defects_are_tried():
    tried = {*RIGHT, *WITH_DEFECT}
    assert {name for name, *_ in tried} == {path.stem for path in MODELS.glob("*.pml")}
    words = {word for _, *definitions in tried for word in definitions}
    for path in MODELS.glob("*.pml"):
        asked = {line.split()[1] for line in path.read_text().splitlines() if line.startswith(("#ifdef", "#ifndef"))}
        assert asked <= words | {"THREADS"}, path
