//! Functions of expressions: CEL's own on strings, lists and numbers, and a few for sentences.

use super::suggest::suggest;

use super::node::{Kind as NodeKind, Node, Pattern};
use super::operators::TEXT_LIMIT;
use super::types::Type;
use super::value::{Kind, Value};
use super::verdict::WhyOpen;
use regex::RegexBuilder;
use std::collections::HashSet;

/// What a function takes, in words for errors, and what it gives.
struct Signature {
    name: &'static str,
    /// Written `x.name(y)` instead of `name(x, y)`; `size` may be both.
    method: bool,
    form: &'static str,
    takes: fn(&[Type]) -> Option<Type>,
}

const FUNCTIONS: [Signature; 19] = [
    Signature { name: "known", method: false, form: "known(fact)", takes: known },
    Signature { name: "size", method: false, form: "size(list or string)", takes: size },
    Signature { name: "size", method: true, form: "x.size()", takes: size },
    Signature { name: "contains", method: true, form: "text.contains(text)", takes: two_texts },
    Signature { name: "startsWith", method: true, form: "text.startsWith(text)", takes: two_texts },
    Signature { name: "endsWith", method: true, form: "text.endsWith(text)", takes: two_texts },
    Signature { name: "matches", method: true, form: "text.matches('pattern')", takes: two_texts },
    Signature { name: "string", method: false, form: "string(x)", takes: |t| scalar(t, Type::Text) },
    Signature { name: "int", method: false, form: "int(x)", takes: |t| scalar(t, Type::Int) },
    Signature { name: "double", method: false, form: "double(x)", takes: |t| scalar(t, Type::Double) },
    Signature { name: "hex", method: false, form: "hex(int)", takes: |t| int(t, Type::Text) },
    Signature { name: "gib", method: false, form: "gib(bytes)", takes: |t| int(t, Type::Text) },
    Signature { name: "bits", method: false, form: "bits(int)", takes: |t| int(t, Type::Int) },
    Signature { name: "join", method: false, form: "join(list, separator)", takes: join },
    Signature { name: "plural", method: false, form: "plural(int, 'one', 'many')", takes: plural },
    Signature { name: "first", method: false, form: "first(list)", takes: element },
    Signature { name: "last", method: false, form: "last(list)", takes: element },
    Signature { name: "distinct", method: false, form: "distinct(list of strings or ints)", takes: distinct },
    Signature { name: "sum", method: false, form: "sum(list of ints)", takes: sum },
];

fn size(types: &[Type]) -> Option<Type> {
    matches!(types, [t] if t.is_text() || t.element().is_some()).then_some(Type::Int)
}

fn two_texts(types: &[Type]) -> Option<Type> {
    matches!(types, [a, b] if a.is_text() && b.is_text()).then_some(Type::Bool)
}

fn scalar(types: &[Type], result: Type) -> Option<Type> {
    matches!(types, [t] if t.is_scalar()).then_some(result)
}

fn int(types: &[Type], result: Type) -> Option<Type> {
    matches!(types, [t] if t.is_int()).then_some(result)
}

fn join(types: &[Type]) -> Option<Type> {
    matches!(types, [list, separator]
        if list.element().is_some_and(Type::is_scalar) && separator.is_text())
    .then_some(Type::Text)
}

/// True for a known or absent fact, false for an unknown one: for rules that treat ignorance as a risk.
fn known(types: &[Type]) -> Option<Type> {
    (types.len() == 1).then_some(Type::Bool)
}

fn plural(types: &[Type]) -> Option<Type> {
    matches!(types, [n, one, many] if n.is_int() && one.is_text() && many.is_text()).then_some(Type::Text)
}

fn element(types: &[Type]) -> Option<Type> {
    match types {
        [list] => list.element().cloned(),
        _ => None,
    }
}

fn distinct(types: &[Type]) -> Option<Type> {
    match types {
        [list] if list.element().is_some_and(Type::is_scalar) => Some(list.clone()),
        _ => None,
    }
}

fn sum(types: &[Type]) -> Option<Type> {
    matches!(types, [list] if list.element().is_some_and(Type::is_int)).then_some(Type::Int)
}

/// Type of a call, or message and help. A literal pattern is compiled on the way.
pub(super) fn result(
    name: &str,
    method: bool,
    types: &[Type],
    args: &[Node],
    pattern: &Pattern,
) -> Result<Type, (String, String)> {
    let Some(signature) = FUNCTIONS.iter().find(|f| f.name == name && f.method == method) else {
        if let Some(other) = FUNCTIONS.iter().find(|f| f.name == name) {
            return Err((format!("`{name}` is written otherwise"), format!("write {}", other.form)));
        }
        let mut known: Vec<&str> = FUNCTIONS.iter().map(|f| f.name).collect();
        known.dedup();
        known.extend(["all", "exists", "exists_one", "filter", "map", "has"]);
        return Err((format!("unknown function `{name}`"), suggest(name, &known, "functions")));
    };
    let Some(ty) = (signature.takes)(types) else {
        let found: Vec<String> = types.iter().map(Type::to_string).collect();
        return Err((
            format!("`{name}` cannot take ({})", found.join(", ")),
            format!("write {}", signature.form),
        ));
    };
    if name == "matches" {
        let Some(NodeKind::Text(text)) = args.get(1).map(|a| &a.kind) else {
            return Err(("the pattern of `matches` must be a literal".into(), String::new()));
        };
        let regex = RegexBuilder::new(text).size_limit(1 << 20).build();
        let regex = regex.map_err(|e| (format!("bad pattern: {e}"), "RE2 syntax, no look-around".into()))?;
        let _ = pattern.0.set(regex);
    }
    Ok(ty)
}

