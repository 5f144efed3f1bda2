"""The door over a real connection: a server on loopback that speaks OpenAI's protocol by a script.

litellm, its clients and the sockets are real; only the model is scripted.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from arbor.actors.journal import Journal
from arbor.actors.model import LiteLLM, create_model_maker
from arbor.actors.models.request import CallFailedError, Options, Request
from arbor.core.clock import SystemClock
from arbor.core.layout import CampaignDirectory
from arbor.core.models import Message, ModelUnavailableError, Reply, Tool
from arbor.core.spending import Spending
from arbor.events.blobs import BlobStore
from arbor.events.errors import InvalidInputError
from arbor.events.memory import MemoryLog
from arbor.events.model_calls import ModelCalled
from arbor.events.model_settings import Endpoint, ModelSettings, TokenPrice
from arbor.events.money import BudgetReserved
from arbor.events.parquet_log import ParquetLog
from arbor.events.settings import BudgetSettings, Settings
from tests.fakes.model_desk import ModelDesk
from tests.fakes.scripted_model_server import (
    NUM_COMPLETION_TOKENS,
    NUM_PROMPT_TOKENS,
    Scripted,
    ScriptedModelServer,
)

KEY = "planted-key-3141592653"
FREE = TokenPrice(prompt_usd_per_million_tokens=0, completion_usd_per_million_tokens=0)
REQUEST = Request(({"role": "user", "content": "x"},))
OPTIONS = Options(max_tokens=50, temperature=0.5, timeout_s=20.0)
QUESTION = [Message(role="user", content="What now?")]


class Word(BaseModel):
    """What is asked for here."""

    word: str


class NoArguments(BaseModel):
    """Arguments of a tool without any."""


def _endpoint(server: ScriptedModelServer, **fields: Any) -> Endpoint:
    return Endpoint(model="openai/scripted", api_base=server.api_base, price=FREE, **fields)


def _settings(server: ScriptedModelServer, **fields: Any) -> ModelSettings:
    default = _endpoint(server).model_dump() | {"timeout_s": 20.0}
    return ModelSettings.model_validate({"default": default, "backoff_s": 0.0} | fields)


def _desk(folder: Path, server: ScriptedModelServer, **fields: Any) -> ModelDesk:
    settings = _settings(server, **fields)
    return ModelDesk(folder, LiteLLM(), settings, campaign_usd=0.0, clock=SystemClock())


def _failed(scripted: Scripted, options: Options = OPTIONS) -> CallFailedError:
    with ScriptedModelServer([scripted]) as server:
        with pytest.raises(CallFailedError) as caught:
            LiteLLM().complete(_endpoint(server), options, REQUEST)
        assert len(server.requests) == 1
    return caught.value


def test_an_answer_with_its_form_and_its_tools(tmp_path: Path) -> None:
    script = [Scripted(tool_calls=(("look", "{}"),)), Scripted('{"word": "go"}')]
    tools = [Tool("look", "Look around.", NoArguments, lambda _: "a tree")]
    with ScriptedModelServer(script) as server:
        desk = _desk(tmp_path, server)
        reply = desk.door.ask("coder", QUESTION, action="a1", schema=Word, tools=tools)
    assert reply.value == Word(word="go")
    assert reply.tokens_in == 2 * NUM_PROMPT_TOKENS
    assert reply.tokens_out == 2 * NUM_COMPLETION_TOKENS
    assert reply.cost_usd == 0.0
    assert [(call.name, call.result) for call in reply.tool_calls] == [("look", "a tree")]
    first, second = server.requests
    assert first["model"] == "scripted"
    assert first["response_format"]["json_schema"]["schema"]["required"] == ["word"]
    assert first["tools"][0]["function"]["name"] == "look"
    assert second["messages"][-1]["role"] == "tool"


@pytest.mark.parametrize(
    ("scripted", "outcome"),
    [
        (Scripted("slow down", status=429, retry_after_s=3.0), "rate_limited"),
        (Scripted("boom", status=500), "server_error"),
        (Scripted("busy", status=503), "server_error"),
        (Scripted("who are you", status=401), "rejected"),
        (Scripted("no such model", status=404), "rejected"),
        (Scripted("what", status=400), "rejected"),
        (Scripted("a long answer that breaks off", is_cut=True), "cut"),
        (Scripted(body=b"<html>oops"), "cut"),
        (Scripted(body=b'{"object": "chat.completion", "choices": []}'), "cut"),
    ],
)
def test_failures_are_told_apart_and_tried_once(scripted: Scripted, outcome: str) -> None:
    failure = _failed(scripted)
    assert failure.outcome == outcome
    assert failure.retry_after_s == scripted.retry_after_s
    assert "\n" not in failure.detail


@pytest.mark.parametrize(
    "scripted", [Scripted("x", delay_s=5.0), Scripted("a slow stream", byte_s=0.05)]
)
def test_no_answer_takes_longer_than_its_limit(scripted: Scripted) -> None:
    options = Options(max_tokens=5, temperature=None, timeout_s=0.6)
    assert _failed(scripted, options).outcome == "timed_out"


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with ScriptedModelServer([Scripted("x")]) as server:
        endpoint = _endpoint(server)
    with pytest.raises(CallFailedError) as caught:
        LiteLLM().complete(endpoint, OPTIONS, REQUEST)
    assert caught.value.outcome == "unreachable"


def test_an_answer_without_a_count_has_none() -> None:
    with ScriptedModelServer([Scripted("x", usage=None)]) as server:
        answer = LiteLLM().complete(_endpoint(server), OPTIONS, REQUEST)
    assert answer.text == "x"
    assert not answer.num_prompt_tokens


def test_a_refusal_is_kept() -> None:
    with ScriptedModelServer([Scripted(refusal="I must not.")]) as server:
        answer = LiteLLM().complete(_endpoint(server), OPTIONS, REQUEST)
    assert answer.refusal == "I must not."


def test_a_limit_that_passes_is_waited_for(tmp_path: Path) -> None:
    script = [Scripted("slow", status=429, retry_after_s=0.01), Scripted("x")]
    with ScriptedModelServer(script) as server:
        desk = _desk(tmp_path, server)
        assert desk.door.ask("critic", QUESTION, action="").text == "x"
    assert [call.outcome for call in desk.events(ModelCalled)] == ["rate_limited", "answered"]


def test_a_key_is_sent_and_never_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", KEY)
    script = [
        Scripted(f"wrong key {KEY}", status=401),
        Scripted(f"your key is {KEY}", tool_calls=(("leak", json.dumps({"x": KEY})),)),
        Scripted("done"),
    ]
    tools = [Tool("leak", "Leak.", NoArguments, lambda _: f"env: {KEY}")]
    with ScriptedModelServer(script) as server:
        spare = _endpoint(server, key_variable="PLANTED_API_KEY").model_dump()
        desk = _desk(tmp_path, server, default=spare | {"fallbacks": [spare]})
        told = [Message(role="user", content=f"the key is {KEY}")]
        reply: Reply[Word] = desk.door.ask("coder", told, action="a1", tools=tools)
    assert server.authorizations == [f"Bearer {KEY}"] * 3
    assert KEY not in json.dumps(server.requests)
    assert KEY not in repr(reply)
    assert all(KEY not in r.event.model_dump_json() for r in desk.log.read())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 4
    assert all(KEY.encode() not in path.read_bytes() for path in files)


def test_a_providers_key_is_not_sent_to_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ScriptedModelServer([Scripted("x")]) as server:
        LiteLLM().complete(_endpoint(server), OPTIONS, REQUEST)
    assert KEY not in server.authorizations[0]


def test_a_key_that_is_not_set_is_named_without_a_call() -> None:
    with ScriptedModelServer([Scripted("x")]) as server:
        endpoint = _endpoint(server, key_variable="ARBOR_TEST_MISSING_KEY")
        with pytest.raises(CallFailedError, match="ARBOR_TEST_MISSING_KEY is not set"):
            LiteLLM().complete(endpoint, OPTIONS, REQUEST)
    assert server.requests == []


def _echo(body: Mapping[str, Any]) -> Scripted:
    return Scripted(str(body["messages"][-1]["content"]), delay_s=0.002)


def test_fifty_callers_at_once_keep_log_and_budget_right(tmp_path: Path) -> None:
    price = TokenPrice(prompt_usd_per_million_tokens=1000, completion_usd_per_million_tokens=1000)
    with ScriptedModelServer(_echo) as server:
        default = _endpoint(server).model_dump() | {"price": price.model_dump(), "max_tokens": 100}
        settings = _settings(server, default=default, max_concurrent=8)
        log = MemoryLog("c")
        desks = [
            ModelDesk(
                tmp_path,
                LiteLLM(),
                settings,
                campaign_usd=20.0,
                log=log,
                clock=SystemClock(),
                actor=f"specialist-{number}",
            )
            for number in range(5)
        ]

        def ask(number: int) -> str:
            told = [Message(role="user", content=f"word {number}")]
            return desks[number % 5].door.ask("coder", told, action=f"a{number % 10}").text

        with ThreadPoolExecutor(50) as pool:
            texts = list(pool.map(ask, range(50)))
    assert texts == [f"word {number}" for number in range(50)]
    assert 1 < server.most_at_once <= 8
    calls = [r.event for r in log.read() if isinstance(r.event, ModelCalled)]
    reserved = [r.event for r in log.read() if isinstance(r.event, BudgetReserved)]
    assert len(calls) == len(reserved) == len({each.reservation_id for each in calls}) == 50
    spending, most = Spending(), 0
    for recorded in log.read():
        spending.apply(recorded)
        most = max(most, spending.total.usd_micro)
    tokens = 50 * (NUM_PROMPT_TOKENS + NUM_COMPLETION_TOKENS)
    assert spending.total.usd_micro == 1000 * tokens
    assert most <= 20_000_000
    assert {a: s.num_tokens for a, s in spending.by_action.items()} == {
        f"a{number}": tokens // 10 for number in range(10)
    }


@pytest.mark.parametrize(
    ("model", "is_known"),
    [
        ("gpt-4o-mini", True),
        ("openai/gpt-4o-mini", True),
        ("anthropic/claude-sonnet-4-5", True),
        ("openai/no-such-model", False),
        ("azure/claude-sonnet-4-5", False),
    ],
)
def test_prices_come_from_the_list_that_is_installed(model: str, *, is_known: bool) -> None:
    price = LiteLLM().price(Endpoint(model=model))
    assert (price is not None) == is_known
    if price is not None:
        assert 0 < price.prompt_usd_per_million_tokens < price.completion_usd_per_million_tokens


def test_a_model_without_a_price_is_refused_at_the_start(tmp_path: Path) -> None:
    models = ModelSettings.model_validate({"coder": "openai/no-such-model"})
    with pytest.raises(InvalidInputError, match=r"models\.coder: the price of openai/no-such"):
        create_model_maker(Settings(models=models), BlobStore(tmp_path))


def test_a_campaign_without_models_has_no_door(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="`models:`"):
        create_model_maker(Settings(), BlobStore(tmp_path))


def test_a_replay_of_no_campaign_is_refused(tmp_path: Path) -> None:
    given = {"default": "m", "replay": "recorded", "recorded_in": str(tmp_path / "old")}
    models = ModelSettings.model_validate(given)
    with pytest.raises(InvalidInputError, match="no campaign in"):
        create_model_maker(Settings(models=models), BlobStore(tmp_path))


def test_a_recorded_campaign_answers_in_the_models_place(tmp_path: Path) -> None:
    old = CampaignDirectory(tmp_path / "old")
    with ScriptedModelServer([Scripted("from the log")]) as server:
        with closing(ParquetLog.open(old.log, "old")) as log:
            settings = _settings(server)
            desk = ModelDesk(old.blobs, LiteLLM(), settings, log=log, clock=SystemClock())
            desk.door.ask("critic", QUESTION, action="a1")
        num_requests = len(server.requests)
        again = settings.model_copy(update={"replay": "recorded", "recorded_in": str(old.path)})
        maker = create_model_maker(Settings(models=again), BlobStore(tmp_path / "new"))
        journal = Journal(MemoryLog("c"), "critic", SystemClock())
        journal.start()
        assert maker(journal).ask("critic", QUESTION, action="a1").text == "from the log"
        assert len(server.requests) == num_requests == 1


def test_the_door_of_a_campaign_obeys_its_settings(tmp_path: Path) -> None:
    with ScriptedModelServer([Scripted("x")]) as server:
        models = ModelSettings(coder=_settings(server).default)
        settings = Settings(models=models, budget=BudgetSettings(usd=0.0))
        maker = create_model_maker(settings, BlobStore(tmp_path))
        journal = Journal(MemoryLog("c"), "specialist", SystemClock())
        journal.start()
        door = maker(journal)
        assert door.ask("coder", QUESTION, action="").text == "x"
        with pytest.raises(ModelUnavailableError, match=r"models\.planner"):
            door.ask("planner", QUESTION, action="")


def test_litellm_stays_out_until_it_is_needed_and_reads_no_stray_files(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("STRAY_API_KEY=from-a-stray-file\n")
    words = (
        "import os, sys; import arbor.actors.model as m; print('litellm' in sys.modules);"
        "print(m.LiteLLM().price(m.Endpoint(model='gpt-4o-mini')) is not None,"
        " 'STRAY_API_KEY' in os.environ, os.environ['LITELLM_LOCAL_MODEL_COST_MAP'])"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", words],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(root)},
    )
    assert done.stdout.split() == ["False", "True", "False", "True"]
