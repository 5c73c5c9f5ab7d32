"""The options of `bestarm serve` that say who is told about studies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bestarm.errors import UserError

if TYPE_CHECKING:
    from bestarm.service.telling.receiver import Receiver

PASSWORD = "BESTARM_SMTP_PASSWORD"

WebhookUrl = Annotated[
    str | None,
    typer.Option(
        "--webhook",
        envvar="BESTARM_WEBHOOK",
        show_envvar=False,
        help="An address that is told when a study is settled, closed or warns; or BESTARM_WEBHOOK.",
    ),
]
WebhookSecretFile = Annotated[
    Path | None, typer.Option(help="Where the secret is that news to the webhook is signed with.")
]
Smtp = Annotated[str | None, typer.Option(help="An SMTP server, HOST:PORT, to tell the same by e-mail.")]
SmtpTls = Annotated[str, typer.Option(help="starttls, tls from the first byte on, or none.")]
SmtpUser = Annotated[str | None, typer.Option(help="Who to log in as at the SMTP server.")]
SmtpPasswordFile = Annotated[
    Path | None, typer.Option(help=f"Where the password is; or {PASSWORD} in the environment.")
]
MailFrom = Annotated[str | None, typer.Option(help="Whom e-mails are from.")]
MailTo = Annotated[str | None, typer.Option(help="Whom e-mails go to, separated by commas.")]


def webhook(url: str | None, secret_file: Path | None) -> list[Receiver]:
    """The webhook, if one is wanted."""
    from bestarm.service.telling.webhook import Webhook

    if url is None and secret_file is None:
        return []
    if url is None or secret_file is None:
        raise UserError(
            "--webhook and --webhook-secret-file belong together; `openssl rand -hex 32` makes a secret."
        )
    return [Webhook(url, _read(secret_file, "the secret"))]


def mail(
    smtp: str | None,
    tls: str,
    user: str | None,
    password_file: Path | None,
    sender: str | None,
    to: str | None,
) -> list[Receiver]:
    """The e-mail, if one is wanted."""
    from bestarm.service.telling.mail import Mail, Tls

    if smtp is None:
        if sender is not None or to is not None or user is not None or password_file is not None:
            raise UserError("--smtp is missing: the SMTP server that e-mails are sent through, HOST:PORT.")
        return []
    host, _, port = smtp.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise UserError(f"--smtp is {smtp!r}; it must be HOST:PORT, such as mail.example.org:587.")
    if tls not in list(Tls):
        raise UserError(f"--smtp-tls is {tls!r}; it must be starttls, tls or none.")
    if sender is None or to is None:
        raise UserError("--smtp needs --mail-from and --mail-to.")
    password = None
    if user is not None:
        given = os.environ.get(PASSWORD)
        password = _read(password_file, "the password") if password_file is not None else given
    elif password_file is not None:
        raise UserError("--smtp-password-file needs --smtp-user.")
    addresses = tuple(address.strip() for address in to.split(",") if address.strip())
    return [Mail(host.strip("[]"), int(port), sender, addresses, Tls(tls), user, password)]


def _read(file: Path, what: str) -> str:
    try:
        found = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise UserError(f"{file}: {what} can't be read: {why}.") from None
    if not found:
        raise UserError(f"{file}: it is empty; {what} must be in it.")
    return found
