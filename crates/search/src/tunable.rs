//! The settings that decide how good the search is.

/// Constants; `*NAME` is the value. With the feature `tunable-search`, with which only the search's own
/// benchmark is built, the environment variable `SEARCH_NAME` has another: that is how the values were chosen.
macro_rules! tunable {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr;)+) => {$(
        $(#[$doc])*
        #[cfg(not(feature = "tunable-search"))]
        const $name: &$type = &$value;
        $(#[$doc])*
        #[cfg(feature = "tunable-search")]
        static $name: std::sync::LazyLock<$type> = std::sync::LazyLock::new(|| {
            let variable = concat!("SEARCH_", stringify!($name));
            let text = std::env::var(variable).ok();
            text.map_or($value, |text| text.parse().unwrap_or_else(|e| panic!("{variable}={text}: {e}")))
        });
    )+};
}
pub(super) use tunable;
