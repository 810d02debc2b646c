"""The syntax of MLIR's textual pipelines: `builtin.module(a{options},b,func.func(c))`."""

import dataclasses
import re

from scalify_hlo.errors import Diagnostic, ScalifyError

_NAME = re.compile(r"[\w.-]+")


@dataclasses.dataclass(frozen=True)
class Node:
    """A pass, or an operation on which the nested passes run.

    options: the text between braces, None without braces.
    nested: what stands between parentheses, None without parentheses.
    column: where the name starts in the text, counted from 1.
    """

    name: str
    options: str | None = None
    nested: tuple["Node", ...] | None = None
    column: int = dataclasses.field(default=1, compare=False)

    def __str__(self) -> str:
        options = "" if self.options is None else f"{{{self.options}}}"
        nested = "" if self.nested is None else f"({','.join(map(str, self.nested))})"
        return f"{self.name}{options}{nested}"

    def names(self) -> set[str]:
        """Its own name and all nested ones."""
        return {self.name}.union(*(each.names() for each in self.nested or ()))


def parse_pipeline_text(text: str, source: str) -> tuple[Node, ...]:
    """The comma-separated nodes of `text`. Raises ScalifyError located in `source`, a name for the text."""
    parser = _Parser(text, source)
    nodes = parser.nodes()
    if not parser.at_end():
        raise parser.error("unbalanced ')'" if parser.peek() == ")" else "expected ',' here")
    return nodes


class _Parser:
    def __init__(self, text: str, source: str):
        self.text, self.source, self.position = text, source, 0

    def error(self, message: str) -> ScalifyError:
        return ScalifyError(Diagnostic(message, f"{self.source}:1:{self.position + 1}"))

    def peek(self) -> str:
        """The next character that is no blank; empty at the end."""
        while self.text[self.position : self.position + 1].isspace():
            self.position += 1
        return self.text[self.position : self.position + 1]

    def at_end(self) -> bool:
        return not self.peek()

    def take(self, character: str) -> bool:
        if self.peek() != character:
            return False
        self.position += 1
        return True

    def nodes(self) -> tuple[Node, ...]:
        if self.peek() in ("", ")"):
            return ()
        found = [self.node()]
        while self.take(","):
            found.append(self.node())
        return tuple(found)

    def node(self) -> Node:
        self.peek()
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise self.error("expected the name of a pass here")
        column = self.position + 1
        self.position = match.end()
        options = self.options() if self.peek() == "{" else None
        nested = None
        if self.take("("):
            nested = self.nodes()
            if not self.take(")"):
                raise self.error("expected ')' here")
        return Node(match[0], options, nested, column)

    def options(self) -> str:
        """The text between the brace here and the one that closes it."""
        start, depth = self.position, 0
        for position in range(start, len(self.text)):
            depth += {"{": 1, "}": -1}.get(self.text[position], 0)
            if depth == 0:
                self.position = position + 1
                return self.text[start + 1 : position]
        raise self.error("unbalanced '{'")
