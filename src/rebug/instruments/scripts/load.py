"""Load: `load("module", job=…, act=…, probes=[…])` starts a server, and fails if work or answers slow down under load.

`target` is the server: "module" runs as a program, "module:main" is called, with `how` ("asgi", "wsgi", "aiohttp") it
is an application. Requests are (method, path, body), method "WS" for a message on the websocket at that path. `metric`
"step": a step of `job`, which runs all the time, is timed with and without `act` ten times a second. `metric` "api":
the answers to `probes` are timed with and without `act` (or, if there is none, `job`). `events`: websockets to hear.
"""

import base64
import contextlib
import faulthandler
import http.client
import importlib
import importlib.util
import inspect
import json
import os
import re
import runpy
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

_PHASE = 0.9  # seconds; longer where too little happens in that time
_PAUSE = 0.02  # seconds between two questions
_LATE = 0.06  # seconds; a thread that cannot run for so long waits for another that keeps the interpreter
_STEP_NAMES = re.compile(r"step|progress|value|iter|percent|current|frame|epoch|done|complet|count", re.IGNORECASE)


# ---- in the server's process: it runs there as ever, on a port that is free, and a thread looks on


def _home(module):
    """The directory of the server's own code."""
    spec = importlib.util.find_spec(module.split(".")[0])
    places = [spec.origin or "", *(spec.submodule_search_locations or [])]
    return os.path.dirname(os.path.abspath(places[-1] if "." in module or len(places) < 2 else places[-1] + "/x"))


def _place(frame, home, above):
    """(innermost place in the server's own code, whether the thread waits, whether it runs an event loop)."""
    place, loop, code = "-", False, frame.f_code
    waits = code.co_name in ("select", "poll", "wait", "get", "accept", "_worker", "readinto", "_wait_for_tstate_lock")
    waits = waits and not code.co_filename.startswith(home + os.sep)
    while frame is not None:
        file = frame.f_code.co_filename
        if place == "-" and file.startswith(home + os.sep) and not frame.f_code.co_name.startswith("<"):
            place = "%s:%s:%d" % (os.path.relpath(file, above), frame.f_code.co_name, frame.f_lineno)
        loop = loop or (frame.f_code.co_name in ("run_forever", "run_until_complete") and "asyncio" in file)
        frame = frame.f_back
    return place.replace(" ", "_"), waits, loop


def _kept_by(ident, text, home, above):
    """Where a thread was, by faulthandler, which needs no interpreter to look."""
    stack = re.search(r"Thread 0x0*%x .*\n((?: +File .*\n)*)" % ident, text)
    for file, line, name in re.findall(r'File "(.*?)", line (\d+) in (\S+)', stack.group(1) if stack else ""):
        if file.startswith(home + os.sep) and not name.startswith("<"):
            return "%s:%s:%s" % (os.path.relpath(file, above).replace(" ", "_"), name, line)
    return ""


def _look(say, home, parent):
    """A hundred times a second: how late this thread comes to run, and for every other its place and CPU time."""
    own, used, due = threading.get_ident(), {}, time.monotonic()
    dump = tempfile.TemporaryFile("w+")  # noqa: SIM115 - for as long as the process runs
    above = home if not os.path.exists(os.path.join(home, "__init__.py")) else os.path.dirname(home)
    while os.getppid() == parent:
        due = max(due, time.monotonic() - 0.01) + 0.01
        faulthandler.dump_traceback_later(_LATE, file=dump)  # comes about only while no thread gets to run
        time.sleep(max(0.0, due - time.monotonic()))
        now, seen = time.monotonic(), {}
        for ident, frame in sys._current_frames().items():
            if ident != own:
                cpu = time.clock_gettime(time.pthread_getcpuclockid(ident))
                seen[ident] = (*_place(frame, home, above), cpu - used.get(ident, cpu))
                used[ident] = cpu
        if now - due > _LATE and seen:
            dump.seek(0)
            busiest = max(seen, key=lambda ident: seen[ident][3])
            seen[busiest] = (_kept_by(busiest, dump.read(), home, above) or seen[busiest][0], *seen[busiest][1:])
            dump.seek(0)
            dump.truncate()
        say({"at": now, "late": now - due, "threads": list(seen.values())})
        due = now
    os._exit(1)


