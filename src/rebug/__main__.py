"""`python -m rebug`."""

from rebug.cli import main

if __name__ == "__main__":
    main()
