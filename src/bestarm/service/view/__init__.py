"""A study as others see it: status, intervals, promises, what remains, and the proof of an export."""
