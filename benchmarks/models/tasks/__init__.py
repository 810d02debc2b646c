"""Training tasks of many kinds, written as their users write them: what `python -m experiments zoo` trains."""

from benchmarks.models.tasks.catalogue import TASKS, Task, find_task

__all__ = ["TASKS", "Task", "find_task"]
