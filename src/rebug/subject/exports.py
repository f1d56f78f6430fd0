"""By which shortest dotted path a symbol can be imported, re-exports followed without importing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from rebug.ports import Symbol
from rebug.subject.scan import Scanned

_DEEPEST = 8  # re-exports of re-exports; also what ends a circle


def with_exports(scanned: Sequence[Scanned]) -> tuple[Symbol, ...]:
    """Every symbol, with `exported_as` and `public` as the packages' re-exports make them."""
    modules: dict[str, Scanned] = {}
    for one in scanned:
        earlier = modules.get(one.module)
        # A stub beside a compiled module's package binds what the package's own file takes from the binary.
        modules[one.module] = replace(earlier, binds={**earlier.binds, **one.binds}) if earlier else one
    paths = _shortest(modules)
    return tuple(_exported(symbol, paths, modules) for one in scanned for symbol in one.symbols)


def _exported(symbol: Symbol, paths: Mapping[str, str], modules: Mapping[str, Scanned]) -> Symbol:
    if symbol.kind == "module":
        return symbol
    first, _, rest = symbol.qualname.partition(".")
    own = f"{symbol.module}.{first}"
    path = paths.get(own, own)
    named = modules[symbol.module].exports if symbol.module in modules else None
    public = _rank(path)[0] == 0 or first in (named or ())
    inner = not any(_is_private(part) for part in rest.split(".")) if rest else True
    return replace(symbol, exported_as=f"{path}.{rest}" if rest else path, public=public and inner)


def _shortest(modules: Mapping[str, Scanned]) -> dict[str, str]:
    """Dotted path of a definition → the best path it is exposed at."""
    best: dict[str, str] = {}
    for module in modules.values():
        for name, target in _exposed(module, modules, _DEEPEST).items():
            definition = _follow(target, modules)
            path = f"{module.module}.{name}"
            if definition not in best or _better(path, best[definition], definition):
                best[definition] = path
    return best


def _exposed(module: Scanned, modules: Mapping[str, Scanned], depth: int) -> dict[str, str]:
    """Names that `module` offers → the dotted paths they stand for."""
    names: dict[str, str] = {}
    if depth:
        for star in module.stars:
            if star in modules and star != module.module:
                names.update(_exposed(modules[star], modules, depth - 1 if depth < 3 else 2))
    names.update(module.binds)
    if module.exports is not None:
        return {name: names[name] for name in module.exports if name in names}
    package = module.file.rpartition("/")[2].startswith("__init__.")
    own = f"{module.module}."
    # Outside of a package's __init__ an imported name is there for the module's own use.
    kept = {name: target for name, target in names.items() if package or target == own + name or module.stars}
    return {name: target for name, target in kept.items() if not name.startswith("_")}


def _follow(target: str, modules: Mapping[str, Scanned]) -> str:
    """The definition that a dotted path leads to."""
    for _ in range(_DEEPEST):
        module, _, name = target.rpartition(".")
        if module not in modules:
            return target
        onward = modules[module].binds.get(name) or _through_stars(modules[module], name, modules)
        if not onward or onward == target:
            return target
        target = onward
    return target


def _through_stars(module: Scanned, name: str, modules: Mapping[str, Scanned]) -> str:
    for star in module.stars:
        if star in modules and name in modules[star].binds:
            return modules[star].binds[name]
    return ""


def _is_private(part: str) -> bool:
    return part.startswith("_") and not (part.startswith("__") and part.endswith("__"))


def _better(path: str, other: str, definition: str) -> bool:
    """Whether a path is the better one: among those of one depth a definition's own name goes before an alias."""
    own = definition.rpartition(".")[2]
    first, second = ((*_rank(one)[:2], one.rpartition(".")[2] != own, _rank(one)) for one in (path, other))
    return first < second


def _rank(path: str) -> tuple[int, int, int, str]:
    """Paths without private parts first, then the shorter."""
    parts = path.split(".")
    return (sum(_is_private(part) for part in parts), len(parts), len(path), path)
