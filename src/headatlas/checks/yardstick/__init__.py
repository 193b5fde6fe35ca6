"""One yardstick for maps of all methods: what is left of a task as heads are removed in order."""