def _on_free_ports(say):
    """Whatever port is asked for, another that is free is given, on this machine only, and told."""
    bind, listen = socket.socket.bind, socket.socket.listen

    def bind_free(sock, address):
        if sock.family == socket.AF_INET and sock.type == socket.SOCK_STREAM:
            address = ("127.0.0.1", 0)
        elif sock.family == socket.AF_INET6 and sock.type == socket.SOCK_STREAM:
            address = ("::1", 0)
        return bind(sock, address)

    def listen_told(sock, *backlog):
        listen(sock, *backlog)
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            say({"port": sock.getsockname()[:2]})

    socket.socket.bind, socket.socket.listen = bind_free, listen_told


def _serve(target, arguments, how, pipe, parent):
    lock = threading.Lock()

    def say(data):
        with lock:
            os.write(pipe, (json.dumps(data) + "\n").encode())

    module, _, name = target.partition(":")
    home = _home(module)
    _on_free_ports(say)
    os.environ.update(PORT="0", BROWSER="true", PYTHONUNBUFFERED="1")
    sys.argv[:] = [module, *arguments]
    threading.Thread(target=_look, args=(say, home, parent), daemon=True).start()
    if not name:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        return
    thing = getattr(importlib.import_module(module), name)
    if how == "wsgi":
        from socketserver import ThreadingMixIn
        from wsgiref.simple_server import WSGIServer, make_server

        make_server("127.0.0.1", 0, thing, type("_Server", (ThreadingMixIn, WSGIServer), {})).serve_forever()
    elif how == "asgi":
        importlib.import_module("uvicorn").run(thing, port=0, loop="asyncio", log_level="warning")
    elif how == "aiohttp":
        importlib.import_module("aiohttp.web").run_app(thing, port=0)
    else:
        known = {"host": "127.0.0.1", "port": 0, "argv": list(arguments), "args": list(arguments)}
        result = thing(**{name: known[name] for name in inspect.signature(thing).parameters if name in known})
        if inspect.iscoroutine(result):
            importlib.import_module("asyncio").run(result)


# ---- in the script's process: the clients


class _Server:
    """The server in a child process, and what it and its thread that looks on have said so far."""

    def __init__(self, what, samples):
        self.ports, self.samples, self.counts, self.last_said = [], samples, {}, ""
        reader, writer = os.pipe()
        out, printed = os.pipe()
        parent = os.getpid()
        self.gone, self.pid = False, os.fork()
        if self.pid == 0:
            os.close(reader)
            os.dup2(printed, 1)
            os.dup2(printed, 2)
            sys.stdout = sys.stderr = os.fdopen(1, "w", buffering=1)
            try:
                _serve(*what, writer, parent)
            finally:  # its traceback goes where the server's own output goes
                sys.excepthook(*sys.exc_info())
                os._exit(1)
        os.close(writer)
        os.close(printed)
        for work, pipe in ((self._hear, reader), (self._overhear, out)):
            threading.Thread(target=work, args=(os.fdopen(pipe, errors="replace"),), daemon=True).start()

    def _hear(self, pipe):
        for line in pipe:
            data = json.loads(line)
            if "port" in data:
                self.ports.append(tuple(data["port"]))
            else:
                self.samples.append(data)

    def _overhear(self, pipe):
        """What the server prints may count its steps, as progress bars do: 3/20."""
        buffer = ""
        for char in iter(lambda: pipe.read(1), ""):
            buffer = buffer + char if char not in "\r\n" else ""
            found = re.search(r"(\d{1,6})/\d{1,6}\D$", buffer[-40:])
            if found:
                self.count(("printed",), int(found.group(1)))
                buffer = ""
            elif buffer.strip():
                self.last_said = buffer[-300:]

    def count(self, key, value):
        """Takes note of a counter in what the server tells, when it changes."""
        series = self.counts.setdefault(key, [])
        if not series or series[-1][1] != value:
            series.append((time.monotonic(), value))

    def counters(self, source, data, path=()):
        if isinstance(data, dict):
            for key, value in list(data.items())[:40]:
                self.counters(source, value, (*path, str(key)))
        elif isinstance(data, list):
            for value in data[:3]:
                self.counters(source, value, path)
        elif isinstance(data, (int, float)) and not isinstance(data, bool):
            self.count((source, *path), data)

    def listen(self, path):
        def hear():
            try:
                sock = _websocket(self.ports[0], path)
                while True:
                    opcode, data = _frame(sock)
                    if opcode == 1:
                        self.counters("ws", json.loads(data.decode()))
            except (OSError, ValueError, EOFError):
                pass

        threading.Thread(target=hear, daemon=True).start()

    def ended(self):
        self.gone = self.gone or os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        return self.gone

    def end(self):
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


