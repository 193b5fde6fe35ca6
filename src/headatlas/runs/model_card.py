"""The model card of an exported checkpoint or adapter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from headatlas import __version__
from headatlas.atomic import write_text
from headatlas.models.load.embedded import EMBEDDED, HUB_NAME

if TYPE_CHECKING:
    from headatlas.checks.results.gating import HeldOut
    from headatlas.maps import Map

DONE = {
    "checkpoint": """\
Every attention head's columns of the output projection were multiplied by a learned gate; nothing
else was changed, so the model loads and runs as the original does.""",
    "adapter": """\
An (IA)³ adapter that multiplies every attention head's output by a learned gate before the output
projection; the weights of the original model stay as they are.""",
}
"""What was done to the model, by the form that it is exported in."""


def write_card(
    folder: Path,
    chosen: Map,
    name: str,
    seed: str,
    rows: Sequence[HeldOut],
    form: str,
    cautions: Sequence[str],
) -> Path:
    """Write README.md: what was done to which model, and what it does to the task."""
    return write_text(folder / "README.md", card(chosen, name, seed, rows, form, cautions))


def card(
    chosen: Map,
    name: str,
    seed: str,
    rows: Sequence[HeldOut],
    form: str,
    cautions: Sequence[str] = (),
) -> str:
    """The text for one seed of a map: `rows` are the untouched model and the gated one."""
    facts = chosen.provenance
    plain, gated = rows
    base = str(facts["model"]).rstrip("/")
    base = HUB_NAME if base == EMBEDDED else base
    is_place = Path(base).is_absolute() or base.startswith(".") or base.count("/") != 1
    known = "" if is_place else f"base_model: {base}\n"
    known += "library_name: peft\n" if form == "adapter" else ""
    base = base.rsplit("/", 1)[-1] if is_place else base
    warning = "".join(f"\nCaution: {caution.rstrip('.')}.\n" for caution in cautions)
    cut = f" Gates are 1 from {gated.thresholds[0]:.2f} on, else 0." if gated.thresholds else ""
    return f"""---
{known}tags:
- attention-heads
- headatlas
---

# {base.rsplit("/", 1)[-1]} with gated heads for {facts["task"]}

{DONE[form]}
The gates are {name} of causal head gating (Nam et al., arXiv 2505.13737) for the task
`{facts["task"]}`, seed {seed}. Their mean is {gated.heads_on:.2f}.
{_loading(base) if form == "adapter" else ""}
On {gated.questions} test questions of the task that were used neither to learn the gates nor to
choose them (loss in nats per token; accuracy counts targets given exactly):

| model | loss | accuracy |
|---|---|---|
| {plain.gates} | {plain.loss:.3f} | {plain.accuracy:.0%} |
| {gated.gates} | {gated.loss:.3f} | {gated.accuracy:.0%} |

Change of the loss: {gated.change:+.3f} (95 % interval over questions and few-shot prompts
{gated.low:+.3f} to {gated.high:+.3f}).{cut} The gates were learned for this task
alone: expect the model to be worse at others. The licence of the original model applies.
{warning}
- original model: `{base}`, hash `{facts["model_hash"]}`
- task: `{facts["task"]}`, hash `{facts["task_hash"]}`
- gating settings: `{json.dumps(facts["settings"])}`
- made with headatlas {__version__}
"""


def _loading(base: str) -> str:
    """How an adapter is put on its model."""
    return f"""
```python
from peft import PeftModel
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("{base}")
model = PeftModel.from_pretrained(model, "path/to/this/folder")
```

`model.merge_and_unload()` multiplies the gates into the weights. The figures below are of the
original model with the hash below; weights in another precision give slightly different ones.
"""
