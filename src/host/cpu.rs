//! CPU identity from `proc/cpuinfo`.

use super::presence::always_made;
use crate::root::{Evidence, Fact, Root, Unknown, Why};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashSet;

/// Limit for `proc/cpuinfo`: 2 KiB for each of the 8192 processors that a kernel can be built for.
const CPUINFO_LIMIT: u64 = 64 << 20;
const PATH: &str = "proc/cpuinfo";

/// Facts of the processors.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Cpu {
    /// `vendor_id`: `GenuineIntel`, `AuthenticAMD`, `HygonGenuine`, `CentaurHauls`, `  Shanghai  `; absent on
    /// other architectures.
    pub vendor: Fact<String>,
    /// `cpu family`, decimal (23 is 0x17).
    pub family: Fact<i64>,
    /// `model`, decimal.
    pub model: Fact<i64>,
    /// `model name`.
    pub name: Fact<String>,
    /// Number of different `physical id` values; absent where the kernel prints none.
    pub sockets: Fact<i64>,
    /// Number of `processor` entries.
    pub threads: Fact<i64>,
    /// Largest `apicid` or `initial apicid`; absent where the kernel prints none.
    pub highest_apic_id: Fact<i64>,
    /// `hypervisor` is among the flags; absent on architectures without that flag.
    pub hypervisor_flag: Fact<bool>,
}

impl Cpu {
    /// Reads `proc/cpuinfo`. Identity is that of the first processor.
    pub fn read(root: &Root) -> Self {
        match always_made(root, root.text_limited(PATH, CPUINFO_LIMIT)) {
            Fact::Known { value, .. } => Table::parse(&value).facts(),
            Fact::Absent { .. } => Self::default(),
            Fact::Unknown(reason) => Self::unknown(&reason),
        }
    }

    fn unknown(reason: &Unknown) -> Self {
        Self {
            vendor: Fact::Unknown(reason.clone()),
            family: Fact::Unknown(reason.clone()),
            model: Fact::Unknown(reason.clone()),
            name: Fact::Unknown(reason.clone()),
            sockets: Fact::Unknown(reason.clone()),
            threads: Fact::Unknown(reason.clone()),
            highest_apic_id: Fact::Unknown(reason.clone()),
            hypervisor_flag: Fact::Unknown(reason.clone()),
        }
    }
}

/// A field of the first processor and the line it stands in.
type Field<'a> = Option<(usize, &'a str)>;

/// What one pass over the text collects.
#[derive(Default)]
struct Table<'a> {
    vendor: Field<'a>,
    family: Field<'a>,
    model: Field<'a>,
    name: Field<'a>,
    flags: Field<'a>,
    /// Lines of the first processor with a key, `processor` itself included.
    fields: usize,
    threads: i64,
    sockets: HashSet<&'a str>,
    highest_apic: Option<(usize, i64)>,
    /// Line of an APIC id that is no number.
    bad_apic: Option<usize>,
    /// The text ends within this line: the last value and all counts are doubtful.
    cut: Option<usize>,
}

impl<'a> Table<'a> {
    fn parse(text: &'a str) -> Self {
        let mut table = Self::default();
        for (at, line) in text.split_inclusive('\n').enumerate() {
            let number = at + 1;
            let Some(line) = line.strip_suffix('\n') else {
                table.cut = Some(number);
                break;
            };
            // One blank after the colon belongs to the format; further ones to the value (`  Shanghai  `).
            let Some((key, value)) = line.split_once(':') else { continue };
            table.field(number, key.trim_end(), value.strip_prefix(' ').unwrap_or(value));
        }
        table
    }

