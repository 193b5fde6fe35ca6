"""`python -m headatlas` is the program `headatlas`."""

from headatlas.cli.main import main

main()
