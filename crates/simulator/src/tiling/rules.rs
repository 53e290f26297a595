//! Rules by name: which of them decided a default tiling.

/// Declares the rules of an operator, each with its sentence, and a set of them that costs one word.
macro_rules! rules {
    ($($rule:ident $sentence:literal,)*) => {
        /// A rule that took part in a default tiling.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Rule { $(#[doc = $sentence] $rule,)* }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Rule] = &[$(Rule::$rule,)*];

            /// What the rule says, one sentence.
            pub const fn describe(self) -> &'static str {
                match self { $(Rule::$rule => $sentence,)* }
            }

            /// Its name, as it stands in answers.
            pub const fn name(self) -> &'static str {
                match self { $(Rule::$rule => stringify!($rule),)* }
            }
        }

        /// A set of rules.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct Rules(u64);

        const _: () = assert!(Rule::ALL.len() <= 64, "a set holds 64 rules");

        impl Rules {
            /// Adds a rule.
            pub const fn add(&mut self, rule: Rule) {
                self.0 |= 1 << rule as u8;
            }

            /// The set with one rule more.
            #[must_use]
            pub const fn and(mut self, rule: Rule) -> Rules {
                self.add(rule);
                self
            }

            /// Whether the rule took part.
            pub const fn has(self, rule: Rule) -> bool {
                self.0 >> rule as u8 & 1 == 1
            }

            /// The rules, in the order in which they are declared.
            pub fn iter(self) -> impl Iterator<Item = Rule> {
                Rule::ALL.iter().copied().filter(move |&rule| self.has(rule))
            }
        }
    };
}
pub(in crate::tiling) use rules;
