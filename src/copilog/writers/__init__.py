"""The blocks of `view` drawn: as text for a terminal, as HTML, as Markdown, as pieces for agents."""
