//! Evidence and reasons, from the flat rows that [`crate::root::FactPart`] describes.

use crate::root::{Evidence, Unknown};
use serde_json::Value;

/// Lines as [`crate::root::Fact`] hands them over: source, line, text of each in a row.
pub(super) fn evidence(rows: Option<Value>) -> Vec<Evidence> {
    let Some(Value::Array(cells)) = rows else { return Vec::new() };
    let mut lines = Vec::with_capacity(cells.len() / 3);
    let mut cells = cells.into_iter();
    while let (Some(source), Some(line), Some(text)) = (cells.next(), cells.next(), cells.next()) {
        lines.push(Evidence { source: words(source), line: number(&line), text: words(text) });
    }
    lines
}

/// Path, line, class and detail.
pub(super) fn reason(row: Option<Value>) -> Option<Unknown> {
    let Some(Value::Array(cells)) = row else { return None };
    let [path, line, why, detail] = <[Value; 4]>::try_from(cells).ok()?;
    Some(Unknown {
        path: words(path),
        line: number(&line),
        why: serde_json::from_value(why).ok()?,
        detail: words(detail),
    })
}

fn number(cell: &Value) -> Option<u32> {
    cell.as_u64().and_then(|n| u32::try_from(n).ok())
}

fn words(cell: Value) -> String {
    match cell {
        Value::String(text) => text,
        _ => String::new(),
    }
}
