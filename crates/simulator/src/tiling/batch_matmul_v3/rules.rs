//! Which of the operator's own rules decided, beside those of `MatMulV3`.

use crate::tiling::rules::rules;

rules! {
    FoldedBatch "One B serves the whole batch: A's products are rows of one product, and its bank record is asked for.",
    LongInner "An inner axis is longer than 65,535: the tiling of one product stays as it is.",
    OwnBlock "The block is cut for single products: whole rows of up to 1,024 or 2,048 bytes along each axis.",
    HalfBlock "The block is cut at half of that, because more cores get work or less is loaded.",
    BatchL1 "L1 holds as many K steps of each operand as half of it does, in fours.",
    FullA "One A serves the whole batch: all of it stays in L1.",
    FullB "One B serves the whole batch: all of it stays in L1.",
    BatchL2 "The operands exceed the share of L2 that tiling aims at and the batch is smaller than the cores: rows of blocks are grouped.",
    Diagonal "Cores would meet in the same rows or columns: blocks are dealt along diagonals.",
    SeveralProducts "L1 holds several products: each task has that many whole ones.",
    SeveralInL0C "L0C holds several results of one block: they leave together.",
    SeveralA "L1 holds exactly one pair of float32 operands: several A's are brought for one B.",
    Vector "Small float32 vectors: vector cores compute the products without a cube.",
}
