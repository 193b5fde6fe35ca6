"""Finding a model's heads, and verifying that edits of them do what they should."""
