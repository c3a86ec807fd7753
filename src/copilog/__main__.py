"""python -m copilog"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
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
