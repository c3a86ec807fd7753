"""The archive: one SQLite file that stores conversations, searches them, and outlives the files they came from."""
