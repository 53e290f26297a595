//! Texts that a user pastes into a shell.

/// A path as a shell takes it.
pub fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if path.chars().all(is_plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_path_stays_one_word_of_the_shell() {
        assert_eq!(quoted("/a/b-c_1.2"), "/a/b-c_1.2");
        assert_eq!(quoted("/it's $HOME"), r"'/it'\''s $HOME'");
    }
}
