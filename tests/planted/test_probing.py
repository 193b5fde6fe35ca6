"""Probing: a planted head is found, chance is not, and splits stay apart."""

from __future__ import annotations

import random
import string
from functools import cache

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from headatlas.checks.functions.probe import report_probe
from headatlas.checks.results import About
from headatlas.methods.features import Reading, read_features
from headatlas.methods.probing import Probing
from headatlas.models.model import Model
from headatlas.tasks import Example, Task
from headatlas.tasks.text_baseline import predict_from_text
from small_things import byte_tokenizer

LABELS = "wxyz"
CARRIER = (1, 2)


def labelled_task(questions: int = 480) -> Task:
    """Four functions, told by one letter of the prompt; everything else is head_map at random."""
    rng = random.Random(0)
    examples = []
    for number in range(questions):
        noise = "".join(rng.choices("abcdefgh", k=9))
        label = LABELS[number % 4]
        prompt = f"{noise}{label}{number % 7}"
        examples.append(Example(prompt, "".join(rng.choices("abcd", k=3)), function=label))
    return Task.of("labelled", examples)


def planted_model(*, carries: bool, kinds: dict[str, int] | None = None) -> Model:
    """Attention is uniform; the letters of `kinds` have one direction a kind, and only one head's
    values may hold them. Without `kinds`, every letter of a label is a kind."""
    kinds = kinds or {letter: place for place, letter in enumerate(LABELS)}
    tokenizer = byte_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        tie_word_embeddings=False,
    )
    torch.manual_seed(0)
    hf = LlamaForCausalLM(config).eval()
    embedding = hf.model.embed_tokens.weight.data
    embedding.normal_()
    embedding[:, :4] = 0
    for letter, place in kinds.items():
        (token,) = tokenizer(letter, add_special_tokens=False)["input_ids"]
        embedding[token] = 0
        embedding[token, place] = 8.0
    for layer in hf.model.layers:
        attention = layer.self_attn
        for matrix in (attention.q_proj, attention.k_proj, layer.mlp.down_proj):
            matrix.weight.data.zero_()
        attention.v_proj.weight.data.normal_(0, 0.3)
        attention.v_proj.weight.data[:, :4] = 0
        attention.o_proj.weight.data.normal_(0, 0.02)
        attention.o_proj.weight.data[:4] = 0
    layer, head = CARRIER
    own = slice(16 * head, 16 * head + 16)
    attention = hf.model.layers[layer].self_attn
    attention.o_proj.weight.data[:, own] = 0
    if carries:
        attention.v_proj.weight.data[own, :4] = torch.randn(16, 4)
    return Model(hf, tokenizer, "planted")


PROBING = Probing(epochs=60, learning_rate=1e-3, batch_size=32)


def test_the_head_that_carries_the_label_comes_first():
    head_map = PROBING.run(planted_model(carries=True), labelled_task())
    for function in LABELS:
        at = head_map["importance"].sel(function=function, seed=0).to_numpy()
        assert np.unravel_index(int(at.argmax()), at.shape) == CARRIER
        assert head_map["importance_p"].sel(function=function, seed=0, layer=1, head=2) < 0.05
    assert (head_map.data["predicted"] == head_map.data["truth"]).mean() > 0.9
    assert (head_map.data["control"] == head_map.data["truth"]).mean() < 0.6


def test_nothing_passes_where_no_head_carries_the_label():
    head_map = PROBING.run(planted_model(carries=False), labelled_task())
    assert float(head_map["importance_p"].min()) > 0.05


# -- is it heads, or text? -----------------------------------------------------------------------

NAMES = ("Math Calculation", "Decision-making", "Knowledge Recall")
SMALL = Probing(
    tokens="all", projection_dim=16, hidden_dim=64, epochs=60, learning_rate=2e-3, permutations=50
)
SEEDS = range(3)


def reports_of(model, task):
    """The report on the probe of every seed; a view of the text is learned once."""
    reading = Reading("all")
    inputs = {Reading.name: [reading.run(model, task, part=p) for p in reading.parts(model.spec)]}
    features = read_features(model, task, reading)
    predicted = cache(lambda view: predict_from_text(*known[view], view))
    known = {}

    def predict(train, test, view):
        known[view] = train, test
        return predicted(view)

    about = About("map", "hash", "model", task.name, 0)
    maps = [SMALL.run(model, task, seed, inputs=inputs) for seed in SEEDS]
    return [report_probe(head_map, features, about, predict) for head_map in maps]


def forms_task(questions: int = 500, faithful: float = 0.85) -> Task:
    """The function follows the form of the answer (a number, yes or no, a word) and nothing else;
    some labels are drawn at random, so that nothing tells all."""
    rng = random.Random(3)
    examples = []
    for number in range(questions):
        form = rng.randrange(3)
        answer = (
            str(rng.randrange(10, 99)),
            rng.choice(["yes", "no"]),
            "".join(rng.choices(string.ascii_lowercase, k=4)),
        )[form]
        told = form if rng.random() < faithful else rng.randrange(3)
        prompt = "".join(rng.choices("abcdefgh", k=3))
        examples.append(
            Example(f"{prompt}:", f" {answer}", function=NAMES[told], group=str(number))
        )
    return Task.of("forms", examples)


def test_labels_that_follow_the_form_of_the_answer_give_no_gain_over_text(tiny):
    for report in reports_of(tiny, forms_task()):
        assert "answer" in report.strongest_text or report.strongest_text == "all"
        assert report.texts["answer"].accuracy > 0.75
        assert report.accuracy > 0.6  # the probe tells them too, and far better than the prompt
        assert report.texts["prompt"].holds is True
        assert report.over_text.holds is not True
        assert any("This map may show the wording" in line for line in report.summary())


def letters_task() -> tuple[Task, dict[str, int]]:
    """The function is the kind of one letter, and no letter is in two splits: nobody who does not
    know the letters' kinds beforehand, as the model does, can tell it."""
    rng = random.Random(5)
    letters = [*string.ascii_letters, *string.punctuation]
    kinds = {letter: place % 3 for place, letter in enumerate(rng.sample(letters, len(letters)))}
    examples = []
    for letter, kind in kinds.items():
        for _ in range(6):
            noise = "".join(rng.choices(string.digits, k=9))
            answer = "".join(rng.choices(string.digits, k=3))
            examples.append(
                Example(
                    f"{noise[:5]}{letter}{noise[5:]}", answer, function=NAMES[kind], group=letter
                )
            )
    return Task.of("letters", examples), kinds


@pytest.mark.parametrize("carries", [True, False])
def test_a_head_that_carries_what_the_text_does_not_tell_is_a_gain(carries):
    task, kinds = letters_task()
    reports = reports_of(planted_model(carries=carries, kinds=kinds), task)
    for report in reports:
        assert report.over_text.accuracy < 0.55
        assert report.streams[0].accuracy < 0.55
        if carries:
            assert report.accuracy > 0.8
            assert report.over_text.holds is True
            assert report.streams[0].holds is True
            assert "probe better" in report.summary()[1]
    if not carries:
        assert not any(report.over_text.holds for report in reports)
