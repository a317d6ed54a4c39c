"""A client of mediagen, in one file over `requests`. Copy it beside your program.

    import mediagen

    client = mediagen.Client("https://media.example", "mgk_…")
    job = client.generate("builtin/image/art/text-to-image", {"prompt": "aurora over the sea"}, max_credits=5)
    client.download(job["outputs"][0], "aurora.png")

Every method may raise `Refused` (the server said no; branch on `code`) or `Unreachable` (no answer came).
"""
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
import time
import uuid
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, TypedDict, TypeVar, Union
from urllib.parse import quote as escape

import requests

_Answer = TypeVar("_Answer")
_Path = Union[str, "os.PathLike[str]"]

# Seconds: until a connection is made; until an answer begins; without a sign of life from events, which beat every 15.
_CONNECT, _ANSWER, _SILENCE = 10.0, 300.0, 60.0
# Seconds between attempts of what is safe to repeat; failed attempts to follow, a second apart, before it gives up.
_PAUSES, _MOST_FAILURES = (0.5, 1.5, 4.0), 60
_ACTIVE = ("queued", "running")


class Quote(TypedDict):
    """What one model and one input will cost."""

    quote_id: str
    model: str
    credits: int
    expires_at: str


class Output(TypedDict):
    """A file that a job made. These are the fields that most programs need; docs/contract.md has them all."""

    url: Optional[str]  # None once the file has expired
    content_type: str
    bytes: int
    sha256: str


class Job(TypedDict):
    """A generation; docs/contract.md has all fields."""

    job_id: str
    status: str  # queued, running, succeeded, failed, canceled, expired or needs_review
    quote_id: str
    attempts: int
    progress: float  # 0 to 1
    credits: int
    billing: Dict[str, int]  # quoted, held, charged, released
    outputs: List[Output]
    error: Optional[Dict[str, Any]]


_OnJob = Callable[[Job], None]


