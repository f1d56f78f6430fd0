"""What a report says of versions: of Python, of the system, of distributions, and which are good or bad."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from rebug.intake.prose import Sentence, plain
from rebug.model import StatedVersion

MAX_ROW = 300  # characters of a line that are looked at as a row of a table

Role = Literal["used", "good", "bad", "fixed"]

V = r"v?\d{1,4}(?:\.\d{1,6}){1,3}(?:(?:a|b|rc|\.?post|\.?dev)\d{1,4})?(?:\+[\w.]{1,20})?"
_VERSION = re.compile(
    rf"(?<![\w./\"'-])(?P<version>{V})(?![\w/%\"']|\.\d|-\w|:\d)"
    r"(?! ?(?:ms|s|secs?|seconds?|min|minutes?|hours?|[KMG]i?B|bytes|Bytes|GHz|times|percent|x)\b)"
)
_AFTER_GOOD = re.compile(
    r"^(?:\.x)?\W{0,2} (?:did not|didn't|does not|doesn't|did|kept|keeps|was (?:fine|ok|good)|is (?:fine|ok|good)"
    r"|works|worked|behaved|accepted|got it right"
    r"|has no|had no|stays?|stayed|is not affected|is unaffected)\b(?! work| pass)"
)
_NAME_BEFORE = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_.-]{0,40}?)(?:\[[\w,]{0,40}\])?(?:\s*(?:==|>=|<=|~=|=|@)\s*|\s*\|\s*"
    r"|:?\s{1,30}\(?|:)(?:version:? )?[v\"']?$"
)
_PIN = re.compile(rf"(?P<name>[A-Za-z][A-Za-z0-9_.-]{{0,50}})(?:\[[\w,-]{{0,40}}\])?\s?(?:==|===)\s?(?P<version>{V})")
_TABLE_LINE = re.compile(
    rf"^(?:[-*+]\s{{1,4}})?(?:\|\s{{0,8}})?(?P<name>[A-Za-z][A-Za-z0-9_.-]{{0,50}})(?:\s*\|\s*|\s{{2,}}|\s*[:=]\s*|,?\s"
    rf"|[ ]version:?\s)(?P<version>{V})(?:\s*\|?\s*(?P<rest>.{{0,80}}))?$"
)
_QUERIED = re.compile(
    rf"\b(?P<name>[A-Za-z_]\w{{0,50}})\.__version__\)?[ \t]*\n[ \t]*(?:Out ?\[\d{{1,5}}\]: "
    rf"?)?['\"]?(?P<version>{V})['\"]?[ \t]*(?=\n|$)"
)
_NO_NAMES = """
a about affected affects after all alpine also amd amount an anaconda and april arch are around as at back bad
before behind below between both broken bug bumped bumping but by can centos chapter code cost cpython current
currently debian did does downgrade downgraded downgrading either environment ever every except fails fedora
fixed for freebsd from gcc get going good got had has have having here host http https i if in installed
installed: installing intel into ip is is: iso issue it its july june just kernel last latest least library like
line lines linux llvm localhost macos main march master may mean mint moved moving my need needs new newer no
not now number of old older on only onto or os osx our output over package past pep port pr previous price prior
pypy python quite ran rate release released releases requires result returns reverted reverting rfc rhel roughly
run running runs same says section since size so ssl stable step still sum switched switching tag takes than
that the their then there these this through title tls to today too took total tried ubuntu under until up
update updated upgrade upgraded upgrading use used using utf v value ver version versions was we well went were
when where which while will windows with within without worked works yes you your
"""
_STOP_NAMES = frozenset(_NO_NAMES.split())
_PYTHON = re.compile(
    r"(?:\b[Pp]ython|\bPYTHON|\bCPython|\bpy)(?: \(CPython\))?(?:[ _]?[Vv]ersions?)?(?:\*\*)?[ \t]*[:="
    r"|]{0,2}(?:\*\*)?[ \t]*[`(]?v?(?P<version>[23]\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\.\d)(?!\d)"
)
_PYTHON_PATH = re.compile(r"(?:python|Python/?)(?P<major>3)\.?(?P<minor>\d{1,2})(?=[/\\\[]|\.exe)")
_SYSTEM = re.compile(
    r"\b(?:Ubuntu|Debian(?: GNU/Linux)?|Fedora|CentOS|RHEL|Red Hat(?: Enterprise Linux)?|Alpine(?: Linux)?"
    r"|Arch(?: Linux)?|Linux Mint|openSUSE|Amazon Linux|"
    r"Rocky Linux|NixOS|Gentoo|macOS|Mac OS X?|OS X|OSX|Windows(?: Server)?|FreeBSD|OpenBSD|NetBSD|WSL2?|Linux"
    r"|Raspbian)\b(?: (?:Sonoma|Ventura|Monterey|Big Sur|Catalina|Sequoia|Bookworm|Bullseye))?"
    r"(?: ?(?:v|version )?\d{1,4}(?:[._]\d{1,5}){0,3})?(?: ?(?:LTS|x86_64|aarch64|arm64|amd64|Pro|Home))?"
)
_SYSTEM_FIELD = re.compile(
    r"^\s*(?:[-*+|]\s*)?(?:\*\*)?(?:OS|Operating system|Platform|System|OS version)(?:\*\*)?\s*[:"
    r"|](?:\*\*)?\s*(?P<value>\S.{0,80}?)\s*\|?$",
    re.IGNORECASE,
)

_ARROW = re.compile(rf"(?P<good>{V})`?\s*(?:->|→|=>|-->|➔)\s*`?(?P<bad>{V})")
_BACK = re.compile(
    rf"\b(?:go(?:ing|es)?|went|roll(?:ing|ed)?|downgrad\w{{1,4}}|revert\w{{0,3}}|switch\w{{0,3}}|pin(?:ning|ned)?"
    rf"|mov\w{{1,3}}|chang\w{{1,3}})\b"
    rf"(?: back| it| the \w{{1,20}}| [\w.-]{{1,40}}){{0,3}}?(?: from `?(?P<bad>{V})`?)? (?:to"
    rf"|at) (?:[\w.-]{{1,40}} |version |[\w.-]{{1,40}}==){{0,2}}`?(?P<good>{V})",
    re.IGNORECASE,
)
_DOWN = re.compile(r"\b(?:back|downgrad|revert|roll|pin)", re.IGNORECASE)
_FROM_TO = re.compile(
    rf"\bfrom (?:[\w.-]{{1,40}} |version |v\.? ?){{0,2}}`?(?P<good>{V})`? (?:up )?to (?:[\w.-]{{1,40}} "
    rf"|version ){{0,2}}`?(?P<bad>{V})",
    re.IGNORECASE,
)
_REGRESSION = re.compile(
    rf"\bregress(?:ion|ed|es)\b.{{0,30}}?\b(?:from|against|compared (?:to|with)|relative to"
    rf"|w\.?r\.?t\.?) (?:[\w.-]{{1,40}} |version ){{0,2}}`?(?P<good>{V})",
    re.IGNORECASE,
)
_BAD = re.compile(
    r"\b(?:since|as of|starting (?:with|from|in)|beginning with|introduced (?:in|by|with)|new in|prior to|before"
    r"|earlier than|older than|after (?:\w{1,12}ing (?:\w{1,20} )?(?:to )?|the (?:upgrade|update) to)?|"
    r"(?:breaks?|broken?|broke|fails?|failing|failed|regress\w{0,4}|wrong|crash\w{0,3}|happens?|occurs?"
    r"|reproducib\w{1,3}|reproduces?|affects?|buggy|bug|changed) (?:again )?(?:since |starting )?(?:in|with|on"
    r"|under|by|from|as of)?)"
    r" ?(?:[\w.-]{1,40} |version |release |v\.? ?|the ){0,2}[`(]{0,2}$",
    re.IGNORECASE,
)
_FIXED = re.compile(
    r"\b(?:fixed|resolved|solved) (?:in|by|with|since) (?:[\w.-]{1,40} |version ){0,2}`?$", re.IGNORECASE
)
_GOOD_WORD = re.compile(
    r"\b(?:works?|worked|working|fine|ok|okay|good|correct(?:ly)?|passe[sd]|succeed\w{0,2}|no (?:problem|issue"
    r"|error|leak|warning|hang|such)\w{0,2}|unaffected|not affected|stay(?:s|ed)? |stable|flat|"
    r"as (?:i(?:'d| would)?|we(?:'d| would)?|one would)? ?expect(?:ed)?|expected (?:output|result|behaviou?r)"
    r"|used to|behave[sd]|without (?:any )?(?:problem|issue|error)s?|all (?:is )?well|"
    r"(?:does|do|did|is|was)(?: not|n't)(?: (?:happen|occur|reproduce|show|fail|leak|hang|crash|exist|there"
    r"|the case|present|affected))|(?:last|previous) (?:known )?(?:good|working))\b"
    r"|(?:does not|doesn't|did not|didn't|it is not|isn't)\s*[.!)]*$",
    re.IGNORECASE,
)
_NOT_GOOD = re.compile(
    r"\b(?:(?:does|do|did|is|was|has)(?: not|n't) (?:work|pass|behave|correct|fine|ok|good|succeed)\w{0,3}"
    r"|no longer (?:work|pass|behave)\w{0,3}|stop(?:s|ped) working|not working|"
    r"not (?:fine|ok|good|correct)|stays? (?:broken|behind|stuck)|still (?:fails?|broken|happens?)|never worked"
    r"|have not tried|haven't tried|not tried|fix(?:es|ed) (?:in|by))\b",
    re.IGNORECASE,
)
_BAD_WORD = re.compile(
    r"\b(?:fails?|failed|failing|broken?|broke|breaks|wrong|crash\w{0,3}|hangs?|leaks?|seems? to leak|bug|raises"
    r"|error|yanked|tried)\b",
    re.IGNORECASE,
)
_CLAUSES = re.compile(
    r"[,;]\s|\s[–—]\s|\bbut\b|\bwhile\b|\bwhereas\b|\bhowever\b|\band (?=(?:in|with|on|under|using|it)\b)"
    r"|\bthen\b|[:.]\s",
    re.IGNORECASE,
)


def normalise(name: str) -> str:
    """A distribution's name as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).strip("-").lower()


