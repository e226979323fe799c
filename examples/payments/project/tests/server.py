"""A payment server for the tests: real HTTP on the loopback address, and answers that get lost on request."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class PaymentServer:
    """Takes charges. ``lost_answers`` are taken, but the connection closes before the answer is sent."""

    def __init__(self, lost_answers: int = 0) -> None:
        self.charges: list[dict] = []
        self.keys: list[str | None] = []
        self.lost_answers = lost_answers
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.handle(self, body, self.headers.get("Idempotency-Key"))

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def handle(self, handler: BaseHTTPRequestHandler, body: dict, key: str | None) -> None:
        self.keys.append(key)
        known = [charge for charge in self.charges if key is not None and charge["key"] == key]
        charge = known[0] if known else {"id": len(self.charges) + 1, "key": key, **body}
        if not known:
            self.charges.append(charge)
        if self.lost_answers:
            self.lost_answers -= 1
            handler.close_connection = True
            return
        answer = json.dumps({"id": charge["id"], "cents": charge["cents"]}).encode()
        handler.send_response(201)
        handler.send_header("Content-Length", str(len(answer)))
        handler.end_headers()
        handler.wfile.write(answer)

    def __enter__(self) -> PaymentServer:
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.shutdown()
        self.http.server_close()
