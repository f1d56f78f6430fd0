"""Proposers: they turn a situation into candidates, without a language model. Pure; the search runs what they propose."""

from __future__ import annotations

__all__: list[str] = []
