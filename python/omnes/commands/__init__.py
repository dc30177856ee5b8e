"""One module for each command of omnes; the group in omnes.cli loads a module when its command is asked for."""
