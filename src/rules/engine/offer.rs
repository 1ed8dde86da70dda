//! Remedies filled in for one finding.

use super::{Lines, holds};
use crate::rules::Offer;
use crate::rules::catalogue::{CompiledCheck, CompiledRemedy};
use crate::rules::expr::{Cause, Env};
use crate::rules::template::Template;

/// The ladder of a check for one finding, counted from 1 over what is offered. What cannot be said about a
/// remedy becomes a line of the finding.
pub(super) fn offers<'a>(check: &'a CompiledCheck, env: &Env<'a>, lines: &mut Lines) -> Vec<Offer> {
    let mut offers = Vec::new();
    for remedy in &check.remedies {
        // Undetermined means offered: the ladder is never shortened by ignorance.
        let wanted = remedy.offer.as_ref().is_none_or(|offer| holds(offer, env).unwrap_or(true));
        if !wanted {
            continue;
        }
        match fill(remedy, env, lines) {
            Ok(offer) => offers.push(offer),
            Err(causes) => {
                lines.derived(format!(
                    "remedy {} is not offered: its words are not known",
                    remedy.remedy.name
                ));
                for cause in &causes {
                    lines.reason(env, cause);
                }
            }
        }
    }
    for (place, offer) in (1..).zip(&mut offers) {
        offer.ladder = place;
    }
    offers
}

fn fill<'a>(remedy: &'a CompiledRemedy, env: &Env<'a>, lines: &mut Lines) -> Result<Offer, Vec<Cause>> {
    let words = |templates: &'a [Template]| -> Result<Vec<String>, Vec<Cause>> {
        let words = templates.iter().map(|t| t.words(env)).collect::<Result<Vec<_>, _>>()?;
        Ok(super::distinct(words.concat()))
    };
    let texts = |templates: &'a [Template]| -> Vec<String> {
        templates.iter().map(|t| t.fill(env)).filter(|t| !t.is_empty()).collect()
    };
    let (add, remove) = (words(&remedy.add)?, words(&remedy.remove)?);
    let conditions = remedy.remedy.risk.iter().zip(&remedy.risks);
    // Undetermined means that the risk exists.
    let exists = |condition: &'a Option<_>| condition.as_ref().is_none_or(|c| holds(c, env).unwrap_or(true));
    let risks: Vec<_> = conditions.filter(|(_, condition)| exists(condition)).map(|(risk, _)| risk).collect();
    let mut blocked_by = Vec::new();
    for (condition, because) in &remedy.blocked {
        match holds(condition, env) {
            Ok(true) => blocked_by.push(because.fill(env)),
            Ok(false) => {}
            Err(causes) => {
                lines.derived(format!("not known whether something in use blocks {}", remedy.remedy.name));
                for cause in &causes {
                    lines.reason(env, cause);
                }
            }
        }
    }
    Ok(Offer {
        name: remedy.remedy.name.clone(),
        kind: remedy.remedy.kind,
        ladder: 0,
        explain: remedy.explain.fill(env),
        add,
        remove,
        pulls: remedy.remedy.pulls.clone(),
        set: remedy.remedy.set.clone(),
        consents: super::distinct(risks.iter().filter(|risk| risk.consent).map(|risk| risk.name.clone())),
        risks: super::distinct(risks.iter().map(|risk| risk.name.clone())),
        loses: texts(&remedy.loses),
        blocked_by,
        conditional: remedy.conditional.as_ref().map(|c| c.fill(env)).filter(|c| !c.is_empty()),
        steps: texts(&remedy.steps),
        expect: texts(&remedy.expect),
    })
}
