"""Parameters that more than one rule takes."""

from __future__ import annotations

from bestarm.core.rules import Parameter

GAMMA = Parameter("gamma", "upload when the samples known have grown by this share", "fraction")
GAMMA1 = Parameter("gamma1", "upload when the determinant of V has grown by this share", default=1.0)
GAMMA2 = Parameter("gamma2", "or when the samples known have grown by this share", "fraction")
LAMBDA = Parameter("lambda", "regularisation (`lambda_` in Python)", default=1.0)
PSEUDO_COUNT = Parameter(
    "pseudo_count",
    "the mixture's ρ; the larger, the sharper for small gaps and the blunter for large ones",
    default=10.0,
)
