"""How programs start: the MPIs of this machine, the libraries for them, command lines, CPUs."""
