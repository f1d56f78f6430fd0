"""The command line: options in, one result on stdout, narration on stderr, an exit status of the contract.

What a command needs beyond its options is imported when it runs, so that `rebug --help` is quick.
"""

from rebug.cli.main import main

__all__ = ["main"]
