"""Packages whose names are imported on first use have all names that they list, and no others."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.parametrize(
    "package", ["copilog", "copilog.derive", "copilog.detection", "copilog.ingest", "copilog.sources"]
)
def test_every_listed_name_is_found(package: str) -> None:
    module = import_module(package)

    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
        _ = module.nothing


def test_a_name_is_never_that_of_a_module() -> None:
    for package in ("copilog.derive", "copilog.detection", "copilog.ingest", "copilog.sources"):
        module = import_module(package)
        for name in module.__all__:
            assert type(getattr(module, name)).__name__ != "module", name
