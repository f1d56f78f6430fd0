from pathlib import Path

from rebug.intake import find_symptom, parse_report
from rebug.model import Environment
from rebug.propose.written import shared_context
from rebug.subject import build_index

REPORT = """# take() loses an item

```
Traceback (most recent call last):
  File "app.py", line 3, in <module>
    shelf.take("b")
  File "/site-packages/shelves/core.py", line 9, in take
    return self._find(name)
  File "/site-packages/shelves/core.py", line 12, in _find
    raise KeyError(name)
KeyError: 'b'
```
"""

SOURCE = """class Shelf:
    def put(self, name, item):
        self.items[name] = item

    def take(self, name):
        return self._find(name)

    def _find(self, name):
        raise KeyError(name)
"""


def made(tmp_path: Path, *, tokens: int = 6000, body: str = REPORT) -> str:
    package = tmp_path / "shelves"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text("from shelves.core import Shelf\n")
    (package / "core.py").write_text(SOURCE)
    (package / "noise.py").write_text("".join(f"def unrelated_{n}(x):\n    return x + {n}\n\n\n" for n in range(400)))
    report = parse_report(body)
    symptom = find_symptom(report, "shelves", ("shelves",))
    environment = Environment(
        python=tmp_path, prefix=tmp_path, python_version="3.11", package="shelves", version="2.0", modules=("shelves",)
    )
    return shared_context(report, symptom, build_index(tmp_path, ("shelves",)), environment, tokens=tokens)


def test_the_place_that_raised_comes_first_among_the_sources(tmp_path: Path) -> None:
    text = made(tmp_path)
    source = text[text.index("# Source of the subject") :]
    assert source.index("core.py: Shelf._find") < source.index("core.py: Shelf.take")
    assert "raise KeyError(name)" in source


def test_it_is_the_same_each_time_and_within_its_size(tmp_path: Path) -> None:
    assert made(tmp_path) == made(tmp_path)
    small = made(tmp_path, tokens=1500, body=REPORT + "filler words here. " * 5000)
    assert len(small) < 1500 * 3.6 * 1.4
    assert "KeyError: 'b'" in small


def test_reports_with_braces_and_percent_signs_are_left_as_they_are(tmp_path: Path) -> None:
    assert "{count} %s {0}" in made(tmp_path, body=REPORT + "\n{count} %s {0}\n")
