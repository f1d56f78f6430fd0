"""What can be known of the subject without running it: symbols, passages and tests of a source tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from rebug.ports import ExistingTest, Passage, Symbol
from rebug.subject import layout, tree
from rebug.subject.existing_tests import collect
from rebug.subject.exports import with_exports
from rebug.subject.passages import cut
from rebug.subject.retrieval import Ranking, words
from rebug.subject.scan import Nested, Scanned, scan

_LARGEST = 1 << 20  # bytes of one file
_MOST_FILES = 5000
_MOST_PASSAGES = 40_000
_MOST_TESTS = 20_000
_CODE = (".py", ".pyi", ".pyx")
_PROSE = (".md", ".rst", ".txt")
_VENDORED = frozenset({"_vendor", "vendor", "vendored", "_vendored", "third_party", "thirdparty", "extern", "_extern"})
_BUILT = frozenset({"build", "dist", "site-packages"})
_FRAME = re.compile(r"File \"([^\"\n]{1,400})\", line (\d{1,7}), in ([\w.<>]{1,200})")
_MOST_FRAMES = 200


class SourceIndex:
    """The Index of one source tree. Everything is read when first asked for; nothing of the subject is run."""

    def __init__(self, root: Path, modules: Sequence[str] = (), package: str = "") -> None:
        self._root = root
        self._package = package
        self._texts: dict[str, str] = {}
        tops = layout.locate(root, modules)
        self._tops = tops or layout.top_level(root, package)
        self._modules = tuple(self._tops) or tuple(modules)

    @property
    def root(self) -> Path:
        return self._root

    @property
    def modules(self) -> tuple[str, ...]:
        """Top-level import names."""
        return self._modules

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Every symbol of the subject's own code, file by file, in order of line."""
        return with_exports(self._scanned)

    @cached_property
    def tests(self) -> tuple[ExistingTest, ...]:
        """Every test function of the subject's suite."""
        found: list[ExistingTest] = []
        for file in self._files:
            if is_test_file(file) and file.endswith(".py") and not file.endswith("conftest.py"):
                found += collect(self.text(file), file, self._conftests(file))
            if len(found) >= _MOST_TESTS:
                break
        return tuple(found[:_MOST_TESTS])

    def find(self, name: str) -> tuple[Symbol, ...]:
        """Symbols whose last component, qualname or dotted path is `name`, public ones first."""
        return self._by_name.get(name.strip().removesuffix("()"), ())

    def at(self, file: str, line: int | None, function: str) -> Symbol | None:
        """The symbol a stack frame belongs to; `file` may be a path of any machine (matched by its suffix)."""
        known = self._match(file)
        return self._within(known, line, function) if known else None

    def retrieve(self, query: str, limit: int) -> list[Passage]:
        """Passages of source, tests and documentation, best first; those of frames in the query come first."""
        ranked = self._ranking.best(query, max(limit, 0) + _MOST_FRAMES)
        top = ranked[0][1] if ranked else 1.0
        scores = dict(ranked)
        for place, boost in self._named_by_frames(query):
            scores[place] = scores.get(place, 0.0) + top * boost
        best = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[: max(limit, 0)]
        return [self._scored(self._passages[place], score) for place, score in best]

    def nearest_tests(self, query: str, limit: int) -> list[ExistingTest]:
        """The subject's tests, nearest to the query first."""
        return [self.tests[place] for place, _ in self._test_ranking.best(query, limit)]

    def text(self, file: str) -> str:
        """The source of a file of the tree, "" when there is no such file (or it is larger than 1 MiB)."""
        if file not in self._texts:
            self._texts[file] = _read(self._root, file)
        return self._texts[file]

    @cached_property
    def _files(self) -> tuple[str, ...]:
        """The files that count: the subject's own code, then tests, then other code and documentation."""
        names = [name for name in tree.files(self._root) if name.endswith((*_CODE, *_PROSE)) and not _foreign(name)]
        names.sort(key=lambda name: (not self._is_own(name), not is_test_file(name), not name.endswith(_CODE), name))
        return tuple(names[:_MOST_FILES])

    def _is_own(self, file: str) -> bool:
        return file.endswith(_CODE) and not is_test_file(file) and bool(self._module_of(file))

    def _module_of(self, file: str) -> str:
        for top, base in self._tops.items():
            name = layout.module_name(file, base)
            if name == top or name.startswith(f"{top}."):
                return name
        return ""

    @cached_property
    def _scanned(self) -> tuple[Scanned, ...]:
        own = [file for file in self._files if self._is_own(file)]
        if not own:
            # Compiled code only: stubs anywhere in the tree say what there is.
            own = [file for file in self._files if file.endswith((".pyi", ".pyx"))]
        own.sort(key=lambda file: _CODE.index(_suffix(file)))
        found: dict[str, list[Scanned]] = {}
        for file in own:
            module = self._module_of(file) or layout.module_name(file, "")
            found.setdefault(module, []).append(scan(self.text(file), file, module))
        return tuple(part for parts in found.values() for part in _without_repeats(parts))

    @cached_property
    def _by_name(self) -> dict[str, tuple[Symbol, ...]]:
        found: dict[str, list[Symbol]] = {}
        for symbol in self.symbols:
            dotted = f"{symbol.module}.{symbol.qualname}" if symbol.qualname else symbol.module
            for key in {symbol.name, symbol.qualname, dotted, symbol.exported_as} - {""}:
                found.setdefault(key, []).append(symbol)
        return {key: _distinct(sorted(symbols, key=_prominence)) for key, symbols in found.items()}

    @cached_property
    def _by_file(self) -> dict[str, tuple[list[Symbol], tuple[Nested, ...]]]:
        grouped: dict[str, tuple[list[Symbol], tuple[Nested, ...]]] = {
            one.file: ([], one.nested) for one in self._scanned
        }
        for symbol in self.symbols:
            grouped[symbol.file][0].append(symbol)
        return grouped

    @cached_property
    def _by_basename(self) -> dict[str, list[tuple[str, str]]]:
        """Basename → (file, its path as installed)."""
        found: dict[str, list[tuple[str, str]]] = {}
        for one in self._scanned:
            base = next((self._tops[top] for top in self._tops if one.module.split(".")[0] == top), "")
            installed = one.file.removeprefix(f"{base}/" if base else "")
            found.setdefault(one.file.rpartition("/")[2], []).append((one.file, installed))
        return found

    def _match(self, path: str) -> str:
        parts = [part for part in path.replace("\\", "/").split("/") if part not in {"", "."}]
        if not parts:
            return ""
        best, length = "", 0
        for file, installed in self._by_basename.get(parts[-1], ()):
            wanted = installed.split("/")
            common = _common_suffix(parts, wanted)
            # Too short a suffix is another project's file of the same name, unless that is all the frame says.
            if common == min(len(wanted), len(parts)) and common > length:
                best, length = file, common
        return best

    def _within(self, file: str, line: int | None, function: str) -> Symbol | None:
        symbols, nested = self._by_file[file]
        whole = symbols[0] if symbols and symbols[0].kind == "module" else None
        name = function.rpartition(".")[2].strip("<>()")
        if function.strip("<>") == "module":
            return whole
        named = [symbol for symbol in symbols if symbol.name == name and symbol.kind != "module"]
        exact = [symbol for symbol in named if symbol.qualname == function.removesuffix("()")]
        if exact or named:
            return min(exact or named, key=lambda symbol: _distance(symbol.line, symbol.end_line, line))
        inner = [one for one in nested if one.name == name]
        if inner:
            nearest = min(inner, key=lambda one: _distance(one.line, one.end_line, line))
            return next((symbol for symbol in symbols if symbol.qualname == nearest.within), whole)
        around = [symbol for symbol in symbols if line is not None and symbol.line <= line <= symbol.end_line]
        return max(around, key=lambda symbol: symbol.line, default=whole)

    @cached_property
    def _passages(self) -> tuple[Passage, ...]:
        return tuple(self._cut())

    def _cut(self) -> Iterator[Passage]:
        count = 0
        for file in self._files:
            symbols = self._by_file.get(file, ([], ()))[0]
            if not symbols and file.endswith(_CODE):
                symbols = list(scan(self.text(file), file, "").symbols)
            for passage in cut(self.text(file), file, symbols):
                count += 1
                if count > _MOST_PASSAGES:
                    return
                yield passage

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking(documents=[_described(passage) for passage in self._passages])

    @cached_property
    def _test_ranking(self) -> Ranking:
        described = [[*words(test.qualname) * 3, *words(test.file), *words(test.source)] for test in self.tests]
        return Ranking(documents=described)

    def _named_by_frames(self, query: str) -> list[tuple[int, float]]:
        """Passages that frames in the query lead to; the innermost of a stack, which comes last, weighs most."""
        matches = [match.groups() for _, match in zip(range(_MOST_FRAMES), _FRAME.finditer(query), strict=False)]
        found: dict[int, float] = {}
        for number, (file, line, function) in enumerate(matches, 1):
            symbol = self.at(file, int(line), function)
            if symbol is None or symbol.kind == "module":
                continue
            for place in self._by_place.get((symbol.file, symbol.qualname), ())[:3]:
                found[place] = 1.0 + number / len(matches)
        return list(found.items())

    @cached_property
    def _by_place(self) -> dict[tuple[str, str], list[int]]:
        found: dict[tuple[str, str], list[int]] = {}
        for place, passage in enumerate(self._passages):
            found.setdefault((passage.file, passage.symbol), []).append(place)
        return found

    def _scored(self, passage: Passage, score: float) -> Passage:
        return Passage(
            file=passage.file,
            line=passage.line,
            end_line=passage.end_line,
            text=passage.text,
            symbol=passage.symbol,
            score=score,
        )

    def _conftests(self, file: str) -> list[str]:
        parts = file.split("/")[:-1]
        names = ["/".join([*parts[:depth], "conftest.py"]) for depth in range(len(parts) + 1)]
        return [text for name in names if (text := self.text(name))]


