"""The one exception that ends a command of the load client with a sentence for a person."""


class LoadError(Exception):
    """A failure whose text is one sentence: what, which value, what was expected, what to do."""
