//! Constraints of a space: read, checked, and split into parts that can be decided one by one.

use super::expression::{Expression, Names, Node, NodeId, parse, tokens};
use super::parameter::Parameter;
use super::value::Number;
use aoe_base::status::{Error, Result};
use std::sync::Arc;

/// Constraints that one space can have.
pub const MAX_CONSTRAINTS: usize = 65536;

/// A condition that every legal configuration meets.
#[derive(Debug, Clone)]
pub struct Constraint {
    /// Which of the constraints given it is a part of.
    pub source: usize,
    /// The constraint as written.
    pub text: Arc<str>,
    expression: Arc<Expression>,
    /// Where in the expression this part has its value.
    pub root: NodeId,
    /// The parameters it depends on, ascending.
    pub parameters: Vec<u32>,
}

impl Constraint {
    /// The operations of the expression.
    pub fn nodes(&self) -> &[Node] {
        &self.expression.nodes
    }

    /// The operations that this part needs, each after its operands.
    pub fn cone(&self) -> Vec<NodeId> {
        self.expression.cone(self.root)
    }

    /// How messages name it.
    pub fn place(&self) -> String {
        place(self.source, &self.text, 1)
    }
}

/// Characters of a constraint that a message shows.
const SHOWN: usize = 200;

/// How messages name a constraint; of a long one they show what surrounds a column, counted from 1.
fn place(source: usize, text: &str, column: usize) -> String {
    let length = text.chars().count();
    if length <= SHOWN {
        return format!("constraints[{source}] `{text}`");
    }
    let start = column.saturating_sub(SHOWN / 2).min(length - SHOWN);
    let shown: String = text.chars().skip(start).take(SHOWN).collect();
    let (before, after) = (if start > 0 { "..." } else { "" }, if start + SHOWN < length { "..." } else { "" });
    format!("constraints[{source}] `{before}{shown}{after}`")
}

/// The constraints of a space, and what expressions compute with for each value of each parameter.
pub type Read = (Vec<Constraint>, Vec<Vec<Number>>);

/// Reads constraints over some parameters. Those that always hold are left out.
///
/// Fails with [`Error::Space`], which names constraint and column, for one that is malformed or can never hold.
pub fn read(parameters: &[Parameter], texts: &[impl AsRef<str>]) -> Result<Read> {
    if texts.len() > MAX_CONSTRAINTS {
        let reason = format!("{} are too many; a space can have {MAX_CONSTRAINTS}", texts.len());
        return Err(Error::space("constraints", reason));
    }
    let texts: Vec<Arc<str>> = texts.iter().map(|text| Arc::from(text.as_ref())).collect();
    let located = |source: usize, fault: super::expression::Fault| {
        Error::space(format!("{}, column {}", place(source, &texts[source], fault.column), fault.column), fault.reason)
    };
    let lexed = texts.iter().enumerate().map(|(i, text)| tokens(text).map_err(|fault| located(i, fault)));
    let lexed = lexed.collect::<Result<Vec<_>>>()?;
    let names = Names::new(parameters, lexed.iter().flatten());
    let mut constraints = Vec::new();
    for (source, tokens) in lexed.iter().enumerate() {
        let expression = Arc::new(parse(tokens, &names).map_err(|fault| located(source, fault))?);
        for root in expression.conjuncts() {
            if let Node::Constant(number) = expression.nodes[root as usize] {
                if number.truth() == Some(true) {
                    continue;
                }
                let reason = "no configuration can meet it, because it does not depend on them and is false";
                return Err(Error::space(place(source, &texts[source], 1), reason));
            }
            constraints.push(Constraint {
                source,
                text: Arc::clone(&texts[source]),
                root,
                parameters: expression.parameters(root),
                expression: Arc::clone(&expression),
            });
        }
    }
    let numbers = parameters.iter().map(|p| p.values().iter().map(|value| names.number(value)).collect());
    Ok((constraints, numbers.collect()))
}
