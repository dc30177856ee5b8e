"""omnes: the collective operations of unmodified MPI programs, made fast on any MPI, and explained.

cli has the command, commands one module for each of its commands. The rooms that they use: launching (MPIs, libraries,
command lines), bench (stock against omnes), algorithms (catalogue, proofs, decision tables), models (costs,
predictions, guidelines), placement (where ranks lie), traces (what a program did), tuning, exporting, simulation,
drawing, reporting, cluster (emulated hosts), programs (in C), terminal (what people write and read), errors.
"""
