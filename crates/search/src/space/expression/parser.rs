//! Tokens to an expression whose names and types are checked.

use super::super::parameter::{Parameter, ValueKind};
use super::super::value::{Number, Value};
use super::lexer::{Kind, Token};
use super::{Binary, Expression, Fault, Node, NodeId, Unary};
use aoe_base::spelling;
use rustc_hash::FxHashMap;

/// Brackets and signs inside each other; more are a mistake or an attack.
const MAX_DEPTH: usize = 100;
/// Functions there are.
const FUNCTIONS: [&str; 3] = ["abs", "max", "min"];
/// Words that are operators.
const OPERATORS: [&str; 4] = ["and", "or", "not", "in"];

/// What names and texts mean in a space.
#[derive(Debug, Default)]
pub struct Names {
    parameters: FxHashMap<String, (u32, ValueKind)>,
    /// Every text of the space's parameters and constraints, sorted; expressions compare ranks.
    texts: Vec<String>,
}

impl Names {
    /// The names of some parameters, and the texts in them and in some tokens.
    pub fn new<'a>(parameters: &[Parameter], tokens: impl IntoIterator<Item = &'a Token>) -> Names {
        let written = tokens.into_iter().filter_map(|token| match &token.kind {
            Kind::Text(text) => Some(text.clone()),
            _ => None,
        });
        let values = parameters.iter().flat_map(Parameter::values).filter_map(|value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        });
        let mut texts: Vec<String> = written.chain(values).collect();
        texts.sort_unstable();
        texts.dedup();
        let numbered = parameters.iter().zip(0..);
        let parameters = numbered.map(|(p, index)| (p.name().to_owned(), (index, p.kind()))).collect();
        Names { parameters, texts }
    }

    /// What expressions compute with for a value of a parameter.
    pub fn number(&self, value: &Value) -> Number {
        match value {
            Value::Text(text) => self.rank(text),
            Value::Integer(_) | Value::Real(_) | Value::Boolean(_) => value.number().unwrap_or(Number::Undefined),
        }
    }

    fn rank(&self, text: &str) -> Number {
        self.texts
            .binary_search_by(|known| known.as_str().cmp(text))
            .map_or(Number::Undefined, |rank| Number::Integer(rank as i64))
    }
}

/// Reads an expression.
///
/// Fails where it is malformed, names something unknown, uses a text as a number or divides by a zero that
/// is written there.
pub fn parse(tokens: &[Token], names: &Names) -> Result<Expression, Fault> {
    let mut parser = Parser { tokens, at: 0, names, nodes: Vec::new(), depth: 0 };
    let root = parser.or()?;
    let rest = parser.peek();
    match &rest.kind {
        Kind::End => {}
        Kind::Symbol("=") => return Err(Fault::new(rest.column, "a single `=` compares nothing; write `==`")),
        kind => return Err(Fault::new(rest.column, format!("expected an operator, found {}", described(kind)))),
    }
    if root.text {
        return Err(Fault::new(root.column, "a text is neither true nor false; compare it with `==` or `in`"));
    }
    Ok(Expression { nodes: parser.nodes, root: root.node })
}

/// A part of an expression while it is read.
#[derive(Debug, Clone, Copy)]
struct Part {
    node: NodeId,
    /// Whether its value is a text.
    text: bool,
    column: usize,
}

