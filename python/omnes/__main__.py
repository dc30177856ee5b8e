"""python -m omnes: the same as the omnes command."""

from omnes.cli import main

main(prog_name="omnes")