def _without_repeats(parts: Sequence[Scanned]) -> Iterator[Scanned]:
    """The files of one module, source before stubs; a stub adds only what the source does not define itself."""
    known: set[str] = set()
    for part in parts:
        yield replace(part, symbols=tuple(symbol for symbol in part.symbols if symbol.qualname not in known))
        known |= {symbol.qualname for symbol in part.symbols}


def build_index(root: Path, modules: Sequence[str] = (), package: str = "") -> SourceIndex:
    """The index of the tree at `root`. `modules` (top-level import names) are found in it where they are not given."""
    return SourceIndex(root, modules, package)


def is_test_file(file: str) -> bool:
    """True for files of a test suite, judged by their path."""
    *directories, name = file.split("/")
    stem = name.partition(".")[0]
    if stem == "conftest" or stem.startswith("test_") or stem.endswith("_test"):
        return True
    # Deeper down, "test" is as often a public helper for the subject's users as it is a suite.
    top = directories[0] if directories else stem
    return "tests" in directories or top in {"tests", "test"}


def _foreign(file: str) -> bool:
    parts = file.split("/")[:-1]
    return parts[:1] != [] and (parts[0] in _BUILT or any(part in _VENDORED for part in parts))


def _suffix(file: str) -> str:
    return f".{file.rpartition('.')[2]}"


