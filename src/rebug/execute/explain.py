"""What a limit means and what to do about it, in one line each."""

from __future__ import annotations

from rebug.ports import Limits

MIB = 1 << 20


def explain_limit(limit: str, limits: Limits) -> str:
    """One line for an observation's `limit`: what happened to the run and what to do. "" for no limit."""
    memory, disk, output = (size / MIB for size in (limits.memory_bytes, limits.disk_bytes, limits.output_bytes))
    lines = {
        "wall": f"still running after {limits.wall_seconds:g} s: see its stacks, or allow more wall_seconds",
        "cpu": f"used {limits.cpu_seconds:g} s of processor time: see its stacks, or allow more cpu_seconds",
        "memory": f"its processes held more than {memory:g} MiB: make its input smaller, or allow more memory_bytes",
        "output": f"printed more than {output:g} MiB: have it print less, or allow more output_bytes",
        "disk": f"filled its {disk:g} MiB of disk: have it write less, or allow more disk_bytes",
        "processes": f"started more than {limits.processes} processes: have it start fewer, or allow more processes",
        "deadline": "the time of the whole search was up: allow more with --max-seconds",
        "stopped": "it was stopped from outside: start it again",
    }
    if limit.startswith("sandbox"):
        return f"{limit}: the sandbox could not be set up, `rebug doctor` says why"
    return lines.get(limit, limit)
