"""The version of this gradviz, as it appears in packages and trace documents."""

__version__ = "0.1.0"
