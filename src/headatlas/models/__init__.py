"""Models: load, run with edits on single heads, read head outputs, verify, export."""
