"""A scripted provider: a real HTTP server that answers from a script, for tests and for people who write proposers.

It speaks OpenAI's chat completions and Anthropic's messages on a loopback port, keeps a prefix cache with each one's
rules, counts what it would bill, and notes every call whose prefix differs by a byte from the first one's.

    with ScriptedServer(Script(answers=("print(1)", Answer(status=429, retry_after="2")))) as server:
        keys = {"OPENAI_API_KEY": "any"}
        model = open_model("openai:gpt-6-luna", environment=keys, base_url=server.base_url("openai"))
        ...
    assert not server.violations

or, from the command line, `--model scripted:SCRIPT.json` (see `Script.read`).
"""

from rebug.model_api.scripted.script import Answer, Call, Script
from rebug.model_api.scripted.server import ScriptedServer, Violation

__all__ = ["Answer", "Call", "Script", "ScriptedServer", "Violation"]
