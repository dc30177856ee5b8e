"""Stock against omnes in one run: jobs that take turns, cells of (operation, size), tables of what was measured."""
