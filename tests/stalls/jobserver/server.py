"""A job server: jobs run step by step in a worker thread, a web API with a websocket beside it tells of them.

Usage: python server.py [--host 127.0.0.1] [--port 8188]
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import struct

import drafts
from jobs import JobQueue

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Server:
    def __init__(self) -> None:
        self.queue = JobQueue(self.publish)
        self.clients: set[asyncio.StreamWriter] = set()
        self.loop = asyncio.get_running_loop()

    # ------------------------------------------------------------------------------------------------------ events

    def publish(self, event: dict, preview: bytes | None = None) -> None:
        """Called by the worker thread."""
        self.loop.call_soon_threadsafe(self.broadcast, event, preview)

    def broadcast(self, event: dict, preview: bytes | None) -> None:
        for client in list(self.clients):
            client.write(frame(1, json.dumps(event).encode()))
            if preview is not None:
                client.write(frame(2, preview))

    # -------------------------------------------------------------------------------------------------------- http

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                head, *lines = request.decode("latin-1").split("\r\n")
                method, path, _ = head.split(" ")
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
                if path.partition("?")[0] == "/ws":
                    await self.websocket(reader, writer, headers)
                    return
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                status, answer = await self.answer(method, path.partition("?")[0], body)
                text = json.dumps(answer).encode()
                writer.write(b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\n" % status)
                writer.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.clients.discard(writer)
            writer.close()

    async def answer(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        if method == "GET" and path == "/queue":
            return 200, self.queue.status()
        if method == "GET" and path == "/nodes":
            return 200, sorted(self.queue.nodes)
        if method == "POST" and path == "/prompt":
            return self.submit(json.loads(body))
        return 404, {"error": "no such page"}

    def submit(self, data: dict) -> tuple[int, object]:
        if data["node"] not in self.queue.nodes:
            return 400, {"error": f"no such node: {data['node']}"}
        number = self.queue.put(data["node"], steps=int(data.get("steps", 20)), preview=data.get("preview", False))
        return 200, {"number": number}

    # --------------------------------------------------------------------------------------------------- websocket

    async def websocket(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict) -> None:
        accept = base64.b64encode(hashlib.sha1((headers["sec-websocket-key"] + MAGIC).encode()).digest()).decode()
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
        writer.write(f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
        self.clients.add(writer)
        while True:
            first, second = await reader.readexactly(2)
            length = second & 127
            if length == 126:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
            mask = await reader.readexactly(4) if second & 128 else bytes(4)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(await reader.readexactly(length)))
            if first & 15 == 8:
                return
            if first & 15 == 1:
                await self.message(json.loads(data))

    async def message(self, message: dict) -> None:
        if message["type"] == "draft":
            await self.loop.run_in_executor(None, drafts.check, message["text"], self.queue)


def frame(opcode: int, data: bytes) -> bytes:
    if len(data) < 126:
        return struct.pack("!BB", 128 | opcode, len(data)) + data
    if len(data) < 65536:
        return struct.pack("!BBH", 128 | opcode, 126, len(data)) + data
    return struct.pack("!BBQ", 128 | opcode, 127, len(data)) + data


async def serve(host: str, port: int) -> None:
    server = await asyncio.start_server(Server().handle, host, port)
    print(f"listening on http://{host}:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8188)
    options = parser.parse_args()
    asyncio.run(serve(options.host, options.port))


if __name__ == "__main__":
    main()
