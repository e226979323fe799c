"""A client for the payment server of a small shop."""
