"""Shapes that the VS Code formats share."""
