"""The versions of JAX that this package works with."""

import re

OLDEST_JAXLIB = (0, 10, 2)


def check_jaxlib(version: str) -> None:
    """Raise ImportError, saying what to do, for a jaxlib that is too old. Newer ones are all taken."""
    found = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    if found < OLDEST_JAXLIB:
        oldest = ".".join(map(str, OLDEST_JAXLIB))
        raise ImportError(
            f"scalify_hlo needs jaxlib {oldest} or newer, and this is {version}: pip install --upgrade jax jaxlib"
        )
