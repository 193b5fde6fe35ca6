"""The program `headatlas`, also as `python -m headatlas`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; an interruption while it is still being loaded ends quietly too."""
    try:
        from headatlas.cli.main import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("stopped.\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
