//! What a trial changed, as far as judging it depends on that.

use crate::host::health::Announced;
use crate::plan::Change;
use crate::rules::{About, Catalogue, Kind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Words that take translation away from devices or from the whole host. Then no fault is logged any more,
/// whatever the devices do.
const WEAKENS: [&str; 4] = ["iommu=pt", "iommu.passthrough=1", "intel_iommu=off", "amd_iommu=off"];
/// Rules that pass because the log is silent.
const BY_SILENCE: [&str; 1] = ["iommu/faults"];

/// A change, or the members of a set that one boot carries together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tried {
    /// Stable name of the change (`iommu-pt`).
    pub name: String,
    /// Names whose findings are to be gone: the change itself; for the last of a set those of all members.
    pub answers: Vec<String>,
    /// Rules that it answers; for the last of a set those of all members.
    pub rules: Vec<TriedRule>,
    /// Words that this boot has and the baseline had not, earlier members' words included.
    pub add: Vec<String>,
    /// Words that this boot has not and the baseline had.
    pub remove: Vec<String>,
    /// Words that the trial itself added, for its own way back.
    pub trial_words: Vec<String>,
    /// The boot has another kernel than the baseline, on purpose.
    pub other_kernel: bool,
    /// Alone, or a member of a set.
    pub role: Role,
    /// Rules that other members of its set answer: that they fire, or fire now that this rung is open, is no news.
    pub set_rules: Vec<String>,
    /// What it said that it takes away.
    pub announced: Vec<Announced>,
}

/// A rule that a change answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriedRule {
    /// Id.
    pub id: String,
    /// What is at stake.
    pub about: About,
}

/// Place of a change among those that only together open a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Judged by itself.
    #[default]
    Alone,
    /// Others follow: it has to open its own rung and to harm nothing.
    Member,
    /// The last one: the set is judged by measurement.
    Last,
}

impl Tried {
    /// One change by itself. A rule that the catalogue does not have is about reporting, which claims least.
    pub fn alone(change: &Change, catalogue: &Catalogue) -> Self {
        let about = |id: &String| catalogue.get(id).map_or(About::default(), |rule| rule.rule.about);
        Self {
            name: change.name.clone(),
            answers: vec![change.name.clone()],
            rules: change.rules.iter().map(|id| TriedRule { id: id.clone(), about: about(id) }).collect(),
            add: change.add.clone(),
            remove: change.remove.clone(),
            trial_words: Vec::new(),
            other_kernel: change.kind == Kind::KernelPatch,
            role: Role::Alone,
            set_rules: Vec::new(),
            announced: Announced::of_words(change.add.iter().map(String::as_str)),
        }
    }

    /// This change on top of an earlier member, whose words and kernel the boot carries too. As the last of the set
    /// it answers for that member as well.
    #[must_use]
    pub fn after(mut self, earlier: &Self, role: Role) -> Self {
        self.role = role;
        join(&mut self.add, &earlier.add);
        join(&mut self.remove, &earlier.remove);
        join(&mut self.announced, &earlier.announced);
        join(&mut self.set_rules, &earlier.set_rules);
        self.other_kernel |= earlier.other_kernel;
        if role == Role::Last {
            join(&mut self.answers, &earlier.answers);
            join(&mut self.rules, &earlier.rules);
        }
        self
    }

    /// As a member of a set whose changes answer `rules`.
    #[must_use]
    pub fn in_set(mut self, role: Role, rules: &[String]) -> Self {
        self.role = role;
        join(&mut self.set_rules, rules);
        self
    }

    /// It opens transfers.
    pub fn about_reach(&self) -> bool {
        self.rules.iter().any(|rule| rule.about == About::Reach)
    }

    /// Any of its rules is about right data and working devices.
    pub fn about_correctness(&self) -> bool {
        self.rules.iter().any(|rule| rule.about == About::Correctness)
    }

    /// It promises speed and nothing else.
    pub fn about_speed_alone(&self) -> bool {
        self.rules.iter().any(|rule| rule.about == About::Speed)
            && self.rules.iter().all(|rule| matches!(rule.about, About::Speed | About::Reporting))
    }

    /// Silence of the log is no evidence any more.
    pub fn weakens_translation(&self) -> bool {
        self.add.iter().any(|word| WEAKENS.contains(&word.as_str()))
    }

    /// Any of its rules passes because the log is silent.
    pub(super) fn rests_on_silence(&self) -> bool {
        self.rules.iter().any(|rule| BY_SILENCE.contains(&rule.id.as_str()))
    }

    /// Names of the settings that differ on purpose: `iommu` of `iommu=pt`, `nvidia.NVreg_X` of its word.
    pub(super) fn keys(&self) -> Vec<String> {
        let words = self.add.iter().chain(&self.remove).chain(&self.trial_words);
        words.map(|word| key(word)).collect()
    }
}

/// The name in a word, quotes left out. The kernel takes `-` and `_` in names of parameters for one another.
pub(super) fn key(word: &str) -> String {
    let name = word.split('=').next().unwrap_or(word);
    name.trim().trim_matches('"').replace('-', "_")
}

fn join<T: Clone + PartialEq>(list: &mut Vec<T>, more: &[T]) {
    for item in more {
        if !list.contains(item) {
            list.push(item.clone());
        }
    }
}