def python_version(text: str) -> str:
    """The first stated Python version, else one seen in a path, else ""."""
    found = _PYTHON.search(text)
    if found:
        return found["version"]
    path = _PYTHON_PATH.search(text)
    return f"{path['major']}.{path['minor']}" if path else ""


def operating_system(text: str) -> str:
    """The operating system as written, preferring a field for it and a name with a version; "" when not stated."""
    for line in text.split("\n")[:4000]:
        field = _SYSTEM_FIELD.match(line.strip()[:MAX_ROW])
        known = _SYSTEM.search(field["value"]) if field else None
        if known:
            return known[0].strip()
    found = [match[0].strip() for match in _SYSTEM.finditer(text[:200_000])]
    return next((name for name in found if any(c.isdigit() for c in name)), found[0] if found else "")


def listed_versions(lines: Sequence[str], first: int) -> list[StatedVersion]:
    """Versions in pinned requirements, `pip list` and other tables: one per line."""
    out: list[StatedVersion] = []
    for offset, raw in enumerate(lines[:5000]):
        line = raw.strip()[:MAX_ROW]
        pins = list(_PIN.finditer(line)) if "==" in line else []
        out += [_stated(pin["name"], pin["version"], "used", first + offset) for pin in pins]
        row = None if pins else _TABLE_LINE.match(line)
        if row and row["name"].lower() not in _STOP_NAMES:
            role: Role = (
                "good"
                if row["rest"]
                and not _VERSION.search(row["rest"])
                and _GOOD_WORD.search(row["rest"])
                and not _NOT_GOOD.search(row["rest"])
                else "used"
            )
            out.append(_stated(row["name"], row["version"], role, first + offset))
    return out


