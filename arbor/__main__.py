"""`python -m arbor`."""

from arbor.cli.main import main

if __name__ == "__main__":
    main()
