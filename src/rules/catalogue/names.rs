//! What is a name in a rule, or has a fixed form.

use super::compile::Compiler;
use crate::rules::model::{Check, Risk, Rule};

/// Risks that `--accept-risk` names; stable.
pub const RISKS: [&str; 7] = [
    "dma-isolation",
    "acs-isolation",
    "stray-dma",
    "kernel-patch",
    "unsafe-registry-key",
    "hardening-policy",
    "unattended-unlock",
];

impl Compiler<'_, '_> {
    /// Everything that is a name or has a fixed form.
    pub(super) fn names(&mut self, rule: &Rule) {
        let words: Vec<&str> = rule.id.split('/').collect();
        if words.len() != 2 || !words.iter().all(|w| is_kebab(w)) {
            self.wrong("id", format!("`{}` is no rule id", rule.id), "write `topic/name` in lower case");
        }
        if rule.check.is_empty() {
            self.wrong("check", "a rule without checks", "");
        }
        if rule.sources.is_empty() {
            self.wrong(
                "sources",
                "a rule without sources",
                "name the kernel file, header or document it rests on",
            );
        }
        for (index, remedy) in rule.remedy.iter().enumerate() {
            let path = format!("remedy.{index}");
            if !is_kebab(&remedy.name) {
                self.wrong(
                    &format!("{path}.name"),
                    format!("`{}` is no remedy name", remedy.name),
                    "write it like `iommu-pt`",
                );
            }
            if rule.remedy.iter().take(index).any(|r| r.name == remedy.name) {
                self.wrong(&format!("{path}.name"), format!("a second remedy `{}`", remedy.name), "");
            }
            let used = |c: &Check| c.remedies.as_ref().is_none_or(|names| names.contains(&remedy.name));
            if !rule.check.iter().any(used) {
                self.wrong(&format!("{path}.name"), format!("no check offers remedy `{}`", remedy.name), "");
            }
            if let Some(pulls) = &remedy.pulls
                && !pulls.split_once(':').is_some_and(|(option, way)| !option.is_empty() && !way.is_empty())
            {
                self.wrong(&format!("{path}.pulls"), "expected `option:direction`", "");
            }
            for (risk, Risk { name, .. }) in remedy.risk.iter().enumerate() {
                if !RISKS.contains(&name.as_str()) {
                    let path = format!("{path}.risk.{risk}.name");
                    self.wrong(
                        &path,
                        format!("unknown risk `{name}`"),
                        &format!("known: {}", RISKS.join(", ")),
                    );
                }
            }
        }
    }
}

/// `iommu-pt`, `p2pdma`.
fn is_kebab(word: &str) -> bool {
    !word.is_empty()
        && word
            .split('-')
            .all(|p| !p.is_empty() && p.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()))
}
