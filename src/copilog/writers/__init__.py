"""What `view` has decided, drawn: as text for a terminal, as Markdown, as pieces for agents."""
