//! What a search may know of a space.

use super::enumeration;

/// What the values of a parameter are to each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale<'a> {
    /// Numbers, finite and ascending: the value of each index.
    Ordinal(&'a [f64]),
    /// In an order worth using, by index; how far apart is not known.
    Ranked,
    /// Names: no value is nearer to another than any other.
    Categorical,
}

/// What a search may know of a space.
pub trait Domain: Sync {
    /// Number of values of each parameter.
    fn sizes(&self) -> &[u32];

    /// What the values of a parameter are to each other.
    fn scale(&self, parameter: usize) -> Scale<'_> {
        let _ = parameter;
        Scale::Ranked
    }

    /// Whether this full configuration (one value index for each parameter) is legal.
    fn is_legal(&self, configuration: &[u32]) -> bool;

    /// Whether some legal configuration may start with these values. May answer true too often, never
    /// false wrongly; the better the answer, the faster sampling is. A search asks for a prefix only when
    /// the answer for the prefix without its last value was true, so that deciding what the last value
    /// decides is enough.
    fn may_extend(&self, prefix: &[u32]) -> bool {
        let _ = prefix;
        true
    }

    /// Whether a full configuration is legal of which [`Domain::may_extend`] has accepted every prefix, the
    /// whole included. A domain whose rules are all decided on the way has nothing left to check here.
    fn completes(&self, configuration: &[u32]) -> bool {
        self.is_legal(configuration)
    }

    /// A random legal configuration, as evenly distributed as can be had. Each value that is tried takes one of
    /// `steps`; `None` where these do not suffice, or where the way that was gone ends nowhere. The way that
    /// every domain has goes down the parameters with an open value at each and does not turn back; a domain
    /// whose prefixes often lead nowhere has a better one here.
    fn sample_within(&self, rng: &mut fastrand::Rng, steps: &mut usize) -> Option<Vec<u32>> {
        enumeration::walk(self, rng, steps)
    }

    /// All legal configurations one after the other, in lexicographic order of their indices; `None` where
    /// there are more than `limit`, or where too many prefixes lead nowhere. (Without parameters there is
    /// nothing to put one after the other, and the list is empty whether that configuration is legal or
    /// not.) A domain that knows a faster way than trying prefixes has it here.
    fn enumerate(&self, limit: usize) -> Option<Vec<u32>> {
        enumeration::enumerate(self, limit)
    }
}

/// A pointer to a domain is that domain.
macro_rules! forward {
    ($($bound:ident)? => $pointer:ty) => {
        impl<D: Domain $(+ $bound)? + ?Sized> Domain for $pointer {
            fn sizes(&self) -> &[u32] {
                (**self).sizes()
            }

            fn scale(&self, parameter: usize) -> Scale<'_> {
                (**self).scale(parameter)
            }

            fn is_legal(&self, configuration: &[u32]) -> bool {
                (**self).is_legal(configuration)
            }

            fn may_extend(&self, prefix: &[u32]) -> bool {
                (**self).may_extend(prefix)
            }

            fn completes(&self, configuration: &[u32]) -> bool {
                (**self).completes(configuration)
            }

            fn sample_within(&self, rng: &mut fastrand::Rng, steps: &mut usize) -> Option<Vec<u32>> {
                (**self).sample_within(rng, steps)
            }

            fn enumerate(&self, limit: usize) -> Option<Vec<u32>> {
                (**self).enumerate(limit)
            }
        }
    };
}

forward!(=> &D);
forward!(Send => Box<D>);
