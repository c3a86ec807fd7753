"""What the sources of Copilot's own storage share: lines, rows, spans."""
