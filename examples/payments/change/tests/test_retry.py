import unittest

from payments.client import PaymentClient
from payments.retry import retry
from tests.server import PaymentServer


class RetryTest(unittest.TestCase):
    def test_a_lost_answer_is_asked_for_again_and_charged_once(self) -> None:
        with PaymentServer(lost_answers=2) as server:
            answer = PaymentClient(server.url).charge("4242", 1250)
        self.assertEqual(answer, {"id": 1, "cents": 1250})
        self.assertEqual(len(server.keys), 3)
        self.assertEqual(len(set(server.keys)), 1)
        self.assertEqual(len(server.charges), 1)

    def test_it_gives_up_after_the_last_attempt(self) -> None:
        with PaymentServer(lost_answers=9) as server, self.assertRaises(OSError):
            PaymentClient(server.url, attempts=2).charge("4242", 1250)
        self.assertEqual(len(server.keys), 2)

    def test_it_needs_at_least_one_attempt(self) -> None:
        with self.assertRaises(ValueError):
            retry(lambda: 1, attempts=0)


if __name__ == "__main__":
    unittest.main()
