//! Adding and removing words in an assignment of `GRUB_CMDLINE_LINUX*`, right for both readings of the value:
//! the shell's, then GRUB script's.

use super::grub_defaults::{Assignment, Element};
use super::grub_script::{self, Argument};
use super::grub_value::{At, ValueByte, Variable};
use super::shell::Tail;
use super::splice::Splice;

/// Adds arguments (see [`grub_script::argument_for`]) at the end of an assignment's value, inside the quotes
/// that are there; an unquoted value gets quotes.
pub fn add(bytes: &[u8], assignment: &Assignment, arguments: &[String]) -> Vec<Splice> {
    let lead = match assignment.elements.last() {
        None | Some(Element::Byte { byte: b' ' | b'\t', .. }) => "",
        Some(_) => " ",
    };
    let text = |double: bool| {
        let words: Vec<String> = arguments.iter().map(|a| grub_script::quoted(a, double)).collect();
        format!("{lead}{}", words.join(" "))
    };
    match assignment.tail {
        Tail::Single(close) => vec![Splice::insert(close, text(true))],
        Tail::Double(close) => vec![Splice::insert(close, double_quotable(&text(false)))],
        Tail::Open => {
            let value = bytes.get(assignment.value.clone()).unwrap_or_default();
            let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_=.,:/@%+-".contains(b);
            let inner = double_quotable(&text(false));
            if !value.is_empty() && value.iter().all(plain) {
                vec![
                    Splice::insert(assignment.value.start, "\""),
                    Splice::insert(assignment.value.end, format!("{inner}\"")),
                ]
            } else {
                vec![Splice::insert(assignment.value.end, format!("\"{inner}\""))]
            }
        }
    }
}

/// A new line that sets `name` to the arguments; `former` keeps what it held before.
pub fn new_line(name: &str, arguments: &[String], former: bool) -> String {
    let words: Vec<String> = arguments.iter().map(|a| grub_script::quoted(a, false)).collect();
    let lead = if former { format!("${name} ") } else { String::new() };
    format!("{name}=\"{lead}{}\"\n", double_quotable(&words.join(" ")))
}

/// Text as it stands inside the shell's double quotes.
fn double_quotable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '$' | '`' | '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Takes arguments out of a value, each with one adjoining blank. Splices come with the assignment whose file
/// they belong to; the offending argument when one is put together from several assignments.
pub fn remove<'a>(variable: &Variable, gone: &[&'a Argument]) -> Result<Vec<(At, Splice)>, &'a Argument> {
    let mut taken = vec![false; variable.bytes.len()];
    let mut splices = Vec::new();
    for argument in gone {
        let own = variable.bytes.get(argument.range.clone()).unwrap_or_default();
        let from = own.first().map(|b| b.from).ok_or(*argument)?;
        if own.iter().any(|b| b.from != from || b.at.is_none()) {
            return Err(argument);
        }
        let blank = |index: usize, taken: &[bool]| {
            variable.bytes.get(index).is_some_and(|b| {
                matches!(b.byte, b' ' | b'\t')
                    && b.from == from
                    && b.at.is_some()
                    && taken.get(index) == Some(&false)
            })
        };
        let mut range = argument.range.clone();
        if range.start > 0 && blank(range.start - 1, &taken) {
            range.start -= 1;
        } else if blank(range.end, &taken) {
            range.end += 1;
        }
        for index in range.clone() {
            if let Some(t) = taken.get_mut(index) {
                *t = true;
            }
        }
        let bytes = variable.bytes.get(range).unwrap_or_default();
        splices.extend(contiguous(bytes).into_iter().map(|at| (from, Splice::delete(at))));
    }
    Ok(splices)
}

/// The file ranges behind value bytes, joined where they touch. Quotes and joined lines between them stay.
fn contiguous(bytes: &[ValueByte]) -> Vec<std::ops::Range<usize>> {
    let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
    for at in bytes.iter().filter_map(|b| b.at.clone()) {
        match ranges.last_mut() {
            Some(last) if last.end == at.start => last.end = at.end,
            _ => ranges.push(at),
        }
    }
    ranges
}
