"""Every stopping test passes the suite that ships with the package; beside the methods, which take as long."""

import pytest

from bestarm.testing import TESTS, check_test
from bestarm.testing.tests import home_of


@pytest.mark.parametrize("name", TESTS)
def test_every_stopping_test(name: str) -> None:
    check_test(name, compiled=home_of(TESTS[name]) is None)
