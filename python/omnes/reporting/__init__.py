"""The page of omnes report: one file that needs nothing else, each section of it made by a module."""
