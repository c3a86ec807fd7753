"""The one gate for bytes from outside: what may be opened, how much is held, and the reader of JSON lines."""
