"""The one exception tree. Each class says who catches it; the command line turns all of them into one line.

RebugError
├── InputError           unreadable or unusable report, source or option       exit 2
├── EnvironmentFailed    the subject's environment could not be built          exit 4
├── SandboxUnavailable   no sandbox can be had on this machine                 exit 4
├── CapReached           a call of the model could exceed --max-usd/-tokens    exit 3
├── ModelUnavailable     no call of the model can succeed (key, name, quota)   exit 2
└── ModelFailed          one call of the model failed, after its retries       exit 1
    └── ContextTooLong   the prompt does not fit the model: shrink it
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


class CapReached(RebugError):
    """A call of the language model was refused, not made: its worst case could exceed a cap. Caught by the search,
    which goes on without paid calls and ends as capped."""

    exit_status = 3


class ModelUnavailable(RebugError):
    """No call of this model can succeed: no or a refused key, an unknown model, an exhausted quota, a missing library.
    Before the run the command line catches it; within one the search goes on without the model."""

    exit_status = 2


class ModelFailed(RebugError):
    """One call of the language model failed. Caught by whoever proposes or criticises: a failed proposal.

    `retryable`: the same call may succeed later; `retry_after`: seconds the provider asked to wait, None when it did
    not say; `billed`: the provider may have done, and so charge, the work all the same (a dropped connection, a
    timeout).
    """

    def __init__(
        self, message: str, *, retryable: bool = False, retry_after: float | None = None, billed: bool = False
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.billed = billed


class ContextTooLong(ModelFailed):
    """The prompt does not fit the model's context. Caught by whoever built the prompt, to shrink it and go on."""
