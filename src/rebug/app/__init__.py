"""What the commands do, without a command line: for `rebug.cli` and for whoever embeds rebug.

This is the one place where backends are chosen and wired to the Protocols of `rebug.ports`.
"""

from rebug.app.doctor import Check, examine
from rebug.app.options import Options, cache_directory, demonstration
from rebug.app.reproduce import EXIT_STATUS, Done, read_run, reproduce
from rebug.app.verify import Verification, verify_script

__all__ = [
    "EXIT_STATUS",
    "Check",
    "Done",
    "Options",
    "Verification",
    "cache_directory",
    "demonstration",
    "examine",
    "read_run",
    "reproduce",
    "verify_script",
]
