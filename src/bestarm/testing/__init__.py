"""Suites that everything registered must pass: the package's own methods and tests, and yours.

    import pytest
    from bestarm.testing import METHODS, TESTS, check_method, check_storage, check_test

    @pytest.mark.parametrize("name", METHODS)
    def test_methods(name): check_method(name)

    @pytest.mark.parametrize("name", TESTS)
    def test_stopping_tests(name): check_test(name)

    def test_my_storage(): check_storage(lambda: Storage("sqlite:///empty.db"))

A check ends in silence, or in an `AssertionError` with a sentence that names the law and who broke it. It needs
`pip install "bestarm[simulate]"`, and no pytest.
"""

from typing import TYPE_CHECKING, Any

from bestarm.methods.registry import METHODS, TESTS
from bestarm.testing.methods import METHOD_LAWS, check_method
from bestarm.testing.tests import TEST_LAWS, check_test

if TYPE_CHECKING:
    from bestarm.testing.storages import STORAGE_LAWS, check_storage

__all__ = [
    "METHODS",
    "METHOD_LAWS",
    "STORAGE_LAWS",
    "TESTS",
    "TEST_LAWS",
    "check_method",
    "check_storage",
    "check_test",
]


def __getattr__(name: str) -> Any:
    """The suite for storages is loaded when it is asked for: it needs the packages of a server."""
    if name in ("STORAGE_LAWS", "check_storage"):
        from bestarm.testing import storages

        return getattr(storages, name)
    raise AttributeError(f"module 'bestarm.testing' has no attribute {name!r}")
