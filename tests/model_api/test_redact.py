"""Secrets and personal data go, what a reproduction needs stays."""

from __future__ import annotations

import http
import time
from pathlib import Path

import pytest

from rebug.model_api import Redactor, redact

B = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ"  # a body for made-up keys


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("key sk-" + B, "key [redacted]"),
        ("sk-ant-api03-" + B + "-xx", "[redacted]"),
        ("token=ghp_" + B[:36], "token=[redacted]"),
        ("AKIAABCDEFGHIJKLMNOP end", "[redacted] end"),
        ("hf_" + B[:30], "[redacted]"),
        ("xoxb-123456789012-abcdef", "[redacted]"),
        ("AIza" + B[:35], "[redacted]"),
        ("a eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4fw b", "a [redacted] b"),
        ("Authorization: Bearer abcdef.ghijkl-123456", "Authorization: Bearer [redacted]"),
        ("curl -H 'X-Api-Key: 12345-abcde'", "curl -H 'X-Api-Key: [redacted]'"),
        ("Cookie: session=deadbeef0123456789; theme=dark", "Cookie: session=[redacted]; theme=dark"),
        ("postgres://bob:hunter2@db:5432/app", "postgres://user:[redacted]@db:5432/app"),
        ("amqp://:s3cret@queue/0", "amqp://user:[redacted]@queue/0"),
        ("https://h/p?page=2&access_token=abc123def", "https://h/p?page=2&access_token=[redacted]"),
        ('{"password": "hunter2!"}', '{"password": "[redacted]"}'),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted]"),
        ("api_key: 'q9f8q9f8'", "api_key: '[redacted]'"),
        ("mail jane.doe+x@corp.co.uk now", "mail user1@example.com now"),
        ("from 84.8.4.4:53 and 10.40.2.7", "from 192.0.2.1:53 and 192.0.2.2"),
        ("2a00:1450:4001:82b::200e up", "2001:db8::1 up"),
        ('File "/home/jane/app/x.py", line 3', 'File "/home/user/app/x.py", line 3'),
        ("/Users/jdoe/Library", "/Users/user/Library"),
        ("C:\\Users\\Jane\\app", "C:\\Users\\user\\app"),
        ("C:\\\\Users\\\\Jane\\\\app", "C:\\\\Users\\\\user\\\\app"),
    ],
)
def test_what_goes(text: str, redacted: str) -> None:
    result, counts = redact(text)
    assert result == redacted
    assert sum(counts.values()) >= 1
    assert redact(result) == (result, {})  # nothing is left to redact


def test_private_keys_go_whole() -> None:
    pem = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nMIIEow\n-----END RSA PRIVATE KEY-----"
    assert redact(f"a\n{pem}\nb") == ("a\n[redacted]\nb", {"private key": 1})
    assert "MIIEow" not in redact(pem[:80])[0]


@pytest.mark.parametrize(
    "text",
    [
        "user@example.com and root@localhost, git@github.com:org/repo.git",
        "127.0.0.1:8080 0.0.0.0 255.255.255.0 ::1 192.0.2.44",
        "version 1.2.3.4, package==10.0.0.1, v3.11.4.2",
        "password = getpass.getpass()\nself.password = password\ndef login(password: str = None): ...",
        "token = next(tokens)\nif token.kind == 'NAME': secret = None",
        "password=********  api_key=<your key>  secret='${SECRET}'",
        "@pytest.mark.parametrize\n@app.route('/x')\nx = a @ b.T",
        "12:34:56 00:11:22:33:44:55 std::vector::push_back a[::2] dead:beef",
        "/home/runner/work and /root/x and ~/x",
        "sk-learn scikit-learn task-1234 risk-free eyJ",
        "SELECT * FROM token WHERE key = 'value'",
        "https://example.com/a:b@c and mailto:x",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_what_stays(text: str) -> None:
    assert redact(text) == (text, {})


def test_one_value_has_one_replacement_in_a_run() -> None:
    redactor = Redactor()
    assert redactor.redact("a@b.io c@d.io") == "user1@example.com user2@example.com"
    assert redactor.redact("C@d.io 9.9.9.99") == "user2@example.com 192.0.2.1"
    assert redactor.counts == {"e-mail": 3, "address": 1}


def test_source_code_is_left_as_it_is() -> None:
    library = Path(http.__file__).parent.parent
    names = (
        "http/client.py",
        "http/cookies.py",
        "urllib/request.py",
        "imaplib.py",
        "netrc.py",
        "tokenize.py",
        "ssl.py",
    )
    for name in names:
        text = (library / name).read_text(encoding="utf-8")
        assert set(redact(text)[1]) <= {"e-mail"}, name  # their authors'


@pytest.mark.parametrize(
    "piece",
    ["a", "1.", "a@", "sk-", "eyJ", "password=", "://:", "a:", "-----BEGIN PRIVATE KEY-----", "/home/", "?key=",
     "Bearer ", "a.b@c.", "Cookie: ", "::1:", "C:\\Users\\", "secret", "ab:cd:", "x://a:b", "eyJaaaaaaaaa."],
)  # fmt: skip
def test_time_is_linear(piece: str) -> None:
    small, large = piece * (40_000 // len(piece)), piece * (320_000 // len(piece))
    redact(small)
    started = time.process_time()
    redact(small)
    middle = time.process_time()
    redact(large)
    assert time.process_time() - middle < 30 * (middle - started) + 0.3
