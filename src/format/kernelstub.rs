//! `/etc/kernelstub/configuration` (Pop!_OS): JSON whose `user.kernel_options` is the list of words that
//! kernelstub hands, joined with blanks and unquoted, to the loader entry. `default` is the factory state.

use super::json_spans::{self, Node, Value};
use super::splice::{self, Splice};
use super::{Trouble, kernel_cmdline, line_of};
use std::collections::BTreeSet;
use std::ops::Range;

/// The two lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// `user.kernel_options`; none when there is no `user` object (kernelstub then copies `default`).
    pub user: Option<Options>,
    /// `default.kernel_options`.
    pub default: Option<Options>,
}

/// A list of words and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Line of the key, from 1.
    pub line: usize,
    /// Strings and where they stand, quotes included.
    pub elements: Vec<(String, Range<usize>)>,
    /// The value; a list in current files, one string in those of configuration revision 2 and older.
    pub at: Range<usize>,
    /// It is a list.
    pub list: bool,
    key: Range<usize>,
}

impl Options {
    /// The words as the kernel splits them.
    pub fn words(&self) -> Vec<String> {
        let texts: Vec<&str> = self.elements.iter().map(|(text, _)| text.as_str()).collect();
        kernel_cmdline::words(&texts.join(" "))
    }
}

/// Parses the file.
pub fn parse(bytes: &[u8]) -> Result<Configuration, Trouble> {
    let document = json_spans::parse(bytes)?;
    if !matches!(document.value, Value::Object(_)) {
        return Err(Trouble::new(1, "expected a JSON object with `user` and `default`"));
    }
    Ok(Configuration {
        user: options(bytes, &document, "user")?,
        default: options(bytes, &document, "default")?,
    })
}

fn options(bytes: &[u8], document: &Node, section: &str) -> Result<Option<Options>, Trouble> {
    let Some((at, object)) = document.member(section) else { return Ok(None) };
    let line = line_of(bytes, at.start);
    let Some((key, node)) = object.member("kernel_options") else {
        return Err(Trouble::new(line, format!("expected `kernel_options` in `{section}`")));
    };
    let wrong =
        || Trouble::new(line_of(bytes, key.start), "expected `kernel_options` to be a list of strings");
    let (elements, list) = match &node.value {
        Value::Array(nodes) => {
            let element = |n: &Node| match &n.value {
                Value::String(text) => Some((text.clone(), n.at.clone())),
                _ => None,
            };
            (nodes.iter().map(element).collect::<Option<Vec<_>>>().ok_or_else(wrong)?, true)
        }
        Value::String(text) => (vec![(text.clone(), node.at.clone())], false),
        _ => return Err(wrong()),
    };
    let key = key.clone();
    Ok(Some(Options { line: line_of(bytes, key.start), elements, at: node.at.clone(), list, key }))
}

/// The file with words taken from and added to `user.kernel_options`. Words already there are not added again;
/// words that are not there are not missed.
pub fn edit(bytes: &[u8], add: &[String], remove: &[String]) -> Result<Vec<u8>, Trouble> {
    let configuration = parse(bytes)?;
    let Some(options) = &configuration.user else {
        return Err(Trouble::new(1, "expected a `user` object; run `kernelstub` once, which writes it"));
    };
    if !options.list {
        let reason =
            "`kernel_options` is one string (an old revision); run `kernelstub` once, which makes it a list";
        return Err(Trouble::new(options.line, reason));
    }
    let gone: Vec<String> = remove.iter().map(|w| kernel_cmdline::comparable(w)).collect();
    let mut kept = Vec::new();
    for (index, (text, at)) in options.elements.iter().enumerate() {
        let words = kernel_cmdline::words(text);
        let hit = words.iter().any(|w| gone.contains(&kernel_cmdline::comparable(w)));
        if hit && words.len() > 1 {
            let reason = format!("the string {text:?} holds several words; make it one string a word");
            return Err(Trouble::new(line_of(bytes, at.start), reason));
        }
        if !hit {
            kept.push(index);
        }
    }
    let mut wanted: Vec<String> = kept
        .iter()
        .filter_map(|i| options.elements.get(*i))
        .flat_map(|(text, _)| kernel_cmdline::words(text))
        .map(|w| kernel_cmdline::comparable(&w))
        .collect();
    let mut present: BTreeSet<String> = wanted.iter().cloned().collect();
    let mut fresh = Vec::new();
    for word in add {
        let comparable = kernel_cmdline::comparable(word);
        if present.insert(comparable.clone()) {
            wanted.push(comparable);
            fresh.push(word.as_str());
        }
    }
    if kept.len() == options.elements.len() && fresh.is_empty() {
        return Ok(bytes.to_vec());
    }
    let splices = list_splices(bytes, options, &kept, &fresh);
    let after = splice::apply(bytes, &splices)
        .ok_or_else(|| Trouble::new(options.line, "this list cannot be edited safely"))?;
    check(&after, &configuration, &wanted)?;
    Ok(after)
}

