"""What a person did wrong, in one sentence that says what to do."""


class UserError(ValueError):
    """Input that can't be used; the message is one sentence for the person who gave it."""


class ProblemWarning(UserWarning):
    """The input can be used, but it promises less than it seems to."""
