"""What a job can do, one step at a time. The device computes meanwhile, so that other threads run."""

from __future__ import annotations

import itertools
import time


def denoise(step: int) -> bytes:
    time.sleep(0.03)
    return bytes(i * step & 255 for i in range(4096))


def upscale(step: int) -> bytes:
    image = denoise(step)
    max(itertools.repeat(0, 15_000_000))  # one call of native code that keeps the interpreter to itself
    return image


NODES = {"denoise": denoise, "upscale": upscale}
