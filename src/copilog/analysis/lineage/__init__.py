"""Where code comes from: the conversations behind a file, a line, a commit, with evidence and its strength."""
