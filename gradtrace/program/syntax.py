"""Python's syntax trees without the module `ast`, which takes longer to import than a small program
takes to run.

The node classes and the parser are Python's. The functions of `ast` that gradtrace uses are
reimplemented with the same behaviour: `from gradtrace.program import syntax as ast`.
"""

from __future__ import annotations

from gradtrace.annotations import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ast import *  # noqa: F403
    from ast import (
        copy_location,
        get_source_segment,
        iter_child_nodes,
        parse,
        walk,
    )
else:
    from _ast import *  # noqa: F403
    from _ast import AST, PyCF_ONLY_AST

    def parse(source, filename="<unknown>", mode="exec"):
        return compile(source, filename, mode, PyCF_ONLY_AST, dont_inherit=True)

    def iter_child_nodes(node):
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, AST):
                yield value
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, AST):
                        yield item

    def walk(node):
        todo = [node]
        for node in todo:  # grows during the loop
            todo.extend(iter_child_nodes(node))
            yield node

    def copy_location(new, old):
        for field in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            setattr(new, field, getattr(old, field, None))
        return new

    def get_source_segment(source, node):
        lines = source.encode("utf-8", "surrogatepass").split(b"\n")[
            node.lineno - 1 : node.end_lineno
        ]
        lines[-1] = lines[-1][: node.end_col_offset]
        lines[0] = lines[0][node.col_offset :]
        return b"\n".join(lines).decode("utf-8", "surrogatepass")


ANNOTATIONS_AS_TEXT = 0x1000000  # the compiler's flag of `from __future__ import annotations`


def compiled(tree: Any, name: str) -> Any:
    """Return the code of a program whose annotations are not evaluated."""
    return compile(tree, name, "exec", ANNOTATIONS_AS_TEXT, dont_inherit=True)
