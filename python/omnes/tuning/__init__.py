"""Tuning: which cases and candidates to measure, the search among them, and the table that comes of it."""
