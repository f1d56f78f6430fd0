"""The queue of jobs and the thread that works on it."""

from __future__ import annotations

import queue
import threading

import previews
from nodes import NODES


class JobQueue:
    def __init__(self, publish) -> None:
        self.nodes = NODES
        self.lock = threading.Lock()
        self.publish = publish
        self.running: dict = {}
        self.done = 0
        self.submitted = 0
        self.waiting: queue.Queue = queue.Queue()
        threading.Thread(target=self.work, name="worker", daemon=True).start()

    def put(self, node: str, *, steps: int, preview: bool) -> int:
        self.submitted += 1
        self.waiting.put((self.submitted, node, steps, preview))
        return self.submitted

    def status(self) -> dict:
        return {"running": self.running, "waiting": self.waiting.qsize(), "done": self.done}

    def work(self) -> None:
        while True:
            number, node, steps, preview = self.waiting.get()
            for step in range(1, steps + 1):
                image = NODES[node](step)
                with self.lock:
                    self.running = {"job": number, "step": step, "of": steps}
                event = {"type": "progress", "job": number, "step": step, "of": steps}
                previews.show(self, event, image if preview else None)
            self.running = {}
            self.done += 1
