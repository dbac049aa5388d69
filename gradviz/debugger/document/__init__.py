"""The trace document: its schema, what makes it hold together, and how it is written and read as JSON."""
