"""Builds the tree of an expression from its text.

Called by the checker's entry, once per expression. Recursive descent with the limits of cel-go:
each rule of its grammar may be entered 250 times at once, whatever the nesting looks like.
"""

from typing import Final

from mooring.cel.ast import AstNode, Call, Ident, ListNode, Literal, MapNode, Select, StructNode
from mooring.cel.errors import Issue
from mooring.cel.lexer import LexError, Token, tokenize, unquote, unquote_bytes
from mooring.cel.limits import Bounds
from mooring.cel.macros import MacroError, expand
from mooring.cel.values import Uint

MAX_CODE_POINTS: Final = 100_000
_MAX_DEPTH: Final = 250
_RESERVED_WORDS = (
    "as break const continue else false for function if import in let loop package "
    "namespace null return true var void while "
)
_RESERVED: Final = frozenset(_RESERVED_WORDS.split())
_RELATIONS: Final = {
    "<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_", "in": "@in",
}  # fmt: skip
_SUMS: Final = {"+": "_+_", "-": "_-_"}
_PRODUCTS: Final = {"*": "_*_", "/": "_/_", "%": "_%_"}
_INT: Final = Bounds(-(2**63), 2**63)


class ParseError(Exception):
    """The text is no expression."""

    def __init__(self, issue: Issue) -> None:
        super().__init__(issue.message)
        self.issue = issue


def parse(source: str) -> AstNode:
    """The tree of an expression, macros expanded.

    Raises:
        ParseError: the text is no expression.
    """
    if len(source) > MAX_CODE_POINTS:
        message = (
            f"expression code point size exceeds limit: size: {len(source)}, "
            f"limit {MAX_CODE_POINTS}"
        )
        raise ParseError(Issue(0, message))
    try:
        return _Parser(tokenize(source)).start()
    except LexError as error:
        raise ParseError(error.issue) from error
    except MacroError as error:
        raise ParseError(error.issue) from error
    except RecursionError as error:
        raise ParseError(Issue(0, _TOO_DEEP)) from error


