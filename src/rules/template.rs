//! Sentences and words with values of facts in them: `{expression}`; `{{` and `}}` stand for braces.

use super::expr::{Cause, Env, Expr, ExprError, Scope, Type, Value, Verdict, WhyOpen};

/// Compiled text.
#[derive(Clone, Debug)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Text(String),
    Value(Expr),
    /// `{*list*}`: one word per element.
    Each(Expr),
}

/// A piece of the text of a template.
enum Piece<'t> {
    Text(String),
    /// The expression, where it starts, and whether it is a list of words.
    Expr(&'t str, usize, bool),
}

impl Template {
    /// Compiles a sentence.
    pub fn compile(text: &str, scope: &Scope) -> Result<Self, Vec<ExprError>> {
        Self::build(text, scope, false)
    }

    /// Compiles a word of a command line, in which `{*list*}` may stand once.
    pub fn word(text: &str, scope: &Scope) -> Result<Self, Vec<ExprError>> {
        Self::build(text, scope, true)
    }

    fn build(text: &str, scope: &Scope, word: bool) -> Result<Self, Vec<ExprError>> {
        let mut parts = Vec::new();
        let mut errors = Vec::new();
        for piece in split(text)? {
            let (source, start, each) = match piece {
                Piece::Text(text) => {
                    parts.push(Part::Text(text));
                    continue;
                }
                Piece::Expr(source, start, each) => (source, start, each),
            };
            let span = start..start + source.len();
            let found = Expr::compile(source, scope).and_then(|expr| {
                let (fits, expected): (fn(&Type) -> bool, _) = match (each, word) {
                    (true, _) => (|t| t.element().is_some_and(Type::is_scalar), "a list of words"),
                    (false, true) => (Type::is_scalar, "a string or number (for a list write `{*list*}`)"),
                    (false, false) => (
                        |t| t.is_scalar() || t.element().is_some_and(Type::is_scalar),
                        "a string, number or list of them",
                    ),
                };
                expr.must(source, fits, expected)
            });
            match found {
                Ok(_) if each && !word => {
                    errors.push(at(
                        span,
                        "`{*list*}` stands in `add` and `remove` only",
                        "write `{join(list, ', ')}`",
                    ));
                }
                Ok(_) if each && parts.iter().any(|p| matches!(p, Part::Each(_))) => {
                    errors.push(at(span, "a second `{*list*}` in one word", "write two words"));
                }
                Ok(expr) => parts.push(if each { Part::Each(expr) } else { Part::Value(expr) }),
                Err(found) => errors.extend(found.into_iter().map(|mut e| {
                    e.span = e.span.start + start..e.span.end + start;
                    e
                })),
            }
        }
        if errors.is_empty() { Ok(Self { parts }) } else { Err(errors) }
    }

    /// The sentence. What is not known is called `unknown`; a sentence is better than none.
    pub fn fill<'a>(&'a self, env: &Env<'a>) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Value(expr) | Part::Each(expr) => match expr.eval(env).verdict {
                    Verdict::Value(value) => text.push_str(&value.words()),
                    Verdict::Undetermined(_) => text.push_str("unknown"),
                },
            }
        }
        text
    }

    /// The words, or what keeps one from being known: a word with a hole would change a host wrongly.
    pub fn words<'a>(&'a self, env: &Env<'a>) -> Result<Vec<String>, Vec<Cause>> {
        let mut words = vec![String::new()];
        for part in &self.parts {
            match part {
                Part::Text(part) => {
                    for word in &mut words {
                        word.push_str(part);
                    }
                }
                Part::Value(expr) => {
                    let value = scalar(&determined(expr, env)?)?;
                    for word in &mut words {
                        word.push_str(&value);
                    }
                }
                Part::Each(expr) => {
                    let list = determined(expr, env)?;
                    let all = list.elements().unwrap_or_default();
                    let all = all.iter().map(scalar).collect::<Result<Vec<_>, _>>()?;
                    let before = words.concat();
                    words = all.into_iter().map(|w| format!("{before}{w}")).collect();
                }
            }
        }
        words.retain(|w| !w.is_empty());
        match words.iter().find(|w| !is_one_word(w)) {
            Some(word) => Err(vec![problem(format!("{word:?} is not one word"))]),
            None => Ok(words),
        }
    }
}

fn at(span: std::ops::Range<usize>, message: &str, help: &str) -> ExprError {
    ExprError { message: message.into(), span, help: help.into() }
}

fn problem(text: String) -> Cause {
    Cause { place: None, why: WhyOpen::Problem(text) }
}

fn determined<'a>(expr: &'a Expr, env: &Env<'a>) -> Result<Value<'a>, Vec<Cause>> {
    match expr.eval(env).verdict {
        Verdict::Value(value) if value.is_null() => {
            Err(vec![Cause { place: value.place().cloned(), why: WhyOpen::Absent }])
        }
        Verdict::Value(value) => Ok(value),
        Verdict::Undetermined(causes) => Err(causes),
    }
}

