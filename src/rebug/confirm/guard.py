"""The guard of a stand-alone script: it makes the exit status mean what the contract says. Pure.

- 1, as any uncaught exception does: the reported failure.
- 0: the same call now ends otherwise, by an exception that the software under test raises itself. The reported failure
  is gone; that the input is refused properly, or that a later mistake of the reporter's shows, is not the bug.
- 125, "cannot tell": everything else, so that a missing dependency, a refused connection or a changed interface is
  never taken for the bug or for its absence.
"""

from __future__ import annotations

from collections.abc import Sequence

from rebug.judge import fragments
from rebug.model import Basis, Ended, Failure, Symptom, Trial

REACHED = "_call_reached"
"""Name of the variable that the script sets just before the statement that failed."""

_VARYING = {"RecursionError", "MemoryError"}
"""Their messages depend on where exhaustion struck."""


def guard(trial: Trial, symptom: Symptom, modules: Sequence[str], *, armed: bool) -> str:
    """The hook, as source text; "" when the script has one of its own. `armed`: the script can set `REACHED`."""
    if "sys.excepthook" in trial.candidate.script:
        return ""
    right = symptom.expected_exception.rpartition(".")[2]
    failure = trial.observation.failures[0] if trial.observation.failures else None
    if trial.observation.ended is Ended.SIGNALLED:
        return _told_by_signal(modules)
    if trial.candidate.basis is not Basis.NONE or failure is None or failure.where != "raised":
        return _hook("kind is AssertionError", _named(right), _LEADS_TO if right else "")
    message = telling(failure)
    like = f"kind.__name__ == {failure.name!r}" + (f" and {message!r} in str(error)" if message else "")
    if right and right != failure.name:
        return _hook(like, _named(right), _LEADS_TO)
    if not armed or not modules:
        return _hook(like, "")
    another = f"kind.__name__ != {failure.name!r} and " if message else ""  # not the same with other words
    return _hook(like, f"{another}_answered(error, trace)", _answered(modules))


def _named(right: str) -> str:
    return f"_leads_to(error, {right!r})" if right else ""


_LEADS_TO = '''
def _leads_to(error, name):
    """Whether it is the exception of that name, or a group with it inside."""
    return type(error).__name__ == name or any(_leads_to(one, name) for one in getattr(error, "exceptions", ()))

'''


def telling(failure: Failure) -> str:
    """The part of the message that does not vary, as it stands in it; "" when there is none."""
    if failure.name in _VARYING:
        return ""
    return next((piece[:100] for piece in fragments(failure.message) if piece[:100] in failure.message), "")


def _hook(like: str, absent: str, helper: str = "") -> str:
    status = f"0 if {absent} else 125" if absent else "125"
    meaning = "0 where it is gone, 125 for an unrelated one" if absent else '125, "cannot tell", for an unrelated one'
    return (
        "import sys\n\n"
        f"{helper}\n"
        "def _only_the_reported_failure(kind, error, trace):\n"
        f'    """Exit 1 for the reported failure; {meaning}."""\n'
        "    sys.__excepthook__(kind, error, trace)\n"
        f"    if not ({like}):\n"
        f"        sys.exit({status})\n\n\n"
        "sys.excepthook = _only_the_reported_failure\n"
    )


def _answered(modules: Sequence[str]) -> str:
    names = ", ".join(repr(name) for name in modules)
    return (
        f"{REACHED} = False\n\n\n"
        "def _answered(error, trace):\n"
        '    """Whether the software under test itself ended the failing call, with another exception."""\n'
        "    while trace.tb_next:\n"
        "        trace = trace.tb_next\n"
        '    inside = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in (' + names + ",)\n"
        f"    return {REACHED} and inside and not isinstance(error, (ImportError, OSError))\n\n"
    )


_SIGNAL_HOOK = '''\
import faulthandler
import sys

faulthandler.enable()  # tells on stderr in which line the signal came
{reached} = False


def _no_exception_is_the_crash(kind, error, trace):
    """Exit 0 where the call that crashed now ends with an exception of its own; 125, "cannot tell", for others."""
    sys.__excepthook__(kind, error, trace)
    while trace.tb_next:
        trace = trace.tb_next
    inside = trace.tb_frame.f_globals.get("__name__", "").partition(".")[0] in {names}
    unrelated = isinstance(error, (ImportError, OSError, NameError, AttributeError))
    sys.exit(0 if {reached} and inside and not unrelated else 125)


sys.excepthook = _no_exception_is_the_crash
'''


def _told_by_signal(modules: Sequence[str]) -> str:
    """The hook of a script that a signal ends: no exception is the failure, and the subject's refusal, which compiled
    code raises without a frame of its own, is its absence."""
    names = "(" + ", ".join(f'"{name}"' for name in ("__main__", *modules)) + ")"
    return _SIGNAL_HOOK.replace("{reached}", REACHED).replace("{names}", names)
