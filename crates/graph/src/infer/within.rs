//! The product that a kernel computes which does more ([`crate::op::Within`]): its sizes, from the same readings of a node as
//! the shape rule of its operator.

use super::dim::Reason;
use super::language::{packs_words, stack_of};
use super::matmul::Product;
use super::{Call, exchange, groups};
use crate::op::Reading;

/// Reads the node: its first product where there are several. `None` where sizes of it are not told by its tensors.
pub fn product_within(call: &Call<'_>, reading: Reading) -> Result<Option<Product>, Reason> {
    match reading {
        Reading::Operands if packs_words(call, 1) => Ok(None),
        Reading::Operands => Product::of(call),
        Reading::Turned => stack_of(call),
        Reading::Gathered => exchange::gathered(call),
        Reading::Exchanged => exchange::exchanged(call),
        Reading::Stack => exchange::gathered_stack(call),
        Reading::Groups { transposed } => groups::product(call, transposed),
        Reading::FeedForward => Ok(groups::feed_forward_products(call)?.map(|[first, _]| first)),
    }
}
