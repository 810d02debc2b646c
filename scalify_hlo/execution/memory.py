"""Memory of a compiled program."""

import dataclasses
from typing import Any, Self


@dataclasses.dataclass(frozen=True)
class Memory:
    """Device memory of a compiled program, in bytes. Aliased bytes are in both arguments and results."""

    arguments: int
    results: int
    aliased: int
    temporary: int

    @property
    def peak(self) -> int:
        """What the program needs while it runs."""
        return self.arguments + self.results - self.aliased + self.temporary

    @classmethod
    def of(cls, executable: Any) -> Self:
        """What XLA says of an executable, loaded or not."""
        stats = executable.get_compiled_memory_stats()
        return cls(
            stats.argument_size_in_bytes, stats.output_size_in_bytes, stats.alias_size_in_bytes,
            stats.temp_size_in_bytes,
        )  # fmt: skip