def queried_versions(text: str, first: int) -> list[StatedVersion]:
    """Versions that a transcript asks for: `package.__version__` and the output below."""
    return [
        _stated(found["name"], found["version"], "used", first + text.count("\n", 0, found.start()))
        for found in _QUERIED.finditer(text[:200_000])
    ]


def told_versions(sentences: Iterable[Sentence]) -> list[StatedVersion]:
    """Versions in sentences with the role the sentence gives them; name "" where none stands beside the version."""
    out: list[StatedVersion] = []
    for sentence in sentences:
        text = plain(sentence.text)
        if any(c.isdigit() for c in text):
            out += _told(text, sentence.line)
    return out


def _told(text: str, line: int) -> list[StatedVersion]:
    roles = _paired_roles(text)
    out: list[StatedVersion] = []
    last_name = ""
    for found in _VERSION.finditer(text):
        before = text[: found.start()]
        named = _NAME_BEFORE.search(before[-60:])
        name = named["name"] if named else ""
        if name.lower() in {"python", "cpython", "py", "pypy"} or _is_python_list(before, last_name):
            last_name = "python"
            continue
        last_name = name
        compared = found["version"] in roles and before.endswith("(")  # "... block (1.0 -> 1.1)" names no distribution
        if compared or name.lower() in _STOP_NAMES or name.endswith((".", ":")):
            name = ""
        role = roles.get(found["version"]) or _role(text, found.start(), found.end())
        vague = (
            not name
            and role == "used"
            and found["version"].count(".") < 2
            and not before.endswith(("ersion ", "elease "))
        )
        if not vague and (found["version"] in roles or not _is_other(before, name, found["version"])):
            out.append(_stated(name, found["version"], role, line))
    return out


