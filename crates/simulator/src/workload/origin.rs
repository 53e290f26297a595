//! How sure a default tiling is.

use serde::{Deserialize, Serialize};

/// Where the tiling comes from that stands for CANN's own choice: what a gain is a gain over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DefaultOrigin {
    /// CANN's rules are public, and these are they.
    Public,
    /// CANN's rules are closed; this is what they should come to.
    #[default]
    Estimated,
}

impl DefaultOrigin {
    /// Both.
    pub const ALL: [DefaultOrigin; 2] = [DefaultOrigin::Public, DefaultOrigin::Estimated];

    /// The word for it in reports and files.
    pub const fn name(self) -> &'static str {
        match self {
            DefaultOrigin::Public => "public",
            DefaultOrigin::Estimated => "estimated",
        }
    }

    /// The origin of a word.
    pub fn named(name: &str) -> Option<DefaultOrigin> {
        DefaultOrigin::ALL.into_iter().find(|origin| origin.name() == name)
    }
}
