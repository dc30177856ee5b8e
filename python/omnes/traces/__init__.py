"""What a program's ranks did: statistics, the traffic of their calls, traces call by call."""
