"""Find the conversations that a file, a line or a commit comes from, with evidence and its strength."""
