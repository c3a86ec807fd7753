"""`python -m conformance`: run scenarios, record traces, write the table, compare event schemas."""

from __future__ import annotations

import sys

from conformance.commands import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
