"""Views of conversations. `text` is what a terminal shows."""
