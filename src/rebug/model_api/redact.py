"""Takes secrets and personal data out of text before it is sent or kept.

Replacements keep the shape of what they replace (an address stays an address, a path a path) and the same value always
gets the same replacement, so that a script built from redacted text still works. Addresses that name nobody stay:
loopback, documentation networks, example domains. Source code stays readable: a value counts as a secret by its own
form (a provider's key), or when it is a literal given to a name such as `password`.

Every pattern is bounded and begins where a run of its characters begins: time is linear in the text.

detect-secrets was looked at: it reads files by line, flags and does not replace, its last release is years old.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Mapping

_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:[^-]|-(?!----)){0,20000}(?:-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----)?"
)
_JWT = re.compile(r"(?<![\w-])eyJ[\w-]{8,4000}\.[\w-]{8,8000}\.[\w-]{0,2000}")
_KEY = re.compile(
    r"(?<![A-Za-z0-9_-])(?:"
    r"sk-[A-Za-z0-9_-]{16,300}"  # OpenAI, Anthropic, OpenRouter, DeepSeek
    r"|(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{10,200}"  # Stripe
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])"  # AWS
    r"|gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{22,255}|glpat-[A-Za-z0-9_-]{16,100}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,300}|xapp-[A-Za-z0-9-]{10,300}"  # Slack
    r"|AIza[A-Za-z0-9_-]{30,60}|ya29\.[A-Za-z0-9_-]{20,2000}|GOCSPX-[A-Za-z0-9_-]{20,60}"  # Google
    r"|hf_[A-Za-z0-9]{20,100}|npm_[A-Za-z0-9]{30,60}|pypi-[A-Za-z0-9_-]{50,500}"
    r"|SG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{16,80}|dop_v1_[a-f0-9]{40,80}|gsk_[A-Za-z0-9]{30,100}|xai-[A-Za-z0-9]{40,120}"
    r")"
)
_HEADER = re.compile(
    r"((?:Authorization|X-Api-Key|Api-Key|X-Auth-Token)[\"']?\s{0,3}[:=,]\s{0,3}[\"']?"
    r"(?:(?:Bearer|Basic|Token|Digest)\s{1,3})?)(?!(?:Bearer|Basic|Token|Digest)\s)"
    r"([^\s\"'<>{}()\[\],;]{6,2000})(?![\w.(\[])",
    re.IGNORECASE,
)
_COOKIE = re.compile(
    r"(\b(?:Set-)?Cookie[\"']?\s{0,3}[:=]\s{0,3}[\"']?[\w.-]{1,60}=)([A-Za-z0-9._~+/%-]{16,2000})", re.IGNORECASE
)
_BEARER = re.compile(r"\b(Bearer\s{1,3})([A-Za-z0-9._~+/-]{20,2000}={0,2})")
_URL = re.compile(
    r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{1,20}://)([^\s/@:\"'<>]{0,100}:[^\s/@\"'<>]{1,200})"
    r"@(?!(?:[\w-]{1,63}\.){0,3}example\.(?:com|org|net))"
)
_QUERY = re.compile(
    r"([?&](?:access_token|refresh_token|token|api_?key|key|sig|signature|password|secret|auth|code|sessionid)=)"
    r"([^&\s\"'<>#]{6,2000})",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"((?:password|passwd|passphrase|pwd|secret|api_?-?key|access_?-?key|private_?-?key|auth_?-?token|access_?-?token"
    r"|refresh_?-?token|client_?-?secret|credential)[\w-]{0,20}[\"']?\s{0,3}(?:=>|:=|=|:)\s{0,3})"
    r"(?:([\"'])([^\s\"'<>{}$]{4,300})\2|([^\s\"'()\[\]{}<>,;.$]{6,300})(?![\w.(\[]))",
    re.IGNORECASE,
)
_EMAIL = re.compile(
    r"(?<![\w.%+-])([A-Za-z0-9][A-Za-z0-9._%+-]{0,63})@((?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24})(?![\w@-])"
)
_IPV4 = re.compile(r"(?<![\w.=-])(\d{1,3}(?:\.\d{1,3}){3})(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])([0-9A-Fa-f]{1,4}:[0-9A-Fa-f:]{6,36}[0-9A-Fa-f])(?![\w:])")
_HOME = re.compile(
    r"(/home/|/Users/|\b[A-Za-z]:[\\/]{1,2}(?:Users|Documents and Settings)[\\/]{1,2})"
    r"([\w.@-]{1,64})(?=[\\/\s\"':,;)\]>`]|$)"
)

_NOBODY = re.compile(
    r"(?:[\w-]{1,63}\.){0,8}(?:example(?:\.(?:com|org|net))?|test|invalid|localhost|local)", re.IGNORECASE
)
_ROLES = {"git", "hg", "noreply", "no-reply"}
_DOCUMENTATION = tuple(
    ipaddress.ip_network(net) for net in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")
)
_SHARED_HOMES = {
    "Default", "Public", "Shared", "circleci", "root", "runner", "travis", "u", "ubuntu", "user", "vagrant",
}  # "u" is the sandbox's  # fmt: skip

SECRET = "[redacted]"  # noqa: S105 - what stands in the place of one


class Redactor:
    """Redacts texts of one run: the same address gets the same replacement in all of them."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._emails: dict[str, str] = {}
        self._addresses: dict[str, str] = {}

    def redact(self, text: str) -> str:
        """The text without secrets and personal data; `counts` grows by kind of what was replaced."""
        text = self._replace(_PRIVATE_KEY, text, lambda _: self._secret("private key"))
        text = self._replace(_JWT, text, lambda _: self._secret("token"))
        text = self._replace(_KEY, text, lambda _: self._secret("key"))
        text = self._replace(_URL, text, self._url)
        text = self._replace(_HEADER, text, lambda m: self._after(m[1], m[2], "token"))
        text = self._replace(_COOKIE, text, lambda m: self._after(m[1], m[2], "token"))
        text = self._replace(_BEARER, text, lambda m: self._after(m[1], m[2], "token"))
        text = self._replace(_QUERY, text, lambda m: self._after(m[1], m[2], "token"))
        text = self._replace(_NAMED, text, self._named)
        text = self._replace(_EMAIL, text, self._email)
        text = self._replace(_IPV4, text, self._address)
        text = self._replace(_IPV6, text, self._address)
        return self._replace(_HOME, text, self._home)

    @staticmethod
    def _replace(pattern: re.Pattern[str], text: str, by: Callable[[re.Match[str]], str]) -> str:
        return pattern.sub(by, text)

    def _secret(self, kind: str) -> str:
        self.counts[kind] += 1
        return SECRET

    def _after(self, name: str, value: str, kind: str) -> str:
        if SECRET in value:
            return name + value
        return name + self._secret(kind)

    def _url(self, match: re.Match[str]) -> str:
        if match[2] == f"user:{SECRET}":
            return match[0]
        self.counts["password"] += 1
        return f"{match[1]}user:{SECRET}@"

    def _named(self, match: re.Match[str]) -> str:
        name, quote, literal, bare = match[1], match[2] or "", match[3], match[4]
        value = literal or bare or ""
        if SECRET in value or not _secretive(value, quoted=bool(literal)):
            return match[0]
        self.counts["password"] += 1
        return f"{name}{quote}{SECRET}{quote}"

    def _email(self, match: re.Match[str]) -> str:
        if _NOBODY.fullmatch(match[2]) or match[1].lower() in _ROLES:
            return match[0]
        self.counts["e-mail"] += 1
        return self._emails.setdefault(match[0].lower(), f"user{len(self._emails) + 1}@example.com")

    def _address(self, match: re.Match[str]) -> str:
        try:
            address = ipaddress.ip_address(match[1])
        except ValueError:
            return match[0]
        if _harmless(address):
            return match[0]
        self.counts["address"] += 1
        number = len(self._addresses) + 1
        new = f"192.0.2.{number % 255}" if address.version == 4 else f"2001:db8::{number:x}"
        return self._addresses.setdefault(str(address), new)

    def _home(self, match: re.Match[str]) -> str:
        if match[2] in _SHARED_HOMES:
            return match[0]
        self.counts["home"] += 1
        return f"{match[1]}user"


def redact(text: str) -> tuple[str, Mapping[str, int]]:
    """The text without secrets and personal data, and how many of each kind were replaced.

    Kinds: private key, token, key, password, e-mail, address, home.
    """
    redactor = Redactor()
    return redactor.redact(text), dict(redactor.counts)


def _secretive(value: str, *, quoted: bool) -> bool:
    """A literal that can be a secret: quoted text other than a placeholder, or a bare word of letters and digits."""
    if len(set(value)) < 3 or value.startswith(("%", "$", "<", "{")):
        return False
    if quoted:
        return True
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def _harmless(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Addresses that name no machine: loopback, unspecified, multicast, masks, documentation, and version numbers."""
    if address.is_loopback or address.is_unspecified or address.is_multicast or address.is_reserved:
        return True
    if any(address in net for net in _DOCUMENTATION if net.version == address.version):
        return True
    return address.version == 4 and (int(address) >> 24 in {0, 255} or max(address.packed) < 32)
