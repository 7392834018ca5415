"""The expressivity lab: which method distinguishes which graphs, and which claims hold."""
