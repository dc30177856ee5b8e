"""What only the benchmarks of this folder need: campaigns, their pages, real programs."""
