"""Conversation trajectories, as `copilog extract` writes them: one conversation on each line.

Format notes: docs/formats/trajectories.md
"""
