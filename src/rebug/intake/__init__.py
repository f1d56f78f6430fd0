"""Reading a report: from what somebody wrote to a typed report and the symptom it claims, in checkable form."""

from rebug.intake.tracebacks import parse_tracebacks

__all__ = ["parse_tracebacks"]
