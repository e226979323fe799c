"""Charges a card through the payment server."""

from __future__ import annotations

import json
from urllib.request import Request, urlopen


class PaymentClient:
    def __init__(self, base_url: str, timeout_s: float = 2.0) -> None:
        self.base_url = base_url
        self.timeout_s = timeout_s

    def charge(self, card: str, cents: int) -> dict:
        """Charge ``card`` once and return what the server says: ``{"id": …, "cents": …}``."""
        body = json.dumps({"card": card, "cents": cents}).encode()
        request = Request(self.base_url + "/charges", data=body, headers={"Content-Type": "application/json"})
        with urlopen(request, timeout=self.timeout_s) as response:
            return json.load(response)
