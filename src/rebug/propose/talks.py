"""Conversations of a server and a client that end in odd ways: closed with data unread, twice, from another thread."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from rebug.propose.pairs import Pair

MESSAGES = 20
"""Messages that one end sends before the other acts: more than buffers and high-water marks usually hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """One conversation: what either end does, as statements on `peer`, and in words."""

    words: str
    served: str
    client: str


def talks(pair: Pair) -> Iterator[Talk]:
    """The conversations that a pair's methods allow, those that end in the rudest way first.

    `told` is set when the sending end has sent everything; the other end then knows that there is more to read.
    """
    here, there = pair.served, pair.client
    for end, other, name in ((here, there, "server"), (there, here, "client")):
        many = f"for number in range({MESSAGES}):\n    {{wait}}peer.{other.send}(f'message {{number}}')\ntold.set()"
        late = "{wait_told}\n{pause}"
        if not (end.receive and end.close and other.send):
            continue
        rest = f"{{wait}}peer.{other.receive}()" if other.receive else ""
        read, close = f"{{wait}}peer.{end.receive}()", f"{{wait}}peer.{end.close}()"
        for words, mine, theirs in (
            ("reads one of many messages and closes", f"{read}\n{late}\n{close}", many),
            ("closes while nothing was read", f"{late}\n{close}", many),
            ("reads one message and leaves", f"{read}\n{late}", f"{many}\n{rest}"),
            ("closes twice", f"{late}\n{close}\n{close}", many),
            ("closes at once, twice", f"{close}\n{close}", many),
        ):
            served, client = (mine, theirs) if name == "server" else (theirs, mine)
            yield Talk(words=f"the {name} {words}", served=served, client=client)


def program(pair: Pair, talk: Talk) -> str:
    """The conversation as a program that ends with `hang(act)`; what either end raises is passed over."""
    made = _async_program(pair, talk) if pair.asynchronous else _threaded_program(pair, talk)
    return "\n".join(pair.imports) + f"\n\n\n{made}\n\n\nhang(act)\n"


def _indent(text: str, depth: int) -> str:
    return textwrap.indent(text, "    " * depth)


def _threaded_program(pair: Pair, talk: Talk) -> str:
    words = {"wait": "", "wait_told": "told.wait(2)", "pause": "time.sleep(0.2)"}
    begun = [f"serving = threading.Thread(target=server.{pair.forever})", "serving.start()"] if pair.forever else []
    lines = [
        "def act():",
        "    told = threading.Event()",
        "",
        "    def handler(peer):",
        "        with contextlib.suppress(Exception):",
        _indent(_filled(talk.served, words), 3),
        "",
        "    with socket.create_server(('127.0.0.1', 0)) as listener:",
        "        port = listener.getsockname()[1]",
        *([] if "listener" in pair.serve else ["        listener.close()"]),
        f"        server = {pair.serve}",
        *(f"        {line}" for line in begun),
        "        with contextlib.suppress(Exception):",
        f"            with {_closing(pair)} as peer:",
        _indent(_filled(talk.client, words), 4),
        *([f"        server.{pair.stop}()"] if pair.stop else []),
        *(["        serving.join()"] if pair.forever else []),
    ]
    return "import contextlib\nimport socket\nimport threading\nimport time\n\n\n" + "\n".join(lines)


def _closing(pair: Pair) -> str:
    return pair.connect if pair.client_enters else f"contextlib.closing({pair.connect})"


def _async_program(pair: Pair, talk: Talk) -> str:
    words = {
        "wait": "await ",
        "wait_told": "await asyncio.wait_for(told.wait(), 2)",
        "pause": "await asyncio.sleep(0.2)",
    }
    serve, connect = (
        f"await {text}" if waits else text for text, waits in zip((pair.serve, pair.connect), pair.awaited, strict=True)
    )
    serving = f"await ends.enter_async_context({serve})" if pair.server_enters else serve
    peer = f"await ends.enter_async_context({connect})" if pair.client_enters else connect
    later = "push_async_callback" if pair.stop_awaited else "callback"
    lines = [
        "async def talk():",
        "    told = asyncio.Event()",
        "",
        "    async def handler(peer, *more):",
        "        with contextlib.suppress(Exception):",
        _indent(_filled(talk.served, words), 3),
        "",
        "    with socket.create_server(('127.0.0.1', 0)) as listener:",
        "        port = listener.getsockname()[1]",
        *([] if "listener" in pair.serve else ["        listener.close()"]),
        "        async with contextlib.AsyncExitStack() as ends:",
        f"            server = {serving}",
        *([f"            ends.{later}(server.{pair.stop})"] if pair.stop and not pair.server_enters else []),
        "            with contextlib.suppress(Exception):",
        f"                peer = {peer}",
        _indent(_filled(talk.client, words), 4),
        *([] if pair.client_enters or not pair.client.close else [f"                await peer.{pair.client.close}()"]),
        "",
        "",
        "def act():",
        "    asyncio.run(talk())",
    ]
    return "import asyncio\nimport contextlib\nimport socket\n\n\n" + "\n".join(lines)


def _filled(text: str, words: dict[str, str]) -> str:
    for name, word in words.items():
        text = text.replace("{" + name + "}", word)
    return text
