"""Which arm to pull next, one file a rule, given the pulls known and planned, the view and the reading.

Each rule returns one arm. Ties go to the lowest index, except where a rule says otherwise. No promise depends
on which arms are pulled.
"""
