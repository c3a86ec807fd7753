"""python -m copilog"""

from __future__ import annotations

import gc
import sys

# Objects that are made before the garbage collector looks for cycles: most commands end before they have as many.
OBJECTS_BETWEEN_COLLECTIONS = 50_000


def main() -> None:
    """Run the command line."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS)
    try:
        if sys.argv[1:2] == ["statusline"]:
            from copilog.analysis.fast_statusline import print_quickly

            if print_quickly(sys.argv[2:]):
                return
        from copilog.cli import run

        run()
    except KeyboardInterrupt:  # while modules were still being imported
        sys.exit(130)


if __name__ == "__main__":
    main()