    fn field(&mut self, number: usize, key: &str, value: &'a str) {
        match key {
            "processor" => self.threads += 1,
            "physical id" => {
                self.sockets.insert(value.trim());
            }
            "apicid" | "initial apicid" => match value.trim().parse::<u32>() {
                Ok(id) if self.highest_apic.is_none_or(|(_, highest)| i64::from(id) > highest) => {
                    self.highest_apic = Some((number, i64::from(id)));
                }
                Ok(_) => {}
                Err(_) => self.bad_apic = self.bad_apic.or(Some(number)),
            },
            _ => {}
        }
        if self.threads > 1 {
            return;
        }
        self.fields += 1;
        let slot = match key {
            "vendor_id" => &mut self.vendor,
            "cpu family" => &mut self.family,
            "model" => &mut self.model,
            "model name" => &mut self.name,
            "flags" => &mut self.flags,
            _ => return,
        };
        *slot = slot.or(Some((number, value)));
    }

    fn facts(&self) -> Cpu {
        if self.threads == 0 {
            return Cpu::unknown(&malformed(self.cut.unwrap_or(1), "expected \"processor : N\" entries"));
        }
        let count = |path_text: String, value: i64| match self.cut {
            None => Fact::known(value, Evidence::new(PATH, path_text)),
            Some(line) => {
                Fact::Unknown(malformed(line, "the file is cut here, so processors may be missing"))
            }
        };
        Cpu {
            vendor: self.text(self.vendor, "vendor_id"),
            family: self.text(self.family, "cpu family").parse(|t| decimal(t)),
            model: self.text(self.model, "model").parse(|t| decimal(t)),
            name: self.text(self.name, "model name").map(|t| t.trim().to_owned()),
            sockets: if self.sockets.is_empty() && self.cut.is_none() {
                Fact::absent(PATH)
            } else {
                let sockets = i64::try_from(self.sockets.len()).unwrap_or(i64::MAX);
                count(format!("{sockets} different physical id"), sockets)
            },
            threads: count(format!("{} processor entries", self.threads), self.threads),
            highest_apic_id: match (self.bad_apic, self.highest_apic) {
                (Some(line), _) => Fact::Unknown(malformed(line, "expected a decimal APIC id")),
                (None, None) if self.cut.is_none() => Fact::absent(PATH),
                (None, None) => count(String::new(), 0),
                (None, Some((line, id))) => match count(String::new(), id) {
                    Fact::Known { value, .. } => {
                        Fact::known(value, Evidence::at(PATH, line, format!("APIC id {id}")))
                    }
                    other => other,
                },
            },
            hypervisor_flag: self.hypervisor_flag(),
        }
    }

    fn is_x86(&self) -> bool {
        self.vendor.is_some() || self.family.is_some() || self.flags.is_some()
    }

    /// Other architectures have none of these fields; an x86 kernel prints them all, so there (and in a text
    /// that ends after its first line) a missing one means a cut file.
    fn text(&self, field: Field<'_>, key: &str) -> Fact<String> {
        match field {
            Some((line, value)) => {
                Fact::known(value.to_owned(), Evidence::at(PATH, line, format!("{key}: {value}")))
            }
            None if self.is_x86() || self.fields < 2 => Fact::Unknown(self.missing(key)),
            None => Fact::absent(PATH),
        }
    }

    fn hypervisor_flag(&self) -> Fact<bool> {
        match self.flags {
            Some((line, flags)) => {
                let set = flags.split_ascii_whitespace().any(|f| f == "hypervisor");
                let text = if set { "flags: … hypervisor …" } else { "flags without hypervisor" };
                Fact::known(set, Evidence::at(PATH, line, text))
            }
            None if self.is_x86() || self.fields < 2 => Fact::Unknown(self.missing("flags")),
            None => Fact::absent(PATH),
        }
    }

    fn missing(&self, key: &str) -> Unknown {
        malformed(self.cut.unwrap_or(1), &format!("expected a line {key:?} for the first processor"))
    }
}

fn malformed(line: usize, detail: &str) -> Unknown {
    Unknown {
        path: PATH.to_owned(),
        line: u32::try_from(line).ok(),
        why: Why::Malformed,
        detail: detail.to_owned(),
    }
}

fn decimal(text: &str) -> Result<i64, String> {
    let number = text.trim().parse::<u32>().map(i64::from);
    number.map_err(|_| format!("expected a decimal number, found {text:?}"))
}
