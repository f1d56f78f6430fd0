"""Distances between a reported stack and an observed one. Pure.

Source: the crash distance of search-based crash reproduction (Soltani et al., EvoCrash, 2017; Derakhshanfar et al.,
Botsing, 2020): 3 d_line + 2 d_exception + d_trace, each met in that order. Line numbers move between versions, so a
frame is its file's name and its function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rebug.model import Failure, Frame


def in_subject(frame: Frame, modules: Iterable[str]) -> bool:
    """Whether a frame's file belongs to one of the subject's top-level modules, on any machine's path."""
    parts = frame.file.replace("\\", "/").split("/")
    stem = parts[-1].removesuffix(".py")
    if "site-packages" in parts:
        parts = parts[len(parts) - parts[::-1].index("site-packages") :]
        return any(parts and (parts[0] == module or (len(parts) == 1 and stem == module)) for module in modules)
    return any(module in parts[:-1] or stem == module for module in modules)


def subject_frames(failure: Failure | None, modules: Iterable[str]) -> tuple[Frame, ...]:
    """The frames of a failure that lie in the subject, outermost first."""
    names = tuple(modules)
    return tuple(frame for frame in (failure.frames if failure else ()) if in_subject(frame, names))


def same_place(one: Frame, other: Frame) -> bool:
    """Whether two frames are of one function: same function name and same file name."""
    return one.function.rpartition(".")[2] == other.function.rpartition(".")[2] and (
        one.file.replace("\\", "/").rpartition("/")[2] == other.file.replace("\\", "/").rpartition("/")[2]
    )


def trace_distance(reported: Sequence[Frame], observed: Sequence[Frame]) -> float:
    """Share of the reported frames that are not found in the observed stack in the same order (longest common
    subsequence), 0 … 1; 0 when the report shows none."""
    if not reported:
        return 0.0
    row = [0] * (len(observed) + 1)
    for wanted in reported:
        previous = row[:]
        for j, seen in enumerate(observed, 1):
            row[j] = previous[j - 1] + 1 if same_place(wanted, seen) else max(previous[j], row[j - 1])
    return 1 - row[-1] / len(reported)


def innermost_met(reported: Sequence[Frame], observed: Sequence[Frame]) -> bool:
    """Whether the place that raised is the same; true when the report shows no frame of the subject."""
    return not reported or bool(observed and same_place(reported[-1], observed[-1]))


def unreached(functions: Sequence[str], reached: Iterable[str]) -> float:
    """Share of the suspected functions that a run never entered, 0 … 1; 0 when nothing is suspected."""
    if not functions:
        return 0.0
    entered = {entry.rpartition(":")[2].rpartition(".")[2] for entry in reached}
    return sum(name.rpartition(".")[2] not in entered for name in functions) / len(functions)


def crash_distance(line: float, exception: float, trace: float) -> float:
    """Botsing's weighted sum, normalised to 0 … 1: a part counts in full until the one before it is met."""
    if line > 0:
        exception = trace = 1.0
    elif exception > 0:
        trace = 1.0
    return (3 * line + 2 * exception + trace) / 6


def chain(failure: Failure) -> Iterator[Failure]:
    """The failure itself, its group's members, then what it came from; bounded to 50."""
    queue, count = [failure], 0
    while queue and count < 50:
        current = queue.pop(0)
        count += 1
        yield current
        queue.extend(current.members)
        if current.cause is not None:
            queue.append(current.cause)
