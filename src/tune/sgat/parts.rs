//! What of a step can be solved by itself, and orders in which to look at it.

/// Kernels of a step as bits, the first one lowest.
pub type Set = u64;

/// The kernels of a set, ascending.
pub fn bits(mut set: Set) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (set != 0).then(|| set.trailing_zeros())?;
        set &= set - 1;
        Some(lowest)
    })
}

/// Parts of a step that no scope joins and that do not wait for each other in turn, in an order in which they can
/// run. `needs` are for each kernel the ones that it reads, `follows` those of them that it may follow in a scope.
///
/// Two scopes of different parts never wait for each other, however each part is taken apart. So the cheapest
/// scopes of the step are those of its parts.
pub fn parts(needs: &[Set], follows: &[Set]) -> Vec<Set> {
    // Whom each kernel depends on, where those that may be in one scope depend on each other.
    let mut on: Vec<Set> = needs.iter().enumerate().map(|(at, &needs)| needs | 1 << at).collect();
    for (at, &makers) in follows.iter().enumerate() {
        bits(makers).for_each(|from| on[from as usize] |= 1 << at);
    }
    for through in 0..on.len() {
        let more = on[through];
        on.iter_mut().filter(|on| **on & 1 << through != 0).for_each(|on| *on |= more);
    }
    let part = |at: usize| {
        let mutual = bits(on[at]).filter(|&other| on[other as usize] & 1 << at != 0);
        mutual.fold(0, |set: Set, other| set | 1 << other)
    };
    let firsts = (0..on.len()).filter(|&at| part(at).trailing_zeros() as usize == at);
    let mut parts: Vec<(u32, Set)> = firsts.map(|at| (on[at].count_ones(), part(at))).collect();
    // Who depends on a part depends on more than it does.
    parts.sort_by_key(|&(count, part)| (count, part.trailing_zeros()));
    parts.into_iter().map(|(_, part)| part).collect()
}

/// The kernels of a part in an order in which they can run: what a kernel reads stands right before it where it
/// can, and last what it may follow in a scope.
pub fn by_chains(part: Set, needs: &[Set], follows: &[Set]) -> Vec<u32> {
    fn visit(at: u32, rest: &mut Set, order: &mut Vec<u32>, needs: &[Set], follows: &[Set]) {
        if *rest & 1 << at == 0 {
            return;
        }
        *rest &= !(1 << at);
        let followed = follows[at as usize];
        for maker in bits(needs[at as usize] & !followed).chain(bits(followed)) {
            visit(maker, rest, order, needs, follows);
        }
        order.push(at);
    }
    let mut order = Vec::new();
    let mut rest = part;
    bits(part).for_each(|at| {
        let has_user = bits(part).any(|user| needs[user as usize] & 1 << at != 0);
        if !has_user {
            visit(at, &mut rest, &mut order, needs, follows);
        }
    });
    order
}
