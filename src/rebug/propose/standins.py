"""Small servers within the script, in the place of those that the reporter had and nobody has here."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import replace

from rebug.model import Candidate, Hypothesis, Role, Trial
from rebug.ports import Situation
from rebug.propose.code import add_imports, parse
from rebug.propose.files import put_first
from rebug.propose.sharpen import impatient, times_out

_REFUSED = re.compile(
    r"refused|ECONNREFUSED|Name or service not known|name resolution|getaddrinfo|nodename nor servname|unreachable"
    r"|Cannot connect|reset by peer|closed the connection|Connection error|connection attempts failed",
    re.IGNORECASE,
)
_URL = re.compile(r"\b(?P<scheme>https?|wss?)://(?P<host>[\w.-]+|\[[\da-f:]+\])(?::(?P<port>\d{1,5}))?")
_PORT = re.compile(
    r"(?:\bport\s*[=:]\s*|[\"'](?:localhost|127\.0\.0\.1)[\"'],\s*|(?:localhost|127\.0\.0\.1):)(\d{2,5})\b"
)
_SIZE = re.compile(r"\b(\d{1,4})\s?(K|M)i?B\b", re.IGNORECASE)
_KEY_VALUE_PORT = "6379"

_HTTP = '''class _Answers(http.server.BaseHTTPRequestHandler):
    """Answers every request: GET with a body, everything else with an empty one."""

    protocol_version = "HTTP/1.1"

    def _answer(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = _BODY if self.command == "GET" else b""
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_PATCH = do_OPTIONS = _answer

    def log_message(self, *args):
        pass


_BODY = %s
_server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers)
_server.daemon_threads = True
_port = _server.server_port
threading.Thread(target=_server.serve_forever, daemon=True).start()
'''

_KEY_VALUE = '''class _Store(socketserver.StreamRequestHandler):
    """Answers the commands of a key-value store's protocol: arrays of length-prefixed strings."""

    values = {}

    def handle(self):
        while True:
            head = self.rfile.readline()
            if not head.startswith(b"*"):
                return
            words = []
            for _ in range(int(head[1:])):
                length = int(self.rfile.readline()[1:])
                words.append(self.rfile.read(length + 2)[:-2])
            self.wfile.write(self.answer(words[0].upper(), words[1:]))

    def answer(self, name, words):
        if name == b"PING":
            return b"+PONG\\r\\n"
        if name == b"SET":
            self.values[words[0]] = words[1]
            return b"+OK\\r\\n"
        if name in (b"GET", b"GETDEL"):
            value = self.values.get(words[0]) if name == b"GET" else self.values.pop(words[0], None)
            return b"$-1\\r\\n" if value is None else b"$%d\\r\\n%s\\r\\n" % (len(value), value)
        if name in (b"DEL", b"EXISTS", b"UNLINK"):
            found = sum(word in self.values for word in words)
            if name != b"EXISTS":
                for word in words:
                    self.values.pop(word, None)
            return b":%d\\r\\n" % found
        if name in (b"INCR", b"DECR"):
            number = int(self.values.get(words[0], b"0")) + (1 if name == b"INCR" else -1)
            self.values[words[0]] = b"%d" % number
            return b":%d\\r\\n" % number
        if name == b"ECHO":
            return b"$%d\\r\\n%s\\r\\n" % (len(words[0]), words[0])
        if name == b"HELLO":
            return b"-ERR unknown command\\r\\n"
        return b"+OK\\r\\n"


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


_server = _Server(("127.0.0.1", PORT), _Store)
_port = _server.server_address[1]
threading.Thread(target=_server.serve_forever, daemon=True).start()
'''


class StandIns:
    """Gives a script that could not reach a server one of its own."""

    name = "stand-ins"
    reactive = True

    def propose(self, situation: Situation) -> Iterator[Candidate]:
        done = {p for t in situation.trials if t.candidate.proposer == self.name for p in t.candidate.parents}
        for trial in situation.trials:
            if trial.candidate.id not in done and trial.candidate.role is Role.ATTEMPT and _was_refused(trial):
                script = with_server(trial.candidate.script, f"{situation.report.title}\n{situation.report.body}")
                if script:
                    hasty = impatient(script) if times_out(situation) else ""
                    yield _candidate(trial, hasty or script)


def _candidate(trial: Trial, script: str) -> Candidate:
    return replace(
        trial.candidate,
        id="",
        round=0,
        script=script,
        proposer=StandIns.name,
        parents=(trial.candidate.id,),
        hypothesis=Hypothesis(
            claim="The code of the report shows the reported behaviour with any server that answers.",
            conditions="a server of the script's own answers in the place of the reporter's",
            prediction=trial.candidate.hypothesis.prediction,
        ),
    )


def _was_refused(trial: Trial) -> bool:
    if trial.candidate.proposer == StandIns.name:
        return False
    failures = trial.observation.failures
    texts = [f"{f.name}: {f.message}" for f in failures] + [trial.observation.stderr[-20_000:]]
    texts += [entry.message for entry in trial.observation.logs]
    return any(_REFUSED.search(text) for text in texts)


def with_server(script: str, report: str) -> str:
    """The script with a server of its own in the place of the one it speaks to, "" when that cannot be told."""
    if _URL.search(script):
        text = put_first(_with_own_port(script), _HTTP % _body(f"{script}\n{report}"))
        imports = ["import http.server", "import threading"]
    else:
        ports = set(_PORT.findall(script))
        if _KEY_VALUE_PORT not in ports and (ports or _KEY_VALUE_PORT not in report):
            return ""
        changed = re.sub(rf"(?<![\w.:\"']){_KEY_VALUE_PORT}(?![\w.\"'])", "_port", script)
        port = "0" if changed != script else _KEY_VALUE_PORT
        text = put_first(changed, _KEY_VALUE.replace("PORT", port))
        imports = ["import socketserver", "import threading"]
    text = add_imports(text, imports)
    return text if parse(text) is not None else ""


def _with_own_port(script: str) -> str:
    """The script with the hosts of its URLs replaced by the server's own address."""
    lines = script.splitlines(keepends=True)
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(script).readline) if t.type == tokenize.STRING]
    except (tokenize.TokenError, SyntaxError, ValueError):
        return script
    for token in reversed(tokens):
        (row, start), (last, end) = token.start, token.end
        if row == last and _URL.search(token.string):
            line = lines[row - 1]
            lines[row - 1] = line[:start] + _own_url(token.string) + line[end:]
    return "".join(lines)


def _own_url(literal: str) -> str:
    opening = re.match(r"[A-Za-z]*", literal)
    prefix = opening[0] if opening else ""
    body = literal[len(prefix) :]
    if set(prefix.lower()) & {"b", "u"}:
        return literal
    if "f" not in prefix.lower():
        body, prefix = body.replace("{", "{{").replace("}", "}}"), "f" + prefix
    return prefix + _URL.sub(lambda m: f"{m['scheme'].rstrip('s')}://127.0.0.1:{{_port}}", body)


def _body(text: str) -> str:
    """What GET answers: as many zero bytes as the report says, else a short text."""
    size = _SIZE.search(text)
    if size is None:
        return 'b"content"'
    number = int(size[1]) * (1024 if size[2].upper() == "K" else 1024 * 1024)
    return f"bytes({min(number, 8 * 1024 * 1024)})"
