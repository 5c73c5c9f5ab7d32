"""Suites that everything registered must pass: the package's own methods and tests, and yours.

    import pytest
    from bestarm.testing import METHODS, TESTS, check_method, check_test

    @pytest.mark.parametrize("name", METHODS)
    def test_methods(name): check_method(name)

    @pytest.mark.parametrize("name", TESTS)
    def test_stopping_tests(name): check_test(name)

A check ends in silence, or in an `AssertionError` with a sentence that names the law and who broke it. It needs
`pip install "bestarm[simulate]"`, and no pytest.
"""

from bestarm.methods.registry import METHODS, TESTS
from bestarm.testing.methods import METHOD_LAWS, check_method
from bestarm.testing.tests import TEST_LAWS, check_test

__all__ = ["METHODS", "METHOD_LAWS", "TESTS", "TEST_LAWS", "check_method", "check_test"]
