"""Changes to the code of a template that charge its loops, its lists and its output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.visitor import NodeTransformer

if TYPE_CHECKING:
    from jinja2 import Environment

STEP = 100
"""Cost of a pass of a loop, in characters."""
STEPS, MADE, JOINED = "a step", "a value", "a text"
"""Names of filters that no template can write: they charge a step, charge a value, join texts."""


class Counted(NodeTransformer):
    """Puts filters into a template that charge its loops, its lists and its joined texts."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def visit(self, node: nodes.Node, *_: object, **__: object) -> nodes.Node:
        """Change a node and all nodes below it."""
        self.generic_visit(node)
        match node:
            case nodes.For() | nodes.Macro() | nodes.CallBlock():
                text = sum(len(data.data) for data in node.find_all(nodes.TemplateData))
                step = self._filter(nodes.Const(STEP + text), STEPS, node)
                node.body.insert(0, nodes.ExprStmt(step).set_lineno(node.lineno))
            case nodes.Concat():
                return self._filter(nodes.List(node.nodes), JOINED, node)
            case nodes.List() | nodes.Dict():
                return self._filter(node, MADE, node)
            case nodes.Tuple() if node.ctx == "load":
                return self._filter(node, MADE, node)
        return node

    def _filter(self, value: nodes.Expr, name: str, at: nodes.Node) -> nodes.Filter:
        made = nodes.Filter(value, name, [], [], None, None).set_lineno(at.lineno)
        return made.set_environment(self._environment)  # type: ignore[return-value]


class Printing(CodeGenerator):
    """Makes code that prints a text without a call, which is faster; `fill` charges it."""

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:  # noqa: ANN401 - as in the base class
        if frame.buffer is None:
            self.write("(printed if type(printed := ")
        else:
            super()._output_child_pre(node, frame, finalize)

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:  # noqa: ANN401 - as in the base class
        if frame.buffer is None:
            self.write(") is str else str(environment.finalize(context, printed)))")
        else:
            super()._output_child_post(node, frame, finalize)