/// Parses the result again: the list must hold exactly the wanted words, `default` must be as before.
fn check(after: &[u8], before: &Configuration, wanted: &[String]) -> Result<(), Trouble> {
    let again = parse(after)?;
    let texts = |o: &Option<Options>| o.as_ref().map(Options::words);
    let user: Vec<String> =
        texts(&again.user).unwrap_or_default().iter().map(|w| kernel_cmdline::comparable(w)).collect();
    if user == wanted && texts(&again.default) == texts(&before.default) {
        Ok(())
    } else {
        Err(Trouble::new(1, "the edited list does not read back as intended; edit it by hand"))
    }
}

fn list_splices(bytes: &[u8], options: &Options, kept: &[usize], fresh: &[&str]) -> Vec<Splice> {
    let mut splices = Vec::new();
    let element = |i: usize| options.elements.get(i).map(|(_, at)| at.clone()).unwrap_or_default();
    let inside = options.at.start + 1..options.at.end - 1;
    let separator = separator(bytes, options);
    let json = |word: &&str| serde_json::Value::from(*word).to_string();
    let Some(last_kept) = kept.last() else {
        // Nothing is left of the old list: what stands between the brackets is written anew.
        let start = options.elements.first().map_or(separator.clone(), |(_, at)| {
            bytes.get(inside.start..at.start).unwrap_or_default().to_vec()
        });
        let end = options.elements.last().map_or_else(
            || closing(&separator, bytes, options),
            |(_, at)| bytes.get(at.end..inside.end).unwrap_or_default().to_vec(),
        );
        let mut with = Vec::new();
        for (index, word) in fresh.iter().enumerate() {
            if index > 0 {
                with.push(b',');
            }
            with.extend_from_slice(if index > 0 { &separator } else { &start });
            with.extend_from_slice(json(word).as_bytes());
        }
        if !fresh.is_empty() {
            with.extend_from_slice(&end);
        }
        splices.push(Splice { at: inside, with });
        return splices;
    };
    for index in (0..options.elements.len()).filter(|i| kept.binary_search(i).is_err()) {
        // With its comma: the one before it, or for the first elements the one behind.
        let at = if index > kept.first().copied().unwrap_or_default() {
            element(index - 1).end..element(index).end
        } else {
            element(index).start..element(index + 1).start
        };
        splices.push(Splice::delete(at));
    }
    let mut with = Vec::new();
    for word in fresh {
        with.push(b',');
        with.extend_from_slice(&separator);
        with.extend_from_slice(json(word).as_bytes());
    }
    if !with.is_empty() {
        splices.push(Splice::insert(element(*last_kept).end, with));
    }
    splices
}

/// Blanks that stand before an element: as between the elements there are, else as the key is indented.
fn separator(bytes: &[u8], options: &Options) -> Vec<u8> {
    let blanks = |range: Range<usize>| {
        bytes.get(range).unwrap_or_default().iter().filter(|b| **b != b',').copied().collect::<Vec<u8>>()
    };
    match options.elements.as_slice() {
        [.., (_, a), (_, b)] => blanks(a.end..b.start),
        [(_, only)] => blanks(options.at.start + 1..only.start),
        [] => {
            let before = bytes.get(..options.key.start).unwrap_or_default();
            let indent: Vec<u8> =
                before.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).copied().collect();
            let line_start = before.len() - indent.len();
            if line_start > 0 && before.get(line_start - 1) == Some(&b'\n') && !indent.is_empty() {
                // The key stands two levels deep.
                let unit = indent.len().div_ceil(2);
                let mut text = vec![b'\n'];
                text.extend(indent.iter().rev());
                text.extend(indent.iter().take(unit));
                text
            } else {
                Vec::new()
            }
        }
    }
}

/// What stands before the closing bracket of a list that was empty.
fn closing(separator: &[u8], bytes: &[u8], options: &Options) -> Vec<u8> {
    if separator.is_empty() {
        return Vec::new();
    }
    let before = bytes.get(..options.key.start).unwrap_or_default();
    let indent = before.iter().rev().take_while(|b| matches!(b, b' ' | b'\t')).count();
    separator.get(..=indent).unwrap_or_default().to_vec()
}