def _read(root: Path, file: str) -> str:
    path = root / file
    try:
        if not path.resolve().is_relative_to(root.resolve()) or not path.is_file() or path.stat().st_size > _LARGEST:
            return ""
        return path.read_text("utf-8-sig", errors="replace")
    except (OSError, ValueError):
        return ""


def _prominence(symbol: Symbol) -> tuple[bool, bool, bool, int, str, int]:
    overload = any(decorator.rpartition(".")[2] == "overload" for decorator in symbol.decorators)
    return (
        not symbol.public,
        overload,
        symbol.kind == "method",
        symbol.exported_as.count("."),
        symbol.file,
        symbol.line,
    )


def _distinct(symbols: Iterable[Symbol]) -> tuple[Symbol, ...]:
    """One symbol per definition: overloads and setters stand aside."""
    found: dict[tuple[str, str], Symbol] = {}
    for symbol in symbols:
        found.setdefault((symbol.file, symbol.qualname), symbol)
    return tuple(found.values())


def _common_suffix(left: Sequence[str], right: Sequence[str]) -> int:
    count = 0
    for one, other in zip(reversed(left), reversed(right), strict=False):
        if one != other:
            break
        count += 1
    return count


def _distance(first: int, last: int, line: int | None) -> int:
    """Lines between `line` and a range; 0 inside it. Ranges without a line to compare keep their order."""
    if line is None:
        return first
    return 0 if first <= line <= last else min(abs(line - first), abs(line - last))


def _described(passage: Passage) -> list[str]:
    """A passage's words; its name and path weigh more than a mention."""
    named: Iterable[str] = words(passage.symbol) * 3
    return [*named, *words(passage.file), *words(passage.text)]