/// Applies a function to values that are not null.
pub(super) fn apply<'a>(name: &str, args: &[Value<'a>], pattern: &Pattern) -> Result<Value<'a>, WhyOpen> {
    let problem = |text: &str| Err(WhyOpen::Problem(format!("{name}: {text}")));
    match (name, args) {
        ("size", [value]) => match (&value.kind, value.len()) {
            (Kind::Text(text), _) => count(text.chars().count()),
            (_, Some(len)) => count(len),
            _ => problem("not a list or string"),
        },
        ("contains" | "startsWith" | "endsWith" | "matches", [text, part]) => {
            let (Some(text), Some(part)) = (text.as_str(), part.as_str()) else {
                return problem("not a string");
            };
            Ok(Value::bool(match name {
                "contains" => text.contains(part),
                "startsWith" => text.starts_with(part),
                "endsWith" => text.ends_with(part),
                _ => pattern.0.get().is_some_and(|regex| regex.is_match(text)),
            }))
        }
        ("string", [value]) => Ok(Value::text(value.words())),
        ("int", [value]) => match &value.kind {
            Kind::Int(number) => Ok(Value::int(*number)),
            Kind::Bool(_) => problem("of a boolean"),
            Kind::Double(number) => {
                truncate(*number).map_or_else(|| problem("out of range"), |n| Ok(Value::int(n)))
            }
            Kind::Text(text) => text
                .parse()
                .map_or_else(|_| problem(&format!("{text:?} is no integer")), |n| Ok(Value::int(n))),
            _ => problem("not a number or string"),
        },
        ("double", [value]) => match &value.kind {
            #[allow(clippy::cast_precision_loss)] // What CEL's double() does as well.
            Kind::Int(number) => Ok(Value::of(Kind::Double(*number as f64))),
            Kind::Double(number) => Ok(Value::of(Kind::Double(*number))),
            Kind::Text(text) => text.parse().map_or_else(
                |_| problem(&format!("{text:?} is no number")),
                |n| Ok(Value::of(Kind::Double(n))),
            ),
            _ => problem("not a number or string"),
        },
        ("hex" | "gib" | "bits", [value]) => match value.as_int() {
            Some(number) if name == "hex" && number < 0 => {
                Ok(Value::text(format!("-{:#x}", number.unsigned_abs())))
            }
            Some(number) if name == "hex" => Ok(Value::text(format!("{number:#x}"))),
            Some(number) if number < 0 => problem("negative"),
            Some(number) if name == "gib" => Ok(Value::text(gib(number))),
            Some(number) => Ok(Value::int(i64::from(64 - number.leading_zeros()))),
            None => problem("not an integer"),
        },
        ("plural", [number, one, many]) => match number.as_int() {
            Some(1) => Ok(one.clone()),
            Some(_) => Ok(many.clone()),
            None => problem("not an integer"),
        },
        _ => match (name, args.first().and_then(Value::elements), args.get(1)) {
            ("join", Some(all), Some(separator)) => {
                let separator = separator.as_str().unwrap_or_default();
                let mut text = String::new();
                for (index, value) in all.iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { separator });
                    text.push_str(&value.words());
                    if text.len() > TEXT_LIMIT {
                        return problem("the text grows too long");
                    }
                }
                Ok(Value::text(text))
            }
            ("first", Some(all), None) => Ok(all.into_iter().next().unwrap_or(Value::of(Kind::Null))),
            ("last", Some(all), None) => Ok(all.into_iter().next_back().unwrap_or(Value::of(Kind::Null))),
            ("distinct", Some(mut all), None) => {
                let mut seen = HashSet::new();
                all.retain(|value| seen.insert((value.is_null(), value.words())));
                Ok(Value::list(all))
            }
            ("sum", Some(all), None) => {
                let total = all.iter().try_fold(0i64, |sum, v| v.as_int().and_then(|n| sum.checked_add(n)));
                total.map_or_else(
                    || problem("not integers, or the sum is out of range"),
                    |n| Ok(Value::int(n)),
                )
            }
            _ => problem("cannot take these values"),
        },
    }
}

fn count<'a>(len: usize) -> Result<Value<'a>, WhyOpen> {
    i64::try_from(len).map(Value::int).map_err(|_| WhyOpen::Problem("size: out of range".into()))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // Guarded by the range.
fn truncate(number: f64) -> Option<i64> {
    (number > i64::MIN as f64 && number < i64::MAX as f64).then_some(number as i64)
}

/// `96 GiB`, `23.9 GiB`, `256 MiB`, `512 bytes`.
fn gib(bytes: i64) -> String {
    for (shift, unit) in [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")] {
        let whole = bytes >> shift;
        if whole == 0 || (shift == 40 && bytes & ((1 << 40) - 1) != 0) {
            continue;
        }
        let rest = bytes & ((1 << shift) - 1);
        // Tenths, rounded down: nothing is shown larger than it is.
        let tenths = ((rest >> (shift - 10)) * 10) >> 10;
        return if tenths == 0 { format!("{whole} {unit}") } else { format!("{whole}.{tenths} {unit}") };
    }
    format!("{bytes} bytes")
}
