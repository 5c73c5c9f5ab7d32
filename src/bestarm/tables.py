"""Tables for other programs: rows with named columns, as a pandas data frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bestarm.errors import UserError

Row = Mapping[str, Any]


def to_pandas(rows: Iterable[Row], columns: Sequence[str] | None = None) -> Any:
    """A data frame with a line for each row; a row that lacks one of the columns has a gap there.

    Without `columns` they are all that the rows have. With them an empty table has its columns too.

    >>> to_pandas([{"arm": "A", "pulls": 3}, {"arm": "B"}], ["arm", "pulls"]).shape
    (2, 2)
    """
    try:
        import pandas
    except ImportError:
        raise UserError(
            'a data frame needs pandas: pip install pandas, or "bestarm[experiments]", which brings it.'
        ) from None
    return pandas.DataFrame(list(rows), columns=None if columns is None else list(columns))
