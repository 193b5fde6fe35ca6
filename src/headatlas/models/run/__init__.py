"""Running a model: scoring targets, sharing prefixes, packing rows, reading head outputs."""
