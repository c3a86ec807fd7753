"""The version of copilog, as every file that it writes states it."""

__version__ = "0.2.0"
