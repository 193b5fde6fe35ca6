"""Built-in tasks: the project's own word lists, templates and questions."""
