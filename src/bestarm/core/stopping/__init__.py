"""The stopping tests, one file each: how sure the data make us, and the proof of it.

All hold at every upload at once with probability at least 1 − δ when the rewards, in the order of the log, are
σ-sub-Gaussian given those before them (`docs/guarantee.md` has the lemma that makes it so, and what it
assumes).
"""
