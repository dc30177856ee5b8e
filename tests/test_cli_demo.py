"""omnes demo, with less patience than for people who watch."""

from __future__ import annotations

from cli import fails, omnes
from launching import the_mpi
from omnes.commands import demo


def test_it_compares_a_program_and_some_cells(monkeypatch):
    monkeypatch.setattr(demo, "_CELL_SECONDS", 0.05)
    monkeypatch.setattr(demo, "_REPEATS", 1)
    result = omnes("demo", "--mpi", str(the_mpi("openmpi").prefix))
    assert result.exit_code == 0, result.output
    for expected in ("conjugate gradients", "stock ms", "bcast", "barrier", "Next: run your own program"):
        assert expected in result.output


def test_an_mpi_that_is_not_there():
    assert "/nowhere" in fails("demo", "--mpi", "/nowhere")
