"""Stock against omnes in one run: jobs that take turns, cells of (operation, size), and the tables of what was measured."""
