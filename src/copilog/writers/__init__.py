"""What `view` has decided, drawn: as text for a terminal, as HTML, as Markdown, as pieces for agents."""
