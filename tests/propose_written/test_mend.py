from rebug.propose.written.mend import uncaught


def test_a_caught_reported_exception_is_let_through() -> None:
    script = "try:\n    load('x')\nexcept KeyError as error:\n    print(error)\n    raise SystemExit(1)\n"
    assert uncaught(script, "KeyError") == "load('x')\n"


def test_clean_up_stays() -> None:
    script = "try:\n    load('x')\nexcept Exception:\n    pass\nfinally:\n    close()\n"
    assert uncaught(script, "KeyError") == "try:\n    load('x')\nfinally:\n    close()\n"


def test_other_exceptions_stay_caught() -> None:
    script = "try:\n    import fast\nexcept ImportError:\n    fast = None\nload('x')\n"
    assert uncaught(script, "KeyError") == script


def test_broken_code_is_left_alone() -> None:
    assert uncaught("try:\n  (", "KeyError") == "try:\n  ("
