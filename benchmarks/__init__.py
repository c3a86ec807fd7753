"""How fast copilog reads, measured on homes that are made up from a seed."""
