"""The archive: one SQLite file that keeps conversations, finds them again, and outlives the files they came from."""
