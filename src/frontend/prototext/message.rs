//! Asking a message for the fields that a reader knows.

use super::{Field, Message, Value, escape, scalar};

/// Why a field cannot be used; the caller knows where it stands.
pub type Reason = String;

impl Message {
    fn all<'m, 'n>(&'m self, name: &'n str) -> impl Iterator<Item = &'m Field> + use<'m, 'n> {
        self.fields.iter().filter(move |field| *field.name == *name)
    }

    /// The only occurrence of a field.
    fn one(&self, name: &str) -> Result<Option<&Field>, Reason> {
        let mut found = self.all(name);
        match (found.next(), found.next()) {
            (_, Some(second)) => Err(format!("`{name}` is given twice (line {})", second.line)),
            (first, None) => Ok(first),
        }
    }

    /// Whether the field is there.
    pub fn has(&self, name: &str) -> bool {
        self.all(name).next().is_some()
    }

    /// A nested message.
    pub fn message(&self, name: &str) -> Result<Option<&Message>, Reason> {
        self.one(name)?.map(Field::message).transpose()
    }

    /// Every nested message of this name.
    pub fn messages(&self, name: &str) -> Result<Vec<&Message>, Reason> {
        self.all(name).map(Field::message).collect()
    }

    /// A string.
    pub fn text(&self, name: &str) -> Result<Option<&str>, Reason> {
        self.one(name)?.map(Field::text).transpose()
    }

    /// A string that need not be text.
    pub fn bytes(&self, name: &str) -> Result<Option<&[u8]>, Reason> {
        self.one(name)?.map(Field::bytes).transpose()
    }

    /// Every string of this name.
    pub fn texts(&self, name: &str) -> Result<Vec<String>, Reason> {
        self.all(name).map(|field| field.text().map(str::to_owned)).collect()
    }

    /// Every truth value of this name.
    pub fn bools(&self, name: &str) -> Result<Vec<bool>, Reason> {
        self.all(name).map(Field::bool).collect()
    }

    /// The word of an enumeration, or its number.
    pub fn word(&self, name: &str) -> Result<Option<&str>, Reason> {
        self.one(name)?.map(Field::word).transpose()
    }

    /// An integer.
    pub fn int(&self, name: &str) -> Result<Option<i64>, Reason> {
        self.one(name)?.map(Field::int).transpose()
    }

    /// Every integer of this name.
    pub fn ints(&self, name: &str) -> Result<Vec<i64>, Reason> {
        self.all(name).map(Field::int).collect()
    }

    /// A number.
    pub fn float(&self, name: &str) -> Result<Option<f64>, Reason> {
        self.one(name)?.map(Field::float).transpose()
    }

    /// Every number of this name.
    pub fn floats(&self, name: &str) -> Result<Vec<f64>, Reason> {
        self.all(name).map(Field::float).collect()
    }

    /// A truth value.
    pub fn bool(&self, name: &str) -> Result<Option<bool>, Reason> {
        self.one(name)?.map(Field::bool).transpose()
    }
}

impl Field {
    fn wrong(&self, wanted: &str) -> Reason {
        let found = match &self.value {
            Value::Word(word) => format!("`{}`", clipped(word)),
            Value::Text(text) => format!("\"{}\"", clipped(&String::from_utf8_lossy(text))),
            Value::Message(_) => "a message".to_owned(),
        };
        format!("`{}` is {found}, not {wanted} (line {})", self.name, self.line)
    }

    fn message(&self) -> Result<&Message, Reason> {
        if let Value::Message(message) = &self.value { Ok(message) } else { Err(self.wrong("a message")) }
    }

    fn text(&self) -> Result<&str, Reason> {
        std::str::from_utf8(self.bytes()?)
            .map_err(|_| format!("`{}` is no text: {} (line {})", self.name, escape::NO_TEXT, self.line))
    }

    fn bytes(&self) -> Result<&[u8], Reason> {
        if let Value::Text(text) = &self.value { Ok(text) } else { Err(self.wrong("a string in quotes")) }
    }

    fn word(&self) -> Result<&str, Reason> {
        if let Value::Word(word) = &self.value { Ok(word) } else { Err(self.wrong("a word")) }
    }

    fn int(&self) -> Result<i64, Reason> {
        let word = self.word().map_err(|_| self.wrong("an integer"))?;
        let (is_negative, digits) = word.strip_prefix('-').map_or((false, word), |rest| (true, rest));
        let value = scalar::integer(digits.as_bytes(), is_negative).and_then(|value| i64::try_from(value).ok());
        value.ok_or_else(|| self.wrong("an integer"))
    }

    fn float(&self) -> Result<f64, Reason> {
        let word = self.word().map_err(|_| self.wrong("a number"))?;
        let number =
            word.strip_suffix(['f', 'F']).filter(|rest| rest.ends_with(|c: char| c.is_ascii_digit() || c == '.'));
        number.unwrap_or(word).parse().map_err(|_| self.wrong("a number"))
    }

    fn bool(&self) -> Result<bool, Reason> {
        match self.word()? {
            "true" | "True" | "t" | "1" => Ok(true),
            "false" | "False" | "f" | "0" => Ok(false),
            _ => Err(self.wrong("true or false")),
        }
    }
}

/// As much of a text as an error can bear.
fn clipped(text: &str) -> String {
    text.chars().take(40).collect()
}
