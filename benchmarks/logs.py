"""How fast, and in how little memory, a log of any size is read: `python benchmarks/logs.py [--megabytes 2000]`.

The log is generated into a temporary directory: four services, request identifiers of hexadecimal digits on half of the
lines, tracebacks, one silence. `wc -l` and the reading take turns, and the best of each counts. Memory is the greatest
resident size of a process that does nothing but read the log.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_READ = """
import json, sys, time
from pathlib import Path
from rebug.intake.logs import read_log
begun, cpu = time.perf_counter(), time.process_time()
read = read_log(Path(sys.argv[1]))
seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
status = Path("/proc/self/status").read_text()  # ru_maxrss would count the process that started this one
peak = int(status.partition("VmHWM:")[2].split()[0]) / 1024
digest = read.digest
print(json.dumps({"seconds": seconds, "cpu": cpu, "peak_mb": peak, "lines": digest.sources[0].lines,
    "templates": len(digest.templates), "gap": digest.gaps[0].seconds if digest.gaps else 0,
    "failures": [[f.type, f.count] for f in digest.failures], "notes": list(read.notes),
    "rare": [m.text[24:80] for m in digest.moments if m.why == "rare"][:3]}))
"""
_TRACE = (
    "Traceback (most recent call last):\n"
    '  File "/srv/app/worker.py", line 88, in run\n    job.execute()\n'
    '  File "/srv/app/jobs.py", line 41, in execute\n    raise JobError(f"job {self.id} failed")\n'
    "app.jobs.JobError: job {number} failed\n"
)


def _line(number: int, rng: random.Random) -> str:
    clock = 1_700_000_000 + number * 0.004 + (90 if number > 40_000 else 0)
    whole = int(clock)
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(whole)) + f",{int((clock - whole) * 1000):03d}"
    match rng.randrange(8):
        case 0 | 1:
            words = f"INFO app.http: [{rng.getrandbits(128):032x}] GET /api/items/{rng.randrange(9999)} 200"
            return f"{when} {words} in {rng.random() * 90:.1f} ms\n"
        case 2 | 3:
            return f"{when} DEBUG app.db: [{rng.getrandbits(48):012x}] select took {rng.random():.4f} s\n"
        case 4:
            return f"{when} INFO app.worker: job {number} done by worker-{rng.randrange(9)} in {rng.randrange(500)} s\n"
        case 5:
            return f"{when} INFO app.cache: hit ratio {rng.random():.2f} of {rng.randrange(9000)} keys\n"
        case 6:
            return f"{when} WARNING app.pool: 10.0.0.{rng.randrange(255)} is slow, {rng.randrange(60)} connections\n"
        case _:
            return f"{when} INFO app.queue: {rng.randrange(400)} waiting, user {rng.choice(('ada', 'bob', 'eve'))}\n"


def generate(path: Path, megabytes: int) -> None:
    """Write a log of about `megabytes`: a first part of 40 MB line by line, then the same with later identifiers."""
    rng = random.Random(4)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("2023-11-14 22:13:19,000 INFO app.main: starting\n")
        number = 0
        piece: list[str] = []
        while number < 400_000:
            piece.append(_line(number, rng))
            if number % 20_000 == 19_999:
                piece.append(_line(number, rng).split(" INFO")[0][:23] + " ERROR app.worker: job failed\n")
                piece.append(_TRACE.replace("{number}", str(number)))
            number += 1
        text = "".join(piece)
        file.write(text)
        file.write("2023-11-14 23:00:00,000 INFO app.main: configuration was read again, once\n")
        table = str.maketrans("0123456789abcdef", "123456789abcdef0")
        day = 14
        written = len(text)
        while written < megabytes * 1_000_000:
            day += 1
            text = re.sub(r"(?<=\[)[0-9a-f]{12,32}(?=\])", lambda found: found[0].translate(table), text)
            later = text.replace("2023-11-14", f"2023-12-{day % 28 + 1:02d}")
            file.write(later)
            written += len(later)


def counted(path: Path) -> float:
    begun = time.perf_counter()
    subprocess.run(["wc", "-l", str(path)], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "service.log"
        generate(path, options.megabytes)
        size = path.stat().st_size / 1e6
        counts, reads = [], []
        for _ in range(options.repeats):
            counts.append(counted(path))
            done = subprocess.run([sys.executable, "-c", _READ, str(path)], check=True, capture_output=True, text=True)
            reads.append(json.loads(done.stdout))
        counts.append(counted(path))
    best = min(read["seconds"] for read in reads)
    peak = max(read["peak_mb"] for read in reads)
    print(f"log            {size:8.0f} MB, {reads[0]['lines']:,} lines")
    print(f"wc -l          {min(counts):8.2f} s  {size / min(counts):8.0f} MB/s")
    print(f"reading        {best:8.2f} s  {size / best:8.0f} MB/s, CPU {min(read['cpu'] for read in reads):.2f} s")
    print(f"peak           {peak:8.0f} MB")
    print(f"found          {reads[0]['templates']} templates, failures {reads[0]['failures']}, "
          f"longest silence {reads[0]['gap']} s, rare {reads[0]['rare']}, notes {reads[0]['notes']}")  # fmt: skip
    print(json.dumps({
        "peak_mb": round(peak, 1), "fraction_of_wc": round(min(counts) / best, 4), "megabytes": round(size),
        "seconds": round(best, 2), "megabytes_per_second": round(size / best, 1),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