struct Parser<'a> {
    tokens: &'a [Token],
    at: usize,
    names: &'a Names,
    nodes: Vec<Node>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Token {
        // The last token is End and is never passed.
        &self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    /// Passes the token when it is one of these symbols or words, and says which and where.
    fn accept(&mut self, wanted: &[&'static str]) -> Option<(&'static str, usize)> {
        let token = self.peek();
        let spelled = match &token.kind {
            Kind::Symbol(symbol) => symbol,
            Kind::Word(word) => word.as_str(),
            _ => return None,
        };
        let found = wanted.iter().copied().find(|&wanted| wanted == spelled)?;
        self.at += 1;
        Some((found, token.column))
    }

    fn expect(&mut self, symbol: &'static str) -> Result<(), Fault> {
        if self.accept(&[symbol]).is_some() {
            return Ok(());
        }
        let token = self.peek();
        Err(Fault::new(token.column, format!("expected `{symbol}`, found {}", described(&token.kind))))
    }

    /// Runs a rule one level deeper.
    fn deeper(&mut self, rule: impl FnOnce(&mut Self) -> Result<Part, Fault>) -> Result<Part, Fault> {
        if self.depth == MAX_DEPTH {
            let column = self.peek().column;
            return Err(Fault::new(column, format!("more than {MAX_DEPTH} brackets or signs inside each other")));
        }
        self.depth += 1;
        let part = rule(self);
        self.depth -= 1;
        part
    }

    fn or(&mut self) -> Result<Part, Fault> {
        let mut left = self.and()?;
        while let Some((_, column)) = self.accept(&["or", "||"]) {
            let right = self.and()?;
            left = self.numeric("or", Binary::Or, left, right, column)?;
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Part, Fault> {
        let mut left = self.not()?;
        while let Some((_, column)) = self.accept(&["and", "&&"]) {
            let right = self.not()?;
            left = self.numeric("and", Binary::And, left, right, column)?;
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Part, Fault> {
        let Some((_, column)) = self.accept(&["not"]) else { return self.comparison() };
        let operand = self.deeper(Self::not)?;
        self.unary_node("not", Unary::Not, operand, column)
    }

    /// A chain of comparisons: each link must hold.
    fn comparison(&mut self) -> Result<Part, Fault> {
        let mut left = self.sum()?;
        let mut chain: Option<Part> = None;
        while let Some((operator, column)) = self.accept(&["<", "<=", ">", ">=", "==", "!=", "in", "not"]) {
            let link = if let "in" | "not" = operator {
                if operator == "not" && self.accept(&["in"]).is_none() {
                    return Err(Fault::new(column, "expected an operator, found `not`"));
                }
                let inside = self.membership(left, column)?;
                if operator == "in" { inside } else { self.unary_node("not in", Unary::Not, inside, column)? }
            } else {
                let right = self.sum()?;
                let link = self.compared(operator, left, right, column)?;
                left = right;
                link
            };
            chain = Some(match chain {
                None => link,
                Some(chain) => self.numeric("and", Binary::And, chain, link, column)?,
            });
        }
        Ok(chain.unwrap_or(left))
    }

    fn membership(&mut self, left: Part, column: usize) -> Result<Part, Fault> {
        let Some((open, _)) = self.accept(&["[", "(", "{"]) else {
            let token = self.peek();
            let reason = format!("expected a list such as [1, 2], found {}", described(&token.kind));
            return Err(Fault::new(token.column, reason));
        };
        let close = ["]", ")", "}"][["[", "(", "{"].iter().position(|&o| o == open).unwrap_or(0)];
        let mut any: Option<Part> = None;
        loop {
            if any.is_some() && self.accept(&[close]).is_some() {
                break;
            }
            let item = self.deeper(Self::or)?;
            let equal = self.compared("==", left, item, column)?;
            any = Some(match any {
                None => equal,
                Some(any) => self.numeric("in", Binary::Or, any, equal, column)?,
            });
            if self.accept(&[","]).is_none() {
                self.expect(close)?;
                break;
            }
        }
        any.ok_or_else(|| Fault::new(column, "the list is empty"))
    }

    fn compared(&mut self, operator: &str, a: Part, b: Part, column: usize) -> Result<Part, Fault> {
        if a.text != b.text {
            let (text, number) = if a.text { (a, b) } else { (b, a) };
            let reason = format!(
                "`{operator}` cannot compare a text (column {}) with a number (column {})",
                text.column, number.column
            );
            return Err(Fault::new(column, reason));
        }
        let (binary, a, b) = match operator {
            "<" => (Binary::Less, a, b),
            "<=" => (Binary::LessOrEqual, a, b),
            ">" => (Binary::Less, b, a),
            ">=" => (Binary::LessOrEqual, b, a),
            "!=" => (Binary::NotEqual, a, b),
            _ => (Binary::Equal, a, b),
        };
        self.binary_node(binary, a, b, column)
    }

    fn sum(&mut self) -> Result<Part, Fault> {
        let mut left = self.product()?;
        while let Some((operator, column)) = self.accept(&["+", "-"]) {
            let right = self.product()?;
            let binary = if operator == "+" { Binary::Add } else { Binary::Subtract };
            left = self.numeric(operator, binary, left, right, column)?;
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Part, Fault> {
        let mut left = self.unary()?;
        while let Some((operator, column)) = self.accept(&["*", "/", "//", "%"]) {
            let right = self.unary()?;
            let binary = match operator {
                "*" => Binary::Multiply,
                "/" => Binary::Divide,
                "//" => Binary::DivideDown,
                _ => Binary::Remainder,
            };
            left = self.numeric(operator, binary, left, right, column)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Part, Fault> {
        let Some((operator, column)) = self.accept(&["-", "+", "!"]) else { return self.power() };
        let operand = self.deeper(Self::unary)?;
        match operator {
            "-" => self.unary_node("-", Unary::Negate, operand, column),
            "!" => self.unary_node("!", Unary::Not, operand, column),
            _ if operand.text => Err(no_number("+", operand)),
            _ => Ok(operand),
        }
    }

    fn power(&mut self) -> Result<Part, Fault> {
        let base = self.atom()?;
        let Some((_, column)) = self.accept(&["**"]) else { return Ok(base) };
        let exponent = self.deeper(Self::unary)?;
        self.numeric("**", Binary::Power, base, exponent, column)
    }

    fn atom(&mut self) -> Result<Part, Fault> {
        let token = self.peek();
        let column = token.column;
        let constant = |number| Ok((Node::Constant(number), false));
        let (node, text) = match &token.kind {
            Kind::Integer(value) => constant(Number::Integer(*value)),
            Kind::Real(value) => constant(Number::Real(*value)),
            Kind::Text(text) => Ok((Node::Constant(self.names.rank(text)), true)),
            Kind::Word(word) if matches!(self.tokens.get(self.at + 1), Some(t) if t.kind == Kind::Symbol("(")) => {
                return self.call(word, column);
            }
            Kind::Word(word) => self.name(word, column),
            Kind::Symbol("(") => {
                self.at += 1;
                let inner = self.deeper(Self::or)?;
                self.expect(")")?;
                return Ok(Part { column, ..inner });
            }
            kind => Err(Fault::new(column, format!("expected a value, found {}", described(kind)))),
        }?;
        self.at += 1;
        Ok(Part { node: self.push(node), text, column })
    }

    fn name(&self, word: &str, column: usize) -> Result<(Node, bool), Fault> {
        if let Some(&(parameter, kind)) = self.names.parameters.get(word) {
            return Ok((Node::Parameter(parameter), kind == ValueKind::Texts));
        }
        match word {
            "True" | "true" => return Ok((Node::Constant(Number::from(true)), false)),
            "False" | "false" => return Ok((Node::Constant(Number::from(false)), false)),
            _ if OPERATORS.contains(&word) => {
                return Err(Fault::new(column, format!("expected a value, found `{word}`")));
            }
            _ => {}
        }
        let names = || self.names.parameters.keys().map(String::as_str);
        let hint = spelling::nearest(word, names()).map_or_else(
            || {
                let mut all: Vec<&str> = names().collect();
                all.sort_unstable();
                format!("there is: {}", spelling::listed(&all))
            },
            |name| format!("did you mean `{name}`?"),
        );
        Err(Fault::new(column, format!("no parameter is called `{word}`; {hint}")))
    }

    fn call(&mut self, function: &str, column: usize) -> Result<Part, Fault> {
        if !FUNCTIONS.contains(&function) {
            let reason = format!("there is no function `{function}`; there is: {}", FUNCTIONS.join(", "));
            return Err(Fault::new(column, reason));
        }
        self.at += 2;
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.deeper(Self::or)?);
            if self.accept(&[","]).is_none() {
                break;
            }
        }
        self.expect(")")?;
        let (first, rest) = (arguments[0], &arguments[1..]);
        if function == "abs" {
            if let Some(second) = rest.first() {
                return Err(Fault::new(second.column, "`abs` takes one value"));
            }
            return self.unary_node("abs", Unary::Magnitude, first, column);
        }
        if rest.is_empty() {
            return Err(Fault::new(column, format!("`{function}` takes two values or more")));
        }
        let binary = if function == "min" { Binary::Minimum } else { Binary::Maximum };
        let mut result = first;
        for &argument in rest {
            result = self.numeric(function, binary, result, argument, column)?;
        }
        Ok(result)
    }

    /// An operation that takes numbers only.
    fn numeric(&mut self, name: &str, binary: Binary, a: Part, b: Part, column: usize) -> Result<Part, Fault> {
        match [a, b].into_iter().find(|part| part.text) {
            Some(text) => Err(no_number(name, text)),
            None => self.binary_node(binary, a, b, column),
        }
    }

    fn binary_node(&mut self, binary: Binary, a: Part, b: Part, column: usize) -> Result<Part, Fault> {
        let node = match (self.constant(a), self.constant(b)) {
            (Some(x), Some(y)) => folded(binary.apply(x, y), column)?,
            _ => Node::Binary(binary, a.node, b.node),
        };
        Ok(Part { node: self.push(node), text: false, column: a.column.min(b.column) })
    }

    fn unary_node(&mut self, name: &str, unary: Unary, a: Part, column: usize) -> Result<Part, Fault> {
        if a.text {
            return Err(no_number(name, a));
        }
        let node = match self.constant(a) {
            Some(number) => folded(unary.apply(number), column)?,
            None => Node::Unary(unary, a.node),
        };
        Ok(Part { node: self.push(node), text: false, column })
    }

    fn constant(&self, part: Part) -> Option<Number> {
        match self.nodes[part.node as usize] {
            Node::Constant(number) => Some(number),
            _ => None,
        }
    }

    fn push(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() as NodeId - 1
    }
}

fn folded(number: Number, column: usize) -> Result<Node, Fault> {
    match number {
        Number::Undefined => {
            Err(Fault::new(column, "this has no value: it divides by zero or its result is beyond 64 bits"))
        }
        number => Ok(Node::Constant(number)),
    }
}

fn no_number(operator: &str, part: Part) -> Fault {
    Fault::new(part.column, format!("`{operator}` takes numbers, and this is a text"))
}

fn described(kind: &Kind) -> String {
    match kind {
        Kind::Integer(value) => format!("`{value}`"),
        Kind::Real(value) => format!("`{value:?}`"),
        Kind::Text(text) => format!("the text {text:?}"),
        Kind::Word(word) => format!("`{word}`"),
        Kind::Symbol(symbol) => format!("`{symbol}`"),
        Kind::End => "the end".to_owned(),
    }
}