def _websocket(address, path):
    sock = socket.create_connection(address, timeout=10)
    key = base64.b64encode(os.urandom(16)).decode()
    head = "GET %s HTTP/1.1\r\nHost: %s:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" % (path, *address[:2])
    sock.sendall((head + "Sec-WebSocket-Key: %s\r\nSec-WebSocket-Version: 13\r\n\r\n" % key).encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        byte = sock.recv(1)
        if not byte:
            raise OSError("the websocket was refused")
        answer += byte
    if b" 101 " not in answer.split(b"\r\n")[0]:
        raise OSError("no websocket at %s" % path)
    return sock


def _exactly(sock, count):
    data = b""
    while len(data) < count:
        part = sock.recv(min(count - len(data), 65536))
        if not part:
            raise EOFError
        data += part
    return data


def _frame(sock):
    first, length = _exactly(sock, 2)
    if length >= 126:
        length = struct.unpack("!H" if length == 126 else "!Q", _exactly(sock, 2 if length == 126 else 8))[0]
    return first & 15, _exactly(sock, length)


class _Client:
    """One client: a kept connection, websockets as they are needed."""

    def __init__(self, server):
        self.server, self.address, self.sockets = server, server.ports[0], {}
        self.connection = http.client.HTTPConnection(*self.address[:2], timeout=5)

    def ask(self, method, path, body=None):
        """Sends the request; the answer's status."""
        if method == "WS":
            if path not in self.sockets:
                sock = self.sockets[path] = _websocket(self.address, path)
                threading.Thread(target=self._drain, args=(sock,), daemon=True).start()
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            size = struct.pack("!B", 128 | len(data)) if len(data) < 126 else struct.pack("!BH", 254, len(data))
            self.sockets[path].sendall(b"\x81" + size + b"\0\0\0\0" + data)
            return 200
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        for last in (False, True):  # a connection that was kept may have been closed by the server meanwhile
            try:
                self.connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
                answer = self.connection.getresponse()
                text = answer.read()
                break
            except socket.timeout:  # late, if at all: no refusal
                self.connection.close()
                return 202
            except (http.client.HTTPException, OSError):
                self.connection.close()
                if last:
                    return 0
        if method == "GET" and "json" in answer.getheader("Content-Type", ""):
            with contextlib.suppress(ValueError):
                self.server.counters(path, json.loads(text.decode()))
        return answer.status

    def _drain(self, sock):
        try:
            while True:
                _frame(sock)
        except (OSError, EOFError):
            pass


# ---- the measurement


class _Run:
    def __init__(self, what, *, job, act, probes, metric, events):
        self.what = what
        self.job, self.act, self.metric, self.events = job, act, metric, events
        self.probes, self.probe, self.server = list(probes), None, None
        self.refused, self.samples, self.timed = [], [], {False: [], True: []}

    def start(self):
        if self.server:
            self.server.end()
        self.server = _Server(self.what, self.samples)
        started = time.monotonic()
        while not self.server.ports:
            if time.monotonic() > started + 6 or self.server.ended():
                time.sleep(0.1)
                _cannot_tell("the server did not start to listen; it said: %s" % self.server.last_said)
            time.sleep(0.02)
        for path in self.events:
            self.server.listen(path)
        self.starting = time.monotonic() - started
        self.client = _Client(self.server)
        works = [probe for probe in self.probes if 0 < self.client.ask("GET", probe) < 400]
        self.probes = works or self.probes
        if self.metric == "api" and not works:
            _cannot_tell("no page of the server's answers a GET")
        self.probe = works[0] if works else None

    def begin(self):
        """The work that goes on all the time, if the load is something else."""
        if self.act and self.job:
            self.send(self.job, "job")
        time.sleep(0.3)

    def send(self, request, what):
        status = self.client.ask(*request)
        if not 0 < status < 400:
            _cannot_tell("the server refuses the %s: status %d" % (what, status))

    def steps(self, start, end):
        """How many steps were made in between, by the counter that tells most of them."""
        best = []
        for key, series in list(self.server.counts.items()):
            moves = [(b[0], b[1] - a[1]) for a, b in zip(series, series[1:]) if b[1] > a[1]]
            named = _STEP_NAMES.search(" ".join(key)) and sum(by for _, by in moves) <= 3 * len(moves) + 3
            if named and len(moves) * (1 + (key[0] == "ws")) > len(best):
                best = moves
        return sum(by for at, by in best if start <= at <= end)

    def phase(self, loaded, seconds):
        """One phase; its figure, in seconds: the mean step, or how long answers take."""
        start, stop = time.monotonic(), threading.Event()
        actor = threading.Thread(target=self._acting, args=(stop,))
        if loaded:
            actor.start()
        answers, enough = [], False
        while time.monotonic() < start + seconds or not (enough or time.monotonic() > start + 3 * seconds):
            began = time.monotonic()
            if self.probe:
                self.client.ask("GET", self.probe)
                answers.append(time.monotonic() - began)
            time.sleep(_PAUSE)
            done = self.steps(start, time.monotonic()) if self.metric == "step" else len(answers)
            enough = done >= 4
        stop.set()
        if loaded:
            actor.join(6)
        end = time.monotonic()
        if seconds >= _PHASE:
            self.timed[loaded].append((start, end))
        if self.metric == "step":
            return (end - start) / max(1, self.steps(start, end))
        return _long(answers)

    def _acting(self, stop):
        """Sends the act again and again, or the job; that only once, if the answer does not wait for its end."""
        client, status, took = _Client(self.server), 200, 1.0
        while 0 < status < 400 and not stop.wait(0.1 if self.act else 0) and (self.act or took > 0.05):
            began, status = time.monotonic(), 0
            with contextlib.suppress(OSError):  # of a websocket
                status = client.ask(*(self.act or self.job))
            took = time.monotonic() - began
        if not 0 < status < 400:
            self.refused.append(status)

    def settle(self, usual):
        """Waits until the load is worked off; a server that still has some after some seconds is started anew."""
        until = time.monotonic() + 4
        while self.act and time.monotonic() < until:
            if self.phase(False, 0.25) < 1.5 * usual + 0.002:
                return
        self.start()
        self.begin()

    def settle_job(self):
        """The same, where the load is a job: until it has ended; what starts in no time is started anew at once."""
        until = time.monotonic() + (2.5 if self.starting > 1 else 0)
        while time.monotonic() < until:
            self.client.ask("GET", self.probe)
            recent = [one for one in self.samples[-40:] if one["at"] > time.monotonic() - 0.4]
            busy = sum(cpu for one in recent for _, _, _, cpu in one["threads"])
            moves = [series[-1][0] for key, series in self.server.counts.items() if _STEP_NAMES.search(" ".join(key))]
            if busy < 0.1 and time.monotonic() - max([0, *moves]) > 0.4 and recent:
                return
            time.sleep(0.05)
        self.start()
        time.sleep(0.3)

    def culprit(self):
        """(place, share): where the server's time goes under load, by the samples; ("-", 0) if nowhere special."""
        shares = []
        for loaded in (False, True):
            weights, total = {}, 0.0
            for start, end in self.timed[loaded]:
                for place, weight in self._weighed(start, end):
                    weights[place] = weights.get(place, 0) + weight
                total += end - start
            shares.append({place: weight / total for place, weight in weights.items()})
        more = {place: share - shares[0].get(place, 0) for place, share in shares[1].items() if place != "-"}
        place = max(more, key=more.get, default="-")
        return (place, min(1.0, shares[1][place])) if place != "-" and more[place] > 0.15 else ("-", 0.0)

    def _weighed(self, start, end):
        """(function, seconds it kept others waiting): it runs on the event loop, or most of the CPU time is its own."""
        before = start
        for one in self.samples:
            if start <= one["at"] <= end:
                gap, before = one["at"] - before, one["at"]
                busiest = max((cpu for _, _, _, cpu in one["threads"]), default=0)
                for place, waits, loop, cpu in one["threads"]:
                    kept = one["late"] > _LATE and cpu == busiest
                    if (loop and not waits) or kept or (self.metric == "step" and cpu > 0.3 * gap and not waits):
                        yield place.rpartition(":")[0], gap


def _long(answers):
    """The time that answers take, or longer, in a quarter of the time; a mean would be one hiccup's, a median would
    count many quick answers after one that took for ever."""
    left = 0.25 * sum(one + _PAUSE for one in answers)
    for one in sorted(answers, reverse=True):
        left -= one + _PAUSE
        if left <= 0:
            return one
    return 0.0


def _cannot_tell(why):
    sys.stderr.write(why + "\n")
    sys.exit(125)


def load(target, *, arguments=(), how="", job=None, act=None, probes=(), events=(), metric="api"):
    """Raises AssertionError if it is slower under load; returns if not; ends 125 if it cannot tell."""
    run = _Run((target, arguments, how), job=job, act=act, probes=probes, metric=metric, events=events)
    try:
        _measure(run)
    finally:
        if run.server:
            run.server.end()


def _measure(run):
    run.start()
    figures = {False: [], True: []}
    run.begin()
    if run.metric == "step":
        until = time.monotonic() + 4
        while run.steps(0, time.monotonic()) < 4 and time.monotonic() < until:
            if run.probe:
                run.client.ask("GET", run.probe)
            time.sleep(0.02)
        if run.steps(0, time.monotonic()) < 3:
            _cannot_tell("nothing that the server says counts the steps of its work")
    started = time.monotonic()
    while len(figures[True]) < (2 if time.monotonic() > started + 8 else 4):
        for loaded in (False, True):
            if not loaded and figures[True]:
                run.settle(min(figures[False])) if run.act else run.settle_job()
            figures[loaded].append(run.phase(loaded, _PHASE))
        if run.refused:
            _cannot_tell("the server refuses what is to load it: status %d" % run.refused[0])
        if run.server.ended():
            _cannot_tell("the server ended meanwhile; it said: %s" % run.server.last_said)
        clear = min(figures[True]) > 3 * max(figures[False])
        if len(figures[True]) > 1 and clear:
            break
    _tell(run, figures)


def _tell(run, figures):
    low, high = (sorted(figures[loaded])[(len(figures[loaded]) - 1 + loaded) // 2] for loaded in (False, True))
    place, share = run.culprit()
    what = "a step takes" if run.metric == "step" else "an answer takes"
    doing = "%s %s" % tuple((run.act or run.job)[:2])
    told = "%s %.3g s under load (%s) and %.3g s without" % (what, high, doing, low)
    floor = 0.01 if run.metric == "step" else 0.05 if place != "-" else 0.15
    pairs = sorted(loaded > 1.2 * base for base, loaded in zip(figures[False], figures[True]))
    apart = all(pairs[1:] if len(pairs) > 2 else pairs)  # one hiccup of the machine's
    if not (high > (1.8 if run.metric == "step" else 3) * low and high - low > floor and apart):
        figures = high / low, run.metric + "_seconds", low, high
        sys.stdout.write(told + " [stall ratio=%.3g metric=%s baseline=%.3g loaded=%.3g]\n" % figures)
        return
    why = ": %d %% of that time goes to %s" % (100 * share, place) if place != "-" else ""
    raise AssertionError(
        "%s%s [stall ratio=%.3g metric=%s baseline=%.3g loaded=%.3g place=%s share=%.2f]"
        % (told, why, high / low, run.metric + "_seconds", low, high, place, share)
    )
