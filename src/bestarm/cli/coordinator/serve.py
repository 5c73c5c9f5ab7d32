"""`bestarm serve`: the server that sites talk to."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bestarm.cli.coordinator import telling
from bestarm.cli.output import Format, errors, print_json, say
from bestarm.cli.server import Output
from bestarm.errors import UserError

app = typer.Typer(rich_markup_mode=None, add_completion=False)

EXAMPLES = """\b
Examples:
  bestarm serve
  bestarm serve --storage sqlite:////var/lib/bestarm/bestarm.db --admin-token-file /etc/bestarm/admin-token
  bestarm serve --storage postgresql+psycopg://bestarm@localhost/bestarm --port 8001
  bestarm serve --host 0.0.0.0 --ssl-certfile cert.pem --ssl-keyfile key.pem
  bestarm serve --webhook https://chat.example.org/hook --webhook-secret-file /etc/bestarm/webhook-secret
  bestarm serve --smtp mail.example.org:587 --mail-from bestarm@example.org --mail-to ada@example.org

It prints `listening on URL` once it takes connections and, the first time that a storage is opened, the
administrator's token. SIGTERM and SIGINT stop it in good order.
"""


@app.command(epilog=EXAMPLES)
def serve(
    storage: Annotated[
        str, typer.Option(help="Where studies are kept: sqlite:///FILE or postgresql+psycopg://…")
    ] = "sqlite:///bestarm.db",
    host: Annotated[
        str | None, typer.Option(help="The address to listen on.  [default: 127.0.0.1, this machine only]")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes a free one.")] = 8000,
    admin_token_file: Annotated[
        Path | None, typer.Option(help="Where the administrator's token is, or is written if there is none.")
    ] = None,
    ssl_certfile: Annotated[Path | None, typer.Option(help="A certificate, for https.")] = None,
    ssl_keyfile: Annotated[Path | None, typer.Option(help="Its key.")] = None,
    forwarded_allow_ips: Annotated[
        str | None, typer.Option(help="Proxies whose X-Forwarded headers are believed, separated by commas.")
    ] = None,
    rate: Annotated[
        float, typer.Option(min=0.0, help="Calls a second that a token may make; 0 is no limit.")
    ] = 100.0,
    max_body: Annotated[
        int, typer.Option(min=1000, help="The longest body that is read, in bytes.")
    ] = 1_000_000,
    max_arms: Annotated[int, typer.Option(min=2, help="The most arms that a study may have.")] = 10_000,
    max_connections: Annotated[
        int, typer.Option(min=8, help="The most connections at a time; a quarter of them from one address.")
    ] = 4_000,
    max_exports: Annotated[int, typer.Option(min=1, help="The most exports at a time.")] = 8,
    patience: Annotated[
        float,
        typer.Option(min=0.1, help="Seconds for a request's head, for its body, and for an answer to be read."),
    ] = 30.0,
    stale_after: Annotated[
        float, typer.Option(min=1.0, help="Seconds of silence after which a site is shown as stale.")
    ] = 86_400.0,
    access_log: Annotated[bool, typer.Option("--access-log", help="Write a line for every request.")] = False,
    webhook: telling.WebhookUrl = None,
    webhook_secret_file: telling.WebhookSecretFile = None,
    smtp: telling.Smtp = None,
    smtp_tls: telling.SmtpTls = "starttls",
    smtp_user: telling.SmtpUser = None,
    smtp_password_file: telling.SmtpPasswordFile = None,
    mail_from: telling.MailFrom = None,
    mail_to: telling.MailTo = None,
    output: Output = Format.table,
) -> None:
    """Run the server that sites talk to."""
    from bestarm.service.http.app import create_app
    from bestarm.service.http.connections.files import allow_files, room
    from bestarm.service.http.connections.listener import bind, is_loopback, listen
    from bestarm.service.http.limits import Limits
    from bestarm.service.storage import Storage
    from bestarm.service.storage.admin import admit
    from bestarm.service.telling.teller import begin_telling

    address = host or "127.0.0.1"
    if (ssl_certfile is None) != (ssl_keyfile is None):
        raise UserError("--ssl-certfile and --ssl-keyfile belong together; give both or neither.")
    if not is_loopback(address) and ssl_certfile is None:
        say("warning: tokens travel in the clear; give --ssl-certfile, or listen behind a proxy that has TLS.")
    receivers = telling.webhook(webhook, webhook_secret_file)
    receivers += telling.mail(smtp, smtp_tls, smtp_user, smtp_password_file, mail_from, mail_to)
    files = allow_files(max_connections)
    if room(files) < max_connections:
        say(
            f"warning: this process may open {files} files, so it takes {room(files)} connections at most, not "
            f"{max_connections}; raise the limit (ulimit -n, or LimitNOFILE= in systemd)."
        )
    limits = Limits(
        body=max_body,
        arms=max_arms,
        rate=rate,
        burst=2 * rate,
        stale_after=stale_after,
        patience=patience,
        connections=min(max_connections, room(files)),
        exports=max_exports,
    )
    with log_written(), bind(address, port) as bound, closing(Storage(storage)) as opened, ExitStack() as stack:
        secret = admit(opened, admin_token_file)
        if secret is not None and output is Format.table:
            print(f"admin token: {secret}", flush=True)
        opened.be_patient(LOADING)
        opened.load(wait=False)
        made = create_app(opened, limits)
        made.state.service.files = files
        if receivers:
            stack.callback(begin_telling(opened, receivers).close)
        listen(
            made,
            bound,
            address,
            listening=lambda url: announce(url, secret, admin_token_file, output),
            certificate=ssl_certfile,
            key=ssl_keyfile,
            proxies=forwarded_allow_ips,
            access_log=access_log,
        )


LOADING = 2.0  # seconds that a request waits for a study that is being read from its log


@contextmanager
def log_written() -> Iterator[None]:
    """The server's own log goes to stderr, each line with its time."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    log = logging.getLogger("bestarm.service")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)


def announce(url: str, secret: str | None, admin_token_file: Path | None, output: Format) -> None:
    """Where the server is; and, to somebody who watches it start, what to do with that."""
    if output is Format.json:
        print_json({"url": url, "admin_token": secret})
        sys.stdout.flush()
        return
    print(f"listening on {url}", flush=True)
    if errors.is_terminal:
        token = "the administrator's token" + (f", in {admin_token_file}" if admin_token_file else "")
        say(f"the dashboard is there too, in a browser; it asks for {token}. Ctrl-C stops the server.")
