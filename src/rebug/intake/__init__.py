"""Reading a report: from what somebody wrote to a typed report and the symptom it claims, in checkable form."""

from rebug.intake.cores import with_cores
from rebug.intake.load import load_report
from rebug.intake.parse import parse_report
from rebug.intake.symptom import find_symptom
from rebug.intake.tracebacks import parse_tracebacks

__all__ = ["find_symptom", "load_report", "parse_report", "parse_tracebacks", "with_cores"]
