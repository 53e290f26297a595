//! Constraints compiled for one order of binding parameters.
//!
//! Each operation stands at the level where the last parameter it depends on is bound, so that a loop over
//! the values of a level computes what changes there and nothing else; operations that several constraints
//! share are computed once. A constraint is decided at the level of its last parameter, and before that at
//! each of its other parameters refuted where the ranges of what is still open leave it no way to hold.

use super::constraint::Constraint;
use super::expression::{Binary, Node, NodeId, Range, Unary};
use super::value::Number;
use rustc_hash::FxHashMap;

/// Values that a parameter can take in a group, as its constraints of one parameter have left them: index in
/// its list, and what expressions compute with.
pub type Choices = Vec<(u32, Number)>;

/// Compiled constraints over some parameters.
#[derive(Debug, Clone)]
pub struct Program {
    /// Where a node stands that is a parameter is its level, so the first nodes are the parameters.
    nodes: Vec<Node>,
    /// The level from which on a node's value is known; constants are known at level 0.
    known: Vec<usize>,
    levels: Vec<Level>,
}

/// What happens when a parameter is bound.
#[derive(Debug, Clone)]
struct Level {
    choices: Choices,
    /// Operations whose last operand is this parameter, in order.
    compute: Vec<NodeId>,
    /// Conditions that are decided now.
    decided: Vec<NodeId>,
    /// Conditions that depend on this parameter and on later ones.
    open: Vec<Open>,
}

/// A condition that is not decided yet.
#[derive(Debug, Clone)]
struct Open {
    root: NodeId,
    /// Its operations that depend on parameters still open, in order.
    steps: Vec<NodeId>,
}

/// Values of a walk under way.
#[derive(Debug, Clone)]
pub struct State {
    numbers: Vec<Number>,
    ranges: Vec<Range>,
    /// The value index bound at each level.
    pub bound: Vec<u32>,
}

impl State {
    /// The result of an operation whose parameters are bound.
    pub fn number(&self, node: NodeId) -> Number {
        self.numbers[node as usize]
    }
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Every configuration was visited.
    Complete,
    /// The visitor had enough.
    Stopped,
    /// So many values were tried as allowed.
    OutOfSteps,
}

