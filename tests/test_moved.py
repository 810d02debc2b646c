"""Modules are found under the names that they had before they were put into folders."""

import importlib

import pytest

from scalify_hlo.moved import MOVED


@pytest.mark.parametrize("name", sorted(MOVED))
def test_the_same_module_under_its_old_name(name: str):
    assert importlib.import_module(name) is importlib.import_module(MOVED[name])


def test_importing_a_name_of_the_package():
    from scalify_hlo import registry
    from scalify_hlo.rules import registry as now

    assert registry is now
    assert now.__spec__ is not None and now.__spec__.name == "scalify_hlo.rules.registry"
