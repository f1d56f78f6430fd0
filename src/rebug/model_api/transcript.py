"""All that was sent to the model and came back, as files that people can read."""

from __future__ import annotations

import re
import threading
from pathlib import Path

from rebug.model_api.port import Reply, Request, prefix_key


class Transcript:
    """Writes `prefix-KEY.txt` once for each prefix and `NNNN-LABEL.txt` for each call. Thread-safe."""

    def __init__(self, directory: Path) -> None:
        """`directory` is made when the first call is recorded; numbers go on after those that are there."""
        self._directory = directory
        self._lock = threading.Lock()
        self._number: int | None = None

    def record(self, request: Request, reply: Reply) -> None:
        """Writes one call: the prefix by its key, what followed it, and the reply with its figures."""
        key = prefix_key(request.prefix)
        label = re.sub(r"[^\w.-]+", "-", request.label or "call")[:60]
        usage = reply.usage
        figures = (
            f"{reply.finish}, {reply.seconds:.1f} s, {usage.input_tokens} tokens in ({usage.cached_tokens} cached, "
            f"{usage.cache_write_tokens} written to cache), {usage.output_tokens} out, "
            + ("price unknown" if reply.usd is None else f"{reply.usd:.6f} USD")
        )
        text = f"== prefix-{key}.txt, then:\n\n{request.suffix}\n\n== reply: {figures}\n\n{reply.text}\n"
        with self._lock:
            self._directory.mkdir(parents=True, exist_ok=True)
            prefix = self._directory / f"prefix-{key}.txt"
            if not prefix.exists():
                _write(prefix, request.prefix)
            if self._number is None:
                self._number = sum(1 for path in self._directory.glob("[0-9]*-*.txt"))
            self._number += 1
            _write(self._directory / f"{self._number:04d}-{label}.txt", text)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="replace")
