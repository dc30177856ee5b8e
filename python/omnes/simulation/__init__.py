"""Collectives in simulated time, on machines that nobody has at hand: SimGrid runs the same C++ code and its rivals."""
