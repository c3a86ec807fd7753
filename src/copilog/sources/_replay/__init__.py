"""What debug exports of the Copilot extension share, as JSON or as Markdown, and the steps of trajectories."""
