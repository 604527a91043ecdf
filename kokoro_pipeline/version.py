"""The version of this package, for those that cannot import its root."""

__version__ = "0.1.0"
