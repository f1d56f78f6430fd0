"""What a job can do, one step at a time. The device computes meanwhile, so that other threads run."""

from __future__ import annotations

import time
import zlib


def denoise(step: int) -> bytes:
    time.sleep(0.03)
    return bytes(i * step & 255 for i in range(4096))


def upscale(step: int) -> bytes:
    image = denoise(step)
    for _ in range(20):  # compression lets other threads run
        zlib.compress(image * 40, 6)
    return image


NODES = {"denoise": denoise, "upscale": upscale}
