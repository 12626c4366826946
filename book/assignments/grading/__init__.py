"""Assignments: written for students, collected from them, and compared with what is right."""
