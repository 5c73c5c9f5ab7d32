"""Measured numbers as words, for the judgements of claims."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bestarm.experiments.numbers import Line, Numbers


def base(line: Line) -> str:
    features = f", d = {line.dimension}" if line.dimension else ""
    promise = f"δ = {line.delta:g}, ε = {line.epsilon:g}"
    return f"K = {line.arms}{features}, M = {line.agents}, σ = {line.sigma:g}, {promise}"


def rows(field: str, methods: Sequence[list[Line]]) -> str:
    """One list of means a method, in the order of the gaps."""
    gaps = " · ".join(f"{line.gap:g}" for line in methods[0])
    parts = [
        f"{lines[0].variant} " + " · ".join(f"{getattr(line, field):,.0f}" for line in lines)
        for lines in methods
        if lines
    ]
    return f"{field} at the gaps {gaps}: " + "; ".join(parts)


def ratios(what: str, above: Sequence[Line], below: Sequence[Line], field: str) -> str:
    values = [getattr(a, field) / getattr(b, field) for a, b in zip(above, below, strict=True)]
    return f"{what}: " + " · ".join(f"{value:.2f}" if value < 10 else f"{value:.1f}" for value in values)


def too_close(pairs: Sequence[tuple[list[Line], list[Line]]], field: str) -> str:
    """Where so few runs do not decide: differences within two standard errors."""
    gaps = sorted(
        {
            a.gap
            for first, second in pairs
            for a, b in zip(first, second, strict=True)
            if abs(getattr(a, field) - getattr(b, field))
            < 2 * (getattr(a, f"{field}_stderr") ** 2 + getattr(b, f"{field}_stderr") ** 2) ** 0.5
        }
    )
    if not gaps:
        return ""
    return f"; a difference is within two standard errors at the gaps {', '.join(f'{gap:g}' for gap in gaps)}"


def span(values: Iterable[float]) -> str:
    several = list(values)
    return f"{min(several):,.0f} to {max(several):,.0f}"


def times(values: Iterable[float]) -> str:
    several = list(values)
    return f"{min(several):.1f} to {max(several):.1f} times"


def times_less(numbers: Numbers, experiment: str, lines: list[Line]) -> str:
    plain = numbers.of(experiment, "famabpe")
    return times(f.samples / p.samples for f, p in zip(lines, plain, strict=True)) + " fewer"


def sharp_beside(numbers: Numbers, experiment: str, lines: list[Line], name: str) -> str:
    sharp = numbers.of(experiment, "sharp")
    return ratios(f"sharp / {name}, samples", sharp, lines, "samples") + "."


def settings(line: Line) -> str:
    """The parameters of a variant, without its method."""
    return line.variant.partition(" ")[2].replace(" ", ", ") or "the theorem's setting"
