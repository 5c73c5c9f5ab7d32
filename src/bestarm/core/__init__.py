"""The mathematics of one reward's path: tally, estimate, confidence, breaking index, sampling, trigger, plan.

Everything here takes values and returns values. There is no clock, no file, no random state, and no import
but numpy and the standard library's value types. The functions on arrays are written so that numba can
compile them as they stand; they never import it.
"""
