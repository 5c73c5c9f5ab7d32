"""Write docs/reference/: the command line, Python and HTTP, each from the code itself.

python scripts/reference.py            # writes the pages
python scripts/reference.py --check    # exit code 1 if a page is not what the code says
"""

from __future__ import annotations

import asyncio
import inspect
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
import typer.main
from typer.testing import CliRunner

import bestarm
from bestarm.cli.main import app as command_line
from bestarm.errors import Refused
from bestarm.methods import METHODS
from bestarm.service.http.app import create_app
from bestarm.service.storage import Storage

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
WIDTH = 100
NOTE = "<!-- Written by scripts/reference.py from the code; change the code, then run it again. -->\n"


def pages() -> dict[str, str]:
    """Every generated page, by file name."""
    return {"cli.md": cli_page(), "python.md": python_page(), "http.md": http_page()}


# The command line: every command's own help.


def cli_page() -> str:
    """The help text of every command."""
    parts = [
        NOTE,
        "# Command line\n",
        "What `bestarm COMMAND --help` prints. Exit codes: 0 done; 1 the work failed (the server is away, a "
        "verification does not hold); 2 something you gave can't be used, with one sentence on stderr that "
        "says what; 130 interrupted.\n",
        section("bestarm", 2),
    ]
    for words in command_names():
        parts.append(section(" ".join(["bestarm", *words]), 1 + min(len(words) + 1, 2)))
    return "\n".join(parts)


def command_names() -> list[list[str]]:
    """Every command and command of a group, in the order of the help."""
    root: Any = typer.main.get_command(command_line)
    names: list[list[str]] = []
    for name in root.list_commands(None):
        names.append([name])
        names += [[name, inner] for inner in getattr(root.get_command(None, name), "commands", {})]
    return names


def section(command: str, level: int) -> str:
    """A command's help under its name."""
    words = command.split()[1:]
    done = CliRunner().invoke(command_line, [*words, "--help"], prog_name="bestarm", terminal_width=WIDTH)
    if done.exit_code != 0:
        raise RuntimeError(f"{command} --help failed: {done.output}")
    text = "\n".join(line.rstrip() for line in done.output.strip().splitlines())
    return f"{'#' * level} {command}\n\n```text\n{text}\n```\n"


# Python: the public names.


def python_page() -> str:
    """Signature and docstring of every public name."""
    parts = [
        NOTE,
        "# Python\n",
        "The names of `import bestarm`. What is not here may change without notice. A mistake of the caller "
        "is a `UserError`; a server that can't be reached is a `bestarm.errors.ServiceError`.\n",
    ]
    public = {
        name: getattr(bestarm, name) for name in bestarm.__all__ if name not in ("__version__", "METHODS")
    }
    functions = {name: value for name, value in public.items() if not inspect.isclass(value)}
    parts.append("## Functions\n")
    parts += [function(name, value, "bestarm.", 3) for name, value in sorted(functions.items())]
    parts.append("## Classes\n")
    parts += [class_(name, value) for name, value in sorted(public.items()) if inspect.isclass(value)]
    parts += [
        "## Methods by name\n",
        "`bestarm.METHODS` has them; the parameters are set with `--set` or as keywords.\n",
    ]
    seen: dict[str, str] = {}
    for name, recipe in METHODS.items():
        text = docstring(recipe.defaults)
        same = next((other for other, known in seen.items() if known == text), None)
        seen[name] = text
        parts.append(f"### {name}\n\n*{recipe.kind.value}*\n\n" + (f"As {same}.\n" if same else text))
    return "\n".join(parts)


def function(name: str, value: Any, prefix: str, level: int) -> str:
    """A function or a method of a class."""
    return f"{'#' * level} {name}\n\n```text\n{prefix}{name}{signature(value)}\n```\n\n{docstring(value)}"


