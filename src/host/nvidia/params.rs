//! `proc/driver/nvidia/params`: the only place that shows live values (the NVreg parameters have sysfs mode 0).

use super::NvidiaParameter;
use crate::root::{Evidence, Fact, Root, Unknown, Why};

const PATH: &str = "proc/driver/nvidia/params";

/// The parameters as printed, `Name: value`, strings in double quotes.
pub(super) struct Params(Fact<Vec<(usize, NvidiaParameter)>>);

impl Params {
    /// Absent when the module is not loaded; where its version is known, a missing file was not captured.
    pub(super) fn read(root: &Root, version: &Fact<String>) -> Self {
        let text = match root.text(PATH) {
            Fact::Absent { .. } if !version.is_absent() => {
                Fact::unknown(PATH, Why::NotCaptured, "the module is loaded or not known to be absent")
            }
            other => other,
        };
        Self(text.parse(|text| parse(text)))
    }

    pub(super) fn list(&self) -> Fact<Vec<NvidiaParameter>> {
        self.0.as_ref().map(|list| list.iter().map(|(_, parameter)| parameter.clone()).collect())
    }

    /// A parameter's text; absent when this branch has no such parameter.
    pub(super) fn text(&self, name: &str) -> Fact<String> {
        let list = match &self.0 {
            Fact::Known { value, .. } => value,
            Fact::Absent { evidence } => return Fact::Absent { evidence: evidence.clone() },
            Fact::Unknown(reason) => return Fact::Unknown(reason.clone()),
        };
        match list.iter().find(|(_, parameter)| parameter.name == name) {
            Some((line, parameter)) => {
                let value = parameter.value.clone();
                Fact::known(value.clone(), Evidence::at(PATH, *line, format!("{name}: {value}")))
            }
            None => Fact::Absent { evidence: vec![Evidence::new(PATH, format!("no {name} line"))] },
        }
    }

    pub(super) fn number(&self, name: &str) -> Fact<i64> {
        match self.text(name) {
            Fact::Known { value, evidence } => match value.parse() {
                Ok(number) => Fact::from_lines(number, evidence),
                Err(_) => Fact::Unknown(Unknown {
                    path: PATH.to_owned(),
                    line: evidence.first().and_then(|e| e.line),
                    why: Why::Malformed,
                    detail: format!("{name}: expected a decimal number, found {value:?}"),
                }),
            },
            Fact::Absent { evidence } => Fact::Absent { evidence },
            Fact::Unknown(reason) => Fact::Unknown(reason),
        }
    }
}

/// Lines of another form (headings of a bug report) are passed over; a file without any parameter is damaged.
fn parse(text: &str) -> Result<Vec<(usize, NvidiaParameter)>, String> {
    let mut list = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some((name, value)) = line.split_once(':') else { continue };
        if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            continue;
        }
        let value = value.trim();
        let inner = value.strip_prefix('"').map(|v| v.strip_suffix('"').unwrap_or(v));
        let value = inner.unwrap_or(value).to_owned();
        list.push((index + 1, NvidiaParameter { name: name.to_owned(), value }));
    }
    if list.is_empty() { Err("expected `Name: value` lines, found none".to_owned()) } else { Ok(list) }
}
