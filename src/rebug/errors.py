"""The one exception tree. Each class says who catches it; the command line turns all of them into one line.

    RebugError
    ├── InputError           unreadable or unusable report, source or option       exit 2
    ├── EnvironmentFailed    the subject's environment could not be built          exit 4
    └── SandboxUnavailable   no sandbox can be had on this machine                 exit 4
"""

from __future__ import annotations


class RebugError(Exception):
    """Root of what rebug raises on purpose. `str()` is one line: what was wrong, where, and what to do.

    Caught by `rebug.cli`, which prints the line and exits with `exit_status`.
    """

    exit_status = 1


class InputError(RebugError):
    """A report, source or option that cannot be used. Raised by intake, subject and the command line."""

    exit_status = 2


class EnvironmentFailed(RebugError):
    """The subject's environment could not be built. The search catches it for variations of the environment (the
    candidate is then refused); for the subject's own environment the command line catches it.

    `detail` holds the last lines of the tool that failed.
    """

    exit_status = 4

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class SandboxUnavailable(RebugError):
    """No sandbox backend works here. Caught by the command line; `rebug doctor` explains."""

    exit_status = 4