_TOO_DEEP: Final = f"expression recursion limit exceeded: {_MAX_DEPTH}"


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = {"expr": 0, "relation": 0, "calc": 0, "member": 0}
        #: How deeply operators, selections and calls are nested below a node made so far.
        self._heights: dict[int, int] = {}

    # Tokens

    def _peek(self, ahead: int = 0) -> str:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)].kind

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += token.kind != "end"
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._next() if self._peek() == kind else None

    def _expect(self, kind: str) -> Token:
        token = self._tokens[self._at]
        if token.kind != kind:
            wanted = "IDENTIFIER" if kind == "ident" else f"'{kind}'"
            raise self._unexpected(token, wanted)
        return self._next()

    @staticmethod
    def _unexpected(token: Token, wanted: str = "") -> ParseError:
        expecting = f" expecting {wanted}" if wanted else ""
        message = f"Syntax error: mismatched input '{token.text}'{expecting}"
        return ParseError(Issue(token.pos, message))

    # Limits

    def _enter(self, rule: str, pos: int) -> None:
        self._depth[rule] += 1
        if self._depth[rule] > _MAX_DEPTH:
            raise ParseError(Issue(pos, _TOO_DEEP))

    def _height(self, *nodes: AstNode) -> int:
        return max((self._heights.get(id(node), 0) for node in nodes), default=0)

    def _high(self, node: AstNode, height: int, pos: int) -> AstNode:
        if height > _MAX_DEPTH:
            raise ParseError(Issue(pos, _TOO_DEEP))
        if height:
            self._heights[id(node)] = height
        return node

    # Rules

    def start(self) -> AstNode:
        node = self._expr()
        token = self._tokens[self._at]
        if token.kind != "end":
            raise self._unexpected(token, "<EOF>")
        return node

    def _expr(self) -> AstNode:
        before = self._depth["expr"]
        self._enter("expr", self._tokens[self._at].pos)
        node = self._or()
        if question := self._accept("?"):
            if_true = self._or()
            self._expect(":")
            if_false = self._expr()
            height = 1 + self._height(node, if_true, if_false)
            node = Call(question.pos, "_?_:_", None, [node, if_true, if_false])
            self._high(node, height, question.pos)
        self._depth["expr"] = before
        return node

    def _or(self) -> AstNode:
        """``a && b || c``; terms of one operator are flat, as their nesting has no limit."""
        terms: list[AstNode] = []
        factors: list[AstNode] = []
        or_pos = pos = 0
        while True:
            factors.append(self._relation())
            if token := self._accept("&&"):
                pos = token.pos
                continue
            terms.append(self._flat(pos, "_&&_", factors))
            factors = []
            if token := self._accept("||"):
                or_pos = token.pos
                continue
            return self._flat(or_pos, "_||_", terms)

    def _flat(self, pos: int, function: str, terms: list[AstNode]) -> AstNode:
        if len(terms) == 1:
            return terms[0]
        return self._high(Call(pos, function, None, terms), self._height(*terms), pos)

    def _relation(self) -> AstNode:
        before = dict(self._depth)
        self._enter("relation", self._tokens[self._at].pos)
        node = self._sum()
        while (kind := self._peek()) in _RELATIONS:
            token = self._next()
            self._enter("relation", token.pos)
            right = self._sum()
            node = self._binary(token, _RELATIONS[kind], node, right)
        self._depth["relation"] = before["relation"]
        return node

    def _sum(self) -> AstNode:
        """Sums of products; one function, so that nesting costs few frames."""
        before = self._depth["calc"]
        self._enter("calc", self._tokens[self._at].pos)
        total: AstNode | None = None
        sum_token = None
        node = self._unary()
        while True:
            kind = self._peek()
            if kind in _PRODUCTS:
                token = self._next()
                self._enter("calc", token.pos)
                right = self._unary()
                node = self._binary(token, _PRODUCTS[kind], node, right)
                continue
            if total is not None and sum_token is not None:
                node = self._binary(sum_token, _SUMS[sum_token.kind], total, node)
            if kind not in _SUMS:
                self._depth["calc"] = before
                return node
            total, sum_token = node, self._next()
            self._enter("calc", sum_token.pos)
            node = self._unary()

    def _binary(self, token: Token, function: str, left: AstNode, right: AstNode) -> AstNode:
        height = 1 + self._height(left, right)
        return self._high(Call(token.pos, function, None, [left, right]), height, token.pos)

    def _unary(self) -> AstNode:
        token = self._tokens[self._at]
        count = 0
        if token.kind == "!":
            while self._accept("!"):
                count += 1
        elif token.kind == "-":
            while self._peek() == "-" and (count or self._peek(1) not in ("int", "float")):
                self._next()
                count += 1
        node = self._member()
        if count % 2 == 0:
            return node
        function = "!_" if token.kind == "!" else "-_"
        return self._high(Call(token.pos, function, None, [node]), self._height(node), token.pos)

    def _member(self) -> AstNode:
        before = self._depth["member"]
        self._enter("member", self._tokens[self._at].pos)
        node = self._primary()
        while (kind := self._peek()) in (".", "["):
            token = self._next()
            self._enter("member", token.pos)
            node = self._selected(token, node) if kind == "." else self._indexed(token, node)
        self._depth["member"] = before
        return node

    def _selected(self, dot: Token, operand: AstNode) -> AstNode:
        optional = self._accept("?") is not None
        if self._peek() == "quoted":
            raise ParseError(Issue(self._next().pos, "unsupported syntax: '`'"))
        name = self._expect("ident")
        if not optional and (parenthesis := self._accept("(")):
            args = self._arguments()
            height = 1 + self._height(operand, *args)
            return self._call(parenthesis.pos, name.text, operand, args, height)
        height = 1 + self._height(operand)
        if optional:
            field = Literal(name.pos, name.text)
            node: AstNode = Call(dot.pos, "_?._", None, [operand, field])
        else:
            node = Select(dot.pos, operand, name.text)
        return self._high(node, height, dot.pos)

    def _indexed(self, bracket: Token, operand: AstNode) -> AstNode:
        function = "_[?_]" if self._accept("?") else "_[_]"
        index = self._expr()
        self._expect("]")
        height = 1 + self._height(operand, index)
        return self._high(Call(bracket.pos, function, None, [operand, index]), height, bracket.pos)

    def _call(
        self, pos: int, function: str, target: AstNode | None, args: list[AstNode], height: int
    ) -> AstNode:
        node = expand(pos, function, target, args)
        if node is None:
            node = Call(pos, function, target, args)
        return self._high(node, height, pos)

    def _arguments(self) -> list[AstNode]:
        args: list[AstNode] = []
        if not self._accept(")"):
            args.append(self._expr())
            while self._accept(","):
                args.append(self._expr())
            self._expect(")")
        return args

    def _primary(self) -> AstNode:
        token = self._next()
        kind = token.kind
        if kind in (".", "ident"):
            return self._named(token)
        if kind == "(":
            node = self._expr()
            self._expect(")")
            return node
        if kind == "[":
            return self._list(token)
        if kind == "{":
            return self._map(token)
        return self._literal(token)

    def _named(self, token: Token) -> AstNode:
        start = token
        prefix = ""
        if token.kind == ".":
            prefix = "."
            token = self._expect("ident")
        length = 0
        while self._peek(length) == "." and self._peek(length + 1) == "ident":
            length += 2
        if self._peek(length) == "{":
            name = prefix + token.text
            for _ in range(length // 2):
                self._next()
                name += "." + self._next().text
            return self._struct(name)
        if token.text in _RESERVED:
            raise ParseError(Issue(start.pos, f"reserved identifier: {token.text}"))
        if parenthesis := self._accept("("):
            args = self._arguments()
            return self._call(parenthesis.pos, prefix + token.text, None, args, self._height(*args))
        return Ident(token.pos, prefix + token.text)

    def _list(self, bracket: Token) -> AstNode:
        elements: list[AstNode] = []
        optional: set[int] = set()
        while self._peek() != "]" and not (self._peek() == "," and not elements):
            if self._accept("?"):
                optional.add(len(elements))
            elements.append(self._expr())
            if self._peek() == "]" or not self._accept(","):
                break
        else:
            self._accept(",")
        self._expect("]")
        return self._high(
            ListNode(bracket.pos, elements, frozenset(optional)),
            self._height(*elements), bracket.pos,
        )  # fmt: skip

    def _map(self, brace: Token) -> AstNode:
        entries: list[tuple[AstNode, AstNode, bool]] = []
        while self._peek() != "}" and not (self._peek() == "," and not entries):
            optional = self._accept("?") is not None
            key = self._expr()
            self._expect(":")
            entries.append((key, self._expr(), optional))
            if self._peek() == "}" or not self._accept(","):
                break
        else:
            self._accept(",")
        self._expect("}")
        parts = [part for key, value, _ in entries for part in (key, value)]
        return self._high(MapNode(brace.pos, entries), self._height(*parts), brace.pos)

    def _struct(self, name: str) -> AstNode:
        brace = self._expect("{")
        fields: list[tuple[str, AstNode, bool, int]] = []
        while self._peek() != "}" and not (self._peek() == "," and not fields):
            optional = self._accept("?") is not None
            field = self._expect("ident")
            colon = self._expect(":")
            fields.append((field.text, self._expr(), optional, colon.pos))
            if self._peek() == "}" or not self._accept(","):
                break
        else:
            self._accept(",")
        self._expect("}")
        height = self._height(*(value for _, value, _, _ in fields))
        return self._high(StructNode(brace.pos, name, fields), height, brace.pos)

    def _literal(self, token: Token) -> AstNode:
        kind, text = token.kind, token.text
        if kind == "-" and self._peek() in ("int", "float"):
            number = self._next()
            kind, text = number.kind, "-" + number.text
        try:
            return Literal(token.pos, _value(kind, text))
        except KeyError as error:
            raise self._unexpected(token) from error
        except (ValueError, OverflowError) as error:
            raise ParseError(Issue(token.pos, str(error))) from error


def _value(kind: str, text: str) -> object:
    if kind == "int":
        return _int(text)
    if kind == "uint":
        number = _digits(text[:-1])
        if number >= 2**64:
            raise ValueError("invalid uint literal")
        return Uint(number)
    if kind == "float":
        if (double := float(text)) in (float("inf"), float("-inf")):
            raise ValueError("invalid double literal")
        return double
    if kind == "string":
        return unquote(text)
    if kind == "bytes":
        return unquote_bytes(text)
    return {"true": True, "false": False, "null": None}[kind]


def _int(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    number = sign * _digits(text.removeprefix("-"))
    if number not in _INT:
        raise ValueError("invalid int literal")
    return number


def _digits(text: str) -> int:
    if text.startswith("0x"):
        return int(text, 16)
    text = text.lstrip("0") or "0"
    return int(text) if len(text) < 30 else 2**64