def _paired_roles(text: str) -> dict[str, Role]:
    """Roles of versions that a sentence sets against each other: "from X to Y", "X -> Y", "back to X"."""
    roles: dict[str, Role] = {}
    back = [found for found in _BACK.finditer(text) if found["bad"] or _DOWN.search(found[0])]
    down = any(_DOWN.search(found[0]) for found in back)
    others = [_ARROW, _REGRESSION] if down else [_ARROW, _FROM_TO, _REGRESSION]
    pairs = [found.groupdict() for found in back if _DOWN.search(found[0])]
    pairs += [found.groupdict() for pattern in others for found in pattern.finditer(text)]
    for pair in pairs:
        roles.setdefault(pair["good"], "good")
        if pair.get("bad"):
            roles.setdefault(pair["bad"], "bad")
    return roles


def _is_python_list(before: str, last_name: str) -> bool:
    """Whether a version continues a list of Pythons: "Python 3.10, 3.11 and 3.12"."""
    return last_name == "python" and bool(re.search(r"\d(?:,| and| or|/|,? to|-)\s*$", before))


def _is_other(before: str, name: str, version: str) -> bool:
    """Numbers that are no version of a distribution: of a system, an address, an amount."""
    words = re.findall(r"[A-Za-z]+", before[-24:])
    last = words[-1].lower() if words and not name else ""
    systems = {
        "ubuntu",
        "debian",
        "fedora",
        "macos",
        "windows",
        "linux",
        "centos",
        "alpine",
        "freebsd",
        "rhel",
        "mint",
        "osx",
        "kernel",
        "gcc",
    }
    if last in systems and before.rstrip()[-1:].isalpha():
        return True
    if version.count(".") == 3 and not version.startswith("v"):
        return True
    return bool(re.search(r"[$€£±~≈=<>*/+]\s?$", before[-2:]))


def _role(text: str, start: int, end: int) -> Role:
    before = text[max(0, start - 90) : start]
    if _FIXED.search(before):
        return "fixed"
    if _AFTER_GOOD.match(text[end : end + 40]) and not re.search(
        r"\b(?:than|to|since)\b[^,]{0,12}$", before, re.IGNORECASE
    ):
        return "good"
    clause = _clause(text, start, end)
    if re.search(r"\b(?:last|latest) (?:known )?(?:good|working)\b", clause, re.IGNORECASE):
        return "good"
    if re.search(
        r"\b(?:not (?:in|with|on)|until|up to|through|used to work (?:in|with|on|under))(?: [\w.-]{1,40})? $",
        before,
        re.IGNORECASE,
    ):
        return "good"
    if (
        _GOOD_WORD.search(clause)
        and not _NOT_GOOD.search(clause)
        and not re.search(r"\b(?:since|after)\b", before[-24:], re.IGNORECASE)
    ):
        return "good" if not _BAD.search(before) or _DOWN.search(clause) else "bad"
    if _BAD.search(before) or _NOT_GOOD.search(clause) or _BAD_WORD.search(clause):
        return "bad"
    return "used"


def _clause(text: str, start: int, end: int) -> str:
    """The clause of a sentence that holds the version; what stands in brackets is left out."""
    flat = re.sub(
        r"\([^()\n]{0,300}\)", lambda m: " " * len(m[0]) if not (m.start() < end and start < m.end()) else m[0], text
    )
    left = right = None
    for mark in _CLAUSES.finditer(flat):
        if mark.end() <= start:
            left = mark.end()
        elif mark.start() >= end and right is None:
            right = mark.start()
    clause = flat[left or 0 : right if right is not None else len(flat)]
    if left and re.match(r"\s*(?:there|where|which|that is|it is|this is|i have|we have)\b", clause, re.IGNORECASE):
        clause = flat[max((m.end() for m in _CLAUSES.finditer(flat) if m.end() < left), default=0) : left] + clause
    if (
        not re.sub(rf"\b(?:with|in|on|under|using|version|release|the|and|for|{V})\b|[\s`]", "", clause)
        and right is not None
    ):
        following = _CLAUSES.search(flat, right + 1)
        clause = flat[left or 0 : following.start() if following else len(flat)]
    return clause


def _stated(name: str, version: str, role: Role, line: int) -> StatedVersion:
    return StatedVersion(name=normalise(name), version=version.removeprefix("v"), role=role, line=line)
