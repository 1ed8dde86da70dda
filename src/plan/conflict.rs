//! Two changes that pull one option in two directions exclude each other.

use super::Change;

/// Blocks both sides of every conflict and names the other.
pub(super) fn mark(changes: &mut [Change]) {
    let pulls: Vec<(String, Option<String>)> =
        changes.iter().map(|c| (c.id.clone(), c.pulls.clone())).collect();
    for change in changes {
        let Some((option, direction)) = change.pulls.as_deref().and_then(|p| p.split_once(':')) else {
            continue;
        };
        for (id, other) in &pulls {
            let Some((other_option, other_direction)) = other.as_deref().and_then(|p| p.split_once(':'))
            else {
                continue;
            };
            if option == other_option && direction != other_direction {
                change.blocked_by.push(format!(
                    "conflict: {id} wants {option} {other_direction}, this wants it {direction}; decide which devices matter"
                ));
            }
        }
    }
}
