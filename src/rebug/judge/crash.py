"""What a run shows of a native crash: killed by the reported signal, and in a call into the subject. Pure.

A signal alone proves nothing, since a script can kill itself in many ways. So the script must hold none of these ways,
and where the interpreter said on which line it was (faulthandler), that line must be the subject's, or one of the
script's that uses the subject. A run that a limit of the sandbox ended is not SIGNALLED and never gets here.
"""

from __future__ import annotations

import ast
import re

from rebug.judge import gate, traces
from rebug.judge.exhibit import NOTHING, Evidence, Exhibit
from rebug.model import Ended, Failure, Symptom

FATAL = {"SIGSEGV": 11, "SIGABRT": 6, "SIGBUS": 7, "SIGILL": 4, "SIGFPE": 8, "SIGTRAP": 5}
"""Signals by which the system or the C library ends a faulty program, with their numbers on Linux."""

_ALIKE = ({"SIGSEGV", "SIGBUS"}, {"SIGILL", "SIGTRAP", "SIGABRT"})
"""Which of them a fault ends in depends on the platform: mapped files, how a compiler renders `abort`."""

_KILLING_MODULES = {"ctypes", "cffi", "_ctypes", "_testcapi", "_testinternalcapi", "_testlimitedcapi"}
_KILLING_CALLS = {
    "os": {"kill", "killpg", "abort", "_exit"},
    "signal": {"raise_signal", "pthread_kill", "alarm", "setitimer", "pidfd_send_signal"},
    "faulthandler": {"_sigsegv", "_sigabrt", "_sigfpe", "_read_null", "_stack_overflow", "_fatal_error_c_thread"},
    "resource": {"setrlimit", "prlimit"},
    "threading": {"stack_size"},
    "types": {"CodeType"},
    "sys": {"setrecursionlimit"},
}
_KILL_COMMAND = re.compile(r"\bkill\b.{0,20}-(?:\d{1,2}|(?:SIG)?(?:SEGV|ABRT|BUS|ILL|FPE|TRAP))\b")
_NO_MEMORY = re.compile(
    r"memory allocation of \d+ bytes failed|std::bad_alloc|out of memory|cannot allocate memory", re.IGNORECASE
)
_OTHER_PLACE = 0.35
_UNKNOWN_PLACE = 0.15
_VAGUE = 0.3


def crash(exhibit: Exhibit) -> Evidence:
    """Killed by the reported signal in the subject, or told to be by a script that watches a child process."""
    signal = signal_seen(exhibit)
    if not signal or why_not(exhibit):
        return NOTHING
    kind = _signal_distance(exhibit.symptom, signal, exhibit.observation.stderr)
    failure = dump(exhibit)
    place, doubt = _place(exhibit, failure)
    reasons = [doubt] if doubt else []
    if kind >= 1:
        reasons.append(f"it is killed by {signal}, the report has {exhibit.symptom.signal}")
    return Evidence(
        shown=True,
        failing=True,
        distance=min(1.0, max(0.5 * kind, place) + 0.1 * min(kind, place)),
        parts={"signal": round(kind, 3), "place": round(place, 3)},
        reasons=tuple(reasons),
    )


def signal_seen(exhibit: Exhibit) -> str:
    """The fatal signal of a run: the script's own end, or that of a child whose status it passed on; "" for none."""
    observation = exhibit.observation
    if observation.ended is Ended.SIGNALLED:
        return observation.signal if observation.signal in FATAL else ""
    if observation.ended is not Ended.EXITED or not _watches(exhibit.tree):
        return ""
    statuses = {128 + number: name for name, number in FATAL.items()} | {256 - n: name for name, n in FATAL.items()}
    return statuses.get(observation.exit or 0, "")


def _watches(tree: ast.Module) -> bool:
    """Whether a script starts processes, and ends with no fatal status that it makes up itself."""
    made_up = {sign for number in FATAL.values() for sign in (128 + number, 256 - number, number)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"sys.exit", "exit", "SystemExit", "quit"}:
            constants = {leaf.value for leaf in ast.walk(node) if isinstance(leaf, ast.Constant)}
            if constants & made_up:
                return False
    return bool(_imported(tree) & {"subprocess", "multiprocessing", "concurrent", "asyncio", "os"})


