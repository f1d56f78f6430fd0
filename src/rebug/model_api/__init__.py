"""The language model: one thin port for every provider, with a ledger, a journal and a warm cache behind it.

    with open_model("openai:gpt-6-luna") as model:
        run = ModelRun(model, ledger=Ledger(model.name, max_usd=0.02))
        replies = run.complete_all([Request(prefix=context, suffix=task, max_output_tokens=800) for task in tasks])

The provider's library and the price table are imported when a model is opened, not before: runs without a model pay
nothing for them.
"""

from rebug.model_api.catalogue import LEAN, Plan, Row, cents, default_spec, usable_models
from rebug.model_api.ledger import Cost, Ledger
from rebug.model_api.opening import NO_MODEL, open_model
from rebug.model_api.pace import Backoff
from rebug.model_api.port import Failed, LanguageModel, Reply, Request, Usage
from rebug.model_api.prices import Price
from rebug.model_api.redact import Redactor, redact
from rebug.model_api.replies import JournalReplies, Replies
from rebug.model_api.run import ModelRun, summary
from rebug.model_api.tokens import Estimate, estimate, estimate_prompt
from rebug.model_api.traits import Traits
from rebug.model_api.transcript import Transcript

__all__ = [
    "LEAN",
    "NO_MODEL",
    "Backoff",
    "Cost",
    "Estimate",
    "Failed",
    "JournalReplies",
    "LanguageModel",
    "Ledger",
    "ModelRun",
    "Plan",
    "Price",
    "Redactor",
    "Replies",
    "Reply",
    "Request",
    "Row",
    "Traits",
    "Transcript",
    "Usage",
    "cents",
    "default_spec",
    "estimate",
    "estimate_prompt",
    "open_model",
    "redact",
    "summary",
    "usable_models",
]
