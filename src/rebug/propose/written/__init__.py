"""Proposers that ask a language model: what it is shown, and how its replies are read."""
