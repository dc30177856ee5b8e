"""What algorithms cost: the file of costs, predictions, how good choices are, performance guidelines."""
