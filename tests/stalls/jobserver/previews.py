"""Previews of what a job has so far."""

from __future__ import annotations

import zlib


def encode(image: bytes) -> bytes:
    rows = [bytes(image[i : i + 64]) for i in range(0, len(image), 64)]
    return zlib.compress(b"".join(b"\0" + row for row in rows))


def show(queue, event: dict, image: bytes | None) -> None:
    """Called by the worker: it encodes, the event loop only sends."""
    queue.publish(event, None if image is None else encode(image))