impl Program {
    /// Compiles constraints that depend on the parameters of `order` only, bound in that order; `choices` is
    /// by parameter.
    pub fn new<'a>(
        order: &[u32],
        choices: &[Choices],
        constraints: impl IntoIterator<Item = &'a Constraint>,
    ) -> Program {
        let mut compiler = Compiler::new(order);
        let roots: Vec<NodeId> = constraints.into_iter().map(|constraint| compiler.add(constraint)).collect();
        let Compiler { nodes, known, .. } = compiler;
        let level = |parameter: &u32| Level {
            choices: choices[*parameter as usize].clone(),
            compute: Vec::new(),
            decided: Vec::new(),
            open: Vec::new(),
        };
        let mut program = Program { levels: order.iter().map(level).collect(), nodes, known };
        for id in order.len()..program.nodes.len() {
            if !matches!(program.nodes[id], Node::Constant(_)) {
                program.levels[program.known[id]].compute.push(id as NodeId);
            }
        }
        for root in roots {
            program.place(root);
        }
        program
    }

    /// Puts a condition at every level where something can be said about it.
    fn place(&mut self, root: NodeId) {
        let last = self.known[root as usize];
        if self.levels[last].decided.contains(&root) {
            return;
        }
        self.levels[last].decided.push(root);
        let cone = self.cone(root);
        for level in 0..last {
            if cone.binary_search(&(level as NodeId)).is_ok() {
                let open = cone.iter().copied().filter(|&id| id as usize >= self.levels.len());
                let steps = open.filter(|&id| self.known[id as usize] > level).collect();
                self.levels[level].open.push(Open { root, steps });
            }
        }
    }

    /// The operations below one of them, ascending; it is the last.
    fn cone(&self, root: NodeId) -> Vec<NodeId> {
        let mut wanted = vec![false; root as usize + 1];
        wanted[root as usize] = true;
        for id in (0..=root as usize).rev() {
            if wanted[id] {
                for operand in self.nodes[id].operands() {
                    wanted[operand as usize] = true;
                }
            }
        }
        (0..=root).filter(|&id| wanted[id as usize]).collect()
    }

    /// Number of parameters.
    pub fn width(&self) -> usize {
        self.levels.len()
    }

    /// The values of a level.
    pub fn choices(&self, level: usize) -> &Choices {
        &self.levels[level].choices
    }

    /// A state with nothing bound.
    pub fn start(&self) -> State {
        let mut numbers = vec![Number::Undefined; self.nodes.len()];
        let mut ranges = vec![Range::ALL; self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate() {
            if let Node::Constant(number) = node {
                numbers[id] = *number;
            }
        }
        for (range, level) in ranges.iter_mut().zip(&self.levels) {
            *range = level.choices.iter().map(|&(_, n)| Range::point(n)).fold(Range::NONE, Range::hull);
        }
        State { numbers, ranges, bound: vec![0; self.levels.len()] }
    }

    /// The results that operations of a level and of later ones read from earlier levels.
    pub fn read_from(&self, level: usize) -> Vec<NodeId> {
        let mut read = vec![false; self.nodes.len()];
        for (node, _) in self.nodes.iter().zip(&self.known).filter(|&(_, &known)| known >= level) {
            for operand in node.operands() {
                let constant = matches!(self.nodes[operand as usize], Node::Constant(_));
                read[operand as usize] |= !constant && self.known[operand as usize] < level;
            }
        }
        (0..read.len() as NodeId).filter(|&id| read[id as usize]).collect()
    }

    /// Binds a level to one of its choices, when all levels before it are bound. False: no legal configuration
    /// begins like that. True: perhaps one does, and at the last level it is one.
    #[inline]
    pub fn bind(&self, state: &mut State, level: usize, choice: usize) -> bool {
        let here = &self.levels[level];
        let (index, number) = here.choices[choice];
        state.bound[level] = index;
        state.numbers[level] = number;
        for &id in &here.compute {
            state.numbers[id as usize] = match self.nodes[id as usize] {
                Node::Unary(unary, a) => unary.apply(state.numbers[a as usize]),
                Node::Binary(binary, a, b) => binary.apply(state.numbers[a as usize], state.numbers[b as usize]),
                Node::Constant(number) => number,
                Node::Parameter(_) => continue,
            };
        }
        here.decided.iter().all(|&root| state.numbers[root as usize].truth() == Some(true))
            && here.open.iter().all(|open| self.may_hold(state, level, open))
    }

    /// Binds a level to a value index; false also where the index is none of its choices.
    pub fn bind_index(&self, state: &mut State, level: usize, index: u32) -> bool {
        let choice = self.levels[level].choices.binary_search_by_key(&index, |&(index, _)| index);
        choice.is_ok_and(|choice| self.bind(state, level, choice))
    }

    fn may_hold(&self, state: &mut State, level: usize, open: &Open) -> bool {
        for &id in &open.steps {
            let operand = |a: NodeId| {
                if self.known[a as usize] <= level {
                    Range::point(state.numbers[a as usize])
                } else {
                    state.ranges[a as usize]
                }
            };
            state.ranges[id as usize] = match self.nodes[id as usize] {
                Node::Unary(unary, a) => Range::unary(unary, operand(a)),
                Node::Binary(binary, a, b) => Range::binary(binary, operand(a), operand(b)),
                Node::Constant(_) | Node::Parameter(_) => continue,
            };
        }
        state.ranges[open.root as usize].may_hold()
    }

    /// Visits the legal configurations that begin with what is bound before level `from`, in lexicographic
    /// order of the program's levels. The visitor answers whether to go on; each value that is tried takes
    /// one of `steps`.
    pub fn walk(
        &self,
        state: &mut State,
        from: usize,
        steps: &mut u64,
        mut visit: impl FnMut(&[u32]) -> bool,
    ) -> Ended {
        let width = self.levels.len();
        if from == width {
            return if visit(&state.bound) { Ended::Complete } else { Ended::Stopped };
        }
        let mut next = vec![0; width];
        let mut level = from;
        loop {
            let choice = next[level];
            if choice == self.levels[level].choices.len() {
                if level == from {
                    return Ended::Complete;
                }
                level -= 1;
                continue;
            }
            next[level] += 1;
            if *steps == 0 {
                return Ended::OutOfSteps;
            }
            *steps -= 1;
            if !self.bind(state, level, choice) {
                continue;
            }
            if level + 1 < width {
                level += 1;
                next[level] = 0;
            } else if !visit(&state.bound) {
                return Ended::Stopped;
            }
        }
    }
}

/// Gathers the nodes of several constraints into one list, equal ones once.
struct Compiler<'a> {
    order: &'a [u32],
    nodes: Vec<Node>,
    known: Vec<usize>,
    seen: FxHashMap<Key, NodeId>,
}

/// What two equal operations share.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Integer(i64),
    Real(u64),
    Unary(Unary, NodeId),
    Binary(Binary, NodeId, NodeId),
}

impl<'a> Compiler<'a> {
    fn new(order: &'a [u32]) -> Compiler<'a> {
        let nodes = order.iter().map(|&parameter| Node::Parameter(parameter)).collect();
        Compiler { order, nodes, known: (0..order.len()).collect(), seen: FxHashMap::default() }
    }

    fn add(&mut self, constraint: &Constraint) -> NodeId {
        let mut placed: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for id in constraint.cone() {
            let node = match constraint.nodes()[id as usize] {
                Node::Unary(unary, a) => Node::Unary(unary, placed[&a]),
                Node::Binary(binary, a, b) => Node::Binary(binary, placed[&a], placed[&b]),
                leaf => leaf,
            };
            placed.insert(id, self.intern(node));
        }
        placed[&constraint.root]
    }

    fn intern(&mut self, node: Node) -> NodeId {
        let (key, known) = match node {
            Node::Parameter(parameter) => {
                let level = self.order.iter().position(|&p| p == parameter);
                return level.expect("constraints of a program depend on its parameters only") as NodeId;
            }
            Node::Constant(Number::Integer(value)) => (Key::Integer(value), 0),
            Node::Constant(number) => (Key::Real(number.real().unwrap_or(f64::NAN).to_bits()), 0),
            Node::Unary(unary, a) => (Key::Unary(unary, a), self.known[a as usize]),
            Node::Binary(binary, a, b) => {
                (Key::Binary(binary, a, b), self.known[a as usize].max(self.known[b as usize]))
            }
        };
        *self.seen.entry(key).or_insert_with(|| {
            self.nodes.push(node);
            self.known.push(known);
            self.nodes.len() as NodeId - 1
        })
    }
}
