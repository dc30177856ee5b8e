"""Where ranks lie: levels of machines and jobs, patterns, renumbered ranks, and what launchers read of it."""
