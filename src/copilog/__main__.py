"""python -m copilog"""

from __future__ import annotations


def main() -> None:
    """The command line's entry point."""
    from copilog.cli import run

    run()


if __name__ == "__main__":
    main()
