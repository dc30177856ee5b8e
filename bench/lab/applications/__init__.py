"""Real MPI programs, unmodified: the stock MPI against omnes, as bench/programs/*.toml describe them."""
