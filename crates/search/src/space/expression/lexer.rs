//! Text of an expression to tokens.

use super::Fault;

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// A whole number.
    Integer(i64),
    /// A number with a point or an exponent.
    Real(f64),
    /// A quoted text.
    Text(String),
    /// A name or a word such as `and`.
    Word(String),
    /// An operator or a bracket, spelled as here.
    Symbol(&'static str),
    /// Behind the last token.
    End,
}

/// A token and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its first character, counted from 1.
    pub column: usize,
}

/// Longest first, so that `**` is not read as `*` twice.
const SYMBOLS: [&str; 24] = [
    "**", "//", "==", "!=", "<=", ">=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "!", "(", ")", "[", "]", "{",
    "}", ",", "=",
];

/// Operators of C and Python that are easily taken for others, and what to say about them.
const FOREIGN: [(char, &str); 6] = [
    ('&', "`&` is not supported; write `and` or `&&`"),
    ('|', "`|` is not supported; write `or` or `||`"),
    ('^', "`^` is not supported; a power is `**`"),
    ('~', "`~` is not supported; write `not` or `!`"),
    ('?', "`?` is not supported; write the cases with `and` and `or`"),
    (';', "one constraint is one expression; give the second one an entry of its own"),
];

/// The tokens of a text, [`Kind::End`] last.
pub fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let mut lexer = Lexer { characters: text.chars().collect(), at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next()?;
        let end = token.kind == Kind::End;
        tokens.push(token);
        if end {
            return Ok(tokens);
        }
    }
}

struct Lexer {
    characters: Vec<char>,
    at: usize,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.characters.get(self.at + ahead).copied()
    }

    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let rest = self.characters[self.at..].iter().copied();
        let taken: String = rest.take_while(|&c| wanted(c)).collect();
        self.at += taken.chars().count();
        taken
    }

    fn next(&mut self) -> Result<Token, Fault> {
        self.take_while(char::is_whitespace);
        let column = self.at + 1;
        let kind = match self.peek(0) {
            None => Kind::End,
            Some('0'..='9') => self.number(column)?,
            Some('.') if self.peek(1).is_some_and(|c| c.is_ascii_digit()) => self.number(column)?,
            Some(quote @ ('\'' | '"')) => self.text(quote, column)?,
            Some(c) if c.is_alphabetic() || c == '_' => Kind::Word(self.take_while(is_in_word)),
            Some(_) => self.symbol(column)?,
        };
        Ok(Token { kind, column })
    }

    fn symbol(&mut self, column: usize) -> Result<Kind, Fault> {
        let rest = &self.characters[self.at..];
        let begins = |symbol: &str| symbol.chars().enumerate().all(|(i, c)| rest.get(i) == Some(&c));
        if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| begins(symbol)) {
            self.at += symbol.len();
            return Ok(Kind::Symbol(symbol));
        }
        let foreign = FOREIGN.iter().find(|(c, _)| rest[0] == *c).map(|(_, advice)| (*advice).to_owned());
        Err(Fault::new(column, foreign.unwrap_or_else(|| format!("{:?} means nothing here", rest[0]))))
    }

    fn number(&mut self, column: usize) -> Result<Kind, Fault> {
        let start = self.at;
        if self.peek(0) == Some('0') && matches!(self.peek(1), Some('x' | 'X')) {
            self.at += 2;
            let digits = self.take_while(is_in_word).replace('_', "");
            let value = i64::from_str_radix(&digits, 16);
            return value.map(Kind::Integer).map_err(|_| self.malformed(start, column));
        }
        let digit = |c: char| c.is_ascii_digit() || c == '_';
        self.take_while(digit);
        if self.peek(0) == Some('.') {
            self.at += 1;
            self.take_while(digit);
        }
        let signed = usize::from(matches!(self.peek(1), Some('+' | '-')));
        if matches!(self.peek(0), Some('e' | 'E')) && self.peek(1 + signed).is_some_and(|c| c.is_ascii_digit()) {
            self.at += 1 + signed;
            self.take_while(digit);
        }
        // A letter that follows at once belongs to no number.
        let end = self.at;
        self.take_while(is_in_word);
        let text: String = self.characters[start..self.at].iter().filter(|&&c| c != '_').collect();
        if end != self.at {
            return Err(self.malformed(start, column));
        }
        if text.bytes().all(|b| b.is_ascii_digit()) {
            let beyond = |_| Fault::new(column, format!("{text} is beyond 64-bit integers"));
            return text.parse().map(Kind::Integer).map_err(beyond);
        }
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Kind::Real(value)),
            _ => Err(self.malformed(start, column)),
        }
    }

    fn malformed(&self, start: usize, column: usize) -> Fault {
        let text: String = self.characters[start..self.at].iter().collect();
        Fault::new(column, format!("`{text}` is not a number"))
    }

    fn text(&mut self, quote: char, column: usize) -> Result<Kind, Fault> {
        let mut text = String::new();
        self.at += 1;
        loop {
            let Some(c) = self.peek(0) else {
                return Err(Fault::new(column, format!("the text that begins here lacks its closing {quote}")));
            };
            self.at += 1;
            match c {
                _ if c == quote => return Ok(Kind::Text(text)),
                '\\' if matches!(self.peek(0), Some('\\' | '\'' | '"')) => {
                    text.extend(self.peek(0));
                    self.at += 1;
                }
                _ => text.push(c),
            }
        }
    }
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
