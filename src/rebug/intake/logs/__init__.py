"""Logs as evidence: records read out of any format, digests of logs of any size, and what a report says of them."""

from rebug.intake.logs.complaint import Complaint, complaint_of
from rebug.intake.logs.digest import Read, digest_text, followed, joined, lines_of, read_log
from rebug.intake.logs.formats import LogRecord, parse_line

__all__ = [
    "Complaint",
    "LogRecord",
    "Read",
    "complaint_of",
    "digest_text",
    "followed",
    "joined",
    "lines_of",
    "parse_line",
    "read_log",
]
