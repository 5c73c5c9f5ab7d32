"""The steps. A step that was released never changes, so none looks at `tables.py`."""
