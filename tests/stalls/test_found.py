"""What is read out of a server's source and out of the reports, without running anything."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from rebug.intake import find_symptom, load_report
from rebug.model import Report, Symptom, SymptomKind
from rebug.propose.payloads import payload
from rebug.subject import build_index
from rebug.subject.servers import Route, Served, Server, served

REPORTS = Path(__file__).parent / "reports"
MODULES = ("server", "jobs", "nodes", "previews", "drafts")


def read(name: str) -> tuple[Report, Symptom]:
    report = load_report(str(REPORTS / f"{name}.md"), (), io.BytesIO())
    return report, find_symptom(report, "", MODULES)


@pytest.mark.parametrize(
    ("name", "metric", "ratio", "word"),
    [("contention", "step", 10.0, "typing"), ("previews", "api", 40.0, "previews"), ("gil", "api", 60.0, "upscale")],
)
def test_prose_says_what_gets_slow_by_how_much_and_meanwhile(name: str, metric: str, ratio: float, word: str) -> None:
    _, symptom = read(name)
    assert symptom.kind is SymptomKind.SLOW
    assert symptom.strain is not None
    assert (symptom.strain.metric, symptom.strain.ratio) == (metric, ratio)
    assert word in symptom.strain.meanwhile


def symptom_of(text: str, tmp_path: Path) -> Symptom:
    file = tmp_path / "report.md"
    file.write_text(text)
    return find_symptom(load_report(str(file), (), io.BytesIO()), "", ("server",))


def test_a_hang_for_good_stays_a_hang(tmp_path: Path) -> None:
    symptom = symptom_of(
        "# Server hangs when I close the socket\n\nIt never comes back, I have to kill it.\n", tmp_path
    )
    assert symptom.kind is SymptomKind.HANG


def test_a_wrong_value_while_something_runs_stays_one(tmp_path: Path) -> None:
    text = "# Wrong total\n\nWhen the list is empty the page shows `3` instead of `0`. The request takes 2 s.\n"
    assert symptom_of(text, tmp_path).kind is not SymptomKind.SLOW


def test_the_job_server_is_found_with_all_that_clients_can_ask(jobserver: Callable[[str], Path]) -> None:
    found = served(build_index(jobserver("sound")))
    assert found.servers[0] == Server(target="server", arguments=("--port", "0"))
    assert found.sockets == ("/ws",)
    assert found.names == ("denoise", "upscale")
    routes = {(route.method, route.path): route for route in found.routes}
    assert set(routes) == {("GET", "/queue"), ("GET", "/nodes"), ("POST", "/prompt"), ("WS", "/ws")}
    assert {key.name for key in routes["POST", "/prompt"].keys} == {"node", "steps", "preview"}
    kind, text = routes["WS", "/ws"].keys
    assert (kind.name, kind.values, text.name) == ("type", ("draft",), "text")


def source(tmp_path: Path, text: str) -> Served:
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "__init__.py").write_text("")
    (tmp_path / "app" / "web.py").write_text(text)
    return served(build_index(tmp_path))


def paths(found: Served) -> set[tuple[str, str]]:
    return {(route.method, route.path) for route in found.routes}


def test_routes_of_decorators_and_declared_models(tmp_path: Path) -> None:
    found = source(
        tmp_path,
        """
from fastapi import FastAPI, WebSocket
from pydantic import BaseModel
app = FastAPI()
class Order(BaseModel):
    text: str
    steps: int = 4
@app.post("/orders")
async def order(body: Order): ...
@app.get("/orders/{number}")
async def one(number: int): ...
@app.get("/health")
async def health(): ...
@app.websocket("/live")
async def live(websocket: WebSocket):
    data = await websocket.receive_json()
    if data["op"] == "seek":
        print(data["at"])
""",
    )
    assert Server(target="app.web:app", how="asgi") in found.servers
    assert paths(found) == {("POST", "/orders"), ("GET", "/health"), ("WS", "/live")}
    keys = next(route.keys for route in found.routes if route.path == "/orders")
    assert payload(keys, (), "", steps=7) == {"text": payload(keys, (), "", steps=7)["text"], "steps": 7}


def test_routes_added_by_calls_and_tables(tmp_path: Path) -> None:
    found = source(
        tmp_path,
        """
from aiohttp import web
async def queue(request): return web.json_response({})
async def enqueue(request):
    data = await request.json()
    return web.json_response({"n": int(data["count"])})
async def sock(request):
    ws = web.WebSocketResponse()
def make():
    app = web.Application()
    app.router.add_get("/queue", queue)
    app.router.add_route("POST", "/queue", enqueue)
    app.add_routes([web.get("/events", sock)])
    return app
TABLE = {("DELETE", "/queue"): enqueue}
if __name__ == "__main__":
    web.run_app(make())
""",
    )
    assert found.servers[0] == Server(target="app.web")
    assert paths(found) == {("GET", "/queue"), ("POST", "/queue"), ("WS", "/events"), ("DELETE", "/queue")}


def test_routes_of_a_standard_library_handler_and_a_wsgi_application(tmp_path: Path) -> None:
    found = source(
        tmp_path,
        """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/state": ...
    def do_POST(self):
        if self.path.startswith("/run"): ...
def application(environ, start_response):
    start_response("200 OK", [])
    return [b""]
def serve(host="127.0.0.1", port=8000):
    ThreadingHTTPServer((host, port), Handler).serve_forever()
""",
    )
    assert paths(found) == {("GET", "/state"), ("POST", "/run")}
    assert set(found.servers) == {
        Server(target="app.web:serve"),
        Server(target="app.web:application", how="wsgi"),
    }


def test_a_library_without_a_server_has_none(tmp_path: Path) -> None:
    assert source(tmp_path, "def parse(text):\n    return text['a'] if text == '/x' else None\n").servers == ()


def test_names_in_the_report_are_preferred_in_payloads(jobserver: Callable[[str], Path]) -> None:
    found = served(build_index(jobserver("sound")))
    route: Route = next(route for route in found.routes if route.path == "/prompt")
    report, _ = read("gil")
    assert payload(route.keys, found.names, report.body, steps=20) == {"node": "upscale", "preview": False, "steps": 20}
    report, _ = read("previews")
    assert payload(route.keys, found.names, report.body, steps=20) == {"node": "denoise", "preview": True, "steps": 20}