def class_(name: str, value: Any) -> str:
    """A class, its public properties and methods."""
    text = docstring(value)
    if text.startswith(f"{name}("):  # a dataclass without a docstring gets its signature as one
        text = ""
    head = (
        f"{name}{signature(value).removesuffix(' -> None')}"
        if not issubclass(value, BaseException)
        else f"class {name}"
    )
    parts = [f"### {name}\n\n```text\n{head}\n```\n\n{text}"]
    properties, methods = [], []
    for attribute, member in vars(value).items():
        if attribute.startswith("_"):
            continue
        if isinstance(member, property):
            properties.append(f"- `{attribute}`: {first_sentence(member)}")
        elif isinstance(member, classmethod | staticmethod):
            methods.append(function(attribute, getattr(value, attribute), f"{name}.", 4))
        elif inspect.isfunction(member):
            methods.append(function(attribute, member, f"{name}.", 4))
    if properties:
        parts.append("\n".join(properties) + "\n")
    return "\n".join([*parts, *methods])


def signature(value: Any) -> str:
    """A signature as one reads it: without the package's paths, one parameter a line where it is long."""
    try:
        found = inspect.signature(value)
    except ValueError:
        return "(…)"
    kept = [p for p in found.parameters.values() if p.name != "self"]
    found = found.replace(parameters=kept)
    text = tidy(str(found))
    if len(text) <= WIDTH - 20:
        return text
    lines, starred = [], False
    for parameter in kept:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            lines.append("    *,")
            starred = True
        starred = starred or parameter.kind is parameter.VAR_POSITIONAL
        if "_typing._array_like" in str(parameter):  # numpy spells out what ArrayLike is
            parameter = parameter.replace(annotation="ArrayLike | None")
        lines.append(f"    {tidy(str(parameter))},")
    empty = found.return_annotation is inspect.Signature.empty
    back = "" if empty else tidy(f" -> {inspect.formatannotation(found.return_annotation)}")
    return "(\n" + "\n".join(lines) + f"\n){back}"


def tidy(text: str) -> str:
    """Types without their modules, and without the quotes of postponed annotations."""
    text = re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Z])", "", text).replace("os.PathLike", "PathLike")
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", text)
    return re.sub(r"<function .*?> at 0x\w+>|<function .*? at 0x\w+>", "…", text)


def docstring(value: Any) -> str:
    """A docstring as Markdown: examples become blocks, which the tests of the code itself run."""
    lines: list[str] = []
    example = False
    for line in listed((inspect.getdoc(value) or "").splitlines()):
        if line.startswith(">>>") and not example:
            lines.append("```pycon")
            example = True
        elif example and not line.strip():
            lines.append("```")
            example = False
        lines.append(line if example or line.startswith("    ") else line.replace("<", "&lt;"))
    if example:
        lines.append("```")
    return "\n".join(lines) + "\n" if lines else ""


def listed(lines: list[str]) -> list[str]:
    """The lines with the parts under `Parameters` as items of a list."""
    found: list[str] = []
    inside = False
    for line in lines:
        if line.rstrip(":") == "Parameters":
            found += ["Parameters:", ""]
            inside = True
        elif inside and not line.strip():
            found.append("")
            inside = False
        elif inside and not line.startswith("---"):
            names, colon, text = line.strip().partition(": ")
            item = bool(colon) and re.fullmatch(r"\w+(, \w+)*", names) is not None
            found.append(f"- `{names}`: {text}" if item else f"  {line.strip()}")
        elif not inside:
            found.append(line)
    return found


def first_sentence(value: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split()).replace("<", "&lt;")


# HTTP: from the OpenAPI description that the server gives.


def http_page() -> str:
    """Every route: who may call it, what it takes, what it answers."""
    with tempfile.TemporaryDirectory() as folder:
        storage = Storage(f"sqlite:///{folder}/reference.db")
        try:
            app = create_app(storage)
            document = app.openapi()
            callers = asyncio.run(find_callers(app, document))
        finally:
            storage.close()
    parts = [
        NOTE,
        "# HTTP\n",
        "A running server describes itself at `/openapi.json`; this page is made from the same description. "
        "Every call but `/healthz` and `/readyz` carries `Authorization: Bearer TOKEN`. A refusal is "
        '`{"error": "one sentence", "code": "one-word"}` with a status of 4xx or 5xx, and changes nothing; '
        "408, 429 and 503 mean that the same call may be made again later. A token of an agent or a viewer "
        "opens its own study only.\n",
        "## Routes\n",
    ]
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parts.append(route(method.upper(), path, operation, callers[method, path]))
    parts.append("## Shapes\n")
    for name, schema in document["components"]["schemas"].items():
        if name not in ("HTTPValidationError", "ValidationError"):
            parts.append(f"### {name}\n\n{fields(schema)}\n")
    return "\n".join(parts)


