"""Draw a sweep's results: python figure.py results.csv figure.png"""

import csv
import sys
from pathlib import Path

from bestarm.plot import look, new_figure, plain_numbers, save, style

# label, what the rows have, line style; the colour and the mark are the method's in every figure
LINES = [
    ("famabpe", {"method": "famabpe", "stopping": "famabpe"}, "-"),
    ("… stopping=pairs", {"method": "famabpe", "stopping": "pairs", "selection": "balance"}, "--"),
    ("… and selection=lookahead", {"method": "famabpe", "stopping": "pairs", "selection": "lookahead"}, ":"),
    ("sharp stopping=pairs thrift=samples", {"method": "sharp", "thrift": "samples"}, "--"),
    ("sharp stopping=pairs", {"method": "sharp", "stopping": "pairs", "thrift": "balanced"}, "-."),
    ("sharp stopping=pairs thrift=messages", {"method": "sharp", "thrift": "messages"}, ":"),
    ("sharp", {"method": "sharp", "stopping": "rule-out"}, "-"),
]


def main(results: str, figure_file: str) -> None:
    with Path(results).open(newline="", encoding="utf-8") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: float(row["gap"]))
    gaps = sorted({float(row["gap"]) for row in rows})
    with style():
        figure, panels = new_figure(2, width=10.0)
        for axes, field in zip(panels, ("samples", "communications"), strict=True):
            for label, wanted, dash in LINES:
                found = [row for row in rows if wanted.items() <= row.items()]
                colour, mark = look(wanted["method"])
                axes.plot(
                    [float(row["gap"]) for row in found],
                    [float(row[f"{field}_mean"]) for row in found],
                    color=colour,
                    marker=mark,
                    markerfacecolor=colour if dash == "-" else "white",
                    linestyle=dash,
                    label=label,
                )
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("gap")
            axes.set_ylabel(field)
            plain_numbers(axes.yaxis)
            axes.set_xticks(gaps, [f"{gap:.2g}" for gap in gaps])
            axes.tick_params(axis="x", which="minor", labelbottom=False)
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
    save(figure, figure_file)


if __name__ == "__main__":
    main(*sys.argv[1:])
