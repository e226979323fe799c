import unittest

from payments.client import PaymentClient
from tests.server import PaymentServer


class IdempotencyKeyTest(unittest.TestCase):
    def test_every_charge_carries_a_key_of_its_own(self) -> None:
        with PaymentServer() as server:
            client = PaymentClient(server.url)
            client.charge("4242", 100)
            client.charge("4242", 100)
        self.assertEqual(len(server.charges), 2)
        self.assertEqual(len(set(server.keys)), 2)
        self.assertNotIn(None, server.keys)


if __name__ == "__main__":
    unittest.main()
