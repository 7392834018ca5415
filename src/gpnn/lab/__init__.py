"""The expressivity lab: which method tells which graphs apart, and which claims hold."""
