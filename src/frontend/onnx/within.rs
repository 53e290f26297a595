//! Graphs within graphs that are read for what they tell of the nodes that hold them: how many may be, and what they told.

use super::Surroundings;
use crate::graph::{Constant, DataType, TensorDesc};
use crate::status::Error;
use prost::Message;
use prost::bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// Nodes that may be read once more in a model of any size.
const MIN_NODES: usize = 1 << 15;
/// For each so many bytes of its nodes a larger model may read one more, and as many for each gear: about ten times its own.
const BYTES_A_NODE: usize = 16;

/// Shared by all that is read of a model.
pub struct Within {
    /// Nodes that may be read once more, and those of them that were.
    most: usize,
    spent: Cell<usize>,
    /// What graphs told, so that none is read twice for the same: calls within may otherwise double with each level.
    told: RefCell<HashMap<Key, Results>>,
    /// What is wrong with a node that holds graphs, however deep it stands.
    wrong: RefCell<Option<Error>>,
}

/// A tensor that a graph takes from around it, or is handed.
pub struct Outer {
    pub name: String,
    pub desc: TensorDesc,
    pub value: Option<Constant>,
}

/// A tensor that a graph gives.
#[derive(Clone)]
pub struct Given {
    pub desc: TensorDesc,
    /// Its value, where it is known.
    pub value: Option<Constant>,
}

/// What a graph told; `None` where it could not be read.
pub type Results = Option<Rc<[Given]>>;

/// A graph and what it is read with: where both are the same, it tells the same.
#[derive(PartialEq, Eq, Hash)]
pub struct Key {
    graph: Bytes,
    /// A hash of the tensors that it takes from around, with their small values, of the opset, and of the parameters of the
    /// functions around it.
    with: u64,
    /// Graphs around it, which leave so many fewer to be looked into within.
    depth: usize,
}

impl Key {
    /// `outer` is what the graph takes.
    pub fn of(graph: Bytes, outer: &[Outer], surroundings: &Surroundings<'_>) -> Key {
        let mut hasher = DefaultHasher::new();
        surroundings.opset.hash(&mut hasher);
        let mut given: Vec<_> = surroundings.given.iter().collect();
        given.sort_unstable_by_key(|(name, _)| *name);
        for (name, value) in given {
            (name, value.encode_to_vec()).hash(&mut hasher);
        }
        for Outer { name, desc, value } in outer {
            (name, desc.dtype as u32, desc.shape.dims()).hash(&mut hasher);
            (desc.format as u32).hash(&mut hasher);
            match value {
                Some(Constant::Ints(values)) => (1, values).hash(&mut hasher),
                Some(Constant::Floats(values)) => {
                    2.hash(&mut hasher);
                    for value in values {
                        value.to_bits().hash(&mut hasher);
                    }
                }
                Some(Constant::Stored(_) | Constant::Opaque) => 3.hash(&mut hasher),
                None => 4.hash(&mut hasher),
            }
        }
        Key { graph, with: hasher.finish(), depth: surroundings.depth }
    }
}

impl Within {
    /// For a model whose nodes have so many bytes, and that is tuned for so many gears.
    pub fn new(bytes: usize, gears: usize) -> Self {
        let more = (bytes / BYTES_A_NODE).saturating_mul(gears.saturating_add(1));
        let most = MIN_NODES.saturating_add(more);
        Within { most, spent: Cell::new(0), told: RefCell::default(), wrong: RefCell::default() }
    }

    /// Whether nothing more may be read.
    pub fn is_spent(&self) -> bool {
        self.spent.get() >= self.most
    }

    /// How many nodes were read once more.
    pub fn spent(&self) -> usize {
        self.spent.get()
    }

    /// Takes so many nodes from those that may still be read; whether there were as many.
    pub fn spend(&self, nodes: usize) -> bool {
        self.spent.set(self.spent.get().saturating_add(nodes));
        self.spent.get() <= self.most
    }

    /// What the graph told when it was read with the same.
    pub fn told(&self, key: &Key) -> Option<Results> {
        self.told.borrow().get(key).cloned()
    }

    /// Keeps what a graph told.
    pub fn keep(&self, key: Key, told: Results) {
        self.told.borrow_mut().insert(key, told);
    }

    /// Notes what is wrong; the first is told.
    pub fn refuse(&self, error: Error) {
        self.wrong.borrow_mut().get_or_insert(error);
    }

    /// What was found to be wrong.
    pub fn wrong(&self) -> Option<Error> {
        self.wrong.borrow_mut().take()
    }
}

/// The value of a tensor as far as it may decide something.
pub fn small(value: Option<&Constant>, dtype: DataType) -> Option<Constant> {
    value
        .filter(|value| matches!(value, Constant::Ints(_) | Constant::Floats(_)) && dtype != DataType::Undefined)
        .cloned()
}
