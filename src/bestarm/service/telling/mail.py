"""News as an e-mail, through an SMTP server that the operator named."""

from __future__ import annotations

import smtplib
import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import format_datetime
from enum import StrEnum
from typing import Any

from bestarm.errors import UserError
from bestarm.names import shown
from bestarm.service.storage import clock
from bestarm.service.telling.receiver import NotTold, key_of
from bestarm.shown import count

TIMEOUT = 10.0  # seconds for each step
LOOPBACK = ("localhost", "127.0.0.1", "::1")
WORDS = {"settled": "the answer is known", "closed": "the study was closed", "warning": "a warning"}


class Tls(StrEnum):
    """How the way to the SMTP server is made safe."""

    starttls = "starttls"
    tls = "tls"
    none = "none"


@dataclass(frozen=True, slots=True)
class Mail:
    """Tells news by e-mail."""

    host: str
    port: int
    sender: str
    to: tuple[str, ...]
    tls: Tls = Tls.starttls
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for address in (self.sender, *self.to):
            if address.count("@") != 1 or not address.isprintable() or set(address) & set(" ,;<>"):
                raise UserError(f"mail: {address!r} is not an address such as lab@example.org.")
        if not self.to:
            raise UserError("mail: nobody is named to get it; give --mail-to.")
        if (self.user is None) != (self.password is None):
            raise UserError("mail: a user and a password belong together; give both or neither.")
        if self.user is not None and self.tls is Tls.none and self.host not in LOOPBACK:
            raise UserError("mail: a password would travel in the clear; take --smtp-tls starttls or tls.")

    @property
    def name(self) -> str:
        return f"mail through {self.host}"

    @property
    def key(self) -> str:
        return key_of("mail", self.sender, *sorted(self.to))

    def tell(self, body: dict[str, Any], text: str) -> None:
        """Hand it to the SMTP server, which must take it for everybody."""
        message = letter(body, self.sender, self.to)
        try:
            with self._connected() as smtp:
                if self.tls is Tls.starttls:
                    smtp.starttls(context=ssl.create_default_context())
                if self.user is not None and self.password is not None:
                    smtp.login(self.user, self.password)
                refused = smtp.send_message(message)
        except smtplib.SMTPResponseException as error:
            raise NotTold(f"it answered with {error.smtp_code}") from None
        except (smtplib.SMTPException, OSError) as error:
            raise NotTold(f"it did not work ({type(error).__name__})") from None
        if refused:
            raise NotTold(f"it took it for {len(self.to) - len(refused)} of {len(self.to)} addresses")

    def _connected(self) -> smtplib.SMTP:
        if self.tls is Tls.tls:
            context = ssl.create_default_context()
            return smtplib.SMTP_SSL(self.host, self.port, timeout=TIMEOUT, context=context)
        return smtplib.SMTP(self.host, self.port, timeout=TIMEOUT)


def letter(body: dict[str, Any], sender: str, to: tuple[str, ...]) -> EmailMessage:
    """The e-mail. Its Message-ID is the same whenever it is sent, so that mail programs can tell repeats."""
    message = EmailMessage()
    message["Subject"] = f"{body['study']}: {WORDS[body['event']]}"
    message["From"], message["To"] = sender, ", ".join(to)
    message["Date"] = format_datetime(clock.read(body["at"]))
    message["Message-ID"] = f"<{body['id']}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    why = [f"By {body['by']}."] if body.get("reason") == "closed" else []  # a budget is nobody
    where = f"Study {body['study']} is {body['state']}, after {count(body['samples'], 'sample')}."
    lines = [body["sentence"], "", *why, where]
    message.set_content("\n".join(map(shown, lines)) + "\n")  # a mail program may be a terminal
    return message
