//! IOMMU group and domain type of each function.

use super::super::presence::not_captured;
use super::Bdf;
use super::device::{has_directory, shown};
use crate::root::{Dir, Evidence, Fact, Root, Why};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

const GROUPS: &str = "sys/kernel/iommu_groups";

/// The groups of one host; each is read once.
pub(super) struct Groups<'a> {
    root: &'a Root,
    types: RefCell<HashMap<String, Fact<String>>>,
    members: OnceCell<Fact<HashMap<Bdf, String>>>,
}

impl<'a> Groups<'a> {
    pub(super) fn new(root: &'a Root) -> Self {
        Self { root, types: RefCell::default(), members: OnceCell::new() }
    }

    /// Group number and domain type of a function; both absent behind no active IOMMU.
    pub(super) fn of(&self, bdf: Bdf, dir: &Dir, links_kept: bool) -> (Fact<String>, Fact<String>) {
        let link = dir.link_name("iommu_group");
        let group = match link {
            Fact::Known { .. } => link.parse(|text| number(text)),
            Fact::Absent { .. } if links_kept => link,
            // The capture lost its links; the groups' own lists may still hold the function.
            _ => self.by_members(bdf, dir),
        };
        let domain = match &group {
            Fact::Known { value, .. } => self.domain_type(value),
            Fact::Absent { evidence } => Fact::Absent { evidence: evidence.clone() },
            // A capture that followed links has the group's directory in place of the link.
            Fact::Unknown(_) if has_directory(dir, "iommu_group") => {
                dir.line("iommu_group/type").parse(|text| word(text))
            }
            Fact::Unknown(reason) => {
                Fact::unknown(reason.path.clone(), Why::Derived, "the IOMMU group is not known")
            }
        };
        (group, domain)
    }

    fn domain_type(&self, group: &str) -> Fact<String> {
        if let Some(known) = self.types.borrow().get(group) {
            return known.clone();
        }
        let path = format!("{GROUPS}/{group}/type");
        let fact = match self.root.line(&path).parse(|text| word(text)) {
            // A group always has a domain, so that this must not read as "no group".
            Fact::Absent { .. } if self.root.is_live() => {
                Fact::unknown(path, Why::Unreadable, "this kernel has no type file")
            }
            Fact::Absent { .. } => not_captured(self.root, &path, "every IOMMU group has this file"),
            other => other,
        };
        self.types.borrow_mut().insert(group.to_owned(), fact.clone());
        fact
    }

    fn by_members(&self, bdf: Bdf, dir: &Dir) -> Fact<String> {
        match self.members.get_or_init(|| members(self.root)) {
            Fact::Known { value, evidence } => match value.get(&bdf) {
                Some(group) => {
                    let path = format!("{GROUPS}/{group}/devices/{bdf}");
                    Fact::known(group.clone(), Evidence::new(path, "member"))
                }
                None => Fact::Absent { evidence: evidence.clone() },
            },
            Fact::Absent { .. } => {
                let path = format!("{}/iommu_group", dir.path());
                not_captured(self.root, &path, "the capture kept no links here")
            }
            Fact::Unknown(reason) => Fact::Unknown(reason.clone()),
        }
    }
}

/// Which function is in which group. Absent when the capture does not tell.
fn members(root: &Root) -> Fact<HashMap<Bdf, String>> {
    let (groups, evidence) = match root.list(GROUPS) {
        Fact::Known { value, evidence } => (value, evidence),
        Fact::Absent { evidence } => return Fact::Absent { evidence },
        Fact::Unknown(reason) => return Fact::Unknown(reason),
    };
    let mut members = HashMap::new();
    for group in &groups {
        for name in root.list(&format!("{GROUPS}/{group}/devices")).value().into_iter().flatten() {
            if let Ok(bdf) = name.parse::<Bdf>() {
                members.insert(bdf, group.clone());
            }
        }
    }
    if members.is_empty() && !groups.is_empty() {
        return Fact::absent(GROUPS);
    }
    Fact::from_lines(members, evidence)
}

fn number(text: &str) -> Result<String, String> {
    if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    Err(format!("expected a link to a numbered group, found {}", shown(text)))
}

fn word(text: &str) -> Result<String, String> {
    if text.is_empty() || text.contains(char::is_whitespace) {
        return Err(format!("expected a domain type such as DMA or identity, found {}", shown(text)));
    }
    Ok(text.to_owned())
}
