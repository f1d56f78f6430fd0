from __future__ import annotations

from collections.abc import Callable

from rebug.propose.subclass import CallerSubclass

from .conftest import Bench

MODULE = '''
import inspect


class LatchMeta(type):
    def __call__(cls, latch_file, timeout=-1, **kwargs):
        known = inspect.signature(cls.__init__).parameters
        values = {k: v for k, v in {"timeout": timeout, **kwargs}.items() if k in known}
        values["latch_file"] = latch_file
        return super().__call__(**values)


class BaseLatch(metaclass=LatchMeta):
    def __init__(self, latch_file, timeout=-1):
        self.path = latch_file

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


class Latch(BaseLatch):
    """The usual one."""


class WindowsLatch(BaseLatch):
    def __enter__(self):
        raise NotImplementedError
'''
FIXED = MODULE.replace('values["latch_file"] = latch_file\n        return super().__call__(**values)',
                       "return super().__call__(latch_file, **values)")  # fmt: skip
TESTS = "from latch import Latch\n\n\ndef test_enter(tmp_path):\n    with Latch(str(tmp_path)):\n        pass\n"
REPORT = """# `SettingsLatch.__init__() got an unexpected keyword argument 'latch_file'`

```
Traceback (most recent call last):
  File "/usr/lib/python3.11/contextlib.py", line 137, in __enter__
    return next(self.gen)
  File "/app/lib/python3.11/site-packages/other/store.py", line 152, in settings
    with SettingsLatch(os.path.join(self.path, 'user.json')) as latch:
  File "/app/lib/python3.11/site-packages/latch/__init__.py", line 10, in __call__
    return super().__call__(**values)
TypeError: SettingsLatch.__init__() got an unexpected keyword argument 'latch_file'
```
"""


def test_the_reporters_subclass_is_rebuilt_from_its_name_and_call(bench: Callable[..., Bench]) -> None:
    made = bench({"latch/__init__.py": MODULE, "tests/test_latch.py": TESTS}, REPORT)
    candidates = list(CallerSubclass().propose(made.situation))
    first = candidates[0]
    assert "class SettingsLatch(Latch):" in first.script
    expected = "TypeError: SettingsLatch.__init__() got an unexpected keyword argument 'latch_file'"
    assert made.run(first.script).last == expected
    (made.root / "latch/__init__.py").write_text(FIXED)
    assert made.run(first.script).exit == 0
    assert {"without an __init__ of its own" in c.hypothesis.claim for c in candidates} == {True, False}


def test_classes_for_another_system_and_metaclasses_come_last_or_not_at_all(bench: Callable[..., Bench]) -> None:
    made = bench({"latch/__init__.py": MODULE, "tests/test_latch.py": TESTS}, REPORT)
    bases = [
        c.script.partition("class SettingsLatch(")[2].partition(")")[0]
        for c in CallerSubclass().propose(made.situation)
    ]
    order = list(dict.fromkeys(bases))
    assert order.index("Latch") < order.index("WindowsLatch")
    assert "LatchMeta" not in order


def test_the_subjects_own_classes_are_not_taken_for_the_reporters(bench: Callable[..., Bench]) -> None:
    made = bench({"latch/__init__.py": MODULE}, REPORT.replace("SettingsLatch", "Latch"))
    assert list(CallerSubclass().propose(made.situation)) == []
