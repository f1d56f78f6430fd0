import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebug.propose.written import read_reply

SCRIPT = "from box import load\nload('x')\n"


def one(text: str) -> str:
    found = read_reply(text)
    assert len(found) == 1, found
    return found[0].script


@pytest.mark.parametrize(
    "text",
    [
        f"## 1\nclaim: it fails\n```python\n{SCRIPT}```\n",
        f"Sure! Here is the script you asked for:\n\n```py\n{SCRIPT}```\nHope this helps.",
        f"```\n{SCRIPT}```",
        SCRIPT,
        f"<think>maybe ```python\nx = 1\n``` or so</think>\n```python\n{SCRIPT}```",
        f"~~~python\n{SCRIPT}~~~",
        f"```bash\npip install box\n```\n```python\n{SCRIPT}```",
        f"```python\n{SCRIPT}```\n```python\n{SCRIPT}```",
        '{"hypotheses": [{"claim": "it fails", "script": "from box import load\\nload(\'x\')\\n"}]}',
        '{"code": "```python\\nfrom box import load\\nload(\'x\')\\n```"}',
        f"```python\n{SCRIPT}",  # cut off before the fence's end
    ],
)
def test_scripts_are_found_in_every_shape_of_reply(text: str) -> None:
    assert one(text).strip() == SCRIPT.strip()


def test_fields_above_the_script_are_its_hypothesis() -> None:
    text = (
        "## 2\n**Claim:** the key is stripped\n- conditions: blanks around it, TZ matters\n"
        f"prediction: None\nenv: TZ=Asia/Tokyo\n```python\n{SCRIPT}```\n"
    )
    written = read_reply(text)[0]
    assert (written.claim, written.prediction) == ("the key is stripped", "None")
    assert written.variables == (("TZ", "Asia/Tokyo"),)


def test_a_truncated_script_keeps_its_complete_statements() -> None:
    assert one("```python\nimport box\nbox.load(1)\nfor x in box.items(") == "import box\nbox.load(1)\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot help with that.",
        "```python\ndef broken(:\n```",
        "```javascript\nlet a = 1\n```",
        "```python\nimport os\n```",
    ],
)
def test_replies_without_a_usable_script_give_none(text: str) -> None:
    assert read_reply(text) == ()


def test_many_scripts_are_bounded() -> None:
    assert len(read_reply("".join(f"```python\nprint({n})\n```\n" for n in range(50)))) == 12


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet='`~#\n python{}[]":x=1()claim', max_size=300))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    for written in read_reply(text):
        compile(written.script, "reply", "exec")
