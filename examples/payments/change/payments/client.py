"""Charges a card through the payment server: once, however often the answer gets lost."""

from __future__ import annotations

import json
import uuid
from urllib.request import Request, urlopen

from payments.retry import retry


class PaymentClient:
    def __init__(self, base_url: str, timeout_s: float = 2.0, attempts: int = 3) -> None:
        self.base_url = base_url
        self.timeout_s = timeout_s
        self.attempts = attempts

    def charge(self, card: str, cents: int) -> dict:
        """Charge ``card`` once and return what the server says: ``{"id": …, "cents": …}``.

        Every try of one call carries the same key, by which the server knows a charge that it has taken already.
        """
        key = str(uuid.uuid4())
        return retry(lambda: self._send(card, cents, key), attempts=self.attempts)

    def _send(self, card: str, cents: int, key: str) -> dict:
        body = json.dumps({"card": card, "cents": cents}).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        request = Request(self.base_url + "/charges", data=body, headers=headers)
        with urlopen(request, timeout=self.timeout_s) as response:
            return json.load(response)
