"""rebug turns a bug report back into the bug: it searches for a script that reproduces it."""

__version__ = "0.1.0"
