"""A webhook and an e-mail, each told to a real receiver, which may be slow, away or unfriendly."""

from __future__ import annotations

import json
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
from documents import documents
from listening import Hook, Post, certificate

from bestarm.errors import UserError
from bestarm.service.telling import mail as mailing
from bestarm.service.telling import webhook as hooking
from bestarm.service.telling.mail import Mail, Tls, letter
from bestarm.service.telling.receiver import NotTold
from bestarm.service.telling.webhook import Webhook

SECRET = "0123456789abcdef0123456789abcdef"
BODY = {
    "id": "5f0c",
    "event": "closed",
    "study": "ligands",
    "at": "2027-01-31T09:05:58.099Z",
    "sentence": "The study was closed (Übung macht \u202e den Meister).",
    "state": "closed",
    "samples": 1234,
    "reason": "closed",
    "by": "admin 7f",
}
TEXT = json.dumps(BODY, ensure_ascii=False)


def test_what_is_posted_can_be_checked_as_the_page_says() -> None:
    """The block of docs/deploy.md that checks a signature, on what really arrived."""
    page = next(path for path in documents() if path.name == "deploy.md")
    block = next(part for part in page.read_text().split("```python\n") if "def is_genuine" in part)
    names: dict[str, Any] = {}
    exec(block.split("```")[0], names)
    with Hook() as hook:
        Webhook(hook.url, SECRET).tell(BODY, TEXT)
        Webhook(hook.url, SECRET, seconds=lambda: 1_000_000_000.0).tell(BODY, TEXT)
        Webhook(hook.url, SECRET[::-1]).tell(BODY, TEXT)
    (headers, body), (old, _), (other, _) = hook.arrived
    assert json.loads(body) == BODY
    assert headers["Bestarm-Id"] == BODY["id"]
    assert headers["Content-Type"] == "application/json"
    genuine = names["is_genuine"]
    assert genuine(SECRET, headers, body)
    assert not genuine(SECRET, headers, body + b" ")
    assert not genuine(
        SECRET, headers | {"Bestarm-Timestamp": str(int(headers["Bestarm-Timestamp"]) + 1)}, body
    )
    assert not genuine(SECRET, old, body)
    assert not genuine(SECRET, other, body)
    assert SECRET not in str(hook.arrived)


@pytest.mark.parametrize("status", [302, 400, 500])
def test_another_answer_is_a_failure_and_is_not_followed(status: int) -> None:
    with Hook() as hook:
        hook.answers = [status]
        with pytest.raises(NotTold, match=f"status {status}"):
            Webhook(hook.url, SECRET).tell(BODY, TEXT)
        assert len(hook.arrived) == 1


def test_a_webhook_that_is_away_or_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"http://127.0.0.1:{silent.getsockname()[1]}/secret-path"
        monkeypatch.setattr(hooking, "TIMEOUT", 0.2)
        with pytest.raises(NotTold, match="in time") as failed:
            Webhook(place, SECRET).tell(BODY, TEXT)
    with pytest.raises(NotTold, match="can't be reached") as refused:
        Webhook(place, SECRET).tell(BODY, TEXT)
    assert "secret-path" not in f"{failed.value} {refused.value} {Webhook(place, SECRET).name}"


@pytest.mark.parametrize(
    ("url", "secret", "sentence"),
    [
        ("ftp://host/x", SECRET, "such as https://host/path"),
        ("https://", SECRET, "such as https://host/path"),
        ("https://me:pass@host/x", SECRET, "take name and password out"),
        ("https://host/x", "short", "at least 16 letters"),
    ],
)
def test_a_webhook_that_can_not_be(url: str, secret: str, sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Webhook(url, secret)


def test_a_letter_names_who_closed_a_study_if_somebody_did() -> None:
    spent = BODY | {"reason": "budget", "by": "budget"}
    said = [letter(body, "bestarm@example.org", ("ada@example.org",)).get_content() for body in (BODY, spent)]
    assert ["By " in text for text in said] == [True, False]


def test_a_letter_in_the_clear_through_the_own_machine() -> None:
    with Post() as post:
        mail = Mail(post.host, post.port, "bot@example.org", ("ada@example.org", "max@example.org"), Tls.none)
        mail.tell(BODY, TEXT)
        mail.tell(BODY, TEXT)
        post.arrived.wait(2)
    sender, to, safe, letter = post.arrived[0]
    assert (sender, to, safe) == ("bot@example.org", ["ada@example.org", "max@example.org"], False)
    assert letter["Subject"] == "ligands: the study was closed"
    assert letter["Message-ID"] == "<5f0c@example.org>" == post.arrived[1][3]["Message-ID"]
    text = letter.get_payload(decode=True).decode()
    assert text.startswith("The study was closed (Übung macht \\u202e den Meister).")
    assert "By admin 7f." in text
    assert "after 1,234 samples." in text


@pytest.mark.parametrize("tls", [Tls.starttls, Tls.tls])
def test_a_letter_with_tls_and_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tls: Tls) -> None:
    cert, context = certificate(tmp_path)
    user = ("bot", "correct horse")
    with Post(context, user if tls is Tls.starttls else None, implicit=tls is Tls.tls) as post:
        login = user if tls is Tls.starttls else (None, None)
        mail = Mail(post.host, post.port, "bot@example.org", ("ada@example.org",), tls, *login)
        with pytest.raises(NotTold, match="SSLCertVerificationError"):  # nobody vouches for it
            mail.tell(BODY, TEXT)
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        mail.tell(BODY, TEXT)
        post.arrived.wait(1)
        assert post.arrived[0][2]
        if tls is Tls.starttls:
            wrong = Mail(post.host, post.port, "bot@example.org", ("ada@example.org",), tls, "bot", "wrong")
            with pytest.raises(NotTold, match="535") as failed:
                wrong.tell(BODY, TEXT)
            assert "wrong" not in str(failed.value) + repr(wrong)
    assert len(post.arrived) == 1


def test_no_letter_goes_in_the_clear_by_mistake() -> None:
    with Post() as post:
        mail = Mail(post.host, post.port, "bot@example.org", ("ada@example.org",))
        with pytest.raises(NotTold, match="SMTPNotSupportedError"):
            mail.tell(BODY, TEXT)
        assert post.arrived == []


def test_a_post_office_that_refuses_or_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    with Post() as post:
        post.refuses = ["451 later"]
        mail = Mail(post.host, post.port, "bot@example.org", ("ada@example.org",), Tls.none)
        with pytest.raises(NotTold, match="451"):
            mail.tell(BODY, TEXT)
    with pytest.raises(NotTold, match="ConnectionRefusedError"):
        mail.tell(BODY, TEXT)
    monkeypatch.setattr(mailing, "TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        mail = Mail("127.0.0.1", silent.getsockname()[1], "bot@example.org", ("ada@example.org",), Tls.none)
        with pytest.raises(NotTold, match="SMTPServerDisconnected"):
            mail.tell(BODY, TEXT)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"sender": "nobody"}, "is not an address"),
        ({"to": ("ada@example.org\r\nBcc: all@example.org",)}, "is not an address"),
        ({"to": ()}, "nobody is named"),
        ({"user": "bot"}, "belong together"),
        ({"user": "bot", "password": "x", "tls": Tls.none}, "in the clear"),
    ],
)
def test_a_mail_that_can_not_be(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        Mail(**{"host": "mail.example.org", "port": 587, "sender": "a@b", "to": ("c@d",), **fields})


def test_tls_is_checked_against_the_name() -> None:
    assert ssl.create_default_context().check_hostname