fn scalar(value: &Value<'_>) -> Result<String, Vec<Cause>> {
    if value.is_null() {
        return Err(vec![Cause { place: value.place().cloned(), why: WhyOpen::Absent }]);
    }
    Ok(value.words())
}

/// One word for the kernel's command line: blanks only inside double quotes, no control characters.
fn is_one_word(word: &str) -> bool {
    let mut quoted = false;
    word.chars().all(|c| {
        quoted ^= c == '"';
        !c.is_control() && (quoted || !c.is_whitespace())
    }) && !quoted
}

/// Splits text at its expressions. Braces and quotes inside an expression are respected.
fn split(text: &str) -> Result<Vec<Piece<'_>>, Vec<ExprError>> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(next) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(next);
        plain.push_str(before);
        if let Some(after) = from.strip_prefix("{{") {
            plain.push('{');
            rest = after;
        } else if let Some(after) = from.strip_prefix('}') {
            plain.push('}');
            rest = after.strip_prefix('}').unwrap_or(after);
        } else {
            let start = text.len() - from.len();
            let Some(end) = closing(from) else {
                return Err(vec![at(start..start + 1, "`{` without its `}`", "write `{{` for a brace")]);
            };
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            let inner = &from[1..end];
            let list = inner.strip_prefix('*').and_then(|i| i.strip_suffix('*'));
            pieces.push(match list {
                Some(list) => Piece::Expr(list, start + 2, true),
                None => Piece::Expr(inner, start + 1, false),
            });
            rest = &from[end + 1..];
        }
    }
    plain.push_str(rest);
    if !plain.is_empty() {
        pieces.push(Piece::Text(plain));
    }
    Ok(pieces)
}

/// Position of the brace that closes the one at 0.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '{') => depth += 1,
            (None, '}') => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Projected;
    use schemars::JsonSchema;

    #[allow(dead_code)]
    #[derive(JsonSchema)]
    struct Facts {
        name: String,
        size: i64,
        words: Vec<String>,
        gone: Option<String>,
    }

    fn facts() -> Projected {
        let value = serde_json::json!({"name": "x\"}", "size": 2, "words": ["a=1", "b"], "gone": null});
        Projected { value, ..Projected::default() }
    }

    fn fill(text: &str) -> String {
        let template = Template::compile(text, &Scope::of::<Facts>()).unwrap();
        template.fill(&Env::new(&facts()))
    }

    fn words(text: &str) -> Result<Vec<String>, String> {
        let template = Template::word(text, &Scope::of::<Facts>()).unwrap();
        template.words(&Env::new(&facts())).map_err(|c| format!("{:?}", c[0].why))
    }

    fn error(text: &str) -> (String, String) {
        let error = Template::compile(text, &Scope::of::<Facts>()).unwrap_err().remove(0);
        (text[error.span].to_owned(), error.message)
    }

    #[test]
    fn values_stand_where_their_braces_are() {
        assert_eq!(fill("{size} of {words}: {{{name}}} }"), "2 of a=1, b: {x\"}} }");
        assert_eq!(fill("{'}' + \"{\" + '\\'}'}{gone}"), "}{'}absent");
        assert_eq!(fill("{size == 2 ? 'two' : 'many'} {plural(size, 'word', 'words')}"), "two words");
        assert_eq!(fill(""), "");
    }

    #[test]
    fn a_list_piece_makes_one_word_each() {
        assert_eq!(words("{*words*}").unwrap(), ["a=1", "b"]);
        assert_eq!(words("pci={*words*}{size}").unwrap(), ["pci=a=12", "pci=b2"]);
        assert!(words("{*words.filter(w, w == 'c')*}").unwrap().is_empty());
        assert!(words("{size == 2 ? '' : 'x'}").unwrap().is_empty());
    }

    #[test]
    fn a_word_with_a_hole_or_a_blank_is_no_word() {
        assert_eq!(words("x={gone}").unwrap_err(), "Absent");
        assert_eq!(words("x={name}").unwrap_err(), "Problem(\"\\\"x=x\\\\\\\"}\\\" is not one word\")");
        assert!(words("x={'a b'}").is_err());
        assert!(words("x=\"{'a b'}\"").is_ok());
        assert!(words("{words[9]}").is_err());
    }

    #[test]
    fn errors_point_into_the_text() {
        assert_eq!(error("a {nme} b"), ("nme".into(), "unknown name `nme`".into()));
        assert_eq!(error("a {size"), ("{".into(), "`{` without its `}`".into()));
        assert_eq!(error("é {*words*}").0, "words");
        assert_eq!(error("{}").1, "mismatched input '<EOF>' expecting expression");
        let two = Template::word("{*words*}{*words*}", &Scope::of::<Facts>());
        assert_eq!(two.unwrap_err()[0].message, "a second `{*list*}` in one word");
        assert!(Template::word("{words}", &Scope::of::<Facts>()).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[{}*'\"\\\\a-z é.]{0,40}") {
            if let Ok(template) = Template::word(&text, &Scope::of::<Facts>()) {
                let facts = facts();
                let env = Env::new(&facts);
                let _ = (template.fill(&env), template.words(&env));
            }
        }
    }
}