class MediagenError(Exception):
    """Anything that this client raises; `code` is a stable name."""

    idempotency_key: Optional[str] = None
    """Of a start that may have been made: `generate` with this key, the same model and input pays nothing again."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Unreachable(MediagenError):
    """No answer came: the request may or may not have arrived. Starting again with the same idempotency key is safe."""


class TooExpensive(MediagenError):
    """The quote is above `max_credits`. Nothing was started."""


class Refused(MediagenError):
    """The server refused the request. `code` says why, the message names each wrong field, `problem` is its answer."""

    def __init__(self, problem: Dict[str, Any], retry_after: float = 0.0) -> None:
        wrong = [f"\n  {error['pointer']} {error['detail']}" for error in problem.get("errors") or []]
        super().__init__(str(problem["code"]), f"{problem['detail']}{''.join(wrong)}")
        self.problem = problem
        self.retryable = bool(problem.get("retryable"))
        self.retry_after = retry_after


class JobFailed(MediagenError):
    """The job ended without outputs, or waits for a review. `job["billing"]` says what was charged."""

    def __init__(self, job: Job) -> None:
        error = job["error"] or {"code": job["status"], "message": f"The job is {job['status']}."}
        super().__init__(str(error["code"]), f"{error['message']} ({job['job_id']})")
        self.job = job


class Client:
    """A client of one server with one key; by default those of MEDIAGEN_URL and MEDIAGEN_KEY. One thread may use it."""

    def __init__(self, url: Optional[str] = None, key: Optional[str] = None) -> None:
        self.url = (url or os.environ.get("MEDIAGEN_URL") or "http://127.0.0.1:8080").rstrip("/")
        self._key = key or os.environ.get("MEDIAGEN_KEY") or ""
        self._session = requests.Session()
        # A function, because a header alone would yield to an entry of ~/.netrc.
        self._session.auth = self._authorize

    def _authorize(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._key}"
        return request

    def generate(
        self,
        model: str,
        input: Mapping[str, Any],
        *,
        max_credits: Optional[int] = None,
        idempotency_key: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        webhook_url: Optional[str] = None,
        on_job: Optional[_OnJob] = None,
        wait: bool = True,
        timeout: Optional[float] = None,
    ) -> Job:
        """Quotes, starts, waits for the end and returns the job with its outputs; with wait=False, as it started.

        A lost line is no loss: the start is repeated with its idempotency key, and the wait goes on. With a key of your
        own, a later call, even from another process, returns the same job and pays nothing again. The job keeps the
        `labels` of the first call, such as {"team": "ads"}, and its `webhook_url`, where its end is POSTed.
        Raises TooExpensive, JobFailed, and TimeoutError after `timeout` seconds of waiting.
        """
        key = idempotency_key or _create_idempotency_key()
        earlier = self._find_started(key) if idempotency_key else None
        quote: Union[Quote, Job] = earlier or self.quote(model, input)
        if not earlier and max_credits is not None and quote["credits"] > max_credits:
            unit = "credit" if quote["credits"] == 1 else "credits"
            words = f"This costs {quote['credits']} {unit}, which is more than the limit of {max_credits}."
            raise TooExpensive("too_expensive", f"{words} Nothing was started.")
        try:
            job = self._start(model, input, quote, key, labels, webhook_url)
        except Refused as error:
            # Another call with this key may have come first, with a quote of its own.
            first = self._find_started(key) if error.code == "idempotency_key_reused" else None
            if first is None:
                raise
            job = self._start(model, input, first, key, labels, webhook_url)
        return self._finish(job, on_job, timeout) if wait else job

    def run(
        self,
        model: str,
        input: Mapping[str, Any],
        max_credits: int,
        *,
        idempotency_key: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        webhook_url: Optional[str] = None,
        on_job: Optional[_OnJob] = None,
        wait: bool = True,
        timeout: Optional[float] = None,
    ) -> Job:
        """As generate, with quote and start in one request: the server refuses a price above `max_credits`.

        A later call with the same key must have the same `max_credits`. Raises Refused with the code
        price_above_maximum and the price in `problem["required"]`, JobFailed and TimeoutError.
        """
        body: Dict[str, Any] = {"model": model, "input": input, "max_credits": max_credits}
        if labels:
            body["labels"] = dict(labels)
        if webhook_url:
            body["webhook_url"] = webhook_url
        job = self._send_start("/v1/run", body, idempotency_key or _create_idempotency_key())
        return self._finish(job, on_job, timeout) if wait else job

    def _finish(self, job: Job, on_job: Optional[_OnJob], timeout: Optional[float]) -> Job:
        job = self.follow(job["job_id"], on_job=on_job, timeout=timeout)
        if job["status"] != "succeeded":
            raise JobFailed(job)
        return job

    def _start(
        self,
        model: str,
        input: Mapping[str, Any],
        quote: Union[Quote, Job],
        key: str,
        labels: Optional[Mapping[str, str]],
        webhook_url: Optional[str],
    ) -> Job:
        # The server compares the whole request with an earlier one, the quote with it.
        body = {"model": model, "input": input, "quote_id": quote["quote_id"]}
        webhook = {"Mediagen-Webhook-Url": webhook_url.encode().decode("latin-1")} if webhook_url else {}
        return self._send_start("/v1/generate", body, key, {**_write_labels(labels or {}), **webhook})

    def _send_start(self, path: str, body: Mapping[str, Any], key: str, others: Mapping[str, str] = {}) -> Job:
        headers = {"Idempotency-Key": key, **others}
        try:
            return self._repeat(lambda: self._json("POST", path, json=body, headers=headers))
        except (Refused, Unreachable) as error:
            if isinstance(error, Unreachable) or error.retryable:
                error.idempotency_key = key
            raise

    def _find_started(self, key: str) -> Optional[Job]:
        """The job that was started with this idempotency key before."""
        try:
            jobs = self._repeat(lambda: self.jobs(idempotency_key=key))["data"]
        except Refused as error:
            if error.code != "missing_permission":
                raise
            return None  # A key that may start jobs and not read them.
        return jobs[0] if jobs else None

    def follow(self, job_id: str, on_job: Optional[_OnJob] = None, timeout: Optional[float] = None) -> Job:
        """Waits for the end of a job and returns its record; `on_job` is told each change. Raises TimeoutError."""
        deadline = time.monotonic() + timeout if timeout is not None else float("inf")
        last_id, failures = "", 0
        told: Optional[Job] = None
        while True:
            pause = 1.0
            try:
                for event_id, job in self._records(job_id, last_id, deadline):
                    last_id, failures = event_id, 0
                    if told is None or _life_of(job) >= _life_of(told):
                        told = job
                        if on_job:
                            on_job(job)
                    if job["status"] not in _ACTIVE:
                        return job
            except (Refused, Unreachable) as error:
                failures += 1
                if failures >= _MOST_FAILURES or (isinstance(error, Refused) and not error.retryable):
                    raise
                pause = max(pause, getattr(error, "retry_after", 0.0))
            if time.monotonic() >= deadline:
                raise TimeoutError(f"{job_id} has not ended yet. It goes on: follow() waits for it again.")
            time.sleep(min(pause, max(0.0, deadline - time.monotonic())))

    def _records(self, job_id: str, last_id: str, deadline: float) -> Iterator[tuple[str, Job]]:
        """The changes of a job with the ids of their events; then, when the connection is lost, its record."""
        try:
            for last_id, job in self._events(job_id, last_id, deadline):
                yield last_id, job
        except Refused as error:
            # Where too many jobs are watched already, the record can still be read.
            if not error.retryable:
                raise
        yield last_id, self.job(job_id)

    def _events(self, job_id: str, last_id: str, deadline: float) -> Iterator[tuple[str, Job]]:
        """The changes of a job with their ids, until the line ends."""
        silence = min(_SILENCE, max(0.1, deadline - time.monotonic()))
        headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Last-Event-ID": last_id or None}
        path, rest = f"{_path_of(job_id)}/events", b""
        try:
            with self._open("GET", path, headers=headers, stream=True, timeout=(_CONNECT, silence)) as response:
                for piece in response.iter_content(None):
                    *events, rest = (rest + piece).split(b"\n\n")
                    for event in events:
                        lines = [line.partition(": ") for line in event.decode().split("\n")]
                        fields = {name: value for name, _, value in lines}
                        if fields.get("event") == "job":
                            yield fields.get("id", ""), json.loads(fields["data"])
                    if time.monotonic() >= deadline:
                        return
        except requests.RequestException:
            return

    def quote(self, model: str, input: Mapping[str, Any]) -> Quote:
        """What one model and one input cost. Charges nothing."""
        return self._repeat(lambda: self._json("POST", "/v1/quotes", json={"model": model, "input": input}))

    def job(self, job_id: str) -> Job:
        """The record of a job as it is now."""
        return self._json("GET", _path_of(job_id))

    def jobs(self, **filters: Any) -> Dict[str, Any]:
        """A page of jobs, newest first: status, model, search, idempotency_key, limit, offset."""
        return self._json("GET", "/v1/jobs", params=filters)

    def cancel(self, job_id: str) -> Job:
        """Asks to cancel a job; one that has ended stays as it is."""
        return self._json("POST", f"{_path_of(job_id)}/cancel")

    def models(self, **filters: Any) -> Dict[str, Any]:
        """A page of models: search, category, limit, offset."""
        return self._json("GET", "/v1/models", params=filters)

    def model(self, model: str) -> Dict[str, Any]:
        """A model with its input schema, in `openapi`."""
        return self._json("GET", f"/v1/models/{escape(model)}")

    def wallet(self) -> Dict[str, int]:
        """Credits that are available and held."""
        return self._json("GET", "/v1/wallet")

    def usage(self, **filters: Any) -> Dict[str, Any]:
        """What jobs were charged: from_, to (days), group_by (such as "day,label:team"), limit, offset."""
        if "from_" in filters:  # `from` is a keyword of Python.
            filters["from"] = filters.pop("from_")
        return self._json("GET", "/v1/usage", params=filters)

    def rotate_webhook_secret(self, webhook_id: str) -> Dict[str, Any]:
        """Gives a webhook endpoint another `secret`; for a day messages are signed with the one before it, too."""
        return self._json("POST", f"/v1/webhooks/{escape(webhook_id, safe='')}/rotate-secret")

    def test_webhook(self, webhook_id: str) -> Dict[str, Any]:
        """Sends a signed `webhook.test` to an endpoint now; the answer has the `attempt`."""
        return self._json("POST", f"/v1/webhooks/{escape(webhook_id, safe='')}/test")

    def redeliver(self, webhook_id: str, delivery_id: str) -> Dict[str, Any]:
        """Sends a delivery again at once, with the full number of attempts."""
        path = f"/v1/webhooks/{escape(webhook_id, safe='')}/deliveries/{escape(delivery_id, safe='')}"
        return self._json("POST", f"{path}/redeliver")

    def upload(self, path: _Path) -> Dict[str, Any]:
        """Stores a picture, a video or a sound; its `file_id` is a value for a media field of an input."""
        guessed = mimetypes.guess_type(os.fspath(path))[0] or ""
        kind = guessed if guessed.startswith(("image/", "video/", "audio/")) else "application/octet-stream"
        with open(path, "rb") as file:
            return self._json("POST", "/v1/files", data=file, headers={"Content-Type": kind})

    def download(self, output: Output, to: _Path) -> Path:
        """Writes an output to a file, whole or not at all, and returns its path."""
        path, part = Path(to), Path(f"{os.fspath(to)}.{uuid.uuid4().hex[:8]}.part")
        try:
            self._repeat(lambda: _fetch(output, part))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return path

    def _open(self, method: str, path: str, **options: Any) -> requests.Response:
        options.setdefault("timeout", (_CONNECT, _ANSWER))
        try:
            response = self._session.request(method, self.url + path, **options)
        except requests.RequestException as error:
            raise Unreachable("unreachable", f"No answer came from {self.url}: {error}") from error
        if response.status_code >= 300:
            raise _to_refusal(response)
        return response

    def _json(self, method: str, path: str, **options: Any) -> Any:
        response = self._open(method, path, **options)
        try:
            return response.json()
        except ValueError as error:
            raise _to_refusal(response) from error

    def _repeat(self, attempt: Callable[[], _Answer]) -> _Answer:
        """Repeats what is safe to repeat, while no answer comes or the server says that a later try may succeed."""
        for pause in _PAUSES:
            try:
                return attempt()
            except (Refused, Unreachable) as error:
                if isinstance(error, Refused) and not error.retryable:
                    raise
                time.sleep(max(pause, getattr(error, "retry_after", 0.0)))
        return attempt()


def _fetch(output: Output, to: Path) -> None:
    if not output["url"]:
        raise FileNotFoundError("The file of this output has expired.")
    digest = hashlib.sha256()
    try:
        # The URL is signed. It may lead to another server, which gets no key, neither ours nor one of ~/.netrc.
        with requests.get(output["url"], stream=True, timeout=(_CONNECT, _SILENCE), auth=lambda own: own) as file:
            if file.status_code != 200:
                raise _to_refusal(file)
            with to.open("wb") as target:
                for piece in file.iter_content(1 << 16):
                    digest.update(piece)
                    target.write(piece)
    except requests.RequestException as error:
        raise Unreachable("unreachable", f"The file could not be downloaded: {error}") from error
    if digest.hexdigest() != output["sha256"]:
        raise Unreachable("unreachable", "The file did not arrive whole.")


def _write_labels(labels: Mapping[str, str]) -> Dict[str, str]:
    """Labels as a header, whose UTF-8 travels as Latin-1."""
    for name, value in labels.items():
        if any(ord(character) < 32 or ord(character) == 127 for character in name + value):
            raise ValueError(f"The label {name!r} must be one line, without control characters.")
    escaped = {name: value.replace("\\", "\\\\").replace('"', '\\"') for name, value in labels.items()}
    written = ", ".join(f'{name}="{value}"' for name, value in escaped.items())
    return {"Mediagen-Labels": written.encode().decode("latin-1")} if labels else {}


def _create_idempotency_key() -> str:
    """A UUIDv7 (RFC 9562), which Python has from 3.14 on: the server writes it beside the keys before it."""
    now = time.time_ns() // 1_000_000
    # Variant and random bits are where a UUIDv4 has them.
    random = uuid.uuid4().int & ((1 << 76) - 1)
    return str(uuid.UUID(int=now << 80 | 7 << 76 | random))


def _life_of(job: Job) -> tuple[bool, int, bool, float]:
    """How far a job is, to compare: an event may be older than the record that was read. A lost run is queued again."""
    return job["status"] not in _ACTIVE, job["attempts"], job["status"] == "queued", job["progress"]


def _path_of(job_id: str) -> str:
    return f"/v1/jobs/{escape(job_id, safe='')}"


def _to_refusal(response: requests.Response) -> Refused:
    asked, status = response.headers.get("Retry-After", ""), response.status_code
    try:
        return Refused(response.json(), float(asked) if asked.isdigit() else 0.0)
    except (ValueError, LookupError, TypeError):  # A proxy answered, not mediagen.
        detail = f"The answer was HTTP {status}, and mediagen did not write it: is this the address of its server?"
        later = status >= 500 or status == 429
        return Refused({"code": "unexpected_answer", "detail": detail, "status": status, "retryable": later})
