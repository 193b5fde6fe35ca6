"""Runs: work cut into units, kept in a folder, done by this machine."""
