"""The critic that asks a language model: one batched call a round, over the same shared context as the proposers.

It is asked only where evidence leaves a doubt, and can move a trial within its stage, never over it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rebug.judge.stages import place
from rebug.model import Critique, Stage, Trial
from rebug.model_api import ModelRun, Reply, Request
from rebug.model_api.digest import described
from rebug.ports import Situation

VERSION = 1

PROMPT = """\
# Task: review

These scripts were run. Say of each how near it came to the reported symptom and what is missing. Judge by the results
shown, not by the intentions of the script.

{trials}

Answer with one section per script and nothing else, in this form:

## c0001
nearness: 0 to 100, 100 for the reported symptom itself
shows: one sentence on what the script does and what its result says about the bug
missing: what evidence is missing or what differs from the report
next: the next experiment
"""

DOUBTFUL = {Stage.INSIDE, Stage.NEAR, Stage.KIND}
MOST = 5
TOKENS_PER_REVIEW = 110

_SECTION = re.compile(r"^#{0,4}\s*\**(c\d{4,})\b[^\n]*$", re.MULTILINE)
_FIELD = re.compile(r"^[\s>*_-]*(nearness|shows|missing|next)[\s*_]*:[\s*_]*(.+)$", re.IGNORECASE | re.MULTILINE)


@dataclass(kw_only=True)
class Reviewer:
    """Implements `rebug.ports.Critic`. `prefix` is the run's shared context."""

    run: ModelRun
    prefix: str
    redact: Callable[[str], str] = str  # for what follows the shared context

    def review(self, trials: Sequence[Trial], situation: Situation) -> Mapping[str, Trial]:
        """Reviews of the best doubtful trials. Empty when the call is refused by a cap or the provider."""
        doubtful = [trial for trial in trials if trial.loss.stage in DOUBTFUL]
        chosen = sorted(doubtful, key=lambda trial: (trial.loss.total, trial.candidate.id))[:MOST]
        if not chosen:
            return {}
        text = PROMPT.format(trials="\n\n".join(f"## {t.candidate.id}\n{described(t, longest=900)}" for t in chosen))
        request = Request(
            prefix=self.prefix,
            suffix=self.redact(text),
            max_output_tokens=TOKENS_PER_REVIEW * len(chosen) + 80,
            label="review",
            sample=situation.round,
        )
        reply = self.run.complete_all([request])[0]
        return reviews(reply.text, chosen) if isinstance(reply, Reply) else {}


def reviews(text: str, trials: Sequence[Trial]) -> dict[str, Trial]:
    """The trials as a reply reviews them; what it says of others, or in another form, is ignored. Pure."""
    known = {trial.candidate.id: trial for trial in trials}
    marks = list(_SECTION.finditer(text))
    found: dict[str, Trial] = {}
    for mark, following in zip(marks, [*marks[1:], None], strict=False):
        trial = known.get(mark[1])
        section = text[mark.end() : following.start() if following else len(text)]
        fields = {key.lower(): value.strip() for key, value in _FIELD.findall(section)}
        if trial is not None and fields:
            found[mark[1]] = _reviewed(trial, fields)
    return found


def _reviewed(trial: Trial, fields: Mapping[str, str]) -> Trial:
    own = trial.critique
    critique = Critique(
        shows=" ".join(part for part in (own.shows, fields.get("shows", "")[:400]) if part),
        differs=fields.get("missing", "")[:400] or own.differs,
        next=fields.get("next", "")[:300] or own.next,
    )
    number = re.match(r"\d{1,3}", fields.get("nearness", ""))
    if number is None:
        return replace(trial, critique=critique)
    loss = place(trial.loss.stage, 1 - min(100, int(number[0])) / 100, trial.loss.parts, trial.loss.reasons)
    # The evidence keeps half of the say.
    mixed = replace(loss, total=round((loss.total + trial.loss.total) / 2, 4))
    return replace(trial, critique=critique, loss=mixed)
