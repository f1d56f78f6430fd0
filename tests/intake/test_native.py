"""What reports show of crashes below Python, in the words of the tools that tell it."""

import time

import pytest

from rebug.intake import find_symptom, parse_report
from rebug.intake.native import native_crash, signal_of
from rebug.model import Report, SymptomKind

KERNEL = (
    "[Sun Mar  3 12:11:22 2024] python3.11[8389]: segfault at {address} ip 00007eff1de12cef sp 00007ffe0d6d20d8 "
    "error {error} in _core.cpython-311-x86_64-linux-gnu.so[30cef,7eff1ddec000+30000] likely on CPU 0"
)


def crash_in(text: str, title: str = "It dies"):
    return native_crash(parse_report(f"# {title}\n\n```\n{text}\n```\n"))


@pytest.mark.parametrize(
    ("address", "error", "where", "access"),
    [
        ("7eff1d896000", "4", "page", "read"),
        ("7eff1d896013", "6", "other", "write"),
        ("18", "4", "null", "read"),
        ("0", "14", "null", "execute"),
        ("7ffe0d6d1ff8", "6", "stack", "write"),
    ],
)
def test_a_kernel_line_tells_module_address_and_access(address: str, error: str, where: str, access: str) -> None:
    crash, signal = crash_in(KERNEL.format(address=address, error=error))
    assert crash is not None
    assert (crash.module, crash.address, crash.access) == ("_core.cpython-311-x86_64-linux-gnu.so", where, access)
    assert signal == "SIGSEGV"


def test_journald_prefix_and_a_general_protection() -> None:
    crash, signal = crash_in(
        "Mar 03 12:11:22 h kernel: traps: python3[123] general protection fault ip:7f00 sp:7ffc error:0 in lib.so[7+1]"
    )
    assert crash is not None
    assert (crash.module, crash.address, signal) == ("lib.so", "other", "SIGSEGV")


def test_gdb_frames_run_from_the_outermost_inwards() -> None:
    crash, signal = crash_in(
        "Program received signal SIGABRT, Aborted.\n"
        "#0  __GI_abort () at abort.c:79\n"
        "#1  0x00007f1234567890 in box_free (self=0x5555, deep=1) at src/box.c:120\n"
        "#2  0x00007f1234567999 in call_it () from /site-packages/box/_box.cpython-311-x86_64-linux-gnu.so\n"
    )
    assert crash is not None
    assert [(f.function, f.file, f.line) for f in crash.frames] == [
        ("call_it", "/site-packages/box/_box.cpython-311-x86_64-linux-gnu.so", None),
        ("box_free", "src/box.c", 120),
        ("__GI_abort", "abort.c", 79),
    ]
    assert crash.module == "_box.cpython-311-x86_64-linux-gnu.so"
    assert signal == "SIGABRT"


def test_a_sanitizer_tells_of_the_heap() -> None:
    crash, _ = crash_in(
        "==12==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000013 at pc 0x55\n"
        "READ of size 1 at 0x602000000013 thread T0\n"
        "    #0 0x55d1 in parse /src/box.c:12:3\n"
        "    #1 0x55d2 in main /src/box.c:20\n"
    )
    assert crash is not None
    assert crash.corruption
    assert crash.access == "read"
    assert [f.function for f in crash.frames] == ["main", "parse"]


def test_valgrind() -> None:
    crash, _ = crash_in(
        "==7== Invalid write of size 8\n"
        "==7==    at 0x4C2E0EF: put (box.c:9)\n"
        "==7==    by 0x4C2E1FF: main (in /usr/bin/box)\n"
    )
    assert crash is not None
    assert (crash.access, [f.function for f in crash.frames]) == ("write", ["main", "put"])


@pytest.mark.parametrize(
    "line",
    [
        "double free or corruption (!prev)",
        "munmap_chunk(): invalid pointer",
        "free(): invalid pointer",
        "realloc(): invalid next size",
        "corrupted size vs. prev_size",
    ],
)
def test_an_allocators_last_words_tell_of_a_broken_heap(line: str) -> None:
    crash, signal = crash_in(line)
    assert crash is not None
    assert crash.corruption
    assert crash.message == line
    assert signal == "SIGABRT"


def test_a_smashed_stack_a_stack_overflow_and_a_panic() -> None:
    assert crash_in("*** stack smashing detected ***: terminated")[0].address == "stack"
    crash, signal = crash_in("Fatal Python error: _Py_CheckRecursiveCall: Cannot recover from stack overflow.")
    assert (crash.address, signal) == ("stack", "SIGABRT")
    assert crash_in("thread '<unnamed>' panicked at src/lib.rs:10:5:")[0].message == "src/lib.rs:10:5:"


def test_windows_and_macos() -> None:
    assert crash_in("Process finished with exit code -1073741819 (0xC0000005)")[1] == "SIGSEGV"
    crash, signal = crash_in(
        "Exception Type:  EXC_BAD_ACCESS (SIGBUS)\nException Codes: KERN_INVALID_ADDRESS at 0x0000000000000008\n"
        "0   _box.cpython-311-darwin.so    \t0x0000000104a2b1c4 box_free + 44\n"
    )
    assert (crash.address, signal) == ("null", "SIGBUS")


def test_faulthandlers_stack_is_the_failure_of_the_symptom() -> None:
    report = parse_report(
        "# It dies\n\n```\nFatal Python error: Segmentation fault\n\n"
        "Current thread 0x00007f0f6d1c2740 (most recent call first):\n"
        '  File "/srv/site-packages/box/core.py", line 58 in put\n  File "/srv/app.py", line 9 in <module>\n\n'
        "Extension modules: box._core (total: 1)\n```\n"
    )
    symptom = find_symptom(report, "box", ("box",))
    assert (symptom.kind, symptom.signal) == (SymptomKind.CRASH, "SIGSEGV")
    assert symptom.failure is not None
    assert [frame.function for frame in symptom.failure.frames] == ["<module>", "put"]


def test_words_tell_the_signal_where_no_line_does() -> None:
    assert signal_of(parse_report("# Aborted (core dumped) when closing\n"), "") == "SIGABRT"
    assert signal_of(parse_report("# Bus error\n"), "") == "SIGBUS"


def test_hostile_text_takes_no_time() -> None:
    started = time.monotonic()
    for piece in ("#0 " + "a" * 3000 + "(", "traps: x[1] general protection" + " a" * 2000, "(" * 4000, "0x" * 2000):
        native_crash(Report(title="", body=f"{piece}\n" * 100))
    assert time.monotonic() - started < 5