async def find_callers(app: Any, document: dict[str, Any]) -> dict[tuple[str, str], str]:
    """Who may call each route: what it asks of `Access`, which is replaced by one that notes and refuses."""
    asked: list[str] = []

    async def who(_: Any, away: bool = False) -> None:
        asked.append("any token")
        raise Refused("noted.", "noted", 403)

    async def allow(_: Any, roles: tuple[Any, ...], study: str | None = None, away: bool = False) -> None:
        asked.append(", ".join(sorted(roles)))
        raise Refused("noted.", "noted", 403)

    access = app.state.service.access
    access.who, access.allow = who, allow
    found: dict[tuple[str, str], str] = {}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://reference") as client:
        for path, methods in document["paths"].items():
            for method in methods:
                asked.clear()
                await client.request(method, path.format(study="study", token_id="0a1b2c3d4e5f", agent="lab"))
                found[method, path] = asked[0] if asked else "anybody, without a token"
    return found


def route(method: str, path: str, operation: dict[str, Any], caller: str) -> str:
    """One route."""
    lines = [f"### {method} {path}\n", f"{operation['summary']}.\n", f"- Who: {caller}."]
    for parameter in operation.get("parameters", []):
        if parameter["in"] != "path":
            lines.append(f"- {parameter['in'].capitalize()} `{parameter['name']}`: {parameter['description']}")
    body = operation.get("requestBody")
    if body is not None:
        optional = "" if body.get("required") else " It may be left out."
        lines.append(f"- Body:{optional}\n\n{indent(fields(next(iter(body['content'].values()))['schema']))}\n")
    refusals = []
    for status, answer in operation["responses"].items():
        if status.startswith("2"):
            shapes = [
                kind(media["schema"]) for media in answer.get("content", {}).values() if media.get("schema")
            ]
            media_types = [name for name in answer.get("content", {}) if name != "application/json"]
            words = [
                *(shape for shape in shapes if shape.startswith("[")),
                *(f"`{name}`" for name in media_types),
            ]
            about = answer["description"].replace("Successful Response", "").strip()
            lines.append(f"- Answer {status}: {' or '.join(words) or 'JSON'}. {about}".rstrip())
        elif "HTTPValidationError" not in str(answer):
            refusals.append(status)
    if refusals:
        lines.append(f"- Refusals: {', '.join(sorted(refusals))}.")
    return "\n".join(lines) + "\n"


def indent(text: str) -> str:
    """Inside an item of a list."""
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def fields(schema: dict[str, Any]) -> str:
    """A table of an object's fields."""
    about = schema.get("description", "")
    if not schema.get("properties"):
        return about or "An empty object."
    lines = (
        [f"{about}\n", "| field | type | |", "|---|---|---|"]
        if about
        else ["| field | type | |", "|---|---|---|"]
    )
    required = schema.get("required", [])
    for name, field in schema["properties"].items():
        words = [field.get("description", ""), "" if name in required else "Optional."]
        lines.append(f"| `{name}` | {kind(field)} | {' '.join(word for word in words if word)} |")
    return "\n".join(lines)


def kind(schema: dict[str, Any]) -> str:
    """A type in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(kind(option) for option in schema[key])
    if "const" in schema:
        return f"`{schema['const']!r}`"
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        items = schema.get("prefixItems")
        if items:
            return f"[{', '.join(kind(item) for item in items)}]"
        return f"list of {kind(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {kind(schema['additionalProperties'])}"
    return str(schema.get("type", "anything"))


def main() -> int:
    """Write the pages, or say which one is out of date."""
    stale = [name for name, text in pages().items() if not same(FOLDER / name, text)]
    if "--check" in sys.argv[1:]:
        for name in stale:
            print(f"docs/reference/{name} is out of date; run make reference.", file=sys.stderr)
        return 1 if stale else 0
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


def same(path: Path, text: str) -> bool:
    """Whether a page holds this text."""
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
