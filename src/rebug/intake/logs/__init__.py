"""Logs as evidence: records read out of any format, and what a report says of the lines it shows."""

from rebug.intake.logs.complaint import Complaint, complaint_of
from rebug.intake.logs.formats import LogRecord, parse_line

__all__ = ["Complaint", "LogRecord", "complaint_of", "parse_line"]
