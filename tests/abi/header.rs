//! Reads a C header of plain declarations into a form that compares.

use std::collections::BTreeMap;

/// What a header declares, by name; each declaration as its tokens, one space between them.
#[derive(Debug, Clone, Default)]
pub struct Header {
    pub functions: BTreeMap<String, String>,
    pub types: BTreeMap<String, String>,
    /// Enumerators and macros whose value is a number.
    pub constants: BTreeMap<String, i64>,
}

impl Header {
    /// Reads functions, type definitions, enumerations and numeric macros. Spelling that means nothing
    /// (layout, comments, struct tags, the parts for C++) is left out.
    pub fn parse(text: &str) -> Header {
        let mut header = Header::default();
        let code = header.take_macros(&without_comments(text));
        for declaration in declarations(&tokens(&code)) {
            header.take(&declaration);
        }
        header
    }

    /// Reads `#define`s and returns the lines that are not for the preprocessor.
    fn take_macros(&mut self, text: &str) -> String {
        let mut code = String::new();
        let mut for_cpp = false;
        for line in text.lines().map(str::trim) {
            match line.strip_prefix('#').map(|l| l.split_whitespace().collect::<Vec<_>>()).as_deref() {
                Some(["ifdef", "__cplusplus"]) => for_cpp = true,
                Some(["endif", ..]) => for_cpp = false,
                Some(["define", name, value]) => {
                    if let Ok(value) = value.trim_matches(['(', ')']).parse() {
                        self.constants.insert((*name).to_owned(), value);
                    }
                }
                None if !for_cpp => code = code + line + "\n",
                _ => {}
            }
        }
        code
    }

    /// Files one declaration, which ends before its semicolon.
    fn take(&mut self, tokens: &[String]) {
        let text = |tokens: &[String]| tokens.iter().filter(|t| *t != "struct").cloned().collect::<Vec<_>>().join(" ");
        match tokens {
            [] => {}
            [keyword, brace, inner @ .., _] if keyword == "enum" && brace == "{" => {
                for entry in inner.split(|t| t == ",").filter(|e| !e.is_empty()) {
                    let value = entry[2..].concat().parse();
                    self.constants.insert(entry[0].clone(), value.expect("an enumerator has a number"));
                }
            }
            [keyword, rest @ .., name] if keyword == "typedef" && name != ")" => {
                // typedef struct Tag { ... } Name: the tag says nothing new.
                let body = rest.iter().position(|t| t == "{").map_or(rest, |open| &rest[open..]);
                self.types.insert(name.clone(), text(body));
            }
            [keyword, rest @ ..] if keyword == "typedef" => {
                let star = rest.iter().position(|t| t == "*").expect("a function type has a star");
                let name = rest.iter().skip(star).find(|t| is_word(t)).expect("a type has a name");
                self.types.insert(name.clone(), text(rest));
            }
            function => {
                let open = function.iter().position(|t| t == "(").expect("a declaration that is no type is a function");
                self.functions.insert(function[open - 1].clone(), text(function));
            }
        }
    }

    /// The fields of a structure: name and declaration, in order.
    pub fn table_fields(&self, name: &str) -> Vec<(String, String)> {
        let body = self.types[name].trim_start_matches("{ ").trim_end_matches(" }");
        let fields = body.split(" ;").map(str::trim).filter(|field| !field.is_empty());
        let name_of = |field: &str| {
            let inner = field.split_once("( * ").map_or(field, |(_, rest)| rest.split(' ').next().unwrap());
            inner.rsplit(' ').next().unwrap().to_owned()
        };
        fields.map(|field| (name_of(field), field.to_owned())).collect()
    }
}

/// Everything in which two headers differ, one line each.
pub fn differences(left: &Header, right: &Header) -> Vec<String> {
    let numbers = |h: &Header| h.constants.iter().map(|(k, v)| (k.clone(), v.to_string())).collect();
    let mut found = Vec::new();
    compare(&left.functions, &right.functions, &mut found);
    compare(&left.types, &right.types, &mut found);
    compare(&numbers(left), &numbers(right), &mut found);
    found
}

fn compare(left: &BTreeMap<String, String>, right: &BTreeMap<String, String>, found: &mut Vec<String>) {
    for (name, here) in left {
        match right.get(name) {
            None => found.push(format!("{name}: declared, but not implied")),
            Some(there) if there != here => found.push(format!("{name}: declared `{here}`, implied `{there}`")),
            Some(_) => {}
        }
    }
    found.extend(right.keys().filter(|k| !left.contains_key(*k)).map(|k| format!("{k}: implied, but not declared")));
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut code = String::new();
    while let Some(start) = rest.find("/*") {
        code.push_str(&rest[..start]);
        code.push(' ');
        rest = rest[start..].find("*/").map_or("", |end| &rest[start + end + 2..]);
    }
    code + rest
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// Words and numbers, and every other visible character by itself.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in code.chars() {
        let word = c.is_ascii_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if word && in_word => last.push(c),
            _ if !c.is_whitespace() => tokens.push(c.to_string()),
            _ => {}
        }
        in_word = word;
    }
    tokens
}

/// Splits at the semicolons outside of braces.
fn declarations(tokens: &[String]) -> Vec<Vec<String>> {
    let mut depth = 0i32;
    let mut found = vec![Vec::new()];
    for token in tokens {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if token == ";" && depth == 0 {
            found.push(Vec::new());
        } else if let Some(last) = found.last_mut() {
            last.push(token.clone());
        }
    }
    found
}