def _imported(tree: ast.Module) -> set[str]:
    found = {a.name.partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    return found | {(n.module or "").partition(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}


def why_not(exhibit: Exhibit) -> str:
    """Why a fatal signal says nothing of the subject; "" when it may."""
    if not gate.uses_subject(exhibit.tree, exhibit.modules):
        return "the script does not use the software under test"
    words = exhibit.told
    if _NO_MEMORY.search(exhibit.observation.stderr[-20_000:]) and not _NO_MEMORY.search(words):
        return "it ran out of memory"
    for way in _ways_to_die(exhibit.tree):
        if not (exhibit.own and way in words):  # what the reporter's own program does is part of the report
            return f"the script can kill itself: {way}"
    return ""


def _ways_to_die(tree: ast.Module) -> list[str]:
    """Names and texts in a script by which it may end itself with a signal."""
    found = sorted(_imported(tree) & _KILLING_MODULES)
    names = set().union(*_KILLING_CALLS.values())
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value).rpartition(".")[2]
            if node.attr in _KILLING_CALLS.get(owner, ()) or (node.attr.startswith("_") and node.attr in names):
                found.append(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found += [a.name for a in node.names if a.name in _KILLING_CALLS.get(node.module or "", ())]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 2000:
            text = node.value
            if text in names - {"alarm", "kill", "abort"} or _KILL_COMMAND.search(text) or text in _KILLING_MODULES:
                found.append(text)
    return found


# ---------------------------------------------------------------------------------------------------------------- parts


def _signal_distance(symptom: Symptom, signal: str, stderr: str) -> float:
    """0 for the reported signal, 0.2 for one that the same fault may end in, 1 for another."""
    native = symptom.native
    if native is not None and native.message and native.message.lower() in stderr.lower():
        return 0.0
    if signal == symptom.signal:
        return 0.0
    if native is not None and native.corruption:
        return 0.2
    return 0.2 if any(signal in group and symptom.signal in group for group in _ALIKE) else 1.0


def dump(exhibit: Exhibit) -> Failure | None:
    """The stack that faulthandler wrote when the signal came: in the harness's record or on stderr."""
    return next((one for one in exhibit.observation.failures if not one.type and one.frames), None)


def _place(exhibit: Exhibit, failure: Failure | None) -> tuple[float, str]:
    """(distance of where it died from where the report says, the doubt in words)."""
    wanted = traces.subject_frames(exhibit.symptom.failure, exhibit.modules)
    got = traces.subject_frames(failure, exhibit.modules)
    if wanted and got:
        trace = traces.trace_distance(wanted, got)
        return 0.3 * trace, "it dies in another call than reported" if trace == 1 else ""
    distance, doubt = _line(exhibit, failure)
    if wanted and failure is None:
        distance, doubt = max(distance, 2 * _UNKNOWN_PLACE), doubt or "where it died is not known"
    unlinked = "" if exhibit.own else _unlinked(exhibit, named=bool(wanted))
    return (max(distance, _VAGUE), doubt or unlinked) if unlinked else (distance, doubt)


def _line(exhibit: Exhibit, failure: Failure | None) -> tuple[float, str]:
    """Whether it died in a line that uses the subject, or in a call that such a line led to."""
    if failure is None:
        told = exhibit.observation.stderr
        if "Fatal Python error" in told and "<no Python frame>" not in told and not _corrupt(exhibit):
            return _OTHER_PLACE, "the interpreter does not say in which call it died"
        return _UNKNOWN_PLACE, ""
    lines = {frame.line: frame for frame in failure.frames if gate.in_script(frame)}
    stacks = [failure, *(Failure(type="", frames=(frame,)) for frame in list(lines.values())[:50])]
    if any(gate.touches_subject(stack, exhibit.tree, exhibit.modules) for stack in stacks):
        return 0.0, ""
    if _corrupt(exhibit):  # a broken heap shows at the next use of it, wherever that is
        return _UNKNOWN_PLACE, ""
    return _OTHER_PLACE, "it dies in a line that does not use the software under test"


def _unlinked(exhibit: Exhibit, *, named: bool) -> str:
    """Why a crash that a made-up script brings about may be any other; "" when the report leads to it."""
    if exhibit.symptom.suspects or named:
        return "" if _names_a_suspect(exhibit) else "nothing that the report names takes part in it"
    return "" if _leads_there(exhibit) else "the report does not say in which call it dies, or on what"


def _corrupt(exhibit: Exhibit) -> bool:
    native = exhibit.symptom.native
    return native is not None and native.corruption


def _names_a_suspect(exhibit: Exhibit) -> bool:
    """Whether the script uses any of what the report names; true when it names nothing."""
    suspects = {name.rpartition(".")[2].rstrip("()") for name in exhibit.symptom.suspects}
    used = {leaf.id for leaf in ast.walk(exhibit.tree) if isinstance(leaf, ast.Name)}
    used |= {leaf.attr for leaf in ast.walk(exhibit.tree) if isinstance(leaf, ast.Attribute)}
    used |= {leaf.arg or "" for leaf in ast.walk(exhibit.tree) if isinstance(leaf, ast.keyword)}
    texts = (leaf.value for leaf in ast.walk(exhibit.tree) if isinstance(leaf, ast.Constant))
    used |= {word for text in texts if isinstance(text, str) for word in re.findall(r"\w+", text[:2000])}
    return not suspects or bool(suspects & used)


_DEEP = 1000
"""A number in a script from which on it may make data too deep, or too long, for a stack."""


def _leads_there(exhibit: Exhibit) -> bool:
    """Whether a script made up for a report that names no call is led there all the same: by the address, which tells
    of a read past the end of what is mapped or of a stack used up, or by a value that the report or its logs show."""
    address = exhibit.symptom.native.address if exhibit.symptom.native else ""
    values = [leaf.value for leaf in ast.walk(exhibit.tree) if isinstance(leaf, ast.Constant)]
    if address == "page" or (address == "stack" and any(type(v) is int and v >= _DEEP for v in values)):
        return True
    shown = exhibit.told + "\n" + exhibit.logged
    texts = [
        value if isinstance(value, str) else str(value) for value in values if isinstance(value, str | int | float)
    ]
    return any(len(text) >= 3 and (text in shown or repr(text)[1:-1] in shown) for text in texts)
