"""Records: `records = Records()` first of all, then the calls, then what has to hold of all that was logged.

`records.none("words", …)` fails if a log record, warning or line of output has all these words, `records.some(…)` if
none has, `records.once(…)` if more than one has. `level` is what loggers are set to: of records below WARNING.
"""

import logging
import sys
import warnings


class _Tee:
    def __init__(self, stream, kept):
        self._stream, self._kept = stream, kept

    def write(self, text):
        self._kept.append(text)
        return self._stream.write(text)

    def __getattr__(self, name):
        return getattr(self._stream, name)


def _emitter():
    """File and function that gave a record or warning."""
    frame = sys._getframe(2)
    while frame.f_back and (
        frame.f_code.co_filename in (logging.__file__, warnings.__file__) or frame.f_code.co_name == "_showwarnmsg"
    ):
        frame = frame.f_back
    return _place(frame.f_code.co_filename) + ":" + frame.f_code.co_name


def _place(path):
    parts = path.replace("\\", "/").split("/")
    at = len(parts) - parts[::-1].index("site-packages") if "site-packages" in parts else len(parts) - 4
    return "/".join(parts[max(at, 0) :]).replace(" ", "_").replace("]", "_")


class Records:
    def __init__(self, level=None):
        self.seen = []
        self._output = []
        handle, show = logging.Logger.handle, warnings.showwarning

        def handled(logger, record):
            self.seen.append((record.levelname, record.name, record.getMessage(), _emitter()))
            handle(logger, record)

        def shown(message, category, filename, *rest):
            self.seen.append((category.__name__, _place(str(filename)), str(message), _emitter()))
            show(message, category, filename, *rest)

        logging.Logger.handle, warnings.showwarning = handled, shown
        warnings.simplefilter("always")
        if level is not None:
            logging.getLogger().setLevel(level)
        sys.stdout, sys.stderr = _Tee(sys.stdout, self._output), _Tee(sys.stderr, self._output)

    def _with(self, words):
        found = [entry for entry in self.seen if all(word in entry[0] + " " + entry[2] for word in words)]
        if found:
            return found
        lines = "".join(self._output).splitlines()
        return [("OUTPUT", "-", line, "-") for line in lines if all(word in line for word in words)]

    def _fail(self, rule, found, words):
        level, name, message, place = found[0] if found else ("-", "-", " … ".join(words), "-")
        said = {"none": "is logged, and should not be", "once": "is logged more than once"}.get(rule, "is not logged")
        figures = "rule=%s count=%d level=%s logger=%s at=%s" % (rule, len(found), level, name or "-", place)
        raise AssertionError("%r %s [records %s]" % (message[:400], said, figures))

    def none(self, *words):
        found = self._with(words)
        if found:
            self._fail("none", found, words)

    def some(self, *words):
        if not self._with(words):
            self._fail("some", [], words)

    def once(self, *words):
        found = self._with(words)
        if len(found) > 1:
            self._fail("once", found, words)
