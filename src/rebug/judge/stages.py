"""The stages of the loss and the arithmetic between them.

Invariant: the bounds of the stages do not overlap, so a candidate that got further always has the smaller loss, however
small its distance within the stage it reached.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebug.model import Loss, Stage

BOUNDS: Mapping[Stage, tuple[float, float]] = {
    Stage.UNRUNNABLE: (1.0, 1.0),
    Stage.ENVIRONMENT: (0.90, 0.99),
    Stage.OUTSIDE: (0.80, 0.89),
    Stage.INSIDE: (0.60, 0.79),
    Stage.NEAR: (0.35, 0.59),
    Stage.KIND: (0.10, 0.34),
    Stage.MATCH: (0.03, 0.09),
    Stage.PROVEN: (0.0, 0.02),
}
"""Least and greatest loss of each stage (DESIGN, section 6)."""

ORDER = tuple(BOUNDS)


def place(
    stage: Stage, distance: float, parts: Mapping[str, float] | None = None, reasons: tuple[str, ...] = ()
) -> Loss:
    """The loss of a candidate that reached `stage` at `distance` from the next one.

    `distance` is clipped to 0 (about to leave the stage) … 1 (just entered it). `parts` are distances in 0 … 1.
    """
    least, greatest = BOUNDS[stage]
    within = min(1.0, max(0.0, distance))
    return Loss(
        total=round(least + (greatest - least) * within, 4), stage=stage, parts=dict(parts or {}), reasons=reasons
    )


def reached(stage: Stage, wanted: Stage) -> bool:
    """Whether `stage` is `wanted` or further."""
    return ORDER.index(stage) >= ORDER.index(wanted)
