"""A scoring URL as a model, over a real server on this machine: what is sent, what is refused, and what is kept."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from components.data.table import Table
from components.models import build, callable_http, check
from components.models.callable_http import ScoringUrl
from components.models.declarations import CallableDeclaration
from schemas.faults import ConfigurationError, RunnerError

CANARY = "ZZ-CANARY-7731"
TOKEN = "s3cret-TOKEN-of-a-server"  # noqa: S105  # made up
MOST_REQUESTS = 20

Patients = Callable[..., Table]
Reply = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


@dataclass
class Server:
    """Answers on this machine, and remembers what it was asked."""

    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)

    def reply(self, *replies: Reply) -> None:
        """Set what the next requests are answered with; the last one stays."""
        self.replies[:] = replies


def answered(content: object, status: int = 200, **headers: str) -> Reply:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return reply


def by_age(give: Callable[[float], object]) -> Reply:
    def reply(handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        at = asked["dataframe_split"]["columns"].index("age")
        rows = asked["dataframe_split"]["data"]
        answered({"predictions": [give(row[at]) for row in rows]})(handler, asked)

    return reply


LABELS = by_age(lambda age: "ill" if age > 50 else "well")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(callable_http, "PAUSE", 0.001)
    known = Server(replies=[LABELS])

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            known.requests.append(json.loads(body))
            known.headers.append(dict(self.headers))
            assert len(known.requests) <= MOST_REQUESTS
            known.replies[0](self, known.requests[-1])
            if len(known.replies) > 1:
                known.replies.pop(0)

        def log_message(self, *_: object) -> None:
            pass

    made = HTTPServer(("127.0.0.1", 0), Handler)
    known.url = f"http://127.0.0.1:{made.server_port}/invocations"
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield known
    made.shutdown()
    thread.join()
    made.server_close()


def test_rows_are_asked_in_batches_and_counted(server: Server, patients: Patients) -> None:
    test = patients()
    model: Any = build(CallableDeclaration(url=server.url, batch_size=128), test.schema, 0)
    assert (model.predict(test.frame) == np.where(test.frame["age"] > 50, "ill", "well")).all()
    assert [len(asked["dataframe_split"]["data"]) for asked in server.requests] == [128, 128, 44]
    assert (model.queries, model.trains, model.known_only, model.inputs) == (300, False, False, ())
    asked = server.requests[0]["dataframe_split"]
    assert asked["columns"] == ["age", "sex", "severity", "pressure", "smoker"]
    expected = test.frame[asked["columns"]].iloc[:128].astype(object)
    assert asked["data"] == expected.where(expected.notna(), None).to_numpy().tolist()


def test_probabilities_logits_and_numbers_come_as_json(server: Server, patients: Patients) -> None:
    test = patients()
    age = test.frame["age"].to_numpy()
    server.reply(by_age(lambda age: [1 - age / 100, age / 100]))
    model = build(CallableDeclaration(url=server.url, outputs="probabilities"), test.schema, 0)
    assert model.scores(test.frame) == pytest.approx(np.column_stack([1 - age / 100, age / 100]))
    server.reply(by_age(lambda age: age - 50))
    model = build(CallableDeclaration(url=server.url, outputs="logits"), test.schema, 0)
    assert (model.predict(test.frame) == np.where(age > 50, "ill", "well")).all()
    server.reply(by_age(lambda age: 4 * age))
    costs = patients("cost")
    assert (build(CallableDeclaration(url=server.url), costs.schema, 0).predict(costs.frame) == 4 * age).all()


def test_moments_are_sent_as_iso_8601(server: Server) -> None:
    server.reply(answered({"predictions": [1, 2]}))
    moments = pd.Series(pd.to_datetime(["2020-01-02T03:04:05", None]).astype("datetime64[us]"))
    frame = pd.DataFrame({"at": moments, "zoned": moments.dt.tz_localize("UTC"), "n": pd.array([1, None], "Int64")})
    assert ScoringUrl(server.url)(frame).tolist() == [1, 2]
    first, second = server.requests[0]["dataframe_split"]["data"]
    assert first == ["2020-01-02T03:04:05.000000", "2020-01-02T03:04:05.000000Z", 1]
    assert second == [None, None, None]


def test_what_json_can_not_hold_is_not_sent(server: Server, patients: Patients) -> None:
    frame = patients().frame.assign(pressure=np.inf)
    with pytest.raises(ConfigurationError, match=r"the function fails on these rows \(ValueError\)"):
        build(CallableDeclaration(url=server.url), patients().schema, 0).predict(frame)
    assert server.requests == []


def test_a_token_is_sent_and_kept_nowhere(
    server: Server, patients: Patients, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    test = patients()
    monkeypatch.setenv("SCORING_TOKEN", TOKEN)
    params = CallableDeclaration(url=f"{server.url}?key={CANARY}", token_variable="SCORING_TOKEN")  # noqa: S106
    model = build(params, test.schema, 0)
    model.predict(test.frame)
    assert server.headers[0]["Authorization"] == f"Bearer {TOKEN}"
    (path,) = model.save(tmp_path)
    assert TOKEN not in path.read_text() + repr(vars(model)) + repr(model.notes)
    assert CANARY not in path.read_text()
    assert json.loads(path.read_text())["parameters"]["url"] == server.url
    assert model.notes == (
        f"the features of every row asked about are sent to {server.url.removesuffix('/invocations')}",
    )
    server.reply(answered({}, status=401))
    with pytest.raises(ConfigurationError) as caught:
        model.predict(test.frame)
    assert TOKEN not in str(caught.value) + repr(caught.value.faults)


@pytest.mark.parametrize("token", [None, "", "two words", f"{TOKEN}\nX-Other: 1", "tökén"])
def test_what_is_no_token_is_told_without_it(
    patients: Patients, monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    monkeypatch.delenv("SCORING_TOKEN", raising=False)
    if token is not None:
        monkeypatch.setenv("SCORING_TOKEN", token)
    params = CallableDeclaration(url="https://example.org/score", token_variable="SCORING_TOKEN")  # noqa: S106
    (fault,) = check(params, patients().schema)
    assert fault.place == "model.token_variable"
    assert not token or token not in str(fault)
    with pytest.raises(ConfigurationError, match="SCORING_TOKEN"):
        ScoringUrl(params.url or "", token_variable="SCORING_TOKEN")(patients().frame)  # noqa: S106


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_batch_is_sent_again_where_that_may_help(server: Server, patients: Patients, status: int) -> None:
    test = patients()
    server.reply(answered({}, status=status), answered({}, status=status), LABELS)
    model: Any = build(CallableDeclaration(url=server.url, retries=2), test.schema, 0)
    model.predict(test.frame)
    assert len(server.requests) == 3
    assert model.queries == 300
    server.reply(answered({}, status=status))
    with pytest.raises(ConfigurationError, match=f"answered with status {status}; 200"):
        model.predict(test.frame)
    assert len(server.requests) == 6


@pytest.mark.parametrize("status", [204, 400, 401, 404, 500])
def test_other_refusals_are_final(server: Server, patients: Patients, status: int) -> None:
    server.reply(answered(b"" if status == 204 else CANARY.encode(), status=status))
    with pytest.raises(ConfigurationError, match=f"model.url: answered with status {status}") as caught:
        build(CallableDeclaration(url=server.url), patients().schema, 0).predict(patients().frame)
    assert len(server.requests) == 1
    assert CANARY not in str(caught.value)
    assert caught.value.faults[0].values == ("" if status == 204 else CANARY)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_rows_are_not_taken_to_another_server(server: Server, patients: Patients, status: int) -> None:
    other = f"http://localhost:{server.url.rsplit(':')[-1]}"
    server.reply(answered({}, status=status, Location=other))
    with pytest.raises(ConfigurationError, match="redirects elsewhere"):
        build(CallableDeclaration(url=server.url), patients().schema, 0).predict(patients().frame)
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [307, 308])
def test_the_same_server_may_redirect(
    server: Server, patients: Patients, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("SCORING_TOKEN", TOKEN)
    server.reply(answered({}, status=status, Location="/elsewhere"), LABELS)
    params = CallableDeclaration(url=server.url, token_variable="SCORING_TOKEN")  # noqa: S106
    model = build(params, patients().schema, 0)
    assert set(model.predict(patients().frame)) == {"well", "ill"}
    assert server.requests[0] == server.requests[1]
    assert server.headers[1]["Authorization"] == f"Bearer {TOKEN}"
    server.requests.clear()
    server.reply(answered({}, status=status, Location="/around"))
    with pytest.raises(ConfigurationError, match=f"redirects elsewhere|status {status}"):
        model.predict(patients().frame)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"{", "the answer is no JSON"),
        (b"[" * 100_000, "the answer is no JSON"),
        (b"\xff\xfe{", "the answer is no JSON"),
        ([], "has no list of predictions"),
        ({"predictions": CANARY}, "has no list of predictions"),
        ({"predictions": ["well"] * 299}, "299 predictions for 300 rows; one a row"),
        ({"predictions": [CANARY] * 2 + ["well"] * 298}, "2 of 300 rows have a label that is no class"),
        ({"predictions": [None] * 3 + ["well"] * 297}, "3 of 300 rows have no label"),
        (b'{"predictions": [' + b"NaN, " * 299 + b"NaN]}", "300 of 300 rows have no label"),
        ({"predictions": [{"a": CANARY}] * 300}, "the predictions differ in shape"),
        ({"predictions": [["well"]] * 299 + ["well"]}, "the predictions differ in shape"),
        ({"predictions": [["well", "ill"]] * 299 + [["well"]]}, "the predictions differ in shape"),
    ],
)
def test_an_answer_that_is_none_is_refused_without_values(
    server: Server, patients: Patients, content: object, told: str
) -> None:
    server.reply(answered(content))
    with pytest.raises(ConfigurationError, match=told) as caught:
        build(CallableDeclaration(url=server.url), patients().schema, 0).predict(patients().frame)
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "told"), [([None, 1.0], "300 of 300 rows have what is no finite"), (["a", "b"], "no table of numbers")]
)
def test_scores_that_are_none_are_refused(server: Server, patients: Patients, row: list[Any], told: str) -> None:
    server.reply(answered({"predictions": [row] * 300}))
    with pytest.raises(ConfigurationError, match=told):
        build(CallableDeclaration(url=server.url, outputs="logits"), patients().schema, 0).predict(patients().frame)


def test_an_endless_answer_is_cut(server: Server, patients: Patients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(callable_http, "ANSWER_LIMIT", 1 << 10)
    server.reply(answered(b" " * (1 << 20)))
    with pytest.raises(ConfigurationError, match="answers with more than"):
        build(CallableDeclaration(url=server.url), patients().schema, 0).predict(patients().frame)


def test_a_server_that_trickles_is_too_late(server: Server, patients: Patients) -> None:
    def trickle(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.end_headers()
        for _ in range(40):
            try:
                handler.wfile.write(b" ")
            except OSError:
                return
            time.sleep(0.02)

    server.reply(trickle)
    params = CallableDeclaration(url=server.url, timeout_seconds=0.2, retries=0)
    with pytest.raises(ConfigurationError, match=r"no answer in 0\.2 s \(TimeoutError\)"):
        build(params, patients().schema, 0).predict(patients().frame)


def test_a_server_that_is_not_there_is_told(patients: Patients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(callable_http, "PAUSE", 0.001)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/score"
    with pytest.raises(RunnerError, match=r"model\.url: can't be reached \(ConnectionRefusedError\)"):
        build(CallableDeclaration(url=url), patients().schema, 0).predict(patients().frame)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"path": "a.py", "url": "http://x"},
        {"url": "ftp://x/y"},
        {"url": "file:///etc/passwd"},
        {"url": "http://"},
        {"url": "http://x:port/"},
        {"url": f"https://user:{TOKEN}@x/y"},
        {"url": "http://x/y\r\nX-Other: 1"},
        {"url": "http://example.org/", "token_variable": "T"},
        {"path": "a.py", "token_variable": "T"},
        {"url": "http://x", "timeout_seconds": 0.0},
        {"url": "http://x", "batch_size": 0},
        {"url": "http://x", "retries": -1},
        {"path": "a.py", "function": "a.b"},
    ],
)
def test_a_declaration_names_one_thing_to_ask(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"1 validation error"):
        CallableDeclaration(**given)
