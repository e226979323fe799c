import unittest

from payments.client import PaymentClient
from tests.server import PaymentServer


class ChargeTest(unittest.TestCase):
    def test_a_charge_reaches_the_server_once(self) -> None:
        with PaymentServer() as server:
            answer = PaymentClient(server.url).charge("4242", 1250)
        self.assertEqual(answer, {"id": 1, "cents": 1250})
        self.assertEqual(len(server.charges), 1)


if __name__ == "__main__":
    unittest.main()
